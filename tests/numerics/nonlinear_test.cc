// Tests of the approximate functions: tables, stated errors, special values, and vector code.
#include "kiln/numerics/nonlinear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/spline_fit.h"
#include "kiln/support/cpu.h"
#include "kiln/support/random.h"
#include "tests/numerics/find_format.h"

namespace kiln {
namespace {

using F = NonlinearFunction;

constexpr std::string_view kSplineFormats[] = {"fp32", "bf16", "fp16"};

const SplineTables& TablesOf(std::string_view format) { return **SplineTablesFor(Find(format)); }
// As a vector unit of the format delivers it.
float RoundTo(const Format& format, float x) { return DecodeFloat(format, EncodeFloat(format, x)); }

void ExpectEqual(const Spline& a, const Spline& b) {
  EXPECT_STREQ(a.name, b.name);
  for (int k = 0; k <= kMostSplineSegments; ++k) EXPECT_EQ(a.knots[k], b.knots[k]) << a.name;
  for (int k = 0; k < kMostSplineSegments; ++k) {
    EXPECT_EQ(a.c0[k], b.c0[k]) << a.name;
    EXPECT_EQ(a.c1[k], b.c1[k]) << a.name;
    EXPECT_EQ(a.c2[k], b.c2[k]) << a.name;
  }
}

TEST(Nonlinear, TablesAreWhatTheFitGives) {
  for (std::string_view name : kSplineFormats) {
    for (int i = 0; i < kSplines; ++i) {
      const auto id = static_cast<SplineId>(i);
      ExpectEqual(TablesOf(name)[id], FitSpline(id, Find(name), kSplineSegments));
    }
  }
  EXPECT_EQ(&TablesOf("fp32"), &DefaultSplineTables());
}

TEST(Nonlinear, KnotsAndCoefficientsAreNumbersOfTheFormat) {
  for (std::string_view name : {"bf16", "fp16", "tf32", "e5m3"}) {
    for (int segments : {1, 4, 7, 8}) {
      const Format format = Find(name);
      const SplineTables& tables = **SplineTablesFor(format, segments);
      EXPECT_EQ(tables.segments, segments);
      EXPECT_EQ(&tables, *SplineTablesFor(format, segments)) << "fitted twice";
      for (const Spline& spline : tables.splines) {
        for (int k = 0; k < kMostSplineSegments; ++k) {
          for (float x : {spline.knots[k], spline.c0[k], spline.c1[k], spline.c2[k]}) {
            EXPECT_EQ(RoundTo(format, x), x) << name << " " << spline.name;
          }
        }
        for (int k = 0; k < segments; ++k)
          EXPECT_LE(spline.knots[k], spline.knots[k + 1]) << spline.name;
      }
    }
  }
}

TEST(Nonlinear, MoreSegmentsLeaveLessError) {
  const Format fp32 = Find("fp32");
  for (NonlinearFunction function :
       {F::kExp, F::kSigmoid, F::kTanh, F::kGelu, F::kErf, F::kSoftplus, F::kSilu}) {
    double previous = std::numeric_limits<double>::infinity();
    for (int segments = 1; segments <= kMostSplineSegments; ++segments) {
      const SplineTables& tables = **SplineTablesFor(fp32, segments);
      double worst = 0;
      for (float x = -12; x < 12; x += 0x1p-7f) {
        const double exact = NonlinearTarget(function, static_cast<double>(x));
        const double error =
            std::fabs(static_cast<double>(Approximate(tables, function, x)) - exact);
        worst = std::max(worst, function == F::kExp ? error / exact : error);
      }
      EXPECT_LT(worst, previous) << NameOf(function) << " with " << segments;
      previous = worst;
    }
  }
}

TEST(Nonlinear, OtherFormatsAreRefused) {
  EXPECT_FALSE(SplineTablesFor(Find("int8")).ok());
  EXPECT_FALSE(SplineTablesFor(Find("posit16_1")).ok());
  EXPECT_FALSE(SplineTablesFor(Find("e8m0")).ok());
  EXPECT_FALSE(SplineTablesFor(Find("bf16"), 0).ok());
  EXPECT_FALSE(SplineTablesFor(Find("bf16"), 9).ok());
}

// Largest errors over the arguments that `next` gives until it is done.
template <typename Next>
NonlinearError Measure(F function, const Format& format, Next next) {
  const SplineTables& tables = **SplineTablesFor(format);
  NonlinearError worst;
  float x;
  while (next(&x)) {
    if (!std::isfinite(x)) continue;
    const float result = RoundTo(format, Approximate(tables, function, x));
    const ErrorAtArgument error = NonlinearErrorAt(function, format, x, result);
    if (error.absolute > worst.absolute) {
      worst.absolute = error.absolute;
      worst.absolute_at = static_cast<double>(x);
    }
    if (error.ulps > worst.ulps) {
      worst.ulps = error.ulps;
      worst.ulps_at = static_cast<double>(x);
    }
  }
  return worst;
}

// Every one of the 65,536 arguments, and not a looser statement than there must be.
TEST(Nonlinear, StatedErrorsOf16BitFormatsAreTheLargest) {
  for (std::string_view name : {"bf16", "fp16"}) {
    const Format format = Find(name);
    for (int f = 0; f < kNonlinearFunctions; ++f) {
      const F function = static_cast<F>(f);
      uint32_t code = 0;
      const NonlinearError worst = Measure(function, format, [&](float* x) {
        *x = DecodeFloat(format, code);
        return code++ < 65536;
      });
      const NonlinearError* stated = StatedError(function, name);
      ASSERT_NE(stated, nullptr) << NameOf(function);
      EXPECT_LE(worst.absolute, stated->absolute)
          << NameOf(function) << " " << name << " at " << worst.absolute_at;
      EXPECT_LE(worst.ulps, stated->ulps)
          << NameOf(function) << " " << name << " at " << worst.ulps_at;
      EXPECT_GE(worst.absolute, 0.99 * stated->absolute) << NameOf(function) << " " << name;
      EXPECT_GE(worst.ulps, 0.99 * stated->ulps) << NameOf(function) << " " << name;
    }
  }
}

// A sample of fp32: a dense sweep of where the curves bend, every exponent, and where the stated
// errors were found.
TEST(Nonlinear, StatedErrorsOfFp32HoldAndAreReached) {
  const Format fp32 = Find("fp32");
  for (int f = 0; f < kNonlinearFunctions; ++f) {
    const F function = static_cast<F>(f);
    const NonlinearError* stated = StatedError(function, "fp32");
    ASSERT_NE(stated, nullptr) << NameOf(function);
    Random random(7);
    int i = 0;
    const NonlinearError worst = Measure(function, fp32, [&](float* x) {
      *x = i == 0       ? static_cast<float>(stated->absolute_at)
           : i == 1     ? static_cast<float>(stated->ulps_at)
           : i % 2 == 0 ? static_cast<float>(-12 + 24.0 * i / 200000)
                        : std::bit_cast<float>(static_cast<uint32_t>(random()));
      return i++ < 200000;
    });
    EXPECT_LE(worst.absolute, stated->absolute) << NameOf(function) << " at " << worst.absolute_at;
    EXPECT_LE(worst.ulps, stated->ulps) << NameOf(function) << " at " << worst.ulps_at;
    EXPECT_GE(worst.absolute, 0.99 * stated->absolute) << NameOf(function);
    EXPECT_GE(worst.ulps, 0.99 * stated->ulps) << NameOf(function);
  }
}

TEST(Nonlinear, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < kNonlinearFunctions; ++i) {
    for (float x : {nan, -nan, std::numeric_limits<float>::signaling_NaN()}) {
      EXPECT_EQ(std::bit_cast<uint32_t>(Approximate(DefaultSplineTables(), static_cast<F>(i), x)),
                0x7fc00000u)
          << NameOf(static_cast<F>(i));
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
    EXPECT_EQ(Approximate(DefaultSplineTables(), row.function, row.x), row.y)
        << NameOf(row.function) << " of " << row.x;
  }
  for (F function : {F::kLog, F::kSqrt, F::kReciprocalSquareRoot}) {
    EXPECT_EQ(std::bit_cast<uint32_t>(Approximate(DefaultSplineTables(), function, -1.0f)),
              0x7fc00000u)
        << NameOf(function);
    EXPECT_EQ(std::bit_cast<uint32_t>(Approximate(DefaultSplineTables(), function, -inf)),
              0x7fc00000u)
        << NameOf(function);
  }
}

TEST(Nonlinear, VectorsGiveTheBitsOfScalars) {
  Random random(11);
  std::vector<float> values(20011);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 3 == 0 ? std::bit_cast<float>(static_cast<uint32_t>(random()))
                           : static_cast<float>(random.Uniform(-12, 12));
  }
  const SplineTables& tables = **SplineTablesFor(Find("bf16"), 8);
  for (CpuLevel level : kCpuLevels) {
    LimitCpuLevel(level);
    for (int f = 0; f < kNonlinearFunctions; ++f) {
      std::vector<float> result = values;
      Approximate(tables, static_cast<F>(f), result);
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(result[i]),
                  std::bit_cast<uint32_t>(Approximate(tables, static_cast<F>(f), values[i])))
            << NameOf(static_cast<F>(f)) << " of " << values[i] << " at " << NameOf(level);
      }
    }
  }
  LimitCpuLevel(kHighestCpuLevel);
}

}  // namespace
}  // namespace kiln
