// Checks that the SystemVerilog packages of formats and function tables are up to date, and tests
// the constants in them.
#include "kiln/hardware/rtl_format.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/hardware/rtl_function.h"
#include "kiln/hardware/rtl_spline.h"
#include "kiln/numerics/format.h"
#include "kiln/numerics/function_unit.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/support/file.h"

namespace kiln::hardware {
namespace {

// The digits of a descriptor's field, bits high to low.
uint64_t Field(const std::string& descriptor, int high, int low) {
  const std::string digits = descriptor.substr(descriptor.find('h') + 1);
  uint64_t value = 0;
  for (int bit = high - 3; bit >= low; bit -= 4) {
    const auto place = static_cast<size_t>(bit / 4);
    const std::string digit =
        place < digits.size() ? digits.substr(digits.size() - 1 - place, 1) : "0";
    value = (value << 4) | std::stoul(digit, nullptr, 16);
  }
  return value;
}

// A package in the repository is what Kiln writes.
void ExpectUpToDate(const std::string& path, const std::string& expected) {
  if (ReadFile(path).value_or("") == expected) return;
  const std::string made = testing::TempDir() + path.substr(path.rfind('/') + 1);
  std::ofstream(made) << expected;
  ADD_FAILURE() << path << " is out of date; copy " << made << " there";
}

TEST(RtlFormat, PackageOfNamedFormatsIsUpToDate) {
  ExpectUpToDate("rtl/arith/kiln_named_formats_pkg.sv", NamedFormatsPackage());
}

TEST(RtlSpline, PackageOfTablesIsUpToDate) {
  ExpectUpToDate("rtl/arith/kiln_spline_tables_pkg.sv", SplineTablesPackage());
}

// Where rows, ends and the number of segments stand.
TEST(RtlSpline, TablesStandWhereThePackageSays) {
  const SplineTables& tables = DefaultSplineTables();
  const std::string literal = SplineParameters(tables);
  const auto word = [&](int bit) {
    return std::bit_cast<float>(static_cast<uint32_t>(Field(literal, bit + 31, bit)));
  };
  const Spline& erf = tables[SplineId::kErf];
  constexpr int kRow = (5 * 8 + 3) * 128;  // segment 3 of spline 5
  EXPECT_EQ(word(kRow), erf.c0[3]);
  EXPECT_EQ(word(kRow + 32), erf.c1[3]);
  EXPECT_EQ(word(kRow + 64), erf.c2[3]);
  EXPECT_EQ(word(kRow + 96), erf.knots[3]);
  EXPECT_EQ(word(11 * 8 * 128 + 5 * 32), erf.knots[7]);
  EXPECT_EQ(Field(literal, 11 * 8 * 128 + 11 * 32 + 3, 11 * 8 * 128 + 11 * 32), 7u);
}

TEST(RtlFunction, PackageOfTheTableIsUpToDate) {
  ExpectUpToDate("rtl/arith/kiln_function_tables_pkg.sv", FunctionTablesPackage());
}

// The digits of the package's literals are those of the rows, highest row first.
TEST(RtlFunction, RowsStandWhereThePackageSays) {
  const std::string package = FunctionTablesPackage();
  std::string digits;
  for (size_t at = package.find("'h"); at != std::string::npos; at = package.find("'h", at + 2))
    digits += package.substr(at + 2, package.find_first_of(",}", at) - at - 2);
  std::string expected;
  for (size_t row = kFunctionRows; row-- > 0;) {
    const FunctionRow& c = FunctionRows()[row];
    char text[16];
    std::snprintf(text, sizeof text, "%02x%04x%04x", c.c2 & 0xff, c.c1 & 0xffff, c.c0 & 0xffff);
    expected += text;
  }
  digits.insert(0, expected.size() - std::min(digits.size(), expected.size()), '0');
  EXPECT_EQ(digits, expected);
}

// The RTL reads coefficients of fewer bits than the package has.
TEST(RtlFunction, CoefficientsFitTheirWidths) {
  for (const FunctionRow& c : FunctionRows()) {
    EXPECT_TRUE(c.c0 >= -32768 && c.c0 < 32768) << c.c0;  // kiln_function_pkg::C0_BITS = 16
    EXPECT_TRUE(c.c1 >= -4096 && c.c1 < 4096) << c.c1;    // C1_BITS = 13
    EXPECT_TRUE(c.c2 >= -128 && c.c2 < 128) << c.c2;      // C2_BITS = 8
    for (int32_t offset = 0; offset < kOffsets; offset += 4) {
      const int32_t slope = c.c1 + ((c.c2 * (offset >> 2)) >> 6);
      EXPECT_TRUE(slope >= -4096 && slope < 4096) << slope;
    }
  }
}

TEST(RtlFormat, HeaderHoldsTheFieldsOfAFloat) {
  const std::string e4m3 = FormatDescriptor(*FindFormat("e4m3"));
  EXPECT_EQ(Field(e4m3, 3, 0), 1u);    // float
  EXPECT_EQ(Field(e4m3, 11, 4), 8u);   // bits
  EXPECT_EQ(Field(e4m3, 15, 12), 1u);  // signed
  EXPECT_EQ(Field(e4m3, 23, 16), 4u);  // exponent bits
  EXPECT_EQ(Field(e4m3, 31, 24), 3u);  // fraction bits
  EXPECT_EQ(Field(e4m3, 47, 32), 7u);  // bias
  EXPECT_EQ(Field(e4m3, 51, 48), 2u);  // NaN only
  EXPECT_EQ(Field(e4m3, 75, 68), 4u);  // significand bits
  EXPECT_EQ(Field(e4m3, 83, 76), 5u);  // exponents from -9 to 8
  EXPECT_EQ(Field(e4m3, 91, 84), 0u);  // no integer
  EXPECT_EQ(Field(e4m3, 127, 92), 0u);
}

TEST(RtlFormat, TablesHoldValuesAndSteps) {
  const std::string binary = FormatDescriptor(*FindFormat("binary"));
  EXPECT_EQ(Field(binary, 3, 0), 3u);
  EXPECT_EQ(Field(binary, 91, 84), 2u);             // -1 and 1
  EXPECT_EQ(Field(binary, 75, 68), 1u);             // one significant bit
  EXPECT_EQ(Field(binary, 159, 128), 0xbf800000u);  // -1
  EXPECT_EQ(Field(binary, 191, 160), 0x3f800000u);  // 1
  EXPECT_EQ(Field(binary, 223, 192), 0u);           // the first step begins with everything
}

TEST(RtlFormat, OnlySmallMonotoneFormatsCanBeTables) {
  EXPECT_TRUE(CanBeTable(*FindFormat("e4m3")));
  EXPECT_TRUE(CanBeTable(*FindFormat("posit8_1.toward_zero")));
  EXPECT_FALSE(CanBeTable(*FindFormat("int8.wrap")));
  EXPECT_FALSE(CanBeTable(*FindFormat("e4m3.stochastic")));
  EXPECT_FALSE(CanBeTable(*FindFormat("bf16")));
}

TEST(RtlFormat, NamesOfConstantsAreNamesOfTheLanguage) {
  EXPECT_EQ(FormatConstantName(*FindFormat("posit8_1")), "POSIT8_1");
  EXPECT_EQ(FormatConstantName(*FindFormat("int4.toward_zero.wrap")), "INT4_TOWARD_ZERO_WRAP");
}

}  // namespace
}  // namespace kiln::hardware
