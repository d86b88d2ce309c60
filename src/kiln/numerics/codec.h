// What a code of a format stands for, and which code a number gets: the definition that vector code (tables.h) and RTL
// (rtl/arith) are tested against.
//
// A code is the lowest format.bits bits of a uint32_t; what stands above them is ignored. In memory a code takes
// format.bytes() bytes, little-endian, signed integers sign-extended, everything else with zeros above.
#ifndef KILN_NUMERICS_CODEC_H_
#define KILN_NUMERICS_CODEC_H_

#include <cstdint>

#include "kiln/numerics/exact.h"
#include "kiln/numerics/format.h"

namespace kiln {

Exact Decode(const Format& format, uint32_t code);

// The code of x under the format's rounding and overflow. `random` is read by stochastic rounding only: x goes up in
// magnitude when random, as a 32-bit fraction, is below the fraction of the step that x is above its lower neighbour
// (cut to 32 bits); equal draws give equal codes.
//   integers    NaN: code 0. Infinities saturate (wrap: as kSaturate).
//   floats      rounding as IEEE 754, section 4.3; an overflow is what rounding to unbounded exponents makes greater
//               than the greatest number. kInfinity: infinity, NaN where there is none, but never against a directed
//               rounding (toward zero: the greatest number; down: the greatest number above zero). kSaturate: the
//               greatest number, also for infinity itself (OCP OFP8). Without subnormals, nearest is nearest of zero
//               and the least normal number, a tie goes to zero. Unsigned: numbers below zero get the least code.
//               NaN: the quiet NaN with sign 0; where there is none, zero.
//   posits      Posit Standard (2022), section 4: nearest, ties to even, of bit strings; never to zero or NaR, nor by
//               directed roundings, which cut the bit string. Infinities and NaN: NaR.
//   codebooks   nearest value, ties to lesser magnitude (kNearestAway: greater), of equal magnitudes the positive one;
//               beyond the ends the end values. NaN: the value of least magnitude.
uint32_t Encode(const Format& format, const Exact& x, uint32_t random = 0);

// By way of fp32: DecodeFloat rounds to nearest even where fp32 cannot hold the value, which FitsFp32 denies.
float DecodeFloat(const Format& format, uint32_t code);
uint32_t EncodeFloat(const Format& format, float x, uint32_t random = 0);
bool FitsFp32(const Format& format);

// Arithmetic on codes: exact, then one rounding into `out`. `a` and `b` may have different formats. A sum of opposite
// numbers is +0 under every rounding (IEEE 754, section 6.3, has -0 for kDown). Sums that wrap are right while they and
// their terms span 64 bits.
uint32_t MultiplyCodes(const Format& a_format, uint32_t a, const Format& b_format, uint32_t b,
                       const Format& out, uint32_t random = 0);
uint32_t AddCodes(const Format& a_format, uint32_t a, const Format& b_format, uint32_t b,
                  const Format& out, uint32_t random = 0);
// a * b + c, c in the format `out`.
uint32_t MultiplyAdd(const Format& a_format, uint32_t a, const Format& b_format, uint32_t b,
                     const Format& out, uint32_t c, uint32_t random = 0);
uint32_t Convert(const Format& from, uint32_t code, const Format& to, uint32_t random = 0);

// Integer codes as numbers and back.
int64_t SignedCode(const Format& format, uint32_t code);  // sign- or zero-extended
inline uint32_t CodeMask(const Format& format) {
  return format.bits == 32 ? ~0u : (1u << format.bits) - 1;
}

// The least, the greatest and the least positive finite value.
Exact LeastValue(const Format& format);
Exact GreatestValue(const Format& format);
Exact LeastPositive(const Format& format);
// The code of zero (of least magnitude, where there is no zero), +0 rather than -0.
uint32_t ZeroCode(const Format& format);
bool HasZero(const Format& format);

}  // namespace kiln

#endif  // KILN_NUMERICS_CODEC_H_
