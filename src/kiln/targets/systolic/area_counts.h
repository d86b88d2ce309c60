// Counts that features of area models are made of.
#ifndef KILN_TARGETS_SYSTOLIC_AREA_COUNTS_H_
#define KILN_TARGETS_SYSTOLIC_AREA_COUNTS_H_

#include <algorithm>
#include <cmath>

#include "kiln/hardware/rtl_format.h"
#include "kiln/numerics/elementary.h"
#include "kiln/numerics/format.h"
#include "kiln/targets/systolic/area_model.h"

namespace kiln::systolic {

inline double Log2(double n) { return n > 1 ? std::ceil(elementary::Log2(n)) : 1; }
inline double ShifterArea(double width) {
  return width * Log2(width);
}  // multiplexers of a shifter over all its places

// What decoding a number takes beyond its bits.
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

// Bits of a number of a vector format, as kiln_format_pkg::number_bits has them: fp32's without zeros at the end.
inline double NumberBits(const Format& f) {
  constexpr int kLeast = 10, kSignAndExponent = 9, kSubnormalBias = 118;
  return std::max(kLeast, f.fraction_bits + std::max(kSignAndExponent, f.bias - kSubnormalBias));
}

inline double HasBlocks(const ModuleParameters& p) { return p.Number("BLOCK_SIZE", 0) > 0 ? 1 : 0; }

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_AREA_COUNTS_H_
