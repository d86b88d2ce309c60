// Tests of the knapsack solver against exhaustive search, and of its lower bound.
#include "kiln/quantise/knapsack.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln {
namespace {

using Groups = std::vector<std::vector<Choice>>;

// Every pick there is.
double LeastCostByTrying(const Groups& groups, double budget) {
  double best = std::numeric_limits<double>::infinity();
  const std::function<void(size_t, double, double)> walk = [&](size_t g, double cost,
                                                               double damage) {
    if (damage > budget) return;
    if (g == groups.size()) {
      best = std::min(best, cost);
      return;
    }
    for (const Choice& choice : groups[g]) walk(g + 1, cost + choice.cost, damage + choice.damage);
  };
  walk(0, 0, 0);
  return best;
}

// Whole numbers, so that sums are exact in any order.
Groups RandomGroups(Random& random) {
  Groups groups(static_cast<size_t>(random.Between(1, 7)));
  for (auto& group : groups) {
    for (int64_t i = random.Between(1, 4); i > 0; --i) {
      group.push_back(
          {static_cast<double>(random.Between(0, 40)), static_cast<double>(random.Between(0, 40))});
    }
  }
  return groups;
}

TEST(Knapsack, FindsWhatTryingEverythingFinds) {
  Random random(1);
  int infeasible = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Groups groups = RandomGroups(random);
    const auto budget = static_cast<double>(random.Between(0, 150));
    const KnapsackResult result = SolveKnapsack(groups, budget);
    const double least = LeastCostByTrying(groups, budget);
    if (std::isinf(least)) {
      EXPECT_TRUE(result.picks.empty());
      ++infeasible;
      continue;
    }
    ASSERT_EQ(result.picks.size(), groups.size());
    EXPECT_EQ(result.cost, least) << "trial " << trial;
    EXPECT_EQ(result.lower_bound, least);
    double cost = 0, damage = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      cost += groups[g][static_cast<size_t>(result.picks[g])].cost;
      damage += groups[g][static_cast<size_t>(result.picks[g])].damage;
    }
    EXPECT_EQ(cost, result.cost);
    EXPECT_EQ(damage, result.damage);
    EXPECT_LE(damage, budget);
  }
  EXPECT_GT(infeasible, 20);
}

// Cut short, it still gives a pick within the budget and a bound below the optimum.
TEST(Knapsack, WithoutRoomForStatesTheBoundStillHolds) {
  Random random(2);
  int gaps = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Groups groups = RandomGroups(random);
    const double budget = 60, least = LeastCostByTrying(groups, budget);
    if (std::isinf(least)) continue;
    const KnapsackResult result = SolveKnapsack(groups, budget, 1);
    EXPECT_LE(result.damage, budget);
    EXPECT_GE(result.cost, least);
    EXPECT_LE(result.lower_bound, least + 1e-9);
    gaps += result.lower_bound < result.cost;
  }
  EXPECT_GT(gaps, 0);
}

TEST(Knapsack, ManyLayersStayQuick) {
  Random random(3);
  Groups groups(60);
  for (auto& group : groups) {
    double cost = 100, damage = 0;
    for (int i = 0; i < 6; ++i) {
      group.push_back({cost, damage});
      cost *= random.Uniform(0.5, 0.95);
      damage += random.Uniform(0, 1) * std::exp2(i);
    }
  }
  const KnapsackResult result = SolveKnapsack(groups, 300);
  EXPECT_EQ(result.lower_bound, result.cost);  // solved, not cut short
  EXPECT_LE(result.damage, 300);
}

}  // namespace
}  // namespace kiln
