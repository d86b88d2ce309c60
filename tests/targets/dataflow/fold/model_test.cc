// Tests of the prepared folding problem.
#include "kiln/targets/dataflow/fold/model.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/targets/dataflow/fold/random_problem.h"
#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

TEST(SlackRanges, BeginAtTheForkOfEachJoin) {
  // The path over `main` takes 20 to 50 cycles. The latency of the fork does not change that.
  const FoldProblem problem = ResidualBlock();
  const FoldModel model(problem);
  const std::vector<SlackRange> ranges = SlackRanges(model, {3, 20, 1}, {1000, 50, 1});
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].most, 0);  // one input never waits
  EXPECT_EQ(ranges[1].least, 0);
  EXPECT_EQ(ranges[1].most, 30);  // a bound: in fact a slow `main` delays the join with it
  EXPECT_EQ(ranges[2].least, 20);
  EXPECT_EQ(ranges[2].most, 50);
}

TEST(SlackRanges, HoldForEveryFold) {
  int waiting = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const FoldProblem problem = RandomProblem(seed, {Shape::kGeneral, 5, 200, true});
    const FoldModel model(problem);
    std::vector<int64_t> least, most;
    for (const Layer& layer : problem.layers) {
      const auto [low, high] = std::minmax_element(
          layer.candidates.begin(), layer.candidates.end(),
          [](const Candidate& a, const Candidate& b) { return a.latency < b.latency; });
      least.push_back(low->latency);
      most.push_back(high->latency);
    }
    const std::vector<SlackRange> ranges = SlackRanges(model, least, most);
    Random random(seed);
    for (int i = 0; i < 20; ++i) {
      Fold fold;
      for (const Layer& layer : problem.layers) {
        fold.choice.push_back(static_cast<int>(random.Below(layer.candidates.size())));
      }
      const FoldMetrics metrics = Evaluate(problem, fold);
      for (size_t e = 0; e < ranges.size(); ++e) {
        EXPECT_GE(metrics.slack[e], ranges[e].least);
        EXPECT_LE(metrics.slack[e], ranges[e].most);
        waiting += ranges[e].least > 0;
      }
    }
  }
  EXPECT_GT(waiting, 100);
}

}  // namespace
}  // namespace kiln::dataflow
