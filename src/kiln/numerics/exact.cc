// Implements Exact with 128-bit intermediate results and a sticky bit.

#include "kiln/numerics/exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace kiln {
namespace {

__extension__ using Wide = unsigned __int128;

// Returns (-1)^negative * wide * 2^power. Bits below the 64 kept are combined into the lowest bit,
// the sticky bit.
Exact FromWide(bool negative, Wide wide, int64_t power) {
  if (wide == 0) return Exact::Zero(negative);
  const auto upper = static_cast<uint64_t>(wide >> 64);
  const int zeros =
      upper != 0 ? std::countl_zero(upper) : 64 + std::countl_zero(static_cast<uint64_t>(wide));
  wide <<= zeros;
  Exact x{.negative = negative,
          .exponent = power + 127 - zeros,
          .significand = static_cast<uint64_t>(wide >> 64)};
  if (static_cast<uint64_t>(wide) != 0) x.significand |= 1;
  return x;
}

// Returns x rounded to nearest even with `bits` significant bits, or fewer below 2^least (subnormal
// results). `bits` is at most 53, so that the result is exact as a double.
double Round(const Exact& x, int bits, int64_t least) {
  if (x.is_nan()) return std::numeric_limits<double>::quiet_NaN();
  if (x.is_infinite()) return x.negative ? -std::numeric_limits<double>::infinity() : HUGE_VAL;
  if (x.is_zero()) return x.negative ? -0.0 : 0.0;
  // Each power of two below `least` costs one significant bit.
  const int64_t kept = x.exponent >= least ? bits : bits - (least - x.exponent);
  if (kept < 0) return x.negative ? -0.0 : 0.0;
  const int cut = static_cast<int>(64 - kept);  // number of discarded bits, at least 11
  uint64_t quotient = cut == 64 ? 0 : x.significand >> cut;
  const uint64_t rest = cut == 64 ? x.significand : x.significand & ((uint64_t{1} << cut) - 1);
  const uint64_t half = uint64_t{1} << (cut - 1);
  if (rest > half || (rest == half && (quotient & 1) != 0)) ++quotient;
  // The clamp keeps ldexp's argument an int; far outside it overflows or underflows anyway.
  const int64_t power = std::clamp<int64_t>(x.exponent - 63 + cut, -100000, 100000);
  const double magnitude = std::ldexp(static_cast<double>(quotient), static_cast<int>(power));
  return x.negative ? -magnitude : magnitude;
}

}  // namespace

Exact Exact::Of(bool negative, uint64_t magnitude, int64_t power) {
  return FromWide(negative, magnitude, power);
}

Exact Exact::FromFloat(float x) { return FromDouble(static_cast<double>(x)); }

Exact Exact::FromDouble(double x) {
  if (std::isnan(x)) return Nan();
  if (std::isinf(x)) return Infinity(std::signbit(x));
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);  // [1/2, 1)
  return Of(std::signbit(x), static_cast<uint64_t>(std::ldexp(fraction, 53)), exponent - 53);
}

Exact Exact::FromInt(int64_t x) {
  const auto bits = static_cast<uint64_t>(x);
  return Of(x < 0, x < 0 ? ~bits + 1 : bits, 0);
}

std::strong_ordering Compare(const Exact& a, const Exact& b) {
  // Orders by sign, then by magnitude: infinity, exponent, significand.
  const auto sign = [](const Exact& x) { return x.is_zero() ? 0 : x.negative ? -1 : 1; };
  if (sign(a) != sign(b)) return sign(a) <=> sign(b);
  if (sign(a) == 0) return std::strong_ordering::equal;
  const auto magnitudes = [](const Exact& x, const Exact& y) {
    if (x.is_infinite() || y.is_infinite()) return x.is_infinite() <=> y.is_infinite();
    if (x.exponent != y.exponent) return x.exponent <=> y.exponent;
    return x.significand <=> y.significand;
  };
  return sign(a) > 0 ? magnitudes(a, b) : magnitudes(b, a);
}

Exact Negate(const Exact& a) {
  Exact x = a;
  if (!x.is_nan()) x.negative = !x.negative;
  return x;
}

Exact Multiply(const Exact& a, const Exact& b) {
  if (a.is_nan() || b.is_nan()) return Exact::Nan();
  const bool negative = a.negative != b.negative;
  if (a.is_infinite() || b.is_infinite()) {
    return a.is_zero() || b.is_zero() ? Exact::Nan() : Exact::Infinity(negative);
  }
  if (a.is_zero() || b.is_zero()) return Exact::Zero(negative);
  return FromWide(negative, Wide{a.significand} * b.significand, a.exponent + b.exponent - 126);
}

Exact Add(const Exact& a, const Exact& b) {
  if (a.is_nan() || b.is_nan()) return Exact::Nan();
  if (a.is_infinite() || b.is_infinite()) {
    if (a.is_infinite() && b.is_infinite() && a.negative != b.negative) return Exact::Nan();
    return a.is_infinite() ? a : b;
  }
  if (a.is_zero() && b.is_zero()) return Exact::Zero(a.negative && b.negative);
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  const bool a_larger =
      a.exponent != b.exponent ? a.exponent > b.exponent : a.significand >= b.significand;
  const Exact& large = a_larger ? a : b;
  const Exact& small = a_larger ? b : a;
  // The larger significand is placed with one bit of 128 above it for the carry and 63 below it for
  // the bits of the smaller one. Bits of the smaller one below those set the lowest bit (sticky).
  const Wide top = Wide{large.significand} << 63;
  const int64_t distance = large.exponent - small.exponent;
  Wide low = 0;
  if (distance < 127) {
    const Wide shifted = Wide{small.significand} << 63;
    low = shifted >> distance;
    if ((low << distance) != shifted) low |= 1;
  } else {
    low = 1;
  }
  const Wide sum = large.negative == small.negative ? top + low : top - low;
  if (sum == 0) return Exact::Zero(false);
  return FromWide(large.negative, sum, large.exponent - 126);
}

double ToDouble(const Exact& x) { return Round(x, 53, -1022); }

float ToFloat(const Exact& x) { return static_cast<float>(Round(x, 24, -126)); }

}  // namespace kiln
