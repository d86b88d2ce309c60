// The best order of steps against all valid orders, enumerated, with costs by plain loops.
#include "kiln/targets/binary/predict/step_order.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "kiln/support/random.h"
#include "tests/targets/binary/predict/plain_sums.h"

namespace kiln::binary {
namespace {

PredictionCase OrderCase(uint64_t seed, int planes, int bits) {
  WindowShape shape;
  shape.height = 3;
  shape.width = 4;
  shape.channels = 7;
  shape.outputs = 4;
  shape.kernel_height = shape.kernel_width = 2;
  return MakePredictionCase(shape, {WeightCoding::kSigned, planes}, {false, bits}, 0.6, 300, seed);
}

// Adds all valid orders that begin with `begin`, by trying every step.
void AddOrders(int planes, int digits, std::vector<Step>& begin,
               std::vector<std::vector<Step>>& orders) {
  if (std::ssize(begin) == planes * digits) orders.push_back(begin);
  const auto has = [&](Step step) {
    return std::find(begin.begin(), begin.end(), step) != begin.end();
  };
  for (int p = 0; p < planes; ++p) {
    for (int q = 0; q < digits; ++q) {
      if (has({p, q}) || (p + 1 < planes && !has({p + 1, q})) ||
          (q + 1 < digits && !has({p, q + 1}))) {
        continue;
      }
      begin.push_back({p, q});
      AddOrders(planes, digits, begin, orders);
      begin.pop_back();
    }
  }
}

double PlainCost(const PredictionCase& made, Bound bound, const std::vector<double>& costs,
                 const std::vector<Step>& order, int digits) {
  double cost = 0;
  const int64_t outputs = made.shape.positions() * made.shape.outputs;
  for (int64_t i = 0; i < outputs; ++i) {
    const PlainOutput plain =
        ComputePlainOutput(made, i / made.shape.outputs, i % made.shape.outputs);
    const auto& most = bound == Bound::kStatic ? plain.most : plain.map;
    int64_t upper = plain.total * made.weight_format.scale();
    const auto change = [&](Step step) {
      const auto p = static_cast<size_t>(step.plane), q = static_cast<size_t>(step.digit);
      return most[p][q] - plain.terms[p][q];
    };
    for (Step step : order) upper += change(step);
    for (Step step : order) {
      if (upper < 0) break;
      cost += costs[static_cast<size_t>(step.plane * digits + step.digit)];
      upper -= change(step);
    }
  }
  return cost / static_cast<double>(outputs);
}

TEST(StepOrder, IsTheBestOfAllOrders) {
  // Orders of a grid of planes and digits: Catalan's numbers for two digits, 42 for three by three.
  const std::map<std::pair<int, int>, size_t> counts = {{{1, 2}, 1},  {{2, 2}, 2},  {{3, 2}, 5},
                                                        {{4, 2}, 14}, {{3, 3}, 42}, {{4, 1}, 1}};
  uint64_t seed = 0;
  for (const auto& [grid, count] : counts) {
    const auto [planes, digits] = grid;
    std::vector<std::vector<Step>> orders;
    std::vector<Step> begin;
    AddOrders(planes, digits, begin, orders);
    ASSERT_EQ(orders.size(), count);
    for (Bound bound : {Bound::kStatic, Bound::kMap}) {
      const PredictionCase made = OrderCase(++seed, planes, 4 * digits);
      const StepSums sums = made.Sums();
      Random random(seed);
      std::vector<double> costs;
      for (int i = 0; i < sums.steps(); ++i) costs.push_back(random.Uniform(0.5, 2));
      double least = 1e9;
      for (const std::vector<Step>& order : orders) {
        const double cost = PlainCost(made, bound, costs, order, digits);
        EXPECT_NEAR(CostOfOrder(sums, bound, costs, order), cost, 1e-9);
        least = std::min(least, cost);
      }
      const StepOrder best = BestOrder(sums, bound, costs);
      EXPECT_TRUE(IsValidOrder(sums, best.order));
      EXPECT_NEAR(best.cost, least, 1e-9);
      EXPECT_NEAR(PlainCost(made, bound, costs, best.order, digits), least, 1e-9);
      EXPECT_EQ(best.orders, static_cast<double>(count));
    }
  }
}

// 8 planes and 2 digits have 1430 orders (Catalan's number C_8) and 45 sets of done steps.
TEST(StepOrder, SearchesSetsInsteadOfOrders) {
  const StepSums sums = OrderCase(9, 8, 8).Sums();
  const StepOrder best = BestOrder(sums, Bound::kMap, std::vector<double>(16, 1.0));
  EXPECT_EQ(best.orders, 1430);
  EXPECT_EQ(best.states, 45);
  EXPECT_LE(best.cost, CostOfOrder(sums, Bound::kMap, std::vector<double>(16, 1.0),
                                   StepsBySignificance(sums)) +
                           1e-9);
}

}  // namespace
}  // namespace kiln::binary
