// Implements the elementary functions by argument reduction and polynomials or series. Compiled
// without contraction of products and sums, the result depends on IEEE 754 arithmetic alone.

#include "kiln/numerics/elementary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace kiln::elementary {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// ln 2 = kLn2High + kLn2Low. The first part has 32 significant bits, so that its product with an
// exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
// Adding this number rounds x to an integer, to nearest even, in the low bits of the sum; |x| <
// 2^51.
constexpr double kRounder = 0x1.8p52;

// Returns coefficients[0] + t * coefficients[1] + ..., evaluated by Horner's rule.
template <size_t N>
double Polynomial(const std::array<double, N>& coefficients, double t) {
  double sum = coefficients[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = sum * t + coefficients[i];
  return sum;
}

// Returns 1/first!, 1/(first + step)!, ..., with alternating signs if `alternates`.
template <size_t N>
constexpr std::array<double, N> InverseFactorials(int first, int step, bool alternates) {
  std::array<double, N> out{};
  for (size_t i = 0; i < N; ++i) {
    double factorial = 1;  // exact up to 18!, and rounded once per factor beyond
    for (int k = 2; k <= first + step * static_cast<int>(i); ++k) factorial *= k;
    out[i] = (alternates && i % 2 == 1 ? -1 : 1) / factorial;
  }
  return out;
}

// Returns p * 2^n; |n| < 2^11. Multiplies by two powers of two, so that neither overflows and a
// subnormal result is rounded once, in the last multiplication.
double Scale(double p, int64_t n) {
  const auto power = [](int64_t k) { return std::bit_cast<double>((k + 1023) << 52); };
  const int64_t half = n / 2;
  return p * power(half) * power(n - half);
}

// Returns (e^r - 1) / r - 1 = r/2! + r^2/3! + ... for |r| <= 0.35.
double ExpTail(double r) {
  static constexpr std::array<double, 13> kCoefficients = InverseFactorials<13>(2, 1, false);
  return r * Polynomial(kCoefficients, r);
}

// An argument of the exponential function, reduced: x = exponent * ln 2 + rest, |rest| <= (ln 2) /
// 2.
struct Reduced {
  double rest;
  int64_t exponent;
};
Reduced ReduceByLn2(double x) {
  const double rounded = x * std::numbers::log2e + kRounder;
  const int64_t exponent = std::bit_cast<int64_t>(rounded) - std::bit_cast<int64_t>(kRounder);
  const double k = rounded - kRounder;
  // k * kLn2High is exact, and so is its subtraction from x; only the small correction rounds.
  return {(x - k * kLn2High) - k * kLn2Low, exponent};
}

// A positive finite x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)].
struct Parts {
  double mantissa;
  int64_t exponent;
};
// Splits a positive finite number. Subnormal numbers are scaled by 2^54 first.
Parts Split(double x) {
  int64_t bias = 1023;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    bias += 54;
  }
  const auto bits = std::bit_cast<int64_t>(x);
  Parts parts{std::bit_cast<double>((bits & 0x000fffffffffffff) | (int64_t{1023} << 52)),
              (bits >> 52) - bias};
  if (parts.mantissa > std::numbers::sqrt2) {
    parts.mantissa /= 2;
    ++parts.exponent;
  }
  return parts;
}

// Returns log(1 + f) - f + f^2/2 for 1 + f in [sqrt(1/2), sqrt(2)]. With s = f/(2 + f), log(1 + f)
// = 2 atanh(s) = f - f^2/2 + s (f^2/2 + R), where R = 2 s^2/3 + 2 s^4/5 + ...
double LogTail(double f) {
  static constexpr std::array<double, 12> kCoefficients = [] {
    std::array<double, 12> c{};
    for (size_t i = 0; i < c.size(); ++i) c[i] = 2.0 / static_cast<double>(2 * i + 3);
    return c;
  }();
  const double s = f / (2 + f), square = s * s;
  return s * (f * f / 2 + square * Polynomial(kCoefficients, square));
}

// Returns log(x) for positive finite x: exponent * ln 2 + log(mantissa), with the small terms
// summed first.
double LogOfPositive(double x) {
  const Parts parts = Split(x);
  const double f = parts.mantissa - 1, k = static_cast<double>(parts.exponent);
  return k * kLn2High - ((f * f / 2 - (LogTail(f) + k * kLn2Low)) - f);
}

// The first 1,280 bits of 2/pi, highest first.
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

// Returns 64 bits of 2/pi beginning with bit `first`; bit 0 weighs 1/2.
uint64_t BitsOfTwoOverPi(int first) {
  const int word = first / 64, shift = first % 64;
  const uint64_t high = kTwoOverPi[word] << shift;
  return shift == 0 ? high : high | kTwoOverPi[word + 1] >> (64 - shift);
}

// An angle reduced by Payne and Hanek's method: x = (quadrant + 4 n) * pi/2 + rest, |rest| <= pi/4.
struct Angle {
  double rest;
  int quadrant;
};
// Reduces a finite angle that is not negative, of any size, without loss of accuracy.
Angle ReduceByHalfPi(double x) {
  if (x <= std::numbers::pi / 4) return {x, 0};
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t mantissa = (bits & 0x000fffffffffffff) | (uint64_t{1} << 52);
  const int exponent = static_cast<int>(bits >> 52) - 1075;  // x = mantissa * 2^exponent
  // x * 2/pi is computed in fixed point. Bits of 2/pi with products that are multiples of 4 cannot
  // change the quadrant and are skipped. The next 192 bits make the fraction exact to 2^-130, which
  // suffices: no binary64 number is closer to a multiple of pi/2 than about 2^-61.
  const int first = std::max(0, exponent - 2);
  uint64_t product[4] = {};  // lowest 64 bits first
  unsigned __int128 carry = 0;
  for (int i = 0; i < 3; ++i) {
    carry += static_cast<unsigned __int128>(BitsOfTwoOverPi(first + 64 * (2 - i))) * mantissa;
    product[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  product[3] = static_cast<uint64_t>(carry);
  // The product has first + 192 - exponent fraction bits. Shifting moves its binary point to bit
  // 254, so that the two top bits are the quadrant.
  const int shift = 254 - (first + 192 - exponent);
  const int words = shift / 64, rest = shift % 64;
  uint64_t moved[4] = {};
  for (int i = 3; i >= words; --i) {
    moved[i] = product[i - words] << rest;
    if (rest != 0 && i > words) moved[i] |= product[i - words - 1] >> (64 - rest);
  }
  int quadrant = static_cast<int>(moved[3] >> 62);
  const uint64_t high = moved[3] << 2 | moved[2] >> 62, low = moved[2] << 2 | moved[1] >> 62;
  const auto fraction = static_cast<__int128>(static_cast<unsigned __int128>(high) << 64 | low);
  if (fraction < 0) ++quadrant;  // fractions from 1/2 on count down from the next quadrant
  return {static_cast<double>(fraction) * 0x1p-128 * (std::numbers::pi / 2), quadrant & 3};
}

// Return sin(r) and cos(r) for |r| <= pi/4 by their Taylor series.
double SinOfReduced(double r) {
  static constexpr std::array<double, 9> kCoefficients = InverseFactorials<9>(3, 2, true);
  const double square = r * r;
  return r - r * square * Polynomial(kCoefficients, square);
}
double CosOfReduced(double r) {
  static constexpr std::array<double, 8> kCoefficients = InverseFactorials<8>(4, 2, true);
  // `rounded` is 1 - r^2/2; (1 - rounded) - half recovers the rounding error of that subtraction.
  const double square = r * r, half = square / 2, rounded = 1 - half;
  return rounded + (((1 - rounded) - half) + square * square * Polynomial(kCoefficients, square));
}
// Returns sin(x + turned * pi/2) for a reduced x.
double OfQuadrant(const Angle& angle, int turned) {
  const int quadrant = (angle.quadrant + turned) & 3;
  const double value = quadrant % 2 == 0 ? SinOfReduced(angle.rest) : CosOfReduced(angle.rest);
  return quadrant < 2 ? value : -value;
}

// The error function is tabulated as Taylor polynomials around the multiples of 1/16 from 0 to 6.
constexpr int kErfPieces = 6 * 16 + 1;
using ErfPiece = std::array<double, 12>;  // coefficients, constant first

// Returns erf(x) = 2/sqrt(pi) e^(-x^2) (x + 2 x^3/3 + 4 x^5/(3 5) + ...) for x >= 0. All terms are
// positive, so that nothing cancels.
double ErfBySeries(double x) {
  double term = x, sum = x;
  for (int n = 1; n < 200 && term > sum * 0x1p-60; ++n) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 2 * std::numbers::inv_sqrtpi * Exp(-x * x) * sum;
}

// Returns the Taylor polynomial of erf around `centre`. The derivative g = erf' satisfies g' = -2 x
// g, which yields each coefficient of g from the two before it.
ErfPiece ErfAround(double centre) {
  ErfPiece piece{};
  piece[0] = centre < 2 ? ErfBySeries(centre) : 1 - Erfc(centre);
  double before = 0, slope = 2 * std::numbers::inv_sqrtpi * Exp(-centre * centre);
  for (size_t n = 1; n < piece.size(); ++n) {
    piece[n] = slope / static_cast<double>(n);
    const double next = -2 * (centre * slope + before) / static_cast<double>(n);
    before = slope;
    slope = next;
  }
  return piece;
}

// Returns the polynomials, computed at the first call.
const std::array<ErfPiece, kErfPieces>& ErfPieces() {
  static const auto* const pieces = [] {
    auto* made = new std::array<ErfPiece, kErfPieces>;
    for (int i = 0; i < kErfPieces; ++i) (*made)[static_cast<size_t>(i)] = ErfAround(i / 16.0);
    return made;
  }();
  return *pieces;
}

// Returns whether a number that is an integer is odd; from 2^53 on all are even.
bool IsOdd(double integer) {
  return std::fabs(integer) < 0x1p53 && (static_cast<int64_t>(integer) & 1) != 0;
}

}  // namespace

double Exp(double x) {
  // The bounds are beyond overflow and beyond underflow to zero.
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  if (x != x) return x;
  const Reduced reduced = ReduceByLn2(x);
  return Scale(1 + (reduced.rest + reduced.rest * ExpTail(reduced.rest)), reduced.exponent);
}

double Exp2(double x) {
  if (x > 1025) return kInfinity;
  if (x < -1076) return 0;
  if (x != x) return x;
  const double rounded = x + kRounder;
  const double rest = (x - (rounded - kRounder)) * std::numbers::ln2;
  return Scale(1 + (rest + rest * ExpTail(rest)),
               std::bit_cast<int64_t>(rounded) - std::bit_cast<int64_t>(kRounder));
}

double Expm1(double x) {
  if (x > 710) return kInfinity;
  if (x < -40) return -1;
  // The direct series avoids the cancellation of e^x - 1 near zero.
  if (x != x || x == 0) return x;
  if (std::fabs(x) < 0.35) return x + x * ExpTail(x);
  const Reduced reduced = ReduceByLn2(x);
  const double tail = reduced.rest + reduced.rest * ExpTail(reduced.rest);
  // Beyond 2^60 subtracting 1 changes nothing that counts, and 2^exponent might overflow alone.
  if (reduced.exponent > 60) return Scale(1 + tail, reduced.exponent) - 1;
  const double power = Scale(1, reduced.exponent);
  return power * tail + (power - 1);
}

double Log(double x) {
  if (x != x || x == kInfinity) return x;
  if (x == 0) return -kInfinity;
  if (x < 0) return kNan;
  return LogOfPositive(x);
}

double Log1p(double x) {
  if (x != x || x == kInfinity || x == 0) return x;
  if (x == -1) return -kInfinity;
  if (x < -1) return kNan;
  const double sum = 1 + x;
  if (sum == 1) return x;
  // The rounding error of 1 + x, which enters the logarithm as lost / sum.
  const double lost = x >= 1 ? 1 - (sum - x) : x - (sum - 1);
  return LogOfPositive(sum) + lost / sum;
}

double Log2(double x) {
  if (x != x || x == kInfinity) return x;
  if (x == 0) return -kInfinity;
  if (x < 0) return kNan;
  const Parts parts = Split(x);
  return static_cast<double>(parts.exponent) + LogOfPositive(parts.mantissa) * std::numbers::log2e;
}

double Log10(double x) { return Log(x) * std::numbers::log10e; }

double Sin(double x) {
  if (x != x || std::isinf(x)) return kNan;
  if (x == 0) return x;
  const double value = OfQuadrant(ReduceByHalfPi(std::fabs(x)), 0);
  return x < 0 ? -value : value;
}

double Cos(double x) {
  if (x != x || std::isinf(x)) return kNan;
  return OfQuadrant(ReduceByHalfPi(std::fabs(x)), 1);
}

double Tanh(double x) {
  if (x != x || x == 0) return x;
  const double magnitude = std::fabs(x);
  // From 22 on tanh(x) rounds to 1.
  double value = 1;
  if (magnitude < 1) {
    const double t = Expm1(2 * magnitude);
    value = t / (t + 2);
  } else if (magnitude < 22) {
    value = 1 - 2 / (Expm1(2 * magnitude) + 2);
  }
  return x < 0 ? -value : value;
}

double Erf(double x) {
  if (x != x) return x;
  const double magnitude = std::fabs(x);
  if (magnitude >= 6) return x < 0 ? -1 : 1;
  // The nearest centre is at most 1/32 away.
  const double nearest = (magnitude * 16 + kRounder) - kRounder;
  const double value =
      Polynomial(ErfPieces()[static_cast<size_t>(nearest)], magnitude - nearest / 16);
  return std::bit_cast<int64_t>(x) < 0 ? -value : value;
}

double Erfc(double x) {
  // Beyond 2, 1 - erf(x) would cancel; beyond 28 the result underflows to zero.
  if (x < 2) return 1 - Erf(x);
  if (x != x) return x;
  if (x > 28) return 0;
  // The continued fraction e^(-x^2)/sqrt(pi) 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...)))),
  // evaluated from the innermost of 120 levels outwards.
  double fraction = x;
  for (int k = 120; k > 0; --k) fraction = x + k / (2 * fraction);
  return Exp(-x * x) * std::numbers::inv_sqrtpi / fraction;
}

double Pow(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1;
  if (base != base || exponent != exponent) return kNan;
  // From 2^52 on every number is an integer.
  const bool is_integer =
      std::fabs(exponent) >= 0x1p52 || (exponent + kRounder) - kRounder == exponent;
  const bool negates = std::signbit(base) && is_integer && IsOdd(exponent);
  const double magnitude = std::fabs(base), sign = negates ? -1 : 1;
  if (magnitude == 0 || magnitude == kInfinity) {
    return sign * ((magnitude == 0) == (exponent > 0) ? 0.0 : kInfinity);
  }
  if (std::isinf(exponent)) {
    if (magnitude == 1) return 1;
    return (magnitude > 1) == (exponent > 0) ? kInfinity : 0;
  }
  if (base < 0 && !is_integer) return kNan;
  if (exponent == 0.5) return std::sqrt(base);
  // Small integer exponents: binary exponentiation, more accurate than the logarithm.
  if (is_integer && std::fabs(exponent) <= 64) {
    double power = 1, square = magnitude;
    for (auto bits = static_cast<uint64_t>(std::fabs(exponent)); bits != 0;
         bits >>= 1, square *= square) {
      if ((bits & 1) != 0) power *= square;
    }
    // If the power overflows or underflows, its reciprocal may still be a number: fall through.
    if (exponent > 0) return sign * power;
    if (power != 0 && power != kInfinity) return sign * (1 / power);
  }
  return sign * Exp(exponent * LogOfPositive(magnitude));
}

}  // namespace kiln::elementary
