// Networks that bring their own quantisation: what their quantisers say, their annotations must say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kiln/execute/reference.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/random_quantised_graph.h"
#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/simulate.h"

namespace kiln {
namespace {

constexpr uint64_t kSeeds = 60;

// Node by node on plain loops: hundreds of tiny graphs are no work for an executor.
Tensor OutputOf(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<const Value*, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  for (const Value* constant : graph.Constants()) values[constant] = constant->constant();
  for (const auto& node : graph.nodes()) {
    std::vector<const Tensor*> operands;
    for (const Value* operand : node->operands()) {
      operands.push_back(operand == nullptr ? nullptr : &values.at(operand));
    }
    const auto results = EvaluateNode(*node, operands);
    KILN_CHECK(results.ok());
    values[node->result()] = (*results)[0];
  }
  return values.at(graph.outputs()[0]);
}

Graph Annotated(const Graph& graph) {
  Graph annotated = graph.Clone();
  PassContext context;
  for (const auto& pipeline : {StandardPipeline(), AnnotationPipeline(), LayoutPipeline()}) {
    const Status status = RunPasses(annotated, pipeline, context);
    EXPECT_TRUE(status.ok()) << MessageOf(status);
  }
  return annotated;
}

Graph Simulated(const Graph& annotated) {
  StatusOr<Graph> simulated = SimulateQuantisation(annotated);
  EXPECT_TRUE(simulated.ok()) << MessageOf(simulated.status());
  return *std::move(simulated);
}

class OwnQuantisation : public testing::TestWithParam<QuantisedStyle> {};

// With powers of two nothing is lost in sums, products and quotients: whatever differs is a wrong rule.
TEST_P(OwnQuantisation, AnnotationsMeanWhatTheQuantisersDid) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph graph = RandomQuantisedGraph(seed, {.style = GetParam(), .powers_of_two = true});
    ASSERT_TRUE(Verify(graph).ok()) << MessageOf(Verify(graph));
    const std::vector<Tensor> inputs = RandomInputs(graph, seed);
    const Graph annotated = Annotated(graph);
    const Tensor expected = OutputOf(graph, inputs), got = OutputOf(Simulated(annotated), inputs);
    // Zeros may differ in sign: codes have one zero only.
    ASSERT_EQ(got.ToFloats(), expected.ToFloats()) << "seed " << seed << "\n"
                                                   << PrintGraph(graph) << PrintGraph(annotated);
  }
}

TEST_P(OwnQuantisation, NoQuantiserStays) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph annotated = Annotated(RandomQuantisedGraph(seed, {.style = GetParam()}));
    for (const auto& node : annotated.nodes()) {
      ASSERT_FALSE(node->info().Has(kQuantises)) << node->Describe() << ", seed " << seed;
    }
    EXPECT_GE(CountQuantised(annotated).weights, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Styles, OwnQuantisation,
                         testing::Values(QuantisedStyle::kQdq, QuantisedStyle::kQOperator, QuantisedStyle::kQonnx),
                         [](const auto& info) {
                           return info.param == QuantisedStyle::kQdq         ? "qdq"
                                  : info.param == QuantisedStyle::kQOperator ? "qoperator"
                                                                             : "qonnx";
                         });

}  // namespace
}  // namespace kiln
