// Tests of the integer programs: the plain model's optima, agreement with the enumeration, and
// CBC's part by hand.
#include "kiln/targets/dataflow/fold/ilp.h"

#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"
#include "kiln/targets/dataflow/fold/brute_force.h"
#include "kiln/targets/dataflow/fold/exact.h"
#include "kiln/targets/dataflow/fold/integer_program.h"
#include "tests/targets/dataflow/fold/networks.h"
#include "tests/targets/dataflow/fold/optima.h"
#include "tests/targets/dataflow/fold/random_problem.h"
#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

using Outcome = IntegerProgram::Solution::Outcome;

TEST(IntegerProgram, SolvesAKnapsack) {
  // The best of values 6, 5, 5 with weights 5, 4, 4 and room for 8 is the pair.
  IntegerProgram program;
  std::vector<IntegerProgram::Entry> weights;
  for (const auto& [value, weight] : {std::pair{6, 5}, {5, 4}, {5, 4}}) {
    const int variable = program.AddBinary();
    program.SetCost(variable, -value);
    weights.push_back({variable, static_cast<double>(weight)});
  }
  program.AddRow(weights, -IntegerProgram::kInfinity, 8);
  IntegerProgram::Solution solution = program.Solve(1000);
  ASSERT_EQ(solution.outcome, Outcome::kOptimal);
  EXPECT_NEAR(solution.values[0], 0, 1e-6);
  EXPECT_NEAR(solution.values[1], 1, 1e-6);
  program.AddRow(weights, 9, IntegerProgram::kInfinity);
  EXPECT_EQ(program.Solve(1000).outcome, Outcome::kInfeasible);
}

TEST(IntegerProgram, AddsUpEntriesOfOneVariable) {
  IntegerProgram program;
  const int variable = program.AddContinuous(0, 10);
  program.AddRow({{variable, 1}, {variable, 1}}, 6, IntegerProgram::kInfinity);
  program.SetCost(variable, 1);
  const IntegerProgram::Solution solution = program.Solve(1000);
  ASSERT_EQ(solution.outcome, Outcome::kOptimal);
  EXPECT_NEAR(solution.values[0], 3, 1e-6);
}

TEST(IntegerProgram, ProvesThatNoIntegerIsBetween) {
  // 2x + 2y = 3 has fractional solutions only.
  IntegerProgram program;
  const int x = program.AddBinary(), y = program.AddBinary();
  program.AddRow({{x, 2}, {y, 2}}, 3, 3);
  EXPECT_EQ(program.Solve(1000).outcome, Outcome::kInfeasible);
}

TEST(SolveIlp, FindsThePlainModelsOptima) {
  for (const PlainOptimum& optimum : ReadPlainOptima()) {
    const FoldProblem problem = PlainChain(optimum.layers, optimum.dsp_limit);
    StatusOr<FoldResult> result = SolveIlp(problem, {});
    ASSERT_TRUE(result.ok() && result->fold) << optimum.name;
    EXPECT_TRUE(result->certificate.optimal) << optimum.name;
    EXPECT_EQ(result->metrics.l_max, optimum.l_max) << optimum.name;
    EXPECT_EQ(result->metrics.l_sum, optimum.l_sum) << optimum.name;
    EXPECT_EQ(result->metrics.resources[kDsp], optimum.dsp_used) << optimum.name;
  }
}

TEST(SolveIlp, AgreesWithTheEnumeration) {
  int infeasible = 0;
  constexpr int kProblems = 500;
  for (int i = 0; i < kProblems; ++i) {
    const uint64_t seed = 40000 + static_cast<uint64_t>(i);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const FoldProblem problem =
        RandomProblem(seed, {static_cast<Shape>(i % 3), 2 + i % 4, 300, i % 2 == 1});
    const Objective objective = RandomObjective(random, problem);
    StatusOr<FoldResult> expected = SolveByEnumeration(problem, objective);
    StatusOr<FoldResult> found = SolveIlp(problem, objective);
    ASSERT_TRUE(expected.ok() && found.ok());
    ASSERT_EQ(found->fold.has_value(), expected->fold.has_value());
    EXPECT_TRUE(found->certificate.optimal);
    infeasible += !found->fold;
    if (!found->fold) continue;
    EXPECT_THAT(Violations(problem, *found->fold), testing::IsEmpty());
    EXPECT_EQ(ScoresOf(objective, problem.limits, found->metrics),
              ScoresOf(objective, problem.limits, expected->metrics));
  }
  EXPECT_GT(infeasible, kProblems / 20);
  EXPECT_LT(infeasible, kProblems * 2 / 3);
}

TEST(SolveIlp, AgreesWithTheExactSearchBeyondEnumeration) {
  // A chain with three kinds of memory, and random graphs of about 10^12 folds.
  StageModel model;
  const FoldProblem chain = VdsrOnFpga(4, 100, model, Zcu104());
  for (const Goal goal : {Goal::kThroughput, Goal::kLatency}) {
    Objective objective;
    objective.goal = goal;
    StatusOr<FoldResult> expected = SolveExact(chain, objective);
    StatusOr<FoldResult> found = SolveIlp(chain, objective);
    ASSERT_TRUE(expected.ok() && found.ok() && expected->fold && found->fold);
    EXPECT_EQ(ScoresOf(objective, chain.limits, found->metrics),
              ScoresOf(objective, chain.limits, expected->metrics));
  }
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const FoldProblem problem =
        RandomProblem(seed, {static_cast<Shape>(seed % 3), 10, 1000000000000, seed % 2 == 1});
    const Objective objective = RandomObjective(random, problem);
    StatusOr<FoldResult> expected = SolveExact(problem, objective);
    StatusOr<FoldResult> found = SolveIlp(problem, objective);
    ASSERT_TRUE(expected.ok() && found.ok());
    ASSERT_EQ(found->fold.has_value(), expected->fold.has_value());
    EXPECT_TRUE(found->certificate.optimal && expected->certificate.optimal);
    if (!found->fold) continue;
    EXPECT_EQ(ScoresOf(objective, problem.limits, found->metrics),
              ScoresOf(objective, problem.limits, expected->metrics));
  }
}

TEST(SolveIlp, RefusesFifosWithManyIntervals) {
  FoldProblem problem = ResidualBlock();
  problem.edges[2].fifo = MakeFifo(1000000);                               // a LUT for each element
  problem.layers[1].candidates.push_back(MakeCandidate(1, 1, 10, 9, 50));  // a range of slacks
  EXPECT_EQ(MessageOf(SolveIlp(problem, {}).status()),
            "a FIFO has more than 4096 intervals of capacities; use the exact search");
}

TEST(SolveIlp, StopsAtItsLimitOfNodes) {
  StageModel model;
  model.weight_bits = 4;
  const FoldProblem problem = VdsrOnFpga(8, 100, model, Zcu104());
  Objective objective;
  objective.order = ResourceOrder::kMemoryFirst;
  IlpOptions options;
  options.most_nodes = 1;
  StatusOr<FoldResult> stopped = SolveIlp(problem, objective, options);
  StatusOr<FoldResult> exact = SolveExact(problem, objective);
  ASSERT_TRUE(stopped.ok() && exact.ok() && exact->fold);
  // What it says is true, finished or not.
  if (stopped->fold) {
    EXPECT_GE(ScoresOf(objective, problem.limits, stopped->metrics),
              ScoresOf(objective, problem.limits, exact->metrics));
    EXPECT_LE(stopped->certificate.terms[0].bound, exact->metrics.l_max);
  }
}

}  // namespace
}  // namespace kiln::dataflow
