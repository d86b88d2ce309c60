// Tests of the names of formats and of their modifiers.
#include "kiln/numerics/format.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace kiln {
namespace {

TEST(Format, NamesComeBack) {
  for (const Format& format : AllFormats()) {
    const StatusOr<Format> found = FindFormat(format.name);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->name, format.name);
    EXPECT_EQ(found->bits, format.bits);
  }
}

TEST(Format, ModifiersHaveOneOrderAndLeaveOutWhatIsSoAnyway) {
  for (const auto& [name, canonical] : {std::pair{"int8.wrap.down", "int8.down.wrap"},
                                        {"int8.saturate.nearest_even", "int8"},
                                        {"fp32.flush.stochastic", "fp32.stochastic.flush"},
                                        {"e3m4.finite", "e3m4.finite.saturate"},
                                        {"e3m4.infinity.nan_only", "e3m4.nan_only"},
                                        {"e4m3.nan_only", "e4m3"}}) {
    const StatusOr<Format> format = FindFormat(name);
    ASSERT_TRUE(format.ok()) << format.status();
    EXPECT_EQ(format->name, canonical);
    EXPECT_EQ(FindFormat(canonical)->name, canonical);
  }
}

TEST(Format, SpecialsMakeTheNamedFormatsOfTheirFields) {
  const auto fields = [](const char* name) {
    const Format f = *FindFormat(name);
    return std::tuple(f.bits, f.exponent_bits, f.fraction_bits, f.bias, f.specials);
  };
  EXPECT_EQ(fields("e4m3_ieee.nan_only"), fields("e4m3"));
  EXPECT_EQ(fields("e4m3_ieee.fnuz"), fields("e4m3_fnuz"));
  EXPECT_EQ(fields("e5m2.fnuz"), fields("e5m2_fnuz"));
}

struct FormatErrorCase {
  const char* name;
  const char* message;
};

class FormatErrors : public testing::TestWithParam<FormatErrorCase> {};

TEST_P(FormatErrors, SayWhatWouldBeRight) {
  EXPECT_EQ(MessageOf(FindFormat(GetParam().name).status()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Golden, FormatErrors,
    testing::Values(
        FormatErrorCase{"int33", "unknown format 'int33'; a name that 'kiln list formats' prints"},
        FormatErrorCase{"int08", "unknown format 'int08'; a name that 'kiln list formats' prints"},
        FormatErrorCase{"mxint8",
                        "'mxint8' is a type with blocks, not a number format; its elements are "
                        "fixed8_6, in blocks of 32 with scales in e8m0"},
        FormatErrorCase{"E4M3", "unknown format 'E4M3'; did you mean 'e4m3'?"},
        FormatErrorCase{"e9m2", "unknown format 'e9m2'; a name that 'kiln list formats' prints"},
        FormatErrorCase{"posit1_0",
                        "unknown format 'posit1_0'; a name that 'kiln list formats' prints"},
        FormatErrorCase{"", "unknown format ''; a name that 'kiln list formats' prints"},
        FormatErrorCase{
            "int8.",
            "unknown modifier '' of a format; nearest_even, nearest_away, toward_zero, down, "
            "stochastic, "
            "saturate, wrap, infinity, flush, finite, nan_only, fnuz"},
        FormatErrorCase{"int8.wrap.saturate",
                        "'saturate' says a second time what was said; each once"},
        FormatErrorCase{"e4m3.wrap", "'wrap' has no meaning for 'e4m3'; only integers wrap"},
        FormatErrorCase{
            "e2m1.infinity",
            "'infinity' has no meaning for 'e2m1'; only floats with infinity or NaN overflow "
            "to it"},
        FormatErrorCase{"e5m2.infinity.finite", "'e5m2' has no infinity to overflow to; saturate"},
        FormatErrorCase{"posit8_1.fnuz",
                        "'fnuz' has no meaning for 'posit8_1'; only floats have specials"},
        FormatErrorCase{"e8m0.flush",
                        "'flush' has no meaning for 'e8m0'; only floats have subnormals"},
        FormatErrorCase{"none.yaml", "none.yaml: no such file; check the path"},
        FormatErrorCase{
            "a b.yaml",
            "a b.yaml: has characters that a format's name cannot have; letters, digits and "
            "_ . / -"}));

}  // namespace
}  // namespace kiln
