// Tests of the maximum of planes against the definition.
#include "kiln/targets/dataflow/fold/cutting_planes.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln::dataflow {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(CuttingPlanes, FindsTheCornerOfTwoLines) {
  CuttingPlanes planes(1, 100);
  planes.Add(1, {2});
  EXPECT_THAT(planes.Maximise().x, ElementsAre(DoubleNear(100, 1e-6)));
  EXPECT_NEAR(planes.Maximise().value, 201, 1e-6);
  planes.Add(10, {-1});
  EXPECT_THAT(planes.Maximise().x, ElementsAre(DoubleNear(3, 1e-6)));
  EXPECT_NEAR(planes.Maximise().value, 7, 1e-6);
  planes.Add(5, {-1});
  planes.Add(4, {0});
  EXPECT_NEAR(planes.Maximise().value, 11.0 / 3, 1e-6);
}

TEST(CuttingPlanes, NeedsNoVariable) {
  CuttingPlanes planes(0, 1);
  planes.Add(3, {});
  planes.Add(2, {});
  EXPECT_EQ(planes.Maximise().value, 2);
}

TEST(CuttingPlanes, FindsTheMaximumOfAConcaveFunction) {
  // The function is the least of many planes; Kelley's method finds its maximum. No point of a
  // grid is higher.
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const size_t variables = 1 + random.Below(3);
    constexpr int64_t kMost = 10;
    std::vector<std::vector<double>> slopes(30);
    std::vector<double> constants;
    for (std::vector<double>& slope : slopes) {
      constants.push_back(static_cast<double>(random.Between(-50, 50)));
      for (size_t v = 0; v < variables; ++v) {
        slope.push_back(static_cast<double>(random.Between(-20, 10)));
      }
    }
    const auto evaluate = [&](const std::vector<double>& x, size_t* active) {
      double least = 1e9;
      for (size_t k = 0; k < slopes.size(); ++k) {
        double value = constants[k];
        for (size_t v = 0; v < variables; ++v) value += slopes[k][v] * x[v];
        if (value < least) *active = k;
        least = std::min(least, value);
      }
      return least;
    };
    CuttingPlanes planes(variables, kMost);
    std::vector<double> x(variables, 0);
    double best = -1e9, upper = 1e9;
    for (int i = 0; i < 60 && upper - best > 1e-6; ++i) {
      size_t active = 0;
      best = std::max(best, evaluate(x, &active));
      planes.Add(constants[active], slopes[active]);
      const CuttingPlanes::Maximum& maximum = planes.Maximise();
      EXPECT_LE(maximum.value, upper + 1e-6);
      x = maximum.x;
      upper = maximum.value;
    }
    EXPECT_NEAR(best, upper, 1e-5) << "seed " << seed;
    for (int i = 0; i < 500; ++i) {
      std::vector<double> point;
      for (size_t v = 0; v < variables; ++v) {
        point.push_back(static_cast<double>(random.Between(0, kMost * 10)) / 10);
      }
      size_t active = 0;
      EXPECT_LE(evaluate(point, &active), upper + 1e-5) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kiln::dataflow
