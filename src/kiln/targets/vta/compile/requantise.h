// Requantisation: converts 32-bit sums to 8-bit codes with the ALU's operations, channel by
// channel (docs/vta-networks.md).
//
// The desired result is the code nearest to   sum * factor + offset   (real numbers; the offset
// contains the zero points and the bias), clamped to [low, high]. With p = round(factor * 2^shift)
// the machine computes
//
//   clamp(sum + bias, least, most) * p >> shift
//
//   bias  = round((offset + 1/2) * 2^shift / p)
//   least = ceil(low * 2^shift / p)
//   most  = floor(((high + 1) * 2^shift - 1) / p)
//
// The bounds keep the product in range, and the shift, which rounds down, gives a code in [low,
// high]. The result is within |sum| / 2^(shift + 1) + factor / 2 of the real number before
// rounding. If all factors are the same power of two, no product is needed: clamp((sum + bias) >>
// shift, low, high) is exact except for the rounding of the bias. If bias and sum then leave room,
// sums begin with bias + kCarried * 2^shift instead of zero, and the stored numbers are larger by
// kCarried. Their low 8 bits are the same, and clearing and adding the bias need no separate steps.
//
// A sign needs neither factor nor bounds. With the least sum whose value is not negative, t, the
// machine computes   (sum - t >> 31) * (code of +size - code of -size) + code of +size,   which is
// exact.
#ifndef KILN_TARGETS_VTA_COMPILE_REQUANTISE_H_
#define KILN_TARGETS_VTA_COMPILE_REQUANTISE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::vta {

// The requantisation of one channel in real numbers.
struct ChannelScale {
  double factor = 1;
  double offset = 0;
  int64_t greatest_sum = 0;  // upper bound of the sums' magnitude
};

// The offset of stored numbers if sums begin with the bias; a multiple of 2^8.
inline constexpr int32_t kCarried = 1 << 14;

// The codes of a sign: of -size and of +size.
struct SignCodes {
  int32_t below = -1, from_zero = 1;
};

// The constants of a layer's requantisation.
struct Requantisation {
  int shift = 0;
  bool multiplies = false;
  bool begins_with_bias = false;  // `bias` then contains kCarried * 2^shift
  int32_t low = -128, high = 127;
  std::vector<int32_t> bias;                      // by channel
  std::vector<int32_t> least, most, multipliers;  // by channel, if `multiplies`
  // The multiplier of a residual's 8-bit codes, if there is a residual. Their product is added to
  // the sum's product, and `low` and `high` are applied after the shift.
  std::optional<int32_t> residual_multiplier;
  // If there is a value, the result is a sign: `below` where sum + bias is negative, `from_zero`
  // elsewhere. Of the other members, only `bias` counts.
  std::optional<SignCodes> sign;
};

// Returns whether the offset in units of the sum, together with the greatest sum, fits in the
// accumulators. It does not if the factor is too small.
bool Fits(const ChannelScale& channel);

// Computes the requantisation of channels to codes from `low` to `high`. `residual` is the
// residual's factor, if there is one. Errors: Unimplemented if a channel does not fit.
StatusOr<Requantisation> MakeRequantisation(const std::vector<ChannelScale>& channels, int32_t low,
                                            int32_t high, std::optional<double> residual);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_REQUANTISE_H_
