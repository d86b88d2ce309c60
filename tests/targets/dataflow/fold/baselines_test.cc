// Tests of FINN's rule and of SAMO's searches: valid folds only, never better than the optimum, and
// their steps by hand.
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"
#include "kiln/targets/dataflow/fold/exact.h"
#include "kiln/targets/dataflow/fold/finn_rule.h"
#include "kiln/targets/dataflow/fold/plain_model.h"
#include "kiln/targets/dataflow/fold/samo.h"
#include "tests/targets/dataflow/fold/random_problem.h"
#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;

TEST(Baselines, NeverBeatTheOptimum) {
  int found = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const FoldProblem problem =
        RandomProblem(seed, {static_cast<Shape>(seed % 3), 4, 2000, seed % 2 == 1});
    const Objective objective = RandomObjective(random, problem);
    StatusOr<FoldResult> best = SolveExact(problem, objective);
    ASSERT_TRUE(best.ok());
    SamoOptions options;
    options.seed = seed;
    options.cooling = 0.98;
    const std::pair<const char*, StatusOr<FoldResult>> results[] = {
        {"FINN", SolveFinnRule(problem, objective)},
        {"rule", SolveSamoRule(problem, objective, options)},
        {"annealing", SolveSamoAnnealing(problem, objective, options)},
        {"brute force", SolveSamoBruteForce(problem, objective, options)},
    };
    for (const auto& [name, result] : results) {
      SCOPED_TRACE(fmt::format("seed {}, {}", seed, name));
      ASSERT_TRUE(result.ok());
      EXPECT_FALSE(result->certificate.optimal);
      if (!result->fold) continue;
      ++found;
      ASSERT_TRUE(best->fold);
      EXPECT_THAT(Violations(problem, *result->fold), testing::IsEmpty());
      EXPECT_LE(result->metrics.l_max, objective.target_cycles);
      EXPECT_LE(result->certificate.cycles_bound, result->metrics.l_max);
      EXPECT_GE(ScoresOf(objective, problem.limits, result->metrics),
                ScoresOf(objective, problem.limits, best->metrics));
    }
    // The whole space is enumerated, but with one choice of FIFOs for each fold.
    const auto& [name, enumerated] = results[3];
    if (best->fold && enumerated->fold && problem.edges.empty()) {
      EXPECT_EQ(ScoresOf(objective, problem.limits, enumerated->metrics),
                ScoresOf(objective, problem.limits, best->metrics));
    }
  }
  EXPECT_GT(found, 100);
}

TEST(SolveFinnRule, UnfoldsInputLanesFirst) {
  FoldProblem problem;
  problem.layers = {PlainFolds({"conv", 10, 10, 4, 4, 1})};
  Objective objective;
  objective.goal = Goal::kResources;
  objective.target_cycles = 400;
  StatusOr<FoldResult> result = SolveFinnRule(problem, objective);
  ASSERT_TRUE(result.ok() && result->fold);
  const Candidate& chosen =
      problem.layers[0].candidates[static_cast<size_t>(result->fold->choice[0])];
  EXPECT_EQ(chosen.in_lanes, 4);
  EXPECT_EQ(chosen.out_lanes, 1);
}

TEST(SolveFinnRule, LevelsThePipelineIfTheTargetIsMissed) {
  // The second layer cannot be faster than 400 cycles, so the first need not be either.
  FoldProblem problem;
  problem.layers = {PlainFolds({"conv1", 10, 10, 1, 16, 1}),
                    MakeLayer("slow", {MakeCandidate(1, 1, 400, 1), MakeCandidate(16, 1, 400, 1)})};
  problem.edges = {MakeEdge(0, 1)};
  problem.limits[kDsp] = 100;
  StatusOr<FoldResult> result = SolveFinnRule(problem, {});
  ASSERT_TRUE(result.ok() && result->fold);
  EXPECT_EQ(result->metrics.l_max, 400);
  EXPECT_EQ(result->metrics.resources[kDsp], 5);
}

TEST(Baselines, FoldVdsrAsExpected) {
  const FoldProblem problem = PlainChain(VdsrLayers(5, 200), 1728);
  StatusOr<FoldResult> finn = SolveFinnRule(problem, {});
  StatusOr<FoldResult> rule = SolveSamoRule(problem, {});
  ASSERT_TRUE(finn.ok() && rule.ok() && finn->fold && rule->fold);
  // Both reach the least L_max here; the second also the least L_sum (plain_model_optima.csv).
  EXPECT_EQ(finn->metrics.l_max, 5120000);
  EXPECT_EQ(finn->metrics.l_sum, 3840000);
  EXPECT_EQ(rule->metrics.l_max, 5120000);
  EXPECT_EQ(rule->metrics.l_sum, 2560000);
}

TEST(SolveSamoAnnealing, DependsOnTheSeedOnly) {
  const FoldProblem problem = PlainChain(ResNet20Layers(), 1728);
  SamoOptions options;
  options.cooling = 0.99;
  StatusOr<FoldResult> first = SolveSamoAnnealing(problem, {}, options);
  StatusOr<FoldResult> second = SolveSamoAnnealing(problem, {}, options);
  ASSERT_TRUE(first.ok() && second.ok() && first->fold && second->fold);
  EXPECT_EQ(*first->fold, *second->fold);
}

TEST(SolveSamoBruteForce, StopsAtItsLimit) {
  const FoldProblem problem = PlainChain(VdsrLayers(5, 200), 1728);
  SamoOptions options;
  options.most_folds = 3;
  StatusOr<FoldResult> result = SolveSamoBruteForce(problem, {}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_LE(result->certificate.work, 3);
}

TEST(Baselines, PassOnErrors) {
  EXPECT_EQ(MessageOf(SolveFinnRule({}, {}).status()), "the problem has no layers; give it one");
  SamoOptions options;
  options.cooling = 1;
  EXPECT_EQ(MessageOf(SolveSamoAnnealing(ResidualBlock(), {}, options).status()),
            "cooling: is 1; use a number between 0 and 1");
  options = {};
  options.coldest = 0;
  EXPECT_EQ(MessageOf(SolveSamoRule(ResidualBlock(), {}, options).status()),
            "coldest: is 0; use more than 0");
}

}  // namespace
}  // namespace kiln::dataflow
