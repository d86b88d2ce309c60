// Tests of the fixed-point functions: the table, stated errors, special values, symmetry, order.
#include "kiln/numerics/function_unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/function_fit.h"
#include "kiln/numerics/spline_fit.h"
#include "tests/numerics/find_format.h"

namespace kiln {
namespace {

using F = NonlinearFunction;

constexpr std::string_view kVectorFormats[] = {"bf16", "fp16"};

F FunctionOf(int number) { return static_cast<F>(number); }
double ExactValue(F function, float x) { return NonlinearTarget(function, static_cast<double>(x)); }

// The finite numbers of a format that are zero or normal in fp32, in ascending order.
std::vector<float> NumbersOf(std::string_view name) {
  const Format format = Find(name);
  std::vector<float> numbers;
  for (uint32_t code = 0; code < 1u << format.bits; ++code) {
    const float x = DecodeFloat(format, code);
    if (x == 0 ? !std::signbit(x) : std::isnormal(x)) numbers.push_back(x);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST(FunctionUnit, TableIsWhatTheFitGives) {
  for (int row = 0; row < kFunctionRows; ++row)
    EXPECT_EQ(FunctionRows()[static_cast<size_t>(row)], FitFunctionRow(row)) << "row " << row;
}

// At every offset of every row, in units of 2^-14, four of which are 2^-12.
TEST(FunctionUnit, RowsAreNearTheirFunctions) {
  double worst = 0;
  for (int row = 0; row < kFunctionRows; ++row) {
    for (int offset = 0; offset < kOffsets; ++offset) {
      const int32_t value = EvaluateRow(FunctionRows()[static_cast<size_t>(row)], offset);
      const double exact = FunctionRowTarget(row, offset);
      worst = std::max(worst, std::fabs(value - exact));
      EXPECT_FALSE(exact > 0 ? value < 0 : exact < 0 && value > 0)
          << "row " << row << " offset " << offset;
    }
  }
  EXPECT_LE(worst, 4.2);
  EXPECT_GE(worst, 4.1);
}

// Every number of the format, and no looser statement than there must be.
TEST(FunctionUnit, StatedErrorsAreTheLargest) {
  for (std::string_view name : kVectorFormats) {
    const Format format = Find(name);
    const std::vector<float> numbers = NumbersOf(name);
    for (int f = 0; f < kNonlinearFunctions; ++f) {
      NonlinearError worst;
      for (float x : numbers) {
        const double exact = ExactValue(FunctionOf(f), x);
        if (exact != 0 && std::fabs(exact) < 0x1p-126) continue;
        const float result =
            DecodeFloat(format, EncodeFloat(format, ApproximateFixed(FunctionOf(f), x)));
        const ErrorAtArgument error = NonlinearErrorAt(FunctionOf(f), format, x, result);
        worst.absolute = std::max(worst.absolute, error.absolute);
        worst.ulps = std::max(worst.ulps, error.ulps);
      }
      const NonlinearError* stated = StatedFixedError(FunctionOf(f), name);
      ASSERT_NE(stated, nullptr) << NameOf(FunctionOf(f)) << " " << name;
      EXPECT_LE(worst.absolute, stated->absolute) << NameOf(FunctionOf(f)) << " " << name;
      EXPECT_LE(worst.ulps, stated->ulps) << NameOf(FunctionOf(f)) << " " << name;
      EXPECT_GE(worst.absolute, 0.99 * stated->absolute) << NameOf(FunctionOf(f)) << " " << name;
      EXPECT_GE(worst.ulps, 0.99 * stated->ulps) << NameOf(FunctionOf(f)) << " " << name;
    }
  }
  EXPECT_EQ(StatedFixedError(F::kExp, "fp32"), nullptr);
}

// The bounds of function_unit.h, before rounding to the format.
TEST(FunctionUnit, BoundsHoldBeforeRounding) {
  for (std::string_view name : {"bf16", "fp16", "tf32"}) {
    for (float x : NumbersOf(name)) {
      for (int f = 0; f < kNonlinearFunctions; ++f) {
        const F function = FunctionOf(f);
        const double exact = ExactValue(function, x);
        if (std::isnan(exact) || std::isinf(exact)) continue;
        const double result = static_cast<double>(ApproximateFixed(function, x));
        const bool relative = function == F::kExp || function == F::kReciprocal ||
                              function == F::kSqrt || function == F::kReciprocalSquareRoot;
        if (!relative) {
          EXPECT_LE(std::fabs(result - exact), 0x1p-11) << NameOf(function) << " of " << x;
        } else if (exact >= 0x1.01p-126 && exact < 0x1.ffp+127) {
          EXPECT_LE(std::fabs(result - exact), 0x1.3ap-12 * exact)
              << NameOf(function) << " of " << x;
        }
      }
    }
  }
}

// Units of the last place after rounding, where relative accuracy matters.
TEST(FunctionUnit, ExponentialsReciprocalsAndRootsAreNearlyRounded) {
  for (F function : {F::kExp, F::kReciprocal, F::kSqrt, F::kReciprocalSquareRoot}) {
    EXPECT_LE(StatedFixedError(function, "bf16")->ulps, 0.56) << NameOf(function);
    EXPECT_LE(StatedFixedError(function, "fp16")->ulps, 1.0) << NameOf(function);
  }
}

TEST(FunctionUnit, PowersOfTwoAreExact) {
  for (int e = -126; e <= 127; ++e) {
    const float x = std::ldexp(1.0f, e);
    const float inverse = e == 127 ? 0 : std::ldexp(1.0f, -e);  // 2^-127 is too small
    EXPECT_EQ(ApproximateFixed(F::kReciprocal, x), inverse) << e;
    EXPECT_EQ(ApproximateFixed(F::kReciprocal, -x), -inverse) << e;
    if (e % 2 == 0) {
      EXPECT_EQ(ApproximateFixed(F::kSqrt, x), std::ldexp(1.0f, e / 2)) << e;
      EXPECT_EQ(ApproximateFixed(F::kReciprocalSquareRoot, x), std::ldexp(1.0f, -e / 2)) << e;
    }
  }
}

TEST(FunctionUnit, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto bits = [](F function, float x) {
    return std::bit_cast<uint32_t>(ApproximateFixed(function, x));
  };
  for (int f = 0; f < kNonlinearFunctions; ++f) {
    EXPECT_EQ(bits(FunctionOf(f), nan), 0x7fc00000u) << NameOf(FunctionOf(f));
    EXPECT_EQ(bits(FunctionOf(f), -nan), 0x7fc00000u) << NameOf(FunctionOf(f));
    // A subnormal number counts as zero of its sign.
    EXPECT_EQ(bits(FunctionOf(f), 0x1p-127f), bits(FunctionOf(f), 0.0f)) << NameOf(FunctionOf(f));
    EXPECT_EQ(bits(FunctionOf(f), -0x1p-127f), bits(FunctionOf(f), -0.0f)) << NameOf(FunctionOf(f));
  }
  struct Row {
    F function;
    float x, y;
  };
  for (const Row& row : std::vector<Row>{{F::kExp, inf, inf},
                                         {F::kExp, -inf, 0},
                                         {F::kExp, 0, 1},
                                         {F::kExp, -0.0f, 1},
                                         {F::kExp, 89, inf},
                                         {F::kExp, 1e30f, inf},
                                         {F::kExp, -88, 0},
                                         {F::kExp, -1e30f, 0},
                                         {F::kSigmoid, inf, 1},
                                         {F::kSigmoid, -inf, 0},
                                         {F::kSigmoid, 0, 0.5f},
                                         {F::kSigmoid, -0.0f, 0.5f},
                                         {F::kTanh, inf, 1},
                                         {F::kTanh, -inf, -1},
                                         {F::kTanh, 8, 1},
                                         {F::kTanh, 0, 0},
                                         {F::kTanh, -0.0f, -0.0f},
                                         {F::kTanh, 0x1p-20f, 0x1p-20f},
                                         {F::kGelu, inf, inf},
                                         {F::kGelu, -inf, 0},
                                         {F::kGelu, 24, 24},
                                         {F::kGelu, -0.0f, -0.0f},
                                         {F::kGelu, 0x1.8p-20f, 0x1.8p-21f},
                                         {F::kGeluTanh, inf, inf},
                                         {F::kGeluTanh, -inf, 0},
                                         {F::kErf, inf, 1},
                                         {F::kErf, -inf, -1},
                                         {F::kErf, -4, -1},
                                         {F::kErf, -0.0f, -0.0f},
                                         {F::kSoftplus, -inf, 0},
                                         {F::kSoftplus, inf, inf},
                                         {F::kSoftplus, 100, 100},
                                         {F::kSilu, -inf, 0},
                                         {F::kSilu, inf, inf},
                                         {F::kSilu, -20, 0},
                                         {F::kHardSigmoid, -inf, 0},
                                         {F::kHardSigmoid, inf, 1},
                                         {F::kHardSigmoid, 0, 0.5f},
                                         {F::kHardSigmoid, 3, 1},
                                         {F::kHardSigmoid, -3, 0},
                                         {F::kHardSwish, -inf, 0},
                                         {F::kHardSwish, inf, inf},
                                         {F::kHardSwish, -3, 0},
                                         {F::kHardSwish, 3.5f, 3.5f},
                                         {F::kLog, 0, -inf},
                                         {F::kLog, -0.0f, -inf},
                                         {F::kLog, inf, inf},
                                         {F::kLog, 1, 0},
                                         {F::kSqrt, -0.0f, -0.0f},
                                         {F::kSqrt, inf, inf},
                                         {F::kElu, -inf, -1},
                                         {F::kElu, inf, inf},
                                         {F::kElu, 0.3125f, 0.3125f},
                                         {F::kElu, -0.0f, -0.0f},
                                         {F::kReciprocal, 0, inf},
                                         {F::kReciprocal, -0.0f, -inf},
                                         {F::kReciprocal, inf, 0},
                                         {F::kReciprocal, -inf, -0.0f},
                                         {F::kReciprocalSquareRoot, 0, inf},
                                         {F::kReciprocalSquareRoot, -0.0f, inf},
                                         {F::kReciprocalSquareRoot, inf, 0}}) {
    EXPECT_EQ(bits(row.function, row.x), std::bit_cast<uint32_t>(row.y))
        << NameOf(row.function) << " of " << row.x;
  }
  for (F function : {F::kLog, F::kSqrt, F::kReciprocalSquareRoot}) {
    EXPECT_EQ(bits(function, -1.0f), 0x7fc00000u) << NameOf(function);
    EXPECT_EQ(bits(function, -inf), 0x7fc00000u) << NameOf(function);
  }
}

TEST(FunctionUnit, OddFunctionsAreOdd) {
  for (F function : {F::kTanh, F::kErf, F::kReciprocal}) {
    for (float x : NumbersOf("tf32")) {
      EXPECT_EQ(std::bit_cast<uint32_t>(ApproximateFixed(function, -x)),
                std::bit_cast<uint32_t>(ApproximateFixed(function, x)) ^ 0x80000000u)
          << NameOf(function) << " of " << x;
    }
  }
}

// f(x) + f(-x) = 1, and f(x) - f(-x) = x of the rectified functions, whose parts are the same row.
TEST(FunctionUnit, PartsOfPositiveAndNegativeArgumentsMatch) {
  for (float x : NumbersOf("fp16")) {
    if (!(x >= 0x1p-6f && x < 16)) continue;
    for (F function : {F::kSigmoid, F::kHardSigmoid})
      EXPECT_EQ(ApproximateFixed(function, x) + ApproximateFixed(function, -x), 1.0f) << x;
    // t is truncated to 12 fraction bits.
    const float t = std::floor(x * 4096) / 4096;
    for (F function : {F::kGelu, F::kGeluTanh, F::kSilu, F::kSoftplus, F::kHardSwish})
      EXPECT_EQ(ApproximateFixed(function, x) - ApproximateFixed(function, -x), t) << x;
  }
}

// Where the functions rise, exp, log, sqrt and hard sigmoid never fall, and the others fall by at
// most this many units of 2^-14, from one segment to the next or inside one.
TEST(FunctionUnit, RisingFunctionsFallLittle) {
  const std::map<F, double> falls = {{F::kExp, 0},         {F::kLog, 0},      {F::kSqrt, 0},
                                     {F::kHardSigmoid, 0}, {F::kSigmoid, 2},  {F::kTanh, 4},
                                     {F::kErf, 2},         {F::kSoftplus, 2}, {F::kElu, 2}};
  for (const auto& [function, most] : falls) {
    double worst = 0;
    for (std::string_view name : kVectorFormats) {
      double previous = -std::numeric_limits<double>::infinity();
      for (float x : NumbersOf(name)) {
        const double y = static_cast<double>(ApproximateFixed(function, x));
        if (std::isnan(y)) continue;
        if (y < previous) worst = std::max(worst, (previous - y) * 0x1p14);
        previous = y;
      }
    }
    EXPECT_EQ(worst, most) << NameOf(function);
  }
}

// Reciprocals of positive numbers never rise.
TEST(FunctionUnit, FallingFunctionsFall) {
  for (F function : {F::kReciprocal, F::kReciprocalSquareRoot}) {
    float previous = std::numeric_limits<float>::infinity();
    for (float x : NumbersOf("tf32")) {
      if (x <= 0) continue;
      const float y = ApproximateFixed(function, x);
      EXPECT_LE(y, previous) << NameOf(function) << " of " << x;
      previous = y;
    }
  }
}

TEST(ShortFloat, HasFewFractionBitsAndNoSubnormalsOfFp32) {
  for (const char* name : {"bf16.flush", "tf32.flush", "fp16", "e6m9", "e5m2", "e4m3_fnuz"})
    EXPECT_TRUE(IsShortFloat(*FindFormat(name))) << name;
  for (const char* name : {"bf16", "tf32", "fp32", "e8m23.flush", "e7m11", "e8m0", "ue5m3", "int8",
                           "posit8_1", "fp16.toward_zero"})
    EXPECT_FALSE(IsShortFloat(*FindFormat(name))) << name;
}

}  // namespace
}  // namespace kiln
