// Tests of multiply-accumulate rules with values worked out by hand: order, rounding, wrapping,
// scales.
#include "kiln/numerics/mac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/tables.h"
#include "tests/numerics/find_format.h"

namespace kiln {
namespace {

MacRule Rule(const char* operands, const char* psum, const char* accumulation) {
  MacRule rule;
  rule.input = rule.weight = Find(operands);
  rule.psum = Find(psum);
  rule.accumulation = Find(accumulation);
  return rule;
}

// Row tiles of codes of values; all weights are codes of `weight`.
float Sum(const MacRule& rule, const std::vector<std::vector<float>>& tiles, float weight,
          float scale = 1) {
  std::vector<std::vector<uint32_t>> inputs, weights;
  for (const auto& tile : tiles) {
    inputs.emplace_back();
    for (float value : tile) inputs.back().push_back(EncodeFloat(rule.input, value));
    weights.emplace_back(tile.size(), EncodeFloat(rule.weight, weight));
  }
  std::vector<MacTile> mac_tiles;
  for (size_t t = 0; t < tiles.size(); ++t) mac_tiles.push_back({inputs[t], weights[t], scale});
  return std::bit_cast<float>(MultiplyAccumulate(rule, mac_tiles));
}

TEST(Mac, OrderAndRoundingShow) {
  const MacRule rule = Rule("bf16", "bf16", "bf16");
  // bf16 holds 256 and 258, not 257: ones after 256 vanish one by one; in a row tile of their own
  // they add up first.
  EXPECT_EQ(Sum(rule, {{256, 1, 1, 1, 1}}, 1), 256);
  EXPECT_EQ(Sum(rule, {{1, 1, 1, 1, 256}}, 1), 260);
  EXPECT_EQ(Sum(rule, {{256}, {1, 1, 1, 1}}, 1), 260);
  EXPECT_EQ(Sum(rule, {{256}, {1}, {1, 1}}, 1), 258);
  EXPECT_EQ(Sum(Rule("bf16", "bf16", "fp32"), {{256}, {1}, {1, 1}}, 1), 259);
  EXPECT_EQ(Sum(Rule("bf16", "fp32", "bf16"), {{256, 1, 1, 1}}, 1), 260);  // 259 to even
}

TEST(Mac, ProductsRoundOnlyWhenTheyAreToRound) {
  MacRule rule = Rule("bf16", "bf16", "fp32");
  const float x = 1.0f + 0x1p-7f;  // its square, 1 + 2^-6 + 2^-14, rounds down to 1 + 2^-6
  EXPECT_EQ(Sum(rule, {{x - 0x1p-6f, x}}, x), 2.015625f);  // (1 - 2^-14) + (1 + 2^-6 + 2^-14)
  rule.product_rounded = true;
  EXPECT_EQ(Sum(rule, {{x}}, x), 1.015625f);
  // A product halfway between two bf16 numbers, behind a grain that decides it.
  MacRule posit = Rule("posit8_1", "bf16", "bf16");
  const float midpoint = 1.0625f * 1.0625f;  // 1.00100001b: nine significant bits
  const auto two = [&](float first, float second) {
    const uint32_t inputs[] = {EncodeFloat(posit.input, first), EncodeFloat(posit.input, second)};
    const uint32_t weights[] = {EncodeFloat(posit.weight, 0x1p-12f),
                                EncodeFloat(posit.weight, 1.0625f)};
    const MacTile tile{inputs, weights, 1};
    return std::bit_cast<float>(MultiplyAccumulate(posit, {&tile, 1}));
  };
  EXPECT_EQ(two(0, 1.0625f), midpoint - 0x1p-8f);
  EXPECT_EQ(two(0x1p-12f, 1.0625f), midpoint + 0x1p-8f);
  EXPECT_EQ(two(-0x1p-12f, 1.0625f), midpoint - 0x1p-8f);
}

TEST(Mac, IntegersWrap) {
  const auto sum = [](const char* psum, const char* accumulation, int tiles) {
    const MacRule rule = Rule("int8", psum, accumulation);
    const std::vector<uint32_t> codes(4, EncodeFloat(rule.input, -128));
    const std::vector<MacTile> all(static_cast<size_t>(tiles), MacTile{codes, codes, 1});
    return static_cast<int32_t>(MultiplyAccumulate(rule, all));
  };
  EXPECT_EQ(sum("int32", "int32", 3), 3 * 65536);
  EXPECT_EQ(sum("int17", "int32", 3), -3 * 65536);  // 65536 = -65536 modulo 2^17
  EXPECT_EQ(sum("int16", "int32", 3), 0);
  EXPECT_EQ(sum("int32", "int18", 3), -65536);
}

TEST(Mac, ScalesMultiplyPsums) {
  MacRule rule = Rule("fixed8_6", "int32", "fp32");
  rule.scaled = true;
  // Fixed point counts by its codes: 0.5 is 32.
  EXPECT_EQ(Sum(rule, {{0.5f, 0.5f}, {0.25f}}, 0.5f, 0.125f), (32 * 32 * 2 + 16 * 32) * 0.125f);
  EXPECT_TRUE(std::isnan(Sum(rule, {{0.5f}}, 0.5f, NAN)));
}

TEST(Mac, NanAndInfinity) {
  const MacRule rule = Rule("e5m2", "bf16", "fp32");
  EXPECT_EQ(Sum(rule, {{INFINITY}}, 1), 57344);  // e5m2 saturates
  const MacRule wide = Rule("bf16", "bf16", "fp32");
  EXPECT_EQ(Sum(wide, {{INFINITY, 1}, {-3}}, 1), INFINITY);
  EXPECT_EQ(std::bit_cast<uint32_t>(Sum(wide, {{INFINITY, -INFINITY}}, 1)), kQuietNan);
  EXPECT_EQ(std::bit_cast<uint32_t>(Sum(wide, {{INFINITY}}, 0)), kQuietNan);
  EXPECT_EQ(std::bit_cast<uint32_t>(Sum(wide, {{-NAN, 1}}, 1)), kQuietNan);
  EXPECT_EQ(std::bit_cast<uint32_t>(Sum(wide, {{-1, 1}, {0}}, -1)), 0u);  // +0
}

TEST(Mac, QuireRoundsOnce) {
  MacRule rule = Rule("posit8_1", "fp32", "fp32");
  rule.quire = true;
  std::vector<float> many(1000, 0x1p-12f);
  many.insert(many.begin(), 4096.0f);
  many.push_back(-4096.0f);
  EXPECT_EQ(Sum(rule, {many}, 0x1p-12f), 1000 * 0x1p-24f);
  rule.quire = false;
  EXPECT_EQ(Sum(rule, {many}, 0x1p-12f), 0);  // 1 + 2^-24 is 1 in fp32, every time
}

TEST(Mac, RulesThatMakeNoSense) {
  const auto message = [](MacRule rule, bool quire = false, bool scaled = false) {
    rule.quire = quire;
    rule.scaled = scaled;
    const auto fault = FindMacFault(rule);
    return fault ? fault->key + ": " + fault->fault : "";
  };
  EXPECT_THAT(message(Rule("e4m3", "int32", "int32")),
              testing::HasSubstr("int32 cannot hold products of e4m3"));
  EXPECT_THAT(message(Rule("e4m3", "bf16", "int32")),
              testing::HasSubstr("int32 cannot take psums in bf16"));
  EXPECT_THAT(message(Rule("e4m3", "bf16.stochastic", "bf16")),
              testing::HasSubstr("rounds stochastically"));
  EXPECT_THAT(message(Rule("e4m3", "ue5m3", "bf16")), testing::HasSubstr("cannot hold sums"));
  EXPECT_THAT(message(Rule("e4m3", "e8m0", "bf16")), testing::HasSubstr("cannot hold sums"));
  EXPECT_THAT(
      message(Rule("int8", "int32", "int32"), false, true),
      testing::HasSubstr("accumulation_format: int32 cannot take psums under block scales"));
  EXPECT_THAT(message(Rule("int8", "int32", "int32"), true),
              testing::HasSubstr("quire: int32 sums are exact without one"));
  EXPECT_THAT(message(Rule("posit32_8", "fp32", "fp32"), true), testing::HasSubstr("reach beyond"));
  EXPECT_EQ(message(Rule("posit32_2", "fp32", "fp32"), true), "");
  EXPECT_EQ(message(Rule("binary", "int8", "int16")), "");
}

}  // namespace
}  // namespace kiln
