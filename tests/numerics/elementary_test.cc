// Compares elementary functions with the C library's in extended precision (64 bits of significand,
// x87), which is exact enough to count units in the last place of binary64.
#include "kiln/numerics/elementary.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "kiln/support/random.h"

namespace kiln {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double UlpsBetween(double got, long double exact) {
  if (std::isinf(got) || got == 0)
    return static_cast<double>(got) == static_cast<double>(exact) ? 0 : 1e9;
  const int exponent = std::max(std::ilogb(exact), -1022);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) /
                             std::ldexp(1.0L, exponent - 52));
}

struct Function {
  const char* name;
  double (*ours)(double);
  long double (*exact)(long double);
  double low, high;  // arguments
  double ulps;       // the bound
};

long double Log1pl(long double x) { return log1pl(x); }

const Function kFunctions[] = {
    {"exp", elementary::Exp, expl, -745, 709.7, 1.1},
    {"exp near 0", elementary::Exp, expl, -1, 1, 1.1},
    {"exp2", elementary::Exp2, exp2l, -1074, 1023.9, 1.1},
    {"expm1", elementary::Expm1, expm1l, -1, 1, 3},
    {"expm1 far", elementary::Expm1, expm1l, -50, 700, 3},
    {"log", elementary::Log, logl, 1e-300, 1e300, 1.1},
    {"log near 1", elementary::Log, logl, 0.5, 2, 1.1},
    {"log1p", elementary::Log1p, Log1pl, -0.9, 10, 2},
    {"log1p near 0", elementary::Log1p, Log1pl, -1e-3, 1e-3, 2},
    {"log2", elementary::Log2, log2l, 1e-3, 1e3, 4},
    {"sin", elementary::Sin, sinl, -10, 10, 3},
    {"sin far", elementary::Sin, sinl, -1e15, 1e15, 3},
    {"cos", elementary::Cos, cosl, -10, 10, 3},
    {"cos far", elementary::Cos, cosl, -1e15, 1e15, 3},
    {"tanh", elementary::Tanh, tanhl, -25, 25, 4},
    {"erf", elementary::Erf, erfl, -6.5, 6.5, 4},
    {"erf near 0", elementary::Erf, erfl, -0.1, 0.1, 4},
    {"erfc", elementary::Erfc, erfcl, -6, 1, 20},
    {"erfc far", elementary::Erfc, erfcl, 1, 26, 2000},
};

TEST(Elementary, ErrorsAreBoundedInUnitsOfTheLastPlace) {
  static_assert(LDBL_MANT_DIG >= 64, "the oracle needs extended precision");
  Random random(1);
  for (const Function& f : kFunctions) {
    double worst = 0, at = 0;
    for (int i = 0; i < 20000; ++i) {
      const double x = random.Uniform(f.low, f.high);
      const double ulps = UlpsBetween(f.ours(x), f.exact(x));
      if (!(ulps <= worst)) worst = ulps, at = x;
    }
    EXPECT_LE(worst, f.ulps) << f.name << "(" << at << ")";
  }
}

TEST(Elementary, ArgumentsOfEverySize) {
  Random random(2);
  for (int exponent = -300; exponent < 300; ++exponent) {
    const double x = random.Uniform(1, 2) * std::pow(10.0, exponent);
    EXPECT_LE(UlpsBetween(elementary::Log(x), logl(x)), 1.5) << x;
    EXPECT_LE(UlpsBetween(elementary::Tanh(x), tanhl(x)), 4) << x;
    EXPECT_LE(UlpsBetween(elementary::Erf(x), erfl(x)), 4) << x;
    EXPECT_LE(UlpsBetween(elementary::Log1p(x), log1pl(x)), 2) << x;
    if (exponent < 2) {
      EXPECT_LE(UlpsBetween(elementary::Expm1(x), expm1l(x)), 3) << x;
    }
    // x87's own sine reduces by a value of pi of limited precision, but the C library's sinl does
    // not.
    EXPECT_LE(UlpsBetween(elementary::Sin(x), sinl(x)), 3) << x;
    EXPECT_LE(UlpsBetween(elementary::Cos(x), cosl(x)), 3) << x;
  }
  // The number of binary64 that is nearest to a multiple of pi/2 (Muller, Elementary Functions, 2nd
  // edition, 9.3.1).
  const double hard = 6381956970095103.0 * std::exp2(797);
  EXPECT_LE(UlpsBetween(elementary::Cos(hard), -4.68716592425462761112e-19L), 2);
  EXPECT_LE(UlpsBetween(elementary::Sin(std::numbers::pi), sinl(std::numbers::pi)), 2);
}

TEST(Elementary, Powers) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    const double base = random.Uniform(0, 20), exponent = random.Uniform(-100, 100);
    const long double exact = powl(base, exponent);
    EXPECT_LE(std::fabs(static_cast<long double>(elementary::Pow(base, exponent)) - exact),
              1e-13L * exact)
        << base << " ^ " << exponent;
  }
  EXPECT_EQ(elementary::Pow(3, 4), 81);
  EXPECT_EQ(elementary::Pow(-2, 3), -8);
  EXPECT_EQ(elementary::Pow(-2, -2), 0.25);
  EXPECT_EQ(elementary::Pow(2, 0.5), std::sqrt(2.0));
  EXPECT_EQ(elementary::Pow(1e-200, -2), kInfinity);
  EXPECT_DOUBLE_EQ(elementary::Pow(1e10, -31), 1e-310);
}

// Where C99's annex F fixes a result, it is ours, the sign of zero included.
TEST(Elementary, SpecialValuesAreThoseOfTheCLibrary) {
  const auto expect_same = [](double got, double want, const char* name, double x) {
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << name << "(" << x << ") is " << got;
    } else {
      EXPECT_EQ(got, want) << name << "(" << x << ")";
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << name << "(" << x << ")";
    }
  };
  const double special[] = {0.0, -0.0, 1,    -1, kInfinity, -kInfinity, kNan,  2,
                            -2,  0.5,  -0.5, 3,  -3,        1e300,      -1e300};
  const struct {
    const char* name;
    double (*ours)(double);
    double (*library)(double);
  } kSame[] = {{"exp", elementary::Exp, std::exp},       {"exp2", elementary::Exp2, std::exp2},
               {"expm1", elementary::Expm1, std::expm1}, {"log", elementary::Log, std::log},
               {"log1p", elementary::Log1p, std::log1p}, {"log2", elementary::Log2, std::log2},
               {"sin", elementary::Sin, std::sin},       {"cos", elementary::Cos, std::cos},
               {"tanh", elementary::Tanh, std::tanh},    {"erf", elementary::Erf, std::erf},
               {"erfc", elementary::Erfc, std::erfc}};
  for (const auto& f : kSame) {
    for (const double x : {0.0, -0.0, kInfinity, -kInfinity, kNan})
      expect_same(f.ours(x), f.library(x), f.name, x);
  }
  for (const double base : special) {
    for (const double exponent : special) {
      SCOPED_TRACE(exponent);
      const double want = std::pow(base, exponent);
      if (std::isfinite(want) && want != 0 && want != 1 && want != -1) continue;
      expect_same(elementary::Pow(base, exponent), want, "pow", base);
    }
  }
  for (int n = -1074; n <= 1023; ++n) {
    const double power = std::ldexp(1.0, n);
    ASSERT_EQ(elementary::Exp2(n), power);
    ASSERT_EQ(elementary::Log2(power), n);
  }
}

}  // namespace
}  // namespace kiln
