// Counts from which the features of area models are computed.
#ifndef KILN_TARGETS_SYSTOLIC_COST_AREA_COUNTS_H_
#define KILN_TARGETS_SYSTOLIC_COST_AREA_COUNTS_H_

#include <algorithm>
#include <cmath>

#include "kiln/hardware/rtl_format.h"
#include "kiln/numerics/format.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/cost/area_model.h"

namespace kiln::systolic {

// Returns true for every design point: the condition of a model without a condition.
inline bool Always(const hardware::ModuleParameters&) { return true; }

// Returns IndexBits of a count that is a quotient, rounded up.
inline double CountedBits(double count) {
  return IndexBits(static_cast<int64_t>(std::ceil(count)));
}
// Returns the multiplexers of a shifter over all positions of `width` bits.
inline double ShifterArea(double width) { return width * CountedBits(width); }

// Return the hardware that decoding a number needs beyond its bits: the shifters' multiplexers, or
// the bits of a table.
inline double PositPlaces(const Format& f) {
  return f.kind == FormatKind::kPosit ? ShifterArea(f.bits) : 0;
}
inline double FloatPlaces(const Format& f) {
  return f.kind == FormatKind::kFloat && f.low_exponent == LowExponent::kSubnormal
             ? ShifterArea(f.fraction_bits)
             : 0;
}
inline double IntegerPlaces(const Format& f) { return f.is_integer() ? ShifterArea(f.bits) : 0; }
inline double TableBits(const Format& f, int value_bits) {
  return f.kind == FormatKind::kCodebook ? std::ldexp(value_bits, f.bits) : 0;
}

// Returns the bits of a number of a vector format, as kiln_format_pkg::number_bits does: those of
// fp32 without trailing zeros.
inline double NumberBits(const Format& f) {
  constexpr int kLeast = 10, kSignAndExponent = 9, kSubnormalBias = 118;
  return std::max(kLeast, f.fraction_bits + std::max(kSignAndExponent, f.bias - kSubnormalBias));
}

inline double HasBlocks(const ModuleParameters& p) { return p.Number("BLOCK_SIZE", 0) > 0 ? 1 : 0; }

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COST_AREA_COUNTS_H_
