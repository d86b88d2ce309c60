// The definition of every format: which value a code represents, and which code a number is rounded
// to. Vector code (tables.h) and RTL (rtl/arith) are tested against these functions.
//
// A code is the lowest format.bits bits of a uint32_t; higher bits are ignored. In memory a code
// occupies format.bytes() bytes, little-endian. Signed integers are sign-extended to these bytes;
// all other codes are zero-extended.
#ifndef KILN_NUMERICS_CODEC_H_
#define KILN_NUMERICS_CODEC_H_

#include <cstdint>

#include "kiln/numerics/exact.h"
#include "kiln/numerics/format.h"

namespace kiln {

// Returns the value of a code.
Exact Decode(const Format& format, uint32_t code);

// Returns the code of x under the format's rounding and overflow rules.
//
// `random` is used by stochastic rounding only. Let d be the distance of x from its neighbour of
// smaller magnitude (codebooks: of smaller value), as a fraction of the distance between its two
// neighbours, truncated to 32 bits. It is rounded to the other neighbour if `random`, as a 32-bit
// fraction, is below d. Equal draws give equal codes.
//
//   integers   NaN becomes code 0. Infinities saturate, under kWrap too.
//   floats     Rounding follows IEEE 754, section 4.3. A number overflows if rounding it with an
//              unbounded exponent range gives more than the largest finite number.
//              kInfinity: infinity, or NaN if the format has no infinity. Directed roundings do not
//              overflow against their direction: toward zero gives the largest finite number, and
//              so does down for positive numbers. kSaturate: the largest finite number, also for
//              infinity itself (OCP OFP8). Without subnormals, a number below the smallest normal
//              number rounds to the nearer of it and zero; ties go to zero. Unsigned formats:
//              negative numbers become code 0, the smallest value. NaN: the quiet NaN with sign 0,
//              or zero if the format has no NaN.
//   posits     Posit Standard (2022), section 4: the bit string is rounded to nearest, ties to
//              even. Nonzero numbers never round to zero or NaR. Directed roundings cut the bit
//              string. Infinities and NaN become NaR.
//   codebooks  The nearest value. Ties go to the value of smaller magnitude (kNearestAway: larger),
//              and between equal magnitudes to the positive value. Numbers beyond the ends become
//              the end values. NaN: the value of smallest magnitude.
uint32_t Encode(const Format& format, const Exact& x, uint32_t random = 0);

// Decode and Encode with fp32 values. DecodeFloat rounds to nearest even if fp32 cannot represent
// the value; FitsFp32 returns whether fp32 represents every value of a format.
float DecodeFloat(const Format& format, uint32_t code);
uint32_t EncodeFloat(const Format& format, float x, uint32_t random = 0);
bool FitsFp32(const Format& format);

// Arithmetic on codes: the exact result, rounded once into `out`. `a` and `b` may have different
// formats. The sum of opposite numbers is +0 under every rounding (IEEE 754, section 6.3, returns
// -0 for kDown). Sums that wrap are correct if the sum and its terms together span at most 64 bits.
uint32_t MultiplyCodes(const Format& a_format, uint32_t a, const Format& b_format, uint32_t b,
                       const Format& out, uint32_t random = 0);
uint32_t AddCodes(const Format& a_format, uint32_t a, const Format& b_format, uint32_t b,
                  const Format& out, uint32_t random = 0);
// Returns the code of a * b + c, rounded once; c is a code of the format `out`.
uint32_t MultiplyAdd(const Format& a_format, uint32_t a, const Format& b_format, uint32_t b,
                     const Format& out, uint32_t c, uint32_t random = 0);
// Returns the code in format `to` of the value of a code in format `from`.
uint32_t Convert(const Format& from, uint32_t code, const Format& to, uint32_t random = 0);

// Returns an integer code as a number: sign-extended if the format is signed, else zero-extended.
int64_t SignedCode(const Format& format, uint32_t code);
// Returns the mask of the format.bits bits of a code.
inline uint32_t CodeMask(const Format& format) {
  return format.bits == 32 ? ~0u : (1u << format.bits) - 1;
}

// Return the smallest, the largest and the smallest positive finite value.
Exact LeastValue(const Format& format);
Exact GreatestValue(const Format& format);
Exact LeastPositive(const Format& format);
// Returns the code of zero (+0 rather than -0). If the format has no zero, returns the code of the
// value of smallest magnitude.
uint32_t ZeroCode(const Format& format);
// Returns whether the format represents zero.
bool HasZero(const Format& format);

}  // namespace kiln

#endif  // KILN_NUMERICS_CODEC_H_
