// What instructions read together, and how few a graph can have: by hand and by brute force.

#include "kiln/targets/cgra/map/problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/random_graph.h"

namespace kiln::cgra {
namespace {

// An addition of a load and the product of `b` of `first` threads before and of `second` before.
ComputationGraph ProductOfEarlier(int first, int second) {
  ComputationGraph graph;
  graph.name = graph.source = "test";
  const Op ops[] = {Op::kInput, Op::kPass, Op::kLoad, Op::kMul, Op::kAdd};
  for (const Op op : ops) {
    const char name[] = {static_cast<char>('a' + graph.nodes.size()), 0};
    graph.nodes.push_back({.name = name, .op = op, .label = "", .literal = std::nullopt});
  }
  graph.edges = {{.source = 0, .target = 1, .operand = 0},
                 {.source = 0, .target = 2, .operand = 0},
                 {.source = 1, .target = 3, .operand = 0, .distance = first},
                 {.source = 1, .target = 3, .operand = 1, .distance = second},
                 {.source = 3, .target = 4, .operand = 0},
                 {.source = 2, .target = 4, .operand = 1}};
  EXPECT_TRUE(VerifyAndSort(&graph).ok());
  return graph;
}

// Where values of earlier threads go through tile memories, those of two threads are two values.
TEST(Problem, CountsValuesOfDifferentThreadsApart) {
  Config config;
  config.cut_loops = true;
  const ComputationGraph same = ProductOfEarlier(1, 1), different = ProductOfEarlier(1, 2);
  EXPECT_EQ(Fusions(same, config).size(), 1u);
  EXPECT_EQ(Fusions(different, config).size(), 0u);
  // The checker counts by itself: `d` and `e` as one instruction, all on tiles of their own.
  for (const ComputationGraph* graph : {&same, &different}) {
    ProblemOptions options;
    options.fusions = Fusions(same, config);
    Mapping mapping;
    mapping.initiation_interval = 1;
    mapping.places.resize(graph->nodes.size());
    mapping.fused_into.assign(graph->nodes.size(), -1);
    mapping.provider.assign(graph->edges.size(), -1);
    int tile = 0;
    for (const std::string_view name : {"b", "c", "e"}) {
      for (size_t n = 0; n < graph->nodes.size(); ++n) {
        if (graph->nodes[n].name == name) mapping.places[n] = {tile, 0};
      }
      ++tile;
    }
    const Fusion& fusion = options.fusions[0];
    mapping.places[static_cast<size_t>(fusion.multiply)] = {2, 0};
    mapping.fused_into[static_cast<size_t>(fusion.multiply)] = fusion.logic;
    const std::string verdict = PrintVerdict(CheckMapping(*graph, config, mapping));
    EXPECT_EQ(verdict.find("from tile memories") != std::string::npos, graph == &different)
        << verdict;
  }
}

// Returns the fewest instructions of all problems of the graph, by trying each subset of `fusions`.
int FewestByBruteForce(const ComputationGraph& graph, const Config& config,
                       std::span<const Fusion> fusions) {
  int fewest = std::numeric_limits<int>::max();
  for (uint32_t subset = 0; subset < uint32_t{1} << fusions.size(); ++subset) {
    ProblemOptions options;
    std::set<int> nodes;
    for (size_t f = 0; f < fusions.size(); ++f) {
      if ((subset >> f & 1) == 0) continue;
      options.fusions.push_back(fusions[f]);
      nodes.insert({fusions[f].multiply, fusions[f].logic});
    }
    if (nodes.size() < 2 * options.fusions.size()) continue;  // a node twice
    const auto problem = BuildProblem(graph, config, options);
    if (problem.ok()) fewest = std::min(fewest, problem->size());
  }
  return fewest;
}

TEST(Problem, LeastInstructionsAreAFloor) {
  Config config;
  RandomGraphOptions options;
  options.multiply = 0.4;
  int fused = 0, reached = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const ComputationGraph graph = RandomGraph(options, seed);
    std::vector<Fusion> fusions = Fusions(graph, config);
    if (fusions.size() > 8) fusions.resize(8);
    const int64_t least = LeastInstructions(graph, fusions);
    const int fewest = FewestByBruteForce(graph, config, fusions);
    EXPECT_LE(least, fewest) << seed;
    EXPECT_GE(LeastInstructions(graph, {}), least) << seed;
    fused += LeastInstructions(graph, {}) > least ? 1 : 0;
    reached += least == fewest ? 1 : 0;
  }
  EXPECT_GT(fused, 20);    // the floor is below the number of nodes
  EXPECT_GT(reached, 30);  // and mostly tight
}

// Two products that one addition uses: one of them fuses with it.
TEST(Problem, AnAdditionFusesWithOneProduct) {
  ComputationGraph graph;
  graph.name = graph.source = "test";
  const Op ops[] = {Op::kInput, Op::kMul, Op::kMul, Op::kAdd};
  for (const Op op : ops) {
    const char name[] = {static_cast<char>('a' + graph.nodes.size()), 0};
    graph.nodes.push_back({.name = name, .op = op, .label = "", .literal = std::nullopt});
  }
  graph.edges = {
      {.source = 0, .target = 1, .operand = 0}, {.source = 0, .target = 1, .operand = 1},
      {.source = 0, .target = 2, .operand = 0}, {.source = 0, .target = 2, .operand = 1},
      {.source = 1, .target = 3, .operand = 0}, {.source = 2, .target = 3, .operand = 1}};
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  const std::vector<Fusion> fusions = Fusions(graph, Config());
  ASSERT_EQ(fusions.size(), 2U);
  EXPECT_EQ(LeastInstructions(graph, fusions), 2);
  EXPECT_EQ(LeastInstructions(graph, {}), 3);
}

// A pair has an operand for a predicate only if it is one of the factors, at in2.
TEST(Problem, APredicateOfAPairIsAFactor) {
  const auto pairs = [](Op multiply, int predicate, int distance) {
    ComputationGraph graph;
    graph.name = graph.source = "test";
    const Op ops[] = {Op::kInput, Op::kInput, Op::kInput, multiply, Op::kAdd};
    for (const Op op : ops) {
      const char name[] = {static_cast<char>('a' + graph.nodes.size()), 0};
      graph.nodes.push_back({.name = name, .op = op, .label = "", .literal = std::nullopt});
    }
    graph.edges = {
        {.source = 0, .target = 3, .operand = 0},
        {.source = 1, .target = 3, .operand = 1},
        {.source = 3, .target = 4, .operand = 0},
        {.source = predicate, .target = 4, .kind = EdgeKind::kPredicate, .distance = distance}};
    EXPECT_TRUE(VerifyAndSort(&graph).ok());
    return Fusions(graph, Config()).size();
  };
  EXPECT_EQ(pairs(Op::kMul, 0, 0), 1U);
  EXPECT_EQ(pairs(Op::kMul, 1, 0), 1U);
  EXPECT_EQ(pairs(Op::kMul, 2, 0), 0U);
  EXPECT_EQ(pairs(Op::kMul, 1, 1), 0U);  // of another thread
  EXPECT_EQ(pairs(Op::kSra, 0, 0), 0U);  // the operands of a shift cannot change places
  EXPECT_EQ(pairs(Op::kSra, 1, 0), 1U);
}

TEST(Problem, SlotsAreThoseOfTheTilesPeriod) {
  Config config;
  EXPECT_EQ(SlotsOf(config, 6), 6);
  config.tile_period = 3;
  EXPECT_EQ(SlotsOf(config, 6), 3);
}

}  // namespace
}  // namespace kiln::cgra
