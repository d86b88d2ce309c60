#include "kiln/numerics/nonlinear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "kiln/numerics/spline_fit.h"
#include "kiln/support/cpu.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

using F = NonlinearFunction;

TEST(Nonlinear, TablesAreWhatTheFitGives) {
  for (int i = 0; i < kSplines; ++i) {
    const Spline& table = SplineOf(static_cast<SplineId>(i));
    const Spline fit = FitSpline(static_cast<SplineId>(i));
    EXPECT_STREQ(table.name, fit.name);
    for (int k = 0; k < 8; ++k) {
      EXPECT_EQ(table.knots[k], fit.knots[k]) << fit.name;
      EXPECT_EQ(table.c0[k], fit.c0[k]) << fit.name;
      EXPECT_EQ(table.c1[k], fit.c1[k]) << fit.name;
      EXPECT_EQ(table.c2[k], fit.c2[k]) << fit.name;
    }
  }
}

long double Exact(F function, long double x) {
  const long double pi = std::numbers::pi_v<long double>;
  switch (function) {
    case F::kExp:
      return std::exp(x);
    case F::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case F::kTanh:
      return std::tanh(x);
    case F::kGelu:
      return x * std::erfc(-x / std::numbers::sqrt2_v<long double>) / 2;
    case F::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715L * x * x * x)));
    case F::kErf:
      return std::erf(x);
    case F::kSoftplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case F::kSilu:
      return x / (1 + std::exp(-x));
    case F::kHardSigmoid:
      return std::fmax(0.0L, std::fmin(1.0L, x / 6 + 0.5L));
    case F::kHardSwish:
      return x * std::fmax(0.0L, std::fmin(1.0L, x / 6 + 0.5L));
    case F::kLog:
      return std::log(x);
    case F::kSqrt:
      return std::sqrt(x);
    case F::kElu:
      return x > 0 ? x : std::expm1(x);
    case F::kReciprocal:
      return 1 / x;
    case F::kReciprocalSquareRoot:
      return 1 / std::sqrt(x);
  }
  return 0;
}

// The bounds that nonlinear.h states.
struct Bound {
  F function;
  double absolute, relative;
  bool positive_only;
};
constexpr double kUlp = 0x1p-23;
constexpr Bound kBounds[] = {
    {F::kExp, 1e-44, 1.5e-5, false},
    {F::kSigmoid, 2e-4, 0, false},
    {F::kTanh, 4e-4, 0, false},
    {F::kGelu, 4e-4, 1e-7, false},
    {F::kGeluTanh, 4e-4, 1e-7, false},
    {F::kErf, 4e-4, 0, false},
    {F::kSoftplus, 4e-4, 1e-7, false},
    {F::kSilu, 4e-4, 1e-7, false},
    {F::kHardSigmoid, 1e-7, 0, false},
    {F::kHardSwish, 3e-7, 1e-7, false},
    {F::kLog, 1e-5, 1e-6, true},
    {F::kSqrt, 0, 2 * kUlp, true},
    {F::kElu, 1e-5, 0, false},
    {F::kReciprocal, 1e-44, kUlp, false},
    {F::kReciprocalSquareRoot, 0, 2 * kUlp, true},
};

TEST(Nonlinear, ErrorsStayWithinTheStatedBounds) {
  for (const Bound& bound : kBounds) {
    double worst = 0;
    float worst_at = 0;
    Random random(7);
    for (int i = 0; i < 400000; ++i) {
      float x;
      if (i % 2 == 0) {
        x = static_cast<float>(-12 + 24.0 * i / 400000);  // a dense sweep of where the curves bend
      } else {
        x = std::bit_cast<float>(static_cast<uint32_t>(random()));  // every exponent
      }
      if (bound.positive_only) x = std::fabs(x);
      const long double exact = Exact(bound.function, x);
      if (!std::isfinite(x) || !(std::fabs(exact) < 3.4e38L) || x == 0) continue;
      // A result below the normal range keeps fewer bits.
      const double allowed = bound.absolute + bound.relative * static_cast<double>(std::fabs(exact)) + 0x1p-149;
      const double error = static_cast<double>(std::fabs(Approximate(bound.function, x) - exact));
      if (error / allowed > worst) {
        worst = error / allowed;
        worst_at = x;
      }
    }
    EXPECT_LE(worst, 1) << NameOf(bound.function) << " at " << worst_at;
    EXPECT_GT(worst, 0.3) << NameOf(bound.function) << ": the stated bound is far too wide";
  }
}

TEST(Nonlinear, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < kNonlinearFunctions; ++i) {
    for (float x : {nan, -nan, std::numeric_limits<float>::signaling_NaN()}) {
      EXPECT_EQ(std::bit_cast<uint32_t>(Approximate(static_cast<F>(i), x)), 0x7fc00000u) << NameOf(static_cast<F>(i));
    }
  }
  struct Row {
    F function;
    float x, y;
  };
  for (const Row& row : std::vector<Row>{{F::kExp, inf, inf},
                                         {F::kExp, -inf, 0},
                                         {F::kExp, 0, 1},
                                         {F::kExp, 89, inf},
                                         {F::kExp, -104, 0},
                                         {F::kSigmoid, inf, 1},
                                         {F::kSigmoid, -inf, 0},
                                         {F::kSigmoid, 0, 0.5f},
                                         {F::kTanh, inf, 1},
                                         {F::kTanh, -inf, -1},
                                         {F::kTanh, 0, 0},
                                         {F::kGelu, inf, inf},
                                         {F::kGelu, -inf, 0},
                                         {F::kGelu, 0, 0},
                                         {F::kGeluTanh, -inf, 0},
                                         {F::kErf, -inf, -1},
                                         {F::kErf, 0, 0},
                                         {F::kSoftplus, -inf, 0},
                                         {F::kSoftplus, inf, inf},
                                         {F::kSilu, -inf, 0},
                                         {F::kSilu, 0, 0},
                                         {F::kHardSigmoid, -inf, 0},
                                         {F::kHardSigmoid, inf, 1},
                                         {F::kHardSwish, -inf, 0},
                                         {F::kHardSwish, inf, inf},
                                         {F::kHardSwish, -3, 0},
                                         {F::kLog, 0, -inf},
                                         {F::kLog, inf, inf},
                                         {F::kLog, 1, 0},
                                         {F::kSqrt, 0, 0},
                                         {F::kSqrt, inf, inf},
                                         {F::kSqrt, 4, 2},
                                         {F::kElu, -inf, -1},
                                         {F::kElu, 0, 0},
                                         {F::kReciprocal, 0, inf},
                                         {F::kReciprocal, -0.0f, -inf},
                                         {F::kReciprocal, inf, 0},
                                         {F::kReciprocal, 2, 0.5f},
                                         {F::kReciprocalSquareRoot, 0, inf},
                                         {F::kReciprocalSquareRoot, inf, 0},
                                         {F::kReciprocalSquareRoot, 4, 0.5f}}) {
    EXPECT_EQ(Approximate(row.function, row.x), row.y) << NameOf(row.function) << " of " << row.x;
  }
  for (F function : {F::kLog, F::kSqrt, F::kReciprocalSquareRoot}) {
    EXPECT_EQ(std::bit_cast<uint32_t>(Approximate(function, -1.0f)), 0x7fc00000u) << NameOf(function);
    EXPECT_EQ(std::bit_cast<uint32_t>(Approximate(function, -inf)), 0x7fc00000u) << NameOf(function);
  }
}

TEST(Nonlinear, VectorsGiveTheBitsOfScalars) {
  Random random(11);
  std::vector<float> values(20011);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 3 == 0 ? std::bit_cast<float>(static_cast<uint32_t>(random()))
                           : static_cast<float>(random.Uniform(-12, 12));
  }
  for (CpuLevel level : {CpuLevel::kPortable, CpuLevel::kAvx2, CpuLevel::kAvx512Vnni}) {
    LimitCpuLevel(level);
    for (int f = 0; f < kNonlinearFunctions; ++f) {
      std::vector<float> result = values;
      Approximate(static_cast<F>(f), result);
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(result[i]),
                  std::bit_cast<uint32_t>(Approximate(static_cast<F>(f), values[i])))
            << NameOf(static_cast<F>(f)) << " of " << values[i] << " at " << NameOf(level);
      }
    }
  }
  LimitCpuLevel(CpuLevel::kAvx512Vnni);
}

}  // namespace
}  // namespace kiln
