// Tests of plans and state graphs: how many lanes are open, and that paths are the folds that
// couple.
#include "kiln/targets/dataflow/fold/plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/targets/dataflow/fold/brute_force.h"
#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/plain_model.h"
#include "kiln/targets/dataflow/fold/state_graph.h"
#include "tests/targets/dataflow/fold/networks.h"
#include "tests/targets/dataflow/fold/random_problem.h"
#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

size_t MostOpen(const Plan& plan) {
  size_t most = 0;
  for (const std::vector<int>& open : plan.open) most = std::max(most, open.size());
  return most;
}

TEST(MakePlan, KeepsOneLaneOpenInAChain) {
  const FoldProblem problem = PlainChain(VdsrLayers(10, 20), 1728);
  const FoldModel model(problem);
  const Plan plan = MakePlan(model);
  EXPECT_EQ(plan.steps.size(), 20u);
  EXPECT_EQ(MostOpen(plan), 1u);
}

TEST(MakePlan, KeepsTwoLanesOpenInResNet) {
  const FoldProblem problem = ResNet(18, {}, U250());
  const FoldModel model(problem);
  EXPECT_EQ(MostOpen(MakePlan(model)), 2u);
}

TEST(MakePlan, GuessesTheLanesOfAJoinOfManyBranches) {
  // Eight branches between a fork and a join: without a guess, all their outputs are open at last.
  FoldProblem problem;
  problem.layers.push_back(PlainFolds({"fork", 8, 8, 12, 12, 1}));
  for (int b = 0; b < 8; ++b) {
    problem.layers.push_back(PlainFolds({fmt::format("branch{}", b), 8, 8, 12, 12, 1}));
    problem.edges.push_back(MakeEdge(0, b + 1));
  }
  problem.layers.push_back(PlainFolds({"join", 8, 8, 12, 12, 1}));
  for (int b = 0; b < 8; ++b) problem.edges.push_back(MakeEdge(b + 1, 9));
  const FoldModel model(problem);
  const Plan plan = MakePlan(model);
  EXPECT_LE(MostOpen(plan), 3u);
  const Plan in_order = MakePlanInOrder(model, model.order());
  EXPECT_GE(MostOpen(in_order), 8u);
  EXPECT_LT(plan.work, in_order.work / 1000);
}

TEST(BuildStateGraph, HasAPathForEachFoldThatCouples) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    FoldProblem problem = RandomProblem(seed, {static_cast<Shape>(seed % 3), 5, 500, false});
    problem.limits.fill(kUnlimited);
    int64_t expected = 0;
    ASSERT_TRUE(EnumerateFolds(problem, [&](const Fold&, const FoldMetrics&) { ++expected; }).ok());
    const FoldModel model(problem);
    std::vector<std::vector<int>> active;
    for (const Layer& layer : problem.layers) {
      std::vector<int>& all = active.emplace_back();
      for (int c = 0; c < std::ssize(layer.candidates); ++c) all.push_back(c);
    }
    for (const Plan& plan : {MakePlan(model), MakePlanInOrder(model, model.order())}) {
      const StateGraph graph = BuildStateGraph(model, plan, active);
      std::vector<int64_t> paths = {1};
      for (const StateGraph::Stage& stage : graph.stages) {
        std::vector<int64_t> next(static_cast<size_t>(
            graph.nodes[static_cast<size_t>(&stage - graph.stages.data()) + 1]));
        for (const StateArc& arc : stage.arcs) {
          const int64_t ways =
              arc.group < 0 ? 1 : graph.groups[static_cast<size_t>(arc.group)].count;
          next[static_cast<size_t>(arc.to)] += paths[static_cast<size_t>(arc.from)] * ways;
        }
        paths = std::move(next);
      }
      const bool complete = graph.stages.size() == plan.steps.size() && !paths.empty();
      EXPECT_EQ(complete ? paths[0] : 0, expected);
    }
  }
}

TEST(FoldModel, MergesLanesThatCoupleAlike) {
  FoldProblem problem;
  problem.layers = {MakeLayer("a", {MakeCandidate(1, 3, 1, 1), MakeCandidate(2, 6, 1, 1),
                                    MakeCandidate(3, 12, 1, 1)}),
                    MakeLayer("b", {MakeCandidate(6, 1, 1, 1), MakeCandidate(18, 5, 1, 1)})};
  problem.edges = {MakeEdge(0, 1)};
  const FoldModel model(problem);
  // Words of 3 and of 6 lanes fit both consumers, words of 12 neither; no one reads b's output.
  EXPECT_THAT(model.layer(0).out_index, testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(model.layer(0).in_index, testing::ElementsAre(0, 0, 0));
  EXPECT_THAT(model.layer(1).in_index, testing::ElementsAre(0, 0));
  EXPECT_THAT(model.layer(1).out_index, testing::ElementsAre(0, 0));
}

TEST(ImmediateDominators, AreTheForks) {
  const FoldProblem problem = ResidualBlock();
  EXPECT_THAT(ImmediateDominators(FoldModel(problem)), testing::ElementsAre(-1, 0, 0));
}

}  // namespace
}  // namespace kiln::dataflow
