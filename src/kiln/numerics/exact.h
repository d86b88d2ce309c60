// Numbers as codes stand for them, exactly: what the definition of every format's arithmetic computes with.
#ifndef KILN_NUMERICS_EXACT_H_
#define KILN_NUMERICS_EXACT_H_

#include <compare>
#include <cstdint>

namespace kiln {

// Finite: (-1)^negative * significand * 2^(exponent - 63), the significand's top bit set; 0 has significand 0, exponent
// 0. A significand of 64 bits holds every number of every format, every product of two, and of a sum so much that one
// later rounding to 32 significant bits or fewer is that of the exact sum: what does not fit sets the lowest bit
// ("sticky").
struct Exact {
  enum class Kind : uint8_t { kFinite, kInfinity, kNan };
  Kind kind = Kind::kFinite;
  bool negative = false;
  int64_t exponent = 0;  // of the top bit: 2^exponent <= |value| < 2^(exponent + 1)
  uint64_t significand = 0;

  bool is_zero() const { return kind == Kind::kFinite && significand == 0; }
  bool is_finite() const { return kind == Kind::kFinite; }
  bool is_nan() const { return kind == Kind::kNan; }
  bool is_infinite() const { return kind == Kind::kInfinity; }

  static Exact Zero(bool negative = false) { return {.negative = negative}; }
  static Exact Infinity(bool negative) { return {.kind = Kind::kInfinity, .negative = negative}; }
  static Exact Nan() { return {.kind = Kind::kNan}; }
  // (-1)^negative * magnitude * 2^power.
  static Exact Of(bool negative, uint64_t magnitude, int64_t power);
  static Exact FromFloat(float x);
  static Exact FromDouble(double x);
  static Exact FromInt(int64_t x);

  friend bool operator==(const Exact&,
                         const Exact&) = default;  // same number: zeros of two signs and NaNs apart
};

// Sign of a - b; neither is NaN. Zeros of both signs are equal.
std::strong_ordering Compare(const Exact& a, const Exact& b);

// As IEEE 754 defines them before rounding: NaN from 0 * infinity and infinity - infinity; a sum of opposite numbers is
// +0, of two minus zeros -0. The product is exact for factors of 32 significant bits or fewer.
Exact Multiply(const Exact& a, const Exact& b);
Exact Add(const Exact& a, const Exact& b);
Exact Negate(const Exact& a);

// Rounded to binary64 and binary32, nearest even, overflow to infinity. A Multiply or Add result with a sticky bit may
// be rounded by ToFloat only.
double ToDouble(const Exact& x);
float ToFloat(const Exact& x);

}  // namespace kiln

#endif  // KILN_NUMERICS_EXACT_H_
