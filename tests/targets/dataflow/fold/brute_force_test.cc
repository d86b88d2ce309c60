// Tests of the enumeration by hand: counts, FIFO options, ties, its limit.
#include "kiln/targets/dataflow/fold/brute_force.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;

TEST(EnumerateFolds, VisitsEachValidFoldWithEachFifo) {
  FoldProblem problem = ResidualBlock();
  std::vector<std::vector<int>> options;
  const auto visit = [&](const Fold& fold, const FoldMetrics&) {
    options.push_back({fold.choice[1], fold.fifo_option[2]});
  };
  StatusOr<int64_t> count = EnumerateFolds(problem, visit);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 2);
  EXPECT_THAT(options, ElementsAre(ElementsAre(0, 0), ElementsAre(0, 1), ElementsAre(1, 0),
                                   ElementsAre(1, 1)));
  options.clear();
  problem.limits[kLut] = 150;  // the fast main path needs 200 elements
  ASSERT_TRUE(EnumerateFolds(problem, visit).ok());
  EXPECT_THAT(options, ElementsAre(ElementsAre(0, 1), ElementsAre(1, 0), ElementsAre(1, 1)));
}

TEST(EnumerateFolds, LeavesOutWhatDoesNotCouple) {
  FoldProblem problem = ResidualBlock();
  problem.layers[1].candidates[0].in_lanes = 2;
  problem.layers[0].candidates.push_back(MakeCandidate(1, 2, 10, 2, 3));
  problem.edges[2].coupling = Coupling::kNone;
  std::vector<std::vector<int>> choices;
  ASSERT_TRUE(EnumerateFolds(problem, [&](const Fold& fold, const FoldMetrics&) {
                if (fold.fifo_option[2] == 0) choices.push_back(fold.choice);
              }).ok());
  // A main path of one lane cannot take words of two.
  EXPECT_THAT(choices,
              ElementsAre(ElementsAre(0, 0, 0), ElementsAre(0, 1, 0), ElementsAre(1, 0, 0)));
}

TEST(EnumerateFolds, RefusesTooMany) {
  FoldProblem problem;
  for (int l = 0; l < 27; ++l) {
    problem.layers.push_back(
        MakeLayer("conv", {MakeCandidate(1, 1, 1, 1), MakeCandidate(1, 1, 2, 1)}));
  }
  EXPECT_EQ(MessageOf(EnumerateFolds(problem, [](const Fold&, const FoldMetrics&) {}).status()),
            "10^8.1 folds are too many to enumerate; give at most 67108864");
}

TEST(SolveByEnumeration, FindsTheLexicographicallyBest) {
  const FoldProblem problem = ResidualBlock();
  StatusOr<FoldResult> result = SolveByEnumeration(problem, {});
  ASSERT_TRUE(result.ok() && result->fold);
  // Least L_max needs 9 DSP; then memory in LUTs is the least.
  EXPECT_THAT(result->fold->choice, ElementsAre(0, 0, 0));
  EXPECT_THAT(result->fold->fifo_option, ElementsAre(-1, -1, 0));
  result = SolveByEnumeration(problem, {Goal::kResources, kUnlimited, ResourceOrder::kDspFirst});
  ASSERT_TRUE(result.ok() && result->fold);
  EXPECT_THAT(result->fold->choice, ElementsAre(0, 1, 0));
  EXPECT_EQ(result->certificate.cycles_bound, 10);
  result = SolveByEnumeration(problem, {Goal::kThroughput, 9, ResourceOrder::kDspFirst});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->fold);
  EXPECT_TRUE(result->certificate.optimal);
}

}  // namespace
}  // namespace kiln::dataflow
