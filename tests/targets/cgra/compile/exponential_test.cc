// Exponentials in fixed point against the C library's long double.
#include "kiln/targets/cgra/compile/exponential.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "kiln/targets/cgra/graph/evaluate.h"

namespace kiln::cgra {
namespace {

ValueCodes CodesWith(double scale, int32_t zero, bool is_signed = true) {
  ValueCodes codes;
  codes.scale = scale;
  codes.zero = zero;
  codes.is_signed = is_signed;
  codes.low = is_signed ? -128 : 0;
  codes.high = is_signed ? 127 : 255;
  return codes;
}

// The real code of exp(x), held to the codes in use.
double Exact(const ValueCodes& from, const ValueCodes& to, int32_t code) {
  const long double real = std::exp(static_cast<long double>(from.scale) * (code - from.zero)) /
                           static_cast<long double>(to.scale);
  return static_cast<double>(
      std::min<long double>(std::max<long double>(real + to.zero, to.low), to.high));
}

// Every graph has one input and one output.
std::vector<int32_t> RunGraph(const ComputationGraph& graph, const std::vector<int32_t>& values) {
  EvaluateOptions options;
  options.threads = 1;
  options.lanes = static_cast<int>(values.size());
  const std::vector<std::vector<Vector>> inputs = {{Vector(values.begin(), values.end())}};
  const Evaluation evaluated = Evaluate(graph, inputs, options);
  return {evaluated.outputs[0][0].begin(), evaluated.outputs[0][0].end()};
}

TEST(Exponential, IsTheNearestCodeForEveryCodeOfManyScales) {
  const double from_scales[] = {0.5, 0.1, 0.0625, 0.05, 0.031, 0.02, 0.01, 0.003};
  const double to_scales[] = {1.0 / 255, 0.0078125, 0.0079, 0.031, 0.1, 0.77, 3.0};
  const std::vector<std::pair<int32_t, bool>> zeros = {
      {0, true}, {-128, true}, {7, true}, {0, false}};
  int forms = 0;
  for (const double from_scale : from_scales) {
    for (const double to_scale : to_scales) {
      for (const auto& [zero, is_signed] : zeros) {
        const ValueCodes from = CodesWith(from_scale, -zero / 2);
        const ValueCodes to = CodesWith(to_scale, zero, is_signed);
        const auto fitted = FitExponential(from, to);
        ASSERT_TRUE(fitted.has_value()) << from_scale << " " << to_scale << " " << zero;
        EXPECT_EQ(fitted->codes_off, 0) << from_scale << " " << to_scale << " " << zero;
        for (int32_t code = from.low; code <= from.high; ++code) {
          // A distance of just half a code is a tie; the C library may err by the last bit of it.
          ASSERT_LE(std::abs(CodeAt(fitted->form, to, code) - Exact(from, to, code)), 0.5 + 2e-9)
              << from_scale << " " << to_scale << " " << zero << " " << code;
        }
        ++forms;
      }
    }
  }
  EXPECT_EQ(forms, 8 * 7 * 4);
}

TEST(Exponential, TheGraphComputesTheForm) {
  for (const double scale : {0.4, 0.05, 0.004}) {
    const ValueCodes from = CodesWith(scale, 3), to = CodesWith(0.02, -5);
    const auto fitted = FitExponential(from, to);
    ASSERT_TRUE(fitted.has_value());
    GraphBuilder graph("exp");
    const int x = graph.Input("x");
    graph.Output(AppendExponential(fitted->form, "exp", x, to.zero, &graph), "y");
    std::vector<int32_t> codes;
    for (int32_t code = from.low; code <= from.high; ++code) codes.push_back(code);
    const std::vector<int32_t> results = RunGraph(graph.Finish(), codes);
    for (size_t i = 0; i < codes.size(); ++i)
      EXPECT_EQ(results[i], ValueAt(fitted->form, codes[i]) + to.zero) << codes[i];
  }
}

// The rounding of the factor moves u at the lowest code from -15.8 to -16.2, so that the result,
// 2^-16 or less, is 0 by a shift of 32.
TEST(Exponential, ShiftsBeyondThirtyOneByRoundingAreHeld) {
  constexpr int32_t kLow = -65535, kHigh = -65200;
  const auto form = MakeExponential(0.1, 6553.5 - 15.8, kLow, kHigh, 9);
  ASSERT_TRUE(form.has_value());
  EXPECT_TRUE(form->holds_shift);
  GraphBuilder graph("exp");
  const int x = graph.Input("x");
  graph.Output(AppendExponential(*form, "exp", x, 0, &graph), "y");
  const std::vector<int32_t> results = RunGraph(graph.Finish(), {kLow, kLow + 1, kLow + 2});
  EXPECT_EQ(results, (std::vector<int32_t>{0, 0, 0}));
  // One more whole bit, and no shift exceeds 31.
  const auto higher = MakeExponential(0.1, 6553.5 - 14.5, kLow, kHigh, 9);
  ASSERT_TRUE(higher.has_value());
  EXPECT_FALSE(higher->holds_shift);
}

// Exponentials of differences, as soft-maxes sum up: 20 bits after the binary point.
TEST(Exponential, DifferencesHaveARelativeErrorOfFifteenBits) {
  for (const double scale : {0.25, 0.1, 0.03}) {
    const auto form = MakeExponential(scale * 1.4426950408889634, 20, -255, 0, 21);
    ASSERT_TRUE(form.has_value());
    for (int32_t below = -255; below <= 0; ++below) {
      const long double exact = std::exp(static_cast<long double>(scale) * below) * 1048576;
      // Half a unit is rounding; a factor in fixed point moves far codes a little.
      EXPECT_NEAR(ValueAt(*form, below), static_cast<double>(exact),
                  0.5 + static_cast<double>(exact) * 0x1p-15 + 1)
          << scale << " " << below;
    }
    EXPECT_EQ(ValueAt(*form, 0), 1048576);
  }
}

TEST(Exponential, CodesOfSixteenBitsAreWithinOneCode) {
  ValueCodes from = CodesWith(0.0003, 0), to = CodesWith(0.02, 0);
  from.bits = 16;
  from.low = -32768;
  from.high = 32767;
  const auto fitted = FitExponential(from, to);
  ASSERT_TRUE(fitted.has_value());
  for (int32_t code = from.low; code <= from.high; ++code)
    ASSERT_LE(std::abs(CodeAt(fitted->form, to, code) - Exact(from, to, code)), 1.5) << code;
}

TEST(Exponential, RefusesScalesThatLeaveNoFraction) {
  EXPECT_FALSE(MakeExponential(1000.0, 0, -128, 127, 9).has_value());
  EXPECT_FALSE(FitExponential(CodesWith(600, 0), CodesWith(0.02, 0)).has_value());
}

}  // namespace
}  // namespace kiln::cgra
