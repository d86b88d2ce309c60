// Tests of folding problems: what is refused, and the measures of a fold by hand.
#include "kiln/targets/dataflow/fold/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string ErrorOf(const FoldProblem& problem) { return MessageOf(CheckProblem(problem)); }

FoldProblem TwoLayers() {
  FoldProblem problem;
  problem.layers = {MakeLayer("conv1", {MakeCandidate(1, 2, 10, 3)}),
                    MakeLayer("conv2", {MakeCandidate(2, 1, 20, 4)})};
  problem.edges = {MakeEdge(0, 1)};
  return problem;
}

TEST(CheckProblem, AcceptsAChain) { EXPECT_TRUE(CheckProblem(TwoLayers()).ok()); }

TEST(CheckProblem, NamesTheLayerAtFault) {
  FoldProblem problem;
  EXPECT_EQ(ErrorOf(problem), "the problem has no layers; give it one");
  problem = TwoLayers();
  problem.layers[1].candidates.clear();
  EXPECT_EQ(ErrorOf(problem), "layer 'conv2': has no candidates; give it at least one fold");
  problem = TwoLayers();
  problem.layers[1].name.clear();
  EXPECT_EQ(ErrorOf(problem), "layer 1: has no name; give it one");
  problem = TwoLayers();
  problem.layers[0].candidates[0].in_lanes = 0;
  EXPECT_EQ(ErrorOf(problem),
            "layer 'conv1': in_lanes of candidate 0 is 0; use a number from 1 to 2147483648");
  problem = TwoLayers();
  problem.layers[0].candidates[0].cycles = 0;
  EXPECT_EQ(ErrorOf(problem),
            "layer 'conv1': cycles of candidate 0 is 0; use a number from 1 to 274877906944");
  problem = TwoLayers();
  problem.layers[0].candidates[0].latency = -1;
  EXPECT_EQ(ErrorOf(problem),
            "layer 'conv1': latency of candidate 0 is -1; use a number from 0 to 274877906944");
  problem = TwoLayers();
  problem.layers[1].candidates[0].resources[kBram] = -1;
  EXPECT_EQ(ErrorOf(problem),
            "layer 'conv2': RAMB18 of candidate 0 is -1; use a number from 0 to 2147483648");
}

TEST(CheckProblem, AcceptsItsLimitsAndNothingBeyond) {
  FoldProblem problem = TwoLayers();
  problem.layers[0].candidates[0].cycles = kMaxCycles;
  problem.layers[0].candidates[0].latency = kMaxCycles;
  problem.layers[0].candidates[0].resources.fill(kMaxAmount);
  EXPECT_TRUE(CheckProblem(problem).ok());
  problem.layers[0].candidates[0].resources[kUram] = kMaxAmount + 1;
  EXPECT_EQ(ErrorOf(problem),
            "layer 'conv1': URAM of candidate 0 is 2147483649; use a number from 0 to 2147483648");
  problem = TwoLayers();
  problem.layers.assign(static_cast<size_t>(kMaxLayers), problem.layers[0]);
  problem.edges.assign(static_cast<size_t>(kMaxEdges), MakeEdge(0, 1));
  EXPECT_TRUE(CheckProblem(problem).ok());
  problem.layers.push_back(problem.layers[0]);
  EXPECT_EQ(ErrorOf(problem), "the number of layers is 4097; use a number from 1 to 4096");
  problem.layers.pop_back();
  problem.edges.push_back(MakeEdge(0, 1));
  EXPECT_EQ(ErrorOf(problem), "the number of edges is 16385; use a number from 0 to 16384");
  problem = TwoLayers();
  problem.layers[0].candidates.assign(static_cast<size_t>(kMaxCandidates),
                                      problem.layers[0].candidates[0]);
  EXPECT_EQ(ErrorOf(problem),
            "the number of candidates is 1048577; use a number from 0 to 1048576");
}

TEST(CheckProblem, NamesTheEdgeAtFault) {
  FoldProblem problem = TwoLayers();
  problem.edges[0].to = 2;
  EXPECT_EQ(ErrorOf(problem), "edge 0: names layer 2; use a layer from 0 to 1");
  problem.edges[0].to = -1;
  EXPECT_EQ(ErrorOf(problem), "edge 0: names layer -1; use a layer from 0 to 1");
  problem.edges[0].to = 0;
  EXPECT_EQ(ErrorOf(problem), "edge 'conv1' -> 'conv1': joins a layer to itself; remove the edge");
  problem = TwoLayers();
  problem.edges[0].fifo.emplace();
  EXPECT_EQ(ErrorOf(problem),
            "edge 'conv1' -> 'conv2': has a FIFO without a cost function; give the FIFO one");
  problem.edges[0].fifo = MakeFifo(-1);
  EXPECT_EQ(ErrorOf(problem),
            "edge 'conv1' -> 'conv2': elements_per_frame is -1; use a number from 0 to "
            "1099511627776");
  problem.edges[0].fifo = MakeFifo(1, -2);
  EXPECT_EQ(ErrorOf(problem),
            "edge 'conv1' -> 'conv2': burst is -2; use a number from 0 to 1099511627776");
  problem.edges[0].fifo = MakeFifo(1);
  problem.edges.assign(13, problem.edges[0]);
  EXPECT_EQ(ErrorOf(problem),
            "layer 'conv2': the number of its inputs with a FIFO is 13; use a number from 0 to 12");
  problem = TwoLayers();
  problem.edges[0].bits = -1;
  EXPECT_EQ(ErrorOf(problem),
            "edge 'conv1' -> 'conv2': bits is -1; use a number from 0 to 1099511627776");
  problem = TwoLayers();
  problem.limits[kLut] = -5;
  EXPECT_EQ(ErrorOf(problem), "limits: LUT is -5; use 0 or more");
}

TEST(CheckProblem, NamesALayerOnTheCycle) {
  FoldProblem problem = TwoLayers();
  problem.layers.push_back(MakeLayer("conv3", {MakeCandidate(1, 1, 1, 1)}));
  problem.layers.push_back(MakeLayer("conv4", {MakeCandidate(1, 1, 1, 1)}));
  // conv4 follows the cycle of conv2 and conv3 and is not on it.
  problem.edges = {MakeEdge(0, 1), MakeEdge(1, 2), MakeEdge(2, 1), MakeEdge(2, 3)};
  EXPECT_THAT(ErrorOf(problem),
              testing::AnyOf("layer 'conv2': is on a cycle of edges; give a graph without cycles",
                             "layer 'conv3': is on a cycle of edges; give a graph without cycles"));
}

TEST(Couples, FollowsEachRule) {
  EXPECT_TRUE(Couples(Coupling::kNextMultiple, 2, 6));
  EXPECT_FALSE(Couples(Coupling::kNextMultiple, 6, 2));
  EXPECT_TRUE(Couples(Coupling::kTwoWay, 6, 2));
  EXPECT_FALSE(Couples(Coupling::kTwoWay, 6, 4));
  EXPECT_TRUE(Couples(Coupling::kEqual, 3, 3));
  EXPECT_FALSE(Couples(Coupling::kEqual, 3, 6));
  EXPECT_TRUE(Couples(Coupling::kNone, 6, 4));
}

TEST(TopologicalOrder, TakesTheLowestIndexFirst) {
  FoldProblem problem;
  for (const char* name : {"a", "b", "c", "d"}) {
    problem.layers.push_back(MakeLayer(name, {MakeCandidate(1, 1, 1, 1)}));
  }
  problem.edges = {MakeEdge(3, 0), MakeEdge(2, 1)};
  EXPECT_THAT(TopologicalOrder(problem), ElementsAre(2, 1, 3, 0));
}

TEST(FifoElements, RoundsUpAndAddsTheBurst) {
  EXPECT_EQ(FifoElements(MakeFifo(100), 0, 10), 0);
  EXPECT_EQ(FifoElements(MakeFifo(100), 20, 10), 200);
  EXPECT_EQ(FifoElements(MakeFifo(100), 1, 30), 4);
  EXPECT_EQ(FifoElements(MakeFifo(100, 5), 0, 10), 5);
  // No overflow at the limits.
  EXPECT_EQ(FifoElements(MakeFifo(kMaxElements), kMaxCycles, 1), int64_t{1} << 60);
}

TEST(Evaluate, MeasuresAResidualBlockByHand) {
  const FoldProblem problem = ResidualBlock();
  // The fork's first output is at 3, the fast main path's at 23: the other input waits 20 cycles,
  // in which 20 * 100 / 10 elements arrive.
  FoldMetrics metrics = Evaluate(problem, {{0, 0, 0}, {-1, -1, 0}});
  EXPECT_EQ(metrics.l_max, 10);
  EXPECT_EQ(metrics.l_sum, 0);
  EXPECT_EQ(metrics.latency, 24);
  EXPECT_THAT(metrics.slack, ElementsAre(0, 0, 20));
  EXPECT_THAT(metrics.elements, ElementsAre(0, 0, 200));
  EXPECT_THAT(metrics.resources, ElementsAre(9, 0, 0, 200, 0));
  // The slow main path: 50 cycles, but at 40 cycles a frame.
  metrics = Evaluate(problem, {{0, 1, 0}, {-1, -1, 1}});
  EXPECT_EQ(metrics.l_max, 40);
  EXPECT_EQ(metrics.l_sum, 60);
  EXPECT_EQ(metrics.latency, 54);
  EXPECT_THAT(metrics.elements, ElementsAre(0, 0, 125));
  EXPECT_THAT(metrics.resources, ElementsAre(3, 2, 0, 0, 0));
  EXPECT_THAT(EvaluateAt(problem, {{0, 1, 0}, {-1, -1, 1}}, 100).elements, ElementsAre(0, 0, 50));
}

TEST(Violations, NamesEveryRuleByLayer) {
  FoldProblem problem = ResidualBlock();
  EXPECT_THAT(Violations(problem, {{0, 0, 0}, {-1, -1, 0}}), IsEmpty());
  problem.limits = {8, kUnlimited, kUnlimited, 100};
  EXPECT_THAT(Violations(problem, {{0, 0, 0}, {-1, -1, 0}}),
              ElementsAre("the fold needs 9 DSP, the device has 8; layer main needs 8 of it",
                          "the fold needs 200 LUT, the device has 100; layer fork needs 0 of it"));
  EXPECT_THAT(Violations(problem, {{0, 1, 0}, {}}),
              ElementsAre("layer join: the FIFO from fork must hold 125 elements and has no memory "
                          "(option -1 of 2)"));
  EXPECT_THAT(Violations(problem, {{0, 2, 0}, {-1, -1, 0}}),
              ElementsAre("layer main: has no candidate 2, it has 2"));
  EXPECT_THAT(Violations(problem, {{0, 1}, {}}),
              ElementsAre("the fold has 2 choices, the problem 3 layers"));
  EXPECT_THAT(Violations(problem, {{0, 1, 0}, {1}}),
              ElementsAre("the fold has 1 FIFOs, the problem 3 edges"));
  problem.layers[1].candidates[1].in_lanes = 3;
  problem.layers[0].candidates[0].out_lanes = 2;
  EXPECT_THAT(Violations(problem, {{0, 1, 0}, {-1, -1, 1}}),
              ElementsAre("layer main: reads words of 3 lanes, but fork writes 2",
                          "layer join: reads words of 1 lanes, but fork writes 2"));
}

TEST(ChooseFifos, PrefersOptionsThatFit) {
  FoldProblem problem = ResidualBlock();
  problem.limits = {100, 10, 0, 1000};
  // 200 elements: a fifth of the LUTs, or four tenths of the RAMB18.
  FifoChoice choice = ChooseFifos(problem, {0, 0, 0});
  EXPECT_TRUE(choice.fits);
  EXPECT_THAT(choice.fold.fifo_option, ElementsAre(-1, -1, 0));
  problem.limits[kLut] = 199;
  choice = ChooseFifos(problem, {0, 0, 0});
  EXPECT_TRUE(choice.fits);
  EXPECT_THAT(choice.fold.fifo_option, ElementsAre(-1, -1, 1));
  problem.limits[kBram] = 3;
  EXPECT_FALSE(ChooseFifos(problem, {0, 0, 0}).fits);
}

}  // namespace
}  // namespace kiln::dataflow
