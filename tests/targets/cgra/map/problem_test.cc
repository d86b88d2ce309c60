// What instructions read together, by hand.

#include "kiln/targets/cgra/map/problem.h"

#include <gtest/gtest.h>

#include "kiln/targets/cgra/check/check.h"

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

}  // namespace
}  // namespace kiln::cgra
