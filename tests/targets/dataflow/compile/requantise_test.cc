// Constants of requantisation against exact rounding.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/support/random.h"
#include "kiln/targets/dataflow/compile/requantise.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln::dataflow {
namespace {

ChannelLine RandomLine(Random* random, size_t channels, double bound) {
  ChannelLine line;
  for (size_t c = 0; c < channels; ++c) {
    line.factors.push_back(std::exp2(random->Uniform(-14.0, -4.0)));
    line.offsets.push_back(random->Uniform(-2.0, 2.0));
  }
  line.low = -bound;
  line.high = bound;
  return line;
}

double ValueOf(const ChannelLine& line, size_t c, int64_t sum) {
  const double value = static_cast<double>(sum) * line.factors[c] + line.offsets[c];
  return std::min(std::max(value, line.low), line.high);
}

// Thresholds are exact: the code of every sum is that of its value.
TEST(Requantise, ThresholdsAreExact) {
  Random random(5);
  const ValueCodes codes = {
      .bits = 4, .is_signed = true, .scale = 0.25, .zero = 1, .low = -8, .high = 7};
  const ChannelLine line = RandomLine(&random, 6, 1.6);
  const SumRange range = {-3000, 2500};
  const auto r = MakeRequantisation(line, codes, range, 4);
  ASSERT_TRUE(r.ok());
  ASSERT_EQ(r->way, Requantise::Way::kThresholds);
  const auto count = (size_t{1} << r->threshold_bits) - 1;
  for (size_t c = 0; c < 6; ++c) {
    for (int64_t sum = range.low; sum <= range.high; ++sum) {
      int64_t code = r->low;
      for (size_t k = 0; k < count; ++k) code += sum >= r->thresholds[c * count + k] ? 1 : 0;
      ASSERT_EQ(code, NearestCode(ValueOf(line, c, sum), codes)) << c << " " << sum;
    }
  }
}

// A multiplication is within its stated error of the real number before rounding: the multiplier of
// a channel is off by half of 2^-shift.
TEST(Requantise, MultiplicationIsWithinItsError) {
  Random random(6);
  const ValueCodes codes = {
      .bits = 8, .is_signed = true, .scale = 0.02, .zero = -7, .low = -128, .high = 127};
  const ChannelLine line = RandomLine(&random, 8, kInfinity);
  const SumRange range = {-40000, 40000};
  const auto r = MakeRequantisation(line, codes, range, 4);
  ASSERT_TRUE(r.ok());
  ASSERT_EQ(r->way, Requantise::Way::kMultiply);
  for (size_t c = 0; c < 8; ++c) {
    EXPECT_LT(r->multipliers[c], 1 << kMultiplierBits);
    for (int64_t sum = range.low; sum <= range.high; sum += 7) {
      const int64_t scaled = (sum * r->multipliers[c] + r->addends[c]) >> r->shift;
      const double exact = ValueOf(line, c, sum) / codes.scale + static_cast<double>(codes.zero);
      const double error = std::abs(static_cast<double>(sum)) * std::exp2(-r->shift - 1) + 1e-6;
      ASSERT_LE(std::abs(static_cast<double>(scaled) - exact), 0.5 + error) << c << " " << sum;
    }
  }
  // The largest multiplier uses all of its bits.
  EXPECT_GE(*std::max_element(r->multipliers.begin(), r->multipliers.end()),
            1 << (kMultiplierBits - 1));
}

TEST(Requantise, RefusesWhatDoesNotFit) {
  const ValueCodes codes = {
      .bits = 8, .is_signed = true, .scale = 1, .zero = 0, .low = -128, .high = 127};
  ChannelLine line = {.factors = {1e6}, .offsets = {0}};
  EXPECT_TRUE(IsRefusal(MakeRequantisation(line, codes, {-1, 1}, 4).status()));
  line = {.factors = {1e-9}, .offsets = {1e12}};
  EXPECT_TRUE(IsRefusal(MakeRequantisation(line, codes, {-1, 1}, 4).status()));
  line = {.factors = {NAN}, .offsets = {0}};
  EXPECT_TRUE(IsRefusal(MakeRequantisation(line, codes, {-1, 1}, 4).status()));
}

// Sums of two codes: every pair of 6-bit codes is within one LSB's half of the real sum.
TEST(Requantise, AffineSums) {
  const ValueCodes codes = {
      .bits = 8, .is_signed = true, .scale = 0.05, .zero = 3, .low = -128, .high = 127};
  const std::vector<double> factors = {0.031 / 0.05, -0.017 / 0.05};
  Stage stage;
  ASSERT_TRUE(SetAffine(factors, 0.25, codes, -kInfinity, kInfinity, &stage).ok());
  for (int64_t x = -32; x < 32; ++x) {
    for (int64_t y = -32; y < 32; ++y) {
      const int64_t code =
          (x * stage.factors[0] + y * stage.factors[1] + stage.addend) >> stage.shift;
      const double exact =
          static_cast<double>(x) * factors[0] + static_cast<double>(y) * factors[1] + 0.25 + 3;
      ASSERT_LE(std::abs(static_cast<double>(code) - exact), 0.501);
    }
  }
}

// The factor of greatest magnitude sets the shift. Its sign does not matter.
TEST(Requantise, AffineFactorsKeepTheirBits) {
  const ValueCodes codes = {
      .bits = 8, .is_signed = true, .scale = 1, .zero = 0, .low = -128, .high = 127};
  const std::vector<double> factors = {0.25, -3.0};
  Stage stage;
  ASSERT_TRUE(SetAffine(factors, 0, codes, -kInfinity, kInfinity, &stage).ok());
  EXPECT_EQ(stage.shift, 15);  // 3 * 2^15 has 17 bits
  EXPECT_EQ(stage.factors[1], -3 << 15);
  EXPECT_EQ(stage.factors[0], 1 << 13);
}

}  // namespace
}  // namespace kiln::dataflow
