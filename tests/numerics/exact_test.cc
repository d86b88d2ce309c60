// Compares exact numbers and their rounding to binary32 and binary64 with rational numbers (GMP),
// at every point where rounding changes direction: halves of the least subnormal number, ties, the
// end of the range.
#include "kiln/numerics/exact.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/support/random.h"

namespace kiln {
namespace {

mpq_class PowerOfTwo(int64_t exponent) {
  mpz_class power = 1;
  mpz_mul_2exp(power.get_mpz_t(), power.get_mpz_t(), static_cast<mp_bitcnt_t>(std::abs(exponent)));
  return exponent < 0 ? mpq_class(1, power) : mpq_class(power);
}

mpq_class Rational(const Exact& x) {
  mpz_class significand;
  mpz_import(significand.get_mpz_t(), 1, 1, sizeof(x.significand), 0, 0, &x.significand);
  const mpq_class value = mpq_class(significand) * PowerOfTwo(x.exponent - 63);
  return x.negative ? mpq_class(-value) : value;
}

// Of a finite number, without its sign.
template <typename Float>
mpq_class Magnitude(Float x) {
  return mpq_class(static_cast<double>(std::abs(x)));
}

// IEEE 754, 4.3.1: the nearest number, of two the one with an even last place; from 2^most * (2 -
// half an ulp) on infinity. The candidates are the result and its neighbours.
template <typename Float>
void ExpectNearestEven(const Exact& x, Float rounded) {
  using Limits = std::numeric_limits<Float>;
  ASSERT_EQ(std::signbit(rounded), x.negative);
  const mpq_class value = abs(Rational(x));
  const mpq_class greatest = Magnitude(Limits::max());
  const mpq_class beyond =
      greatest + PowerOfTwo(Limits::max_exponent - Limits::digits - 1);  // half an ulp more
  if (std::isinf(rounded)) {
    EXPECT_GE(value, beyond);
    return;
  }
  EXPECT_LT(value, beyond);
  const Float magnitude = std::abs(rounded);
  const mpq_class distance = abs(Magnitude(magnitude) - value);
  const auto is_odd = [](Float number) {
    // A number is odd if it is an odd multiple of its last place.
    int exponent = 0;
    (void)std::frexp(number, &exponent);
    const int last = std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits);
    return number != 0 && std::fmod(std::ldexp(number, -last), Float{2}) != 0;
  };
  for (const Float towards : {Float{0}, Limits::infinity()}) {
    const Float neighbour = std::nextafter(magnitude, towards);
    if (std::isinf(neighbour) || neighbour == magnitude) continue;
    const mpq_class other = abs(Magnitude(neighbour) - value);
    EXPECT_LE(distance, other) << "not " << neighbour;
    if (distance == other) {
      EXPECT_FALSE(is_odd(magnitude)) << "a tie with " << neighbour;
    }
  }
}

TEST(Exact, RoundsAtHalvesOfTheLeastFloat) {
  const float least = std::numeric_limits<float>::denorm_min();  // 2^-149
  for (const bool negative : {false, true}) {
    const auto rounded = [negative](uint64_t magnitude, int64_t power) {
      const float x = ToFloat(Exact::Of(negative, magnitude, power));
      EXPECT_EQ(std::signbit(x), negative);
      return std::abs(x);
    };
    EXPECT_EQ(rounded(1, -149), least);
    EXPECT_EQ(rounded(1, -150), 0);                            // half: to even, which is zero
    EXPECT_EQ(rounded((uint64_t{1} << 63) + 1, -213), least);  // half and a little
    EXPECT_EQ(rounded((uint64_t{1} << 63) - 1, -213), 0);      // nearly half
    EXPECT_EQ(rounded(1, -151), 0);
    EXPECT_EQ(rounded(3, -151), least);      // three quarters
    EXPECT_EQ(rounded(3, -150), 2 * least);  // one and a half: to even
    EXPECT_EQ(rounded(5, -150), 2 * least);  // two and a half: to even
    EXPECT_EQ(rounded(1, -100000), 0);
  }
}

TEST(Exact, RoundsAtHalvesOfTheLeastDouble) {
  const double least = std::numeric_limits<double>::denorm_min();  // 2^-1074
  EXPECT_EQ(ToDouble(Exact::Of(false, 1, -1074)), least);
  EXPECT_EQ(ToDouble(Exact::Of(false, 1, -1075)), 0);
  EXPECT_EQ(ToDouble(Exact::Of(false, (uint64_t{1} << 63) + 1, -1138)), least);
  EXPECT_EQ(ToDouble(Exact::Of(false, 3, -1075)), 2 * least);
  EXPECT_EQ(ToDouble(Exact::Of(true, 3, -1076)), -least);
}

TEST(Exact, RoundsAtTheEndOfTheRange) {
  const float greatest = std::numeric_limits<float>::max();  // 2^128 - 2^104
  const uint64_t last = (uint64_t{1} << 24) - 1;
  EXPECT_EQ(ToFloat(Exact::Of(false, last, 104)), greatest);
  EXPECT_EQ(ToFloat(Exact::Of(false, (last << 2) + 1, 102)), greatest);  // a quarter beyond
  EXPECT_EQ(ToFloat(Exact::Of(false, (last << 1) + 1, 103)),
            HUGE_VALF);  // half: to even, which is infinity
  EXPECT_EQ(ToFloat(Exact::Of(true, 1, 128)), -HUGE_VALF);
  EXPECT_EQ(ToFloat(Exact::Of(true, (((last << 1) + 1) << 30) - 1, 73)),
            -greatest);  // just below half
}

TEST(Exact, RoundsToTheNearestNumber) {
  Random random(31);
  for (int i = 0; i < 20000 && !::testing::Test::HasFailure(); ++i) {
    // Significands of any length, of 24 to 26 or 53 to 55 bits (ties), or ones behind the place
    // that is cut.
    uint64_t magnitude = random() >> random.Below(64);
    if (i % 4 == 1) magnitude = (magnitude | uint64_t{1} << 63) >> (38 + random.Below(3));
    if (i % 4 == 2) magnitude = (magnitude | uint64_t{1} << 63) >> (9 + random.Below(3));
    if (i % 4 == 3)
      magnitude = (magnitude | uint64_t{1} << 63) & ~((uint64_t{1} << (38 + random.Below(3))) - 1);
    if (magnitude == 0) continue;
    const int64_t power = i % 8 < 4 ? random.Between(-230, 70) : random.Between(-180, -120);
    const Exact x = Exact::Of(random.Below(2) == 0, magnitude, power);
    SCOPED_TRACE(testing::Message() << magnitude << " * 2^" << power);
    ExpectNearestEven(x, ToFloat(x));
    const Exact far =
        Exact::Of(x.negative, magnitude, i % 8 < 4 ? random.Between(-1100, 970) : power - 920);
    ExpectNearestEven(far, ToDouble(far));
  }
}

// A sum of numbers that are 0 to 200 places apart, rounded once: the smaller one decides ties,
// however far below.
TEST(Exact, SumsOfFarNumbersRoundAsTheExactSum) {
  Random random(32);
  for (int64_t distance = 0; distance < 200; ++distance) {
    for (int i = 0; i < 40 && !::testing::Test::HasFailure(); ++i) {
      // 25 bits, the last of them set: a tie of binary32.
      const uint64_t tie = (uint64_t{1} << 24) | (random.Below(uint64_t{1} << 24)) | 1;
      const uint64_t small = i % 2 == 0 ? 1 : 1 + random.Below(uint64_t{1} << 24);
      const Exact a = Exact::Of(random.Below(2) == 0, tie, 0);
      const Exact b = Exact::Of(random.Below(2) == 0, small, -distance);
      const mpq_class exact = Rational(a) + Rational(b);
      const float sum = ToFloat(Add(a, b));
      EXPECT_EQ(ToFloat(Add(b, a)), sum);
      // The nearest float of an exact rational: by the sign of what is left of both neighbours.
      const mpq_class error = abs(exact - mpq_class(static_cast<double>(sum)));
      for (const float towards : {-HUGE_VALF, HUGE_VALF}) {
        const float other = std::nextafter(sum, towards);
        const mpq_class further = abs(exact - mpq_class(static_cast<double>(other)));
        EXPECT_LE(error, further) << tie << " and " << small << " 2^-" << distance;
        if (error == further) {
          EXPECT_EQ(std::fmod(static_cast<double>(sum), 4), 0);  // 25 bits: the last place is 2
        }
      }
    }
  }
}

TEST(Exact, Products) {
  Random random(33);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t p = random() >> 32, q = random() >> 32;
    const Exact a = Exact::Of(random.Below(2) == 0, p | 1, random.Between(-100, 100));
    const Exact b = Exact::Of(random.Below(2) == 0, q | 1, random.Between(-100, 100));
    const Exact product = Multiply(a, b);
    ASSERT_EQ(Rational(product), Rational(a) * Rational(b));
    ASSERT_EQ(Compare(a, b) < 0, Rational(a) < Rational(b));
    ASSERT_EQ(Compare(Negate(a), a) < 0, !a.negative);
  }
  EXPECT_TRUE(Multiply(Exact::Zero(), Exact::Infinity(true)).is_nan());
  EXPECT_EQ(Multiply(Exact::Of(true, 3, 0), Exact::Zero()), Exact::Zero(true));
  EXPECT_TRUE(Add(Exact::Infinity(false), Exact::Infinity(true)).is_nan());
  EXPECT_EQ(Add(Exact::Infinity(true), Exact::Of(false, 1, 0)), Exact::Infinity(true));
  EXPECT_EQ(Add(Exact::Zero(true), Exact::Zero(true)), Exact::Zero(true));
  EXPECT_EQ(Add(Exact::Zero(true), Exact::Zero(false)), Exact::Zero(false));
  EXPECT_EQ(Add(Exact::Of(true, 1, 0), Exact::Of(false, 1, 0)), Exact::Zero(false));
  EXPECT_EQ(Compare(Exact::Zero(true), Exact::Zero(false)), std::strong_ordering::equal);
  EXPECT_TRUE(Compare(Exact::Infinity(true), Exact::Of(true, 1, 1000)) < 0);
  EXPECT_TRUE(Compare(Exact::Infinity(false), Exact::Infinity(false)) == 0);
}

}  // namespace
}  // namespace kiln
