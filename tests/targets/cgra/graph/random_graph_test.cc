// Random graphs have what their options ask for, and are the same for the same seed.

#include "kiln/targets/cgra/graph/random_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "kiln/targets/cgra/graph/dot_file.h"
#include "kiln/targets/cgra/graph/graph_file.h"

namespace kiln::cgra {
namespace {

TEST(RandomGraphTest, OptionsHold) {
  std::map<Op, int> ops;
  int carried = 0, predicates = 0, orders = 0, groups = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomGraphOptions options;
    options.instructions = 1 + static_cast<int>(seed % 50);
    options.inputs = 1 + static_cast<int>(seed % 4);
    options.outputs = 1 + static_cast<int>(seed % 3);
    options.variables = static_cast<int>(seed % 5);
    options.variable_readers = 1 + static_cast<int>(seed % 3);
    options.carried = static_cast<int>(seed % 4);
    options.most_consumers = 1 + static_cast<int>(seed % 4);
    options.memory = seed % 2 == 0 ? 0 : 0.2;
    options.predicate = options.order = seed % 3 == 0 ? 0.2 : 0;
    options.floats = seed % 7 == 0;
    const ComputationGraph graph = RandomGraph(options, seed);
    int instructions = 0, inputs = 0, outputs = 0;
    std::map<int, std::set<int>> consumers, stored;
    std::map<int, int> reads;
    for (const GraphEdge& edge : graph.edges) {
      const auto source = static_cast<size_t>(edge.source);
      carried += edge.distance > 0 ? 1 : 0;
      predicates += edge.kind == EdgeKind::kPredicate ? 1 : 0;
      orders += edge.kind == EdgeKind::kOrder ? 1 : 0;
      EXPECT_LE(edge.distance, options.most_distance);
      if (edge.kind == EdgeKind::kOrder) continue;
      if (graph.TakesSlot(edge.target)) consumers[edge.source].insert(edge.target);
      ++reads[edge.target];
      const Role role = RowOf(graph.nodes[source].op).role;
      if (role == Role::kValue || role == Role::kMemory) stored[edge.target].insert(edge.source);
    }
    for (int n = 0; n < std::ssize(graph.nodes); ++n) {
      const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
      ++ops[node.op];
      instructions += graph.TakesSlot(n) ? 1 : 0;
      inputs += node.op == Op::kInput ? 1 : 0;
      outputs += node.op == Op::kOutput ? 1 : 0;
      EXPECT_LE(stored[n].size(), 2U) << seed;
      EXPECT_LE(reads[n] + (graph.TakesSlot(n) && node.literal ? 1 : 0), 3) << seed;
      if (graph.TakesSlot(n)) {
        EXPECT_LE(std::ssize(consumers[n]), options.most_consumers) << seed;
      }
      if (node.op == Op::kVariable) {
        EXPECT_LE(std::ssize(consumers[n]), options.variable_readers) << seed;
        groups += consumers[n].size() > 1 ? 1 : 0;
      }
    }
    EXPECT_EQ(instructions, options.instructions);
    EXPECT_LE(inputs, options.inputs);
    EXPECT_LE(outputs, options.outputs);
    EXPECT_EQ(PrintGraphJson(RandomGraph(options, seed)), PrintGraphJson(graph));
    EXPECT_NE(PrintGraphJson(RandomGraph(options, seed + 1000)), PrintGraphJson(graph));
    const auto json = ParseGraphJson(PrintGraphJson(graph), "again");
    ASSERT_TRUE(json.ok()) << json.status();
    EXPECT_EQ(PrintGraphJson(*json), PrintGraphJson(graph));
    const auto dot = ParseGraphDot(PrintGraphDot(graph), "again");
    ASSERT_TRUE(dot.ok()) << dot.status();
    EXPECT_EQ(PrintGraphJson(*dot), PrintGraphJson(graph));
  }
  for (const Op op : {Op::kInput, Op::kVariable, Op::kOutput, Op::kMul,  Op::kShl,  Op::kShr,
                      Op::kSra,   Op::kFMul,     Op::kAdd,    Op::kSub,  Op::kAnd,  Op::kOr,
                      Op::kXor,   Op::kMin,      Op::kMax,    Op::kLt,   Op::kEq,   Op::kFAdd,
                      Op::kFSub,  Op::kSelect,   Op::kPass,   Op::kLoad, Op::kStore}) {
    EXPECT_GT(ops[op], 10) << RowOf(op).name;
  }
  EXPECT_GT(carried, 200);
  EXPECT_GT(predicates, 200);
  EXPECT_GT(orders, 200);
  EXPECT_GT(groups, 100);
}

}  // namespace
}  // namespace kiln::cgra
