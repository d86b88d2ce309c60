// From sums to codes: what the ALU computes with the constants of a Requantisation, in 32 bits,
// against real numbers, for sums up to their greatest magnitude and factors at both ends of their
// range.
#include "kiln/targets/vta/compile/requantise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kiln/support/random.h"

namespace kiln::vta {
namespace {

bool IsInt32(int64_t number) { return number >= INT32_MIN && number <= INT32_MAX; }

// The code of a sum as the ALU has it, step by step; every step must stay within 32 bits.
int64_t CodeOf(const Requantisation& r, size_t channel, int64_t sum) {
  int64_t value = sum + r.bias[channel];
  EXPECT_TRUE(IsInt32(value)) << sum << " + " << r.bias[channel];
  if (r.multiplies) {
    value = std::clamp<int64_t>(value, r.least[channel], r.most[channel]) * r.multipliers[channel];
    EXPECT_TRUE(IsInt32(value)) << "product of " << sum;
    value >>= r.shift;
    EXPECT_GE(value, r.low);
    EXPECT_LE(value, r.high);
    return value;
  }
  const int64_t carried = r.begins_with_bias ? kCarried : 0;
  return std::clamp<int64_t>(value >> r.shift, r.low + carried, r.high + carried) - carried;
}

// requantise.h: within |sum| / 2^(shift + 1) + factor / 2 of sum * factor + offset before that is
// rounded.
void ExpectCodes(const std::vector<ChannelScale>& channels, int32_t low, int32_t high,
                 Random& random) {
  const auto r = MakeRequantisation(channels, low, high, std::nullopt);
  ASSERT_TRUE(r.ok()) << r.status();
  for (size_t c = 0; c < channels.size(); ++c) {
    const ChannelScale& scale = channels[c];
    for (int i = 0; i < 60; ++i) {
      const int64_t ends[] = {0, 1, -1, scale.greatest_sum, -scale.greatest_sum};
      // Next to the ends of the codes as well.
      const double edge =
          ((i % 2 == 0 ? low : high) + random.Uniform(-2, 2) - scale.offset) / scale.factor;
      int64_t sum = i < 5    ? ends[i]
                    : i < 30 ? std::llround(edge)
                             : random.Between(-scale.greatest_sum, scale.greatest_sum);
      sum = std::clamp(sum, -scale.greatest_sum, scale.greatest_sum);
      const double exact = static_cast<double>(sum) * scale.factor + scale.offset + 0.5;
      const double tolerance =
          (r->multiplies ? std::abs(static_cast<double>(sum)) / std::ldexp(1.0, r->shift + 1) : 0) +
          scale.factor / 2 + 1e-6;
      const auto code = [&](double x) {
        return static_cast<int64_t>(
            std::clamp(std::floor(x), static_cast<double>(low), static_cast<double>(high)));
      };
      const int64_t actual = CodeOf(*r, c, sum);
      if (scale.factor > 1 && (exact < low + scale.factor || exact > high - scale.factor)) {
        // Held to a sum whose product is in range: the last code that there is may be a factor from
        // the end.
        const double held = std::clamp(exact, static_cast<double>(low), static_cast<double>(high));
        EXPECT_NEAR(static_cast<double>(actual), held, scale.factor + 1) << "sum " << sum;
        continue;
      }
      EXPECT_GE(actual, code(exact - tolerance)) << "sum " << sum << ", factor " << scale.factor;
      EXPECT_LE(actual, code(exact + tolerance)) << "sum " << sum << ", factor " << scale.factor;
    }
  }
}

TEST(VtaRequantise, GivesTheNearestCode) {
  Random random(61);
  int shifted = 0;
  for (int i = 0; i < 400; ++i) {
    const bool powers = i % 4 == 0;
    const double power = std::exp2(std::floor(random.Uniform(-22, 0)));
    std::vector<ChannelScale> channels(1 + random.Below(3));
    for (ChannelScale& c : channels) {
      c.factor = powers ? power : std::exp2(random.Uniform(-21, 7));
      c.offset = random.Uniform(-300, 300);
      c.greatest_sum = 1 + static_cast<int64_t>(std::exp2(random.Uniform(0, 28)));
    }
    if (!std::all_of(channels.begin(), channels.end(), Fits)) continue;
    shifted += powers;
    ExpectCodes(channels, i % 3 == 0 ? 0 : -128, i % 5 == 0 ? 6 : 127, random);  // a Relu, a Relu6
    if (HasFailure()) return;
  }
  EXPECT_GT(shifted, 50);
}

// (|offset| + 1) / factor + greatest sum + 1 is below 2^30; the least factor is 2^-23.
TEST(VtaRequantise, FitsUpToHalfOfTheAccumulators) {
  constexpr int64_t kHalf = int64_t{1} << 30;
  for (const auto& [sum, fits] :
       {std::pair(kHalf - 4, true), {kHalf - 3, true}, {kHalf - 2, false}, {kHalf, false}}) {
    EXPECT_EQ(Fits({1, 0, sum}), fits) << sum;
    EXPECT_EQ(MakeRequantisation({{1, 0, sum}}, -128, 127, std::nullopt).ok(), fits) << sum;
  }
  EXPECT_TRUE(Fits({0.5, 9, kHalf - 22}));
  EXPECT_FALSE(Fits({0.5, -9, kHalf - 21}));
  EXPECT_TRUE(Fits({0x1p-23, 0, 1000}));
  EXPECT_FALSE(Fits({std::nextafter(0x1p-23, 0), 0, 1000}));
  EXPECT_FALSE(Fits({0, 0, 1}));
  EXPECT_FALSE(Fits({HUGE_VAL, 0, 1}));
  EXPECT_FALSE(Fits({std::nan(""), 0, 1}));
  Random random(62);
  ExpectCodes({{1, 0, kHalf - 3}}, -128, 127, random);
  ExpectCodes({{0.75, 5, kHalf - 20}}, -128, 127, random);
  ExpectCodes({{0x1.8p-23, 0, 1000000}}, -128, 127, random);
}

// Equal powers of two need no product; anything else does.
TEST(VtaRequantise, MultipliesOnlyWhereItMust) {
  const auto make = [](std::vector<ChannelScale> channels) {
    return *MakeRequantisation(channels, -128, 127, std::nullopt);
  };
  EXPECT_FALSE(make({{1, 0, 100}}).multiplies);
  EXPECT_EQ(make({{1, 0, 100}}).shift, 0);
  EXPECT_FALSE(make({{0x1p-10, 3, 100}, {0x1p-10, -7, 100}}).multiplies);
  EXPECT_EQ(make({{0x1p-10, 3, 100}}).shift, 10);
  EXPECT_TRUE(make({{2, 0, 100}}).multiplies);  // no shift makes numbers greater
  EXPECT_TRUE(make({{0x1p-10, 3, 100}, {0x1p-11, 3, 100}}).multiplies);
  EXPECT_TRUE(make({{0.3, 0, 100}}).multiplies);
  EXPECT_TRUE(MakeRequantisation({{0.5, 0, 100}}, -128, 127, 0.5)
                  ->multiplies);  // a residual needs its own factor
  // The bias is offset and a half in units of the sum.
  const Requantisation r = make({{0x1p-10, 3, 10000000}});
  EXPECT_EQ(r.bias[0] - (r.begins_with_bias ? int64_t{kCarried} << 10 : 0), 3 * 1024 + 512);
}

// Multipliers stay below 2^30: greater factors have shorter shifts.
TEST(VtaRequantise, GreatFactorsHaveShorterShifts) {
  for (const auto& [factor, shift] :
       {std::pair(0.3, 24), {63.5, 24}, {64.5, 23}, {127.5, 23}, {128.5, 22}}) {
    const Requantisation r = *MakeRequantisation({{factor, 0, 100}}, -128, 127, std::nullopt);
    EXPECT_EQ(r.shift, shift) << factor;
    EXPECT_EQ(r.multipliers[0], std::llround(std::ldexp(factor, shift))) << factor;
  }
}

// Sums begin with the bias only where neither end of theirs leaves 32 bits or falls to where a tile
// before it was.
TEST(VtaRequantise, SumsBeginWithTheBiasWhereThereIsRoom) {
  Random random(63);
  int begins = 0;
  for (int i = 0; i < 300; ++i) {
    const ChannelScale channel{std::exp2(-static_cast<double>(random.Below(18))),
                               random.Uniform(-20000, 300),
                               static_cast<int64_t>(std::exp2(random.Uniform(0, 29)))};
    if (!Fits(channel)) continue;
    const Requantisation r = *MakeRequantisation({channel}, -128, 127, std::nullopt);
    if (!r.begins_with_bias) continue;
    ++begins;
    EXPECT_TRUE(IsInt32(r.bias[0] + channel.greatest_sum));
    EXPECT_GE(r.bias[0], kCarried + 256);
    ExpectCodes({channel}, -128, 127, random);
  }
  EXPECT_GT(begins, 50);
}

}  // namespace
}  // namespace kiln::vta
