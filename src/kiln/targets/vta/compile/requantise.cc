// Computes the integer constants of requantisation from real factors and offsets.

#include "kiln/targets/vta/compile/requantise.h"

#include <algorithm>
#include <cmath>

#include "kiln/ir/checked_math.h"
#include "kiln/numerics/elementary.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln::vta {
namespace {

constexpr int kShift = 24;  // 128 * 2^24 is 2^31: the products use all 32 bits
constexpr int64_t kMost = INT64_C(1) << 31;
constexpr int64_t kHalf = INT64_C(1) << 30;
constexpr int kResidualBits = 30;  // the product and the residual are each below 2^30
constexpr double kLeastFactor = 0x1p-23;

double LargestFactor(const std::vector<ChannelScale>& channels) {
  double largest = 0;
  for (const ChannelScale& c : channels) largest = std::max(largest, c.factor);
  return largest;
}

// Returns the shift that replaces the factor if all channels share a factor that is a power of two.
std::optional<int> SharedShift(const std::vector<ChannelScale>& channels) {
  int exponent = 0;
  const double factor = channels.empty() ? 0 : channels[0].factor;
  if (std::frexp(factor, &exponent) != 0.5 || exponent > 1 || exponent < -28) return std::nullopt;
  for (const ChannelScale& c : channels) {
    if (c.factor != factor) return std::nullopt;
  }
  return 1 - exponent;
}

// Lets sums begin with the bias if it is above the codes that the previous tile left there, and if
// the sums with the carried part cannot overflow.
void CarryBias(const std::vector<ChannelScale>& channels, Requantisation* r) {
  const int64_t carried = int64_t{kCarried} << r->shift;
  for (size_t i = 0; i < channels.size(); ++i) {
    const int64_t bias = r->bias[i] + carried;
    if (bias < kCarried + 256 || bias + channels[i].greatest_sum >= kMost) return;
  }
  r->begins_with_bias = true;
  for (int32_t& bias : r->bias) bias = static_cast<int32_t>(bias + carried);
}

Status DoesNotFit() { return ToHost("sums and bias do not fit the accumulators of 32 bits"); }

}  // namespace

bool Fits(const ChannelScale& c) {
  if (!(c.factor >= kLeastFactor) || !std::isfinite(c.factor)) return false;
  return (std::abs(c.offset) + 1) / c.factor + static_cast<double>(c.greatest_sum) + 1 <
         static_cast<double>(kHalf);
}

StatusOr<Requantisation> MakeRequantisation(const std::vector<ChannelScale>& channels, int32_t low,
                                            int32_t high, std::optional<double> residual) {
  for (const ChannelScale& c : channels) {
    if (!Fits(c)) return DoesNotFit();
  }
  Requantisation r;
  r.low = low;
  r.high = high;
  const std::optional<int> shared = residual.has_value() ? std::nullopt : SharedShift(channels);
  if (shared.has_value()) {
    r.shift = *shared;
    for (const ChannelScale& c : channels) {
      // Rounded down, so that the shifted sum is the exact one rounded to nearest, ties upwards.
      r.bias.push_back(static_cast<int32_t>(std::floor(std::ldexp(c.offset + 0.5, r.shift))));
    }
    CarryBias(channels, &r);
    return r;
  }
  r.multiplies = true;
  // The range of the shifted product: that of the codes or, with a residual, all values that the
  // residual can bring back into that range.
  double reach_low = low, reach_high = high + 1.0;
  r.shift = kShift;
  if (residual.has_value()) {
    const double reach = 128 * (1 + *residual) + 2;
    reach_low = -reach;
    reach_high = reach;
    r.shift =
        std::min(kShift, kResidualBits - 1 - static_cast<int>(std::ceil(elementary::Log2(reach))));
  }
  while (r.shift > 0 && std::ldexp(LargestFactor(channels), r.shift) >= static_cast<double>(kHalf))
    --r.shift;
  const auto scaled_low = static_cast<int64_t>(std::ceil(std::ldexp(reach_low, r.shift)));
  const auto scaled_high = static_cast<int64_t>(std::floor(std::ldexp(reach_high, r.shift))) - 1;
  for (const ChannelScale& c : channels) {
    const int64_t multiplier = std::max<int64_t>(1, std::llround(std::ldexp(c.factor, r.shift)));
    if (multiplier >= kMost) return DoesNotFit();
    const double bias = std::ldexp(c.offset + 0.5, r.shift) / static_cast<double>(multiplier);
    if (std::abs(bias) + static_cast<double>(c.greatest_sum) >= static_cast<double>(kMost - 1))
      return DoesNotFit();
    r.bias.push_back(static_cast<int32_t>(std::llround(bias)));
    r.multipliers.push_back(static_cast<int32_t>(multiplier));
    r.least.push_back(static_cast<int32_t>(CeilDiv(scaled_low, multiplier)));
    r.most.push_back(static_cast<int32_t>(FloorDiv(scaled_high, multiplier)));
  }
  if (residual.has_value())
    r.residual_multiplier = static_cast<int32_t>(std::llround(std::ldexp(*residual, r.shift)));
  return r;
}

}  // namespace kiln::vta
