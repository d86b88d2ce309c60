// The codec of each kind of format, which codec.cc dispatches to, and the rounding that the kinds
// share. Private to codec*.cc.
#ifndef KILN_NUMERICS_CODEC_KINDS_H_
#define KILN_NUMERICS_CODEC_KINDS_H_

#include <cstdint>

#include "kiln/numerics/exact.h"
#include "kiln/numerics/format.h"

namespace kiln::internal {

// Return the value of a code. Only floats and posits have codes of NaN.
Exact DecodeInteger(const Format& format, uint32_t code);
Exact DecodeFields(const Format& format, uint32_t code);  // kFloat
Exact DecodePosit(const Format& format, uint32_t code);
Exact DecodeCodebook(const Format& format, uint32_t code);
// Return the code of x as codec.h defines.
uint32_t EncodeInteger(const Format& format, const Exact& x, uint32_t random);
uint32_t EncodeFields(const Format& format, const Exact& x, uint32_t random);
uint32_t EncodePosit(const Format& format, const Exact& x, uint32_t random);
uint32_t EncodeCodebook(const Format& format, const Exact& x, uint32_t random);

// Returns the code of the value of smallest magnitude; between opposite values, of the positive
// one.
uint32_t CodebookZero(const Format& format);

// Returns the code of the largest finite magnitude of a kFloat format.
uint32_t GreatestFields(const Format& format);

// The part of a number that rounding discards, as a fraction of one unit of the last place kept: 32
// bits and a sticky bit.
struct Cut {
  uint32_t fraction = 0;  // in units of 2^-32
  bool below = false;     // the sticky bit: whether any bit below `fraction` is set
};

// A split of a magnitude: |x| = (quotient + cut) * 2^power.
struct Parts {
  uint64_t quotient = 0;
  Cut cut;
};
// Splits a finite x other than zero at 2^power. Requires x.exponent - power < 64, so that the
// quotient fits.
inline Parts SplitAt(const Exact& x, int64_t power) {
  // The significand's lowest bit weighs 2^(x.exponent - 63); `shift` bits of it are below 2^power.
  const int64_t shift = power - (x.exponent - 63);
  if (shift <= 0) return {.quotient = x.significand << -shift, .cut = {}};
  if (shift >= 128) return {.quotient = 0, .cut = {.fraction = 0, .below = true}};
  Parts parts;
  // `rest` receives the 64 bits below the quotient, aligned to the top.
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

// Returns whether the magnitude is rounded up to the next code. `odd`: the lower neighbour's code
// is odd. `random`: as in Encode.
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
