// The definition of codec.h, kind by kind; private to codec*.cc.
#ifndef KILN_NUMERICS_CODEC_KINDS_H_
#define KILN_NUMERICS_CODEC_KINDS_H_

#include <cstdint>

#include "kiln/numerics/exact.h"
#include "kiln/numerics/format.h"

namespace kiln::internal {

Exact DecodeInteger(const Format& format, uint32_t code);
Exact DecodeFields(const Format& format, uint32_t code);  // kFloat
Exact DecodePosit(const Format& format, uint32_t code);
Exact DecodeCodebook(const Format& format, uint32_t code);
// None is NaN except for DecodeFields and posits, which have codes for it.
uint32_t EncodeInteger(const Format& format, const Exact& x, uint32_t random);
uint32_t EncodeFields(const Format& format, const Exact& x, uint32_t random);
uint32_t EncodePosit(const Format& format, const Exact& x, uint32_t random);
uint32_t EncodeCodebook(const Format& format, const Exact& x, uint32_t random);

// The code of the value of least magnitude, of two the positive one.
uint32_t CodebookZero(const Format& format);

// Magnitude of the greatest finite float, as a code.
uint32_t GreatestFields(const Format& format);

// What rounding cuts off, as a fraction of the step.
struct Cut {
  uint32_t fraction = 0;  // of 2^32
  bool below = false;     // whether something lies below that
};

// |x| = (quotient + cut) * 2^power. x is finite and not zero, x.exponent - power < 64.
struct Parts {
  uint64_t quotient = 0;
  Cut cut;
};
inline Parts SplitAt(const Exact& x, int64_t power) {
  const int64_t shift = power - (x.exponent - 63);  // bits below the step
  if (shift <= 0) return {.quotient = x.significand << -shift, .cut = {}};
  if (shift >= 128) return {.quotient = 0, .cut = {.fraction = 0, .below = true}};
  Parts parts;
  uint64_t rest = x.significand;
  bool below = false;
  if (shift < 64) {
    parts.quotient = x.significand >> shift;
    rest = x.significand << (64 - shift);
  } else if (shift > 64) {
    rest = x.significand >> (shift - 64);
    below = (rest << (shift - 64)) != x.significand;
  }
  parts.cut = {.fraction = static_cast<uint32_t>(rest >> 32),
               .below = below || static_cast<uint32_t>(rest) != 0};
  return parts;
}

// Whether the magnitude goes up to the next code; `odd`: the lower neighbour's code is.
inline bool RoundsUp(Rounding rounding, bool negative, bool odd, Cut cut, uint32_t random) {
  if (cut.fraction == 0 && !cut.below) return false;
  constexpr uint32_t kHalf = 0x80000000u;
  switch (rounding) {
    case Rounding::kNearestEven:
      return cut.fraction > kHalf || (cut.fraction == kHalf && (cut.below || odd));
    case Rounding::kNearestAway:
      return cut.fraction >= kHalf;
    case Rounding::kTowardZero:
      return false;
    case Rounding::kDown:
      return negative;
    case Rounding::kStochastic:
      return random < cut.fraction;
  }
  return false;
}

}  // namespace kiln::internal

#endif  // KILN_NUMERICS_CODEC_KINDS_H_
