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
// ln 2 in two parts; the first has 32 bits, so that its products with exponents are exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
// Adding this number leaves an integer in the low bits, rounded to nearest even, for |x| < 2^51.
constexpr double kRounder = 0x1.8p52;

// coefficients[0] + t * coefficients[1] + ..., by Horner's rule.
template <size_t N>
double Polynomial(const std::array<double, N>& coefficients, double t) {
  double sum = coefficients[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = sum * t + coefficients[i];
  return sum;
}

// 1/first!, 1/(first + step)!, ...; with alternating signs if asked for.
template <size_t N>
constexpr std::array<double, N> InverseFactorials(int first, int step, bool alternates) {
  std::array<double, N> out{};
  for (size_t i = 0; i < N; ++i) {
    double factorial = 1;  // exact up to 18!, rounded once more for each factor after that
    for (int k = 2; k <= first + step * static_cast<int>(i); ++k) factorial *= k;
    out[i] = (alternates && i % 2 == 1 ? -1 : 1) / factorial;
  }
  return out;
}

// p * 2^n, rounded once even where the result is subnormal; |n| < 2^11.
double Scale(double p, int64_t n) {
  const auto power = [](int64_t k) { return std::bit_cast<double>((k + 1023) << 52); };
  const int64_t half = n / 2;
  return p * power(half) * power(n - half);
}

// (e^r - 1) / r - 1 for |r| <= 0.35: r/2! + r^2/3! + ...
double ExpTail(double r) {
  static constexpr std::array<double, 13> kCoefficients = InverseFactorials<13>(2, 1, false);
  return r * Polynomial(kCoefficients, r);
}

struct Reduced {
  double rest;  // x - exponent * ln 2
  int64_t exponent;
};
Reduced ReduceByLn2(double x) {
  const double rounded = x * std::numbers::log2e + kRounder;
  const int64_t exponent = std::bit_cast<int64_t>(rounded) - std::bit_cast<int64_t>(kRounder);
  const double k = rounded - kRounder;
  return {(x - k * kLn2High) - k * kLn2Low, exponent};
}

// x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)); x is positive and finite.
struct Parts {
  double mantissa;
  int64_t exponent;
};
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

// log(1 + f) - f + f^2/2 for 1 + f in [sqrt(1/2), sqrt(2)): with s = f/(2 + f), log(1 + f) = 2 atanh(s), and
// s (f^2/2 + R) where R = 2 s^2/3 + 2 s^4/5 + ...
double LogTail(double f) {
  static constexpr std::array<double, 12> kCoefficients = [] {
    std::array<double, 12> c{};
    for (size_t i = 0; i < c.size(); ++i) c[i] = 2.0 / static_cast<double>(2 * i + 3);
    return c;
  }();
  const double s = f / (2 + f), square = s * s;
  return s * (f * f / 2 + square * Polynomial(kCoefficients, square));
}

double LogOfPositive(double x) {
  const Parts parts = Split(x);
  const double f = parts.mantissa - 1, k = static_cast<double>(parts.exponent);
  return k * kLn2High - ((f * f / 2 - (LogTail(f) + k * kLn2Low)) - f);
}

// The first 1,280 bits of 2/pi.
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

// 64 bits of 2/pi from bit `first` on; bit 0 is worth 1/2.
uint64_t BitsOfTwoOverPi(int first) {
  const int word = first / 64, shift = first % 64;
  const uint64_t high = kTwoOverPi[word] << shift;
  return shift == 0 ? high : high | kTwoOverPi[word + 1] >> (64 - shift);
}

// x = (quadrant + 4 n) * pi/2 + rest, |rest| <= pi/4; x is finite and not negative.
struct Angle {
  double rest;
  int quadrant;
};
Angle ReduceByHalfPi(double x) {
  if (x <= std::numbers::pi / 4) return {x, 0};
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t mantissa = (bits & 0x000fffffffffffff) | (uint64_t{1} << 52);
  const int exponent = static_cast<int>(bits >> 52) - 1075;  // x = mantissa * 2^exponent
  // Bits of 2/pi whose products with x are multiples of 4 are left out; 192 bits after them are enough for a fraction
  // that is exact to 2^-130, and no binary64 number is nearer to a multiple of pi/2 than about 2^-61.
  const int first = std::max(0, exponent - 2);
  uint64_t product[4] = {};  // least first
  unsigned __int128 carry = 0;
  for (int i = 0; i < 3; ++i) {
    carry += static_cast<unsigned __int128>(BitsOfTwoOverPi(first + 64 * (2 - i))) * mantissa;
    product[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  product[3] = static_cast<uint64_t>(carry);
  // The product has first + 192 - exponent bits after the binary point; move the point to bit 254.
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
  if (fraction < 0) ++quadrant;  // from a half on, the fraction counts from the next quadrant down
  return {static_cast<double>(fraction) * 0x1p-128 * (std::numbers::pi / 2), quadrant & 3};
}

double SinOfReduced(double r) {
  static constexpr std::array<double, 9> kCoefficients = InverseFactorials<9>(3, 2, true);
  const double square = r * r;
  return r - r * square * Polynomial(kCoefficients, square);
}
double CosOfReduced(double r) {
  static constexpr std::array<double, 8> kCoefficients = InverseFactorials<8>(4, 2, true);
  const double square = r * r, half = square / 2, rounded = 1 - half;
  return rounded + (((1 - rounded) - half) + square * square * Polynomial(kCoefficients, square));
}
double OfQuadrant(const Angle& angle, int turned) {
  const int quadrant = (angle.quadrant + turned) & 3;
  const double value = quadrant % 2 == 0 ? SinOfReduced(angle.rest) : CosOfReduced(angle.rest);
  return quadrant < 2 ? value : -value;
}

constexpr int kErfPieces = 6 * 16 + 1;    // centred at multiples of 1/16 up to 6
using ErfPiece = std::array<double, 12>;  // Taylor coefficients

// erf(x) = 2/sqrt(pi) e^(-x^2) (x + 2 x^3/3 + 4 x^5/(3 5) + ...), a sum without cancellation.
double ErfBySeries(double x) {
  double term = x, sum = x;
  for (int n = 1; n < 200 && term > sum * 0x1p-60; ++n) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 2 * std::numbers::inv_sqrtpi * Exp(-x * x) * sum;
}

// g = erf' has g' = -2 x g, which gives one Taylor coefficient after the other.
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

const std::array<ErfPiece, kErfPieces>& ErfPieces() {
  static const auto* const pieces = [] {
    auto* made = new std::array<ErfPiece, kErfPieces>;
    for (int i = 0; i < kErfPieces; ++i) (*made)[static_cast<size_t>(i)] = ErfAround(i / 16.0);
    return made;
  }();
  return *pieces;
}

bool IsOdd(double integer) {
  return std::fabs(integer) < 0x1p53 && (static_cast<int64_t>(integer) & 1) != 0;
}

}  // namespace

double Exp(double x) {
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
  if (x != x || x == 0) return x;
  if (std::fabs(x) < 0.35) return x + x * ExpTail(x);
  const Reduced reduced = ReduceByLn2(x);
  const double tail = reduced.rest + reduced.rest * ExpTail(reduced.rest);
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
  // What the rounding of the sum lost, as a share of it.
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
  const double nearest = (magnitude * 16 + kRounder) - kRounder;
  const double value =
      Polynomial(ErfPieces()[static_cast<size_t>(nearest)], magnitude - nearest / 16);
  return std::bit_cast<int64_t>(x) < 0 ? -value : value;
}

double Erfc(double x) {
  if (x < 2) return 1 - Erf(x);
  if (x != x) return x;
  if (x > 28) return 0;
  // e^(-x^2)/sqrt(pi) 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...)))), from the innermost fraction outwards.
  double fraction = x;
  for (int k = 120; k > 0; --k) fraction = x + k / (2 * fraction);
  return Exp(-x * x) * std::numbers::inv_sqrtpi / fraction;
}

double Pow(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1;
  if (base != base || exponent != exponent) return kNan;
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
  if (is_integer && std::fabs(exponent) <= 64) {
    double power = 1, square = magnitude;
    for (auto bits = static_cast<uint64_t>(std::fabs(exponent)); bits != 0;
         bits >>= 1, square *= square) {
      if ((bits & 1) != 0) power *= square;
    }
    // Where the power overflows or underflows its reciprocal may still be a number.
    if (exponent > 0) return sign * power;
    if (power != 0 && power != kInfinity) return sign * (1 / power);
  }
  return sign * Exp(exponent * LogOfPositive(magnitude));
}

}  // namespace kiln::elementary
