// Tests of the random graphs that other tests use.
#include "kiln/ir/random_graph.h"

#include <gtest/gtest.h>

#include <set>

#include "kiln/ir/shape_inference.h"

namespace kiln {
namespace {

TEST(RandomGraph, EveryStepIsTakenBySomeSeed) {
  std::set<Op> seen;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Graph graph = RandomGraph(seed);
    for (const auto& node : graph.nodes()) seen.insert(node->op());
  }
  for (Op op : RandomGraphOps()) EXPECT_TRUE(seen.count(op) != 0) << InfoOf(op).id;
}

TEST(RandomGraph, ShapesAreKnownAndSmall) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = RandomGraph(seed, {.max_elements = 1000});
    EXPECT_FALSE(graph.outputs().empty());
    for (const Value* value : graph.Values()) {
      ASSERT_TRUE(value->has_shape() && value->shape().IsKnown())
          << "seed " << seed << ", " << value->name();
      EXPECT_LE(value->shape().NumElements(), 4000) << "seed " << seed;
    }
  }
}

TEST(RandomGraph, SameSeedSameGraph) {
  const Graph a = RandomGraph(7);
  const Graph b = RandomGraph(7);
  ASSERT_EQ(a.num_nodes(), b.num_nodes());
  for (size_t i = 0; i < a.NodeList().size(); ++i) {
    EXPECT_EQ(a.NodeList()[i]->op(), b.NodeList()[i]->op());
    EXPECT_EQ(a.NodeList()[i]->attributes(), b.NodeList()[i]->attributes());
  }
  ASSERT_EQ(a.Constants().size(), b.Constants().size());
  for (size_t i = 0; i < a.Constants().size(); ++i)
    EXPECT_EQ(a.Constants()[i]->constant(), b.Constants()[i]->constant());
}

TEST(RandomGraph, KeepsToTheStepsAskedFor) {
  const RandomGraphOptions options{.ops = {Op::kConv, Op::kRelu, Op::kAdd}, .max_inputs = 1};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = RandomGraph(seed, options);
    EXPECT_EQ(graph.inputs().size(), 1u);
    for (const auto& node : graph.nodes()) {
      EXPECT_TRUE(node->op() == Op::kConv || node->op() == Op::kRelu || node->op() == Op::kAdd)
          << node->Describe();
    }
  }
}

TEST(RandomGraph, MakesNhwcWhereAllowed) {
  int nhwc = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = RandomGraph(seed, {.allow_nhwc = true});
    for (const auto& node : graph.nodes())
      nhwc += node->attributes().String("layout", "") == "nhwc" ? 1 : 0;
  }
  EXPECT_GT(nhwc, 10);
}

TEST(RandomGraph, InputsFollowTheSeed) {
  const Graph graph = RandomGraph(3);
  EXPECT_EQ(RandomInputs(graph, 1)[0], RandomInputs(graph, 1)[0]);
  EXPECT_FALSE(RandomInputs(graph, 1)[0] == RandomInputs(graph, 2)[0]);
  EXPECT_EQ(RandomInputs(graph, 1).size(), graph.inputs().size());
}

}  // namespace
}  // namespace kiln
