// From 32-bit sums to 8-bit codes by the ALU's operations, channel by channel.
//
// Asked for is the code nearest to   sum * factor + offset   (real numbers; offset has the zero points and the bias in
// it), held in [low, high]. With p = round(factor * 2^shift) the machine computes
//
//   clamp(sum + bias, least, most) * p >> shift          bias  = round((offset + 1/2) * 2^shift / p)
//                                                        least = ceil(low * 2^shift / p)
//                                                        most  = floor(((high + 1) * 2^shift - 1) / p)
//
// so that the product is in range and the shift, which rounds down, ends in [low, high]. The result is within
// |sum| / 2^(shift + 1) + factor / 2 of the real number before it is rounded. Where all factors are the same power of
// two the product falls away: clamp((sum + bias) >> shift, low, high), exact but for the rounding of bias. If then bias
// and sum leave room for it, sums begin with bias + kCarried * 2^shift instead of zero, and what is stored is kCarried
// more: its low 8 bits are the same, and neither clearing nor adding takes a step of its own.
#ifndef KILN_TARGETS_VTA_REQUANTISE_H_
#define KILN_TARGETS_VTA_REQUANTISE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::vta {

// What one channel asks for.
struct ChannelScale {
  double factor = 1;
  double offset = 0;
  int64_t greatest_sum = 0;  // no sum has a greater magnitude
};

inline constexpr int32_t kCarried = 1 << 14;

struct Requantisation {
  int shift = 0;
  bool multiplies = false;
  bool begins_with_bias = false;  // `bias` has kCarried * 2^shift in it
  int32_t low = -128, high = 127;
  std::vector<int32_t> bias;                      // a channel each
  std::vector<int32_t> least, most, multipliers;  // multiplies
  // A residual of 8-bit codes is added: its code times this, beside the product. Low and high are then applied to what
  // is shifted.
  std::optional<int32_t> residual_multiplier;
};

// No channel of sums with this factor is lost: the offset in units of the sum fits beside the greatest sum.
bool Fits(const ChannelScale& channel);

// Unimplemented: a channel that does not fit. `residual`: the residual's factor.
StatusOr<Requantisation> MakeRequantisation(const std::vector<ChannelScale>& channels, int32_t low,
                                            int32_t high, std::optional<double> residual);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_REQUANTISE_H_
