// Exact: an unrounded number, wide enough for the values of all formats, their products, and sums
// that are rounded once. The codecs (codec.h) define every format's arithmetic with it.
#ifndef KILN_NUMERICS_EXACT_H_
#define KILN_NUMERICS_EXACT_H_

#include <compare>
#include <cstdint>

namespace kiln {

// A number, an infinity or NaN. A finite number is (-1)^negative * significand * 2^(exponent - 63),
// normalised so that the significand's top bit is set; zero has significand 0 and exponent 0.
//
// 64 significant bits hold every number of every format and every product of two. If a sum does not
// fit, its lowest bit is set ("sticky"), which makes one later rounding to 32 significant bits or
// fewer equal to that of the exact sum.
struct Exact {
  enum class Kind : uint8_t { kFinite, kInfinity, kNan };
  Kind kind = Kind::kFinite;
  bool negative = false;
  int64_t exponent = 0;  // of the top bit: 2^exponent <= |value| < 2^(exponent + 1)
  uint64_t significand = 0;

  // Zero of either sign; infinities and NaN are neither zero nor finite.
  bool is_zero() const { return kind == Kind::kFinite && significand == 0; }
  bool is_finite() const { return kind == Kind::kFinite; }
  bool is_nan() const { return kind == Kind::kNan; }
  bool is_infinite() const { return kind == Kind::kInfinity; }

  static Exact Zero(bool negative = false) { return {.negative = negative}; }
  static Exact Infinity(bool negative) { return {.kind = Kind::kInfinity, .negative = negative}; }
  static Exact Nan() { return {.kind = Kind::kNan}; }
  // Returns (-1)^negative * magnitude * 2^power.
  static Exact Of(bool negative, uint64_t magnitude, int64_t power);
  // Return a number exactly.
  static Exact FromFloat(float x);
  static Exact FromDouble(double x);
  static Exact FromInt(int64_t x);

  // Identity of representation: +0 differs from -0, and NaN equals NaN.
  friend bool operator==(const Exact&, const Exact&) = default;
};

// Returns the sign of a - b; neither may be NaN. Zeros of both signs are equal.
std::strong_ordering Compare(const Exact& a, const Exact& b);

// Arithmetic as IEEE 754 defines it before rounding: 0 * infinity and infinity - infinity are NaN;
// the sum of opposite numbers is +0, and that of two minus zeros is -0. The product is exact if
// both factors have at most 32 significant bits.
Exact Multiply(const Exact& a, const Exact& b);
Exact Add(const Exact& a, const Exact& b);
Exact Negate(const Exact& a);

// Return x rounded to nearest even in binary64 or binary32; overflow gives infinity. A result of
// Multiply or Add that has a sticky bit may be rounded by ToFloat only.
double ToDouble(const Exact& x);
float ToFloat(const Exact& x);

}  // namespace kiln

#endif  // KILN_NUMERICS_EXACT_H_
