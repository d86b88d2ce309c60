#include "kiln/targets/cgra/compile/piecewise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace kiln::cgra {
namespace {

// The values of a function of the real number code / 16, in codes of 1 / 64, held by int8.
std::vector<double> Sample(const std::function<double(double)>& function) {
  std::vector<double> values;
  for (int code = -128; code <= 127; ++code) values.push_back(64 * function(code / 16.0));
  return values;
}

struct Named {
  const char* name;
  std::function<double(double)> function;
};

TEST(Piecewise, IsWithinItsErrorOfTheFunctionAtEveryCode) {
  const std::vector<Named> functions = {
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"square", [](double x) { return x * x; }},
      {"half a sine", [](double x) { return std::sin(x / 2); }},
  };
  for (const Named& named : functions) {
    SCOPED_TRACE(named.name);
    const std::vector<double> values = Sample(named.function);
    const auto fitted = FitPiecewise(-128, values, -128, 127);
    ASSERT_TRUE(fitted.has_value());
    EXPECT_LE(fitted->error, kMostError);
    EXPECT_LT(std::ssize(fitted->corners), kMostSegments);
    for (int code = -128; code <= 127; ++code) {
      const double wanted = std::clamp(values[static_cast<size_t>(code + 128)], -128.0, 127.0);
      // Half a code more than the error: the result is rounded.
      EXPECT_NEAR(ValueAt(*fitted, code), wanted, fitted->error + 0.5 + 1e-9) << code;
    }
    // Corners ascend, as chains of maxima need them.
    EXPECT_TRUE(std::ranges::is_sorted(fitted->corners, {}, &Piecewise::Corner::at));
  }
}

TEST(Piecewise, LinesBetweenBoundsNeedNoCorner) {
  const auto relu =
      FitPiecewise(-128, Sample([](double x) { return std::max(x, 0.0); }), -128, 127);
  ASSERT_TRUE(relu.has_value());
  EXPECT_TRUE(relu->corners.empty());
  EXPECT_EQ(relu->low, 0);
  EXPECT_EQ(relu->high, 127);
  const auto constant = FitPiecewise(-128, Sample([](double) { return 0.5; }), -128, 127);
  ASSERT_TRUE(constant.has_value());
  EXPECT_TRUE(constant->corners.empty());
  for (const int code : {-128, 0, 127}) EXPECT_EQ(ValueAt(*constant, code), 32);
}

TEST(Piecewise, OneCornerIsExact) {
  const auto magnitude =
      FitPiecewise(-128, Sample([](double x) { return std::abs(x) / 8; }), -128, 127);
  ASSERT_TRUE(magnitude.has_value());
  EXPECT_EQ(magnitude->corners.size(), 1u);
  EXPECT_LT(magnitude->error, 1e-3);
}

TEST(Piecewise, RefusesWhatJumpsTooOften) {
  std::vector<double> values;
  for (int code = -128; code <= 127; ++code) values.push_back(code % 2 == 0 ? 100 : -100);
  EXPECT_FALSE(FitPiecewise(-128, values, -128, 127).has_value());
}

}  // namespace
}  // namespace kiln::cgra
