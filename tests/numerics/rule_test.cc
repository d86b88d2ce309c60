// Checks the promise of docs/adding-a-format.md: this file alone adds a format that no kind covers,
// and everything works with it.
#include "kiln/numerics/rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/tables.h"

namespace kiln {
namespace {

// The new format: 6 bits, sign and magnitude, whose magnitudes are the triangular numbers over 8.
// Code 32 would be a second zero and is a number beyond the others instead.
float Triangular(uint32_t code) {
  if (code == 32) return -100;
  const auto n = static_cast<float>(code % 32);
  const float magnitude = n * (n + 1) / 16;
  return code > 32 ? -magnitude : magnitude;
}

const Format& TheFormat() {
  static const Format format = [] {
    EXPECT_TRUE(RegisterFormat({.name = "triangular6", .bits = 6, .value = Triangular}).ok());
    return *FindFormat("triangular6");
  }();
  return format;
}

TEST(FormatByRule, DecodesAndEncodes) {
  const Format& format = TheFormat();
  EXPECT_EQ(format.bits, 6);
  for (uint32_t code = 0; code < 64; ++code) {
    EXPECT_EQ(DecodeFloat(format, code), Triangular(code));
    EXPECT_EQ(EncodeFloat(format, Triangular(code)), code);
  }
  EXPECT_EQ(EncodeFloat(format, 0.24f), 1u);  // below the middle of 1/8 and 3/8
  EXPECT_EQ(EncodeFloat(format, 0.26f), 2u);
  EXPECT_EQ(EncodeFloat(format, 1000), 31u);  // 62
  EXPECT_EQ(EncodeFloat(format, -1000), 32u);
  EXPECT_EQ(EncodeFloat(*FindFormat("triangular6.toward_zero"), 0.37f), 1u);
}

TEST(FormatByRule, HasArithmetic) {
  const Format& format = TheFormat();
  // 3/8 * 6/8 = 0.28, nearest 3/8; 3/8 + 6/8 = 1.125, nearest 10/8.
  EXPECT_EQ(MultiplyCodes(format, 2, format, 3, format), 2u);
  EXPECT_EQ(AddCodes(format, 2, format, 3, format), 4u);
  EXPECT_EQ(Convert(format, 31, *FindFormat("int8")), 62u);
}

TEST(FormatByRule, HasTablesAndVectorCode) {
  const Format& format = TheFormat();
  std::vector<float> values;
  for (int i = -2000; i <= 2000; ++i) values.push_back(static_cast<float>(i) / 16);
  std::vector<uint8_t> codes(values.size());
  EncodeValues(format, values.data(), static_cast<int64_t>(values.size()), codes.data());
  std::vector<float> decoded(values.size());
  DecodeCodes(format, codes.data(), static_cast<int64_t>(values.size()), decoded.data());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(codes[i], EncodeFloat(format, values[i])) << values[i];
    ASSERT_EQ(decoded[i], Triangular(codes[i]));
  }
}

TEST(FormatByRule, BadRulesAreRefused) {
  TheFormat();
  const auto message = [](const FormatRule& rule) { return MessageOf(RegisterFormat(rule)); };
  EXPECT_EQ(message({.name = "triangular6", .bits = 6, .value = Triangular}),
            "format rule 'triangular6': has a name that is taken; another name");
  EXPECT_EQ(message({.name = "int8", .bits = 6, .value = Triangular}),
            "format rule 'int8': has a name that is taken; another name");
  EXPECT_EQ(message({.name = "wide", .bits = 9, .value = Triangular}),
            "format rule 'wide': has 9 bits; 1 to 8");
  EXPECT_EQ(message({.name = "same",
                     .bits = 2,
                     .value = [](uint32_t code) { return code < 2 ? 0.0f : 1.0f; }}),
            "format rule 'same': has the value 0 twice; a value of its own for each code");
  EXPECT_EQ(message({.name = "nan", .bits = 2, .value = [](uint32_t) { return NAN; }}),
            "format rule 'nan': has values that are infinite or NaN; finite ones");
  EXPECT_FALSE(FindFormat("wide").ok());
}

}  // namespace
}  // namespace kiln
