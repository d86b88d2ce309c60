// Checks the guarantees of pass.h for every row of passes.def on random graphs: outputs keep names,
// types and values; Changed is truthful; a second run changes nothing; the graph verifies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "kiln/ir/random_graph.h"
#include "kiln/ir/random_quantised_graph.h"
#include "kiln/passes/pipeline.h"
#include "kiln/support/random.h"
#include "tests/passes/pass_testing.h"
#include "tests/passes/random_patterns.h"

namespace kiln {
namespace {

constexpr uint64_t kSeeds = 200;

// Graphs of any operators, graphs made of what passes look for, and quantised networks, by turns.
// The latter's scales are powers of two: a value on the other side of a rounding boundary would be
// no matter of fp32 rounding any more.
Graph GraphOf(uint64_t seed) {
  if (seed % 8 == 7) {
    const auto style = static_cast<QuantisedStyle>(seed / 8 % kQuantisedStyles);
    return RandomQuantisedGraph(seed, {.style = style, .powers_of_two = true});
  }
  if (seed % 2 == 1) return RandomPatternGraph(seed);
  RandomGraphOptions options;
  options.allow_nhwc = seed % 6 == 0;
  return RandomGraph(seed, options);
}

class EveryPass : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryPass, KeepsItsPromisesOnRandomGraphs) {
  int changed = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Graph graph = GraphOf(seed);
    // There is nothing to spread before others have annotated.
    if (GetParam() == "spread-annotations") {
      PassContext context;
      ASSERT_TRUE(RunPasses(graph, AnnotationPipeline(), context).ok());
    }
    changed += CheckPass(graph, GetParam(), seed) == Changed::kYes ? 1 : 0;
    if (HasFailure()) FAIL() << "seed " << seed << " before:\n" << Describe(GraphOf(seed));
  }
  RecordProperty("graphs_changed", changed);
  EXPECT_GE(changed, 5) << "the random graphs hold too little for this pass to do";
}

INSTANTIATE_TEST_SUITE_P(Passes, EveryPass, testing::ValuesIn(PassNames()), [](const auto& info) {
  std::string name(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Passes in the order they are used, each on what the ones before it left.
TEST(Pipelines, KeepOutputsOnRandomGraphs) {
  for (uint64_t seed = 1000; seed < 1000 + kSeeds; ++seed) {
    Graph graph = GraphOf(seed);
    const Graph original = graph.Clone();
    PassContext context;
    for (const auto& names : {StandardPipeline(), AnnotationPipeline(), LayoutPipeline()}) {
      const Status status = RunPasses(graph, names, context);
      ASSERT_TRUE(status.ok()) << MessageOf(status) << "\nseed " << seed << " before:\n"
                               << Describe(original);
    }
    ExpectSameOutputs(original, graph, seed);
    if (HasFailure())
      FAIL() << "seed " << seed << " before:\n"
             << Describe(original) << "after:\n"
             << Describe(graph);
  }
}

// Whether a node that only moves elements makes or reads the value: moves are merged, and two of
// one grid are one.
bool IsMoved(const Value& value) {
  const auto moves = [](const Node* node) {
    return node->info().Has(kMovesData) || node->op() == Op::kFlatten;
  };
  return moves(value.producer()) || std::any_of(value.users().begin(), value.users().end(), moves);
}

// Annotates some of what nodes compute; gives the names.
std::set<std::string> AnnotateSome(Graph& graph, uint64_t seed) {
  Random random(seed);
  std::set<std::string> names;
  for (Value* value : graph.Values()) {
    if (value->producer() == nullptr || value->element() != ElementType::kFloat32 ||
        IsMoved(*value))
      continue;
    if (random.Uniform(0, 1) < 0.6) continue;
    Quantisation quantisation;
    quantisation.type = *FindQuantType("int8");
    quantisation.type.scheme = Scheme::kPerTensor;
    quantisation.scales = {0.0625f};
    quantisation.zero_points = {0};
    value->set_quantisation(std::move(quantisation));
    names.insert(value->name());
  }
  return names;
}

// A value that is rounded is not what its node computes: no pass may see through it.
TEST(Pipelines, KeepAnnotatedValues) {
  int annotated = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Graph graph = RandomPatternGraph(seed);
    PassContext context;
    ASSERT_TRUE(RunPasses(graph, CleanUpPipeline(), context).ok());
    const std::set<std::string> expected = AnnotateSome(graph, seed);
    const Graph original = graph.Clone();
    const Status status = RunPasses(graph, StandardPipeline(), context);
    ASSERT_TRUE(status.ok()) << MessageOf(status) << "\nseed " << seed << " before:\n"
                             << Describe(original);
    std::set<std::string> kept;
    for (const Value* value : graph.Values()) {
      if (value->producer() != nullptr && value->quantisation().has_value())
        kept.insert(value->name());
    }
    ASSERT_EQ(kept, expected) << "seed " << seed << " before:\n"
                              << Describe(original) << "after:\n"
                              << Describe(graph);
    annotated += static_cast<int>(expected.size());
  }
  EXPECT_GT(annotated, 200);
}

}  // namespace
}  // namespace kiln
