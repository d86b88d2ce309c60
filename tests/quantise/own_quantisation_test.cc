// Tests of networks that bring their own quantisation: annotations must match their quantisers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kiln/execute/codes.h"
#include "kiln/execute/reference.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/random_quantised_graph.h"
#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/simulate.h"
#include "kiln/support/random.h"

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

// Every code of 8 and 16 bits, under scales from the least that has an inverse to the greatest
// whose values are finite.
template <typename Code>
void ExpectCodesBack(ElementType element, int64_t first) {
  std::vector<Code> codes(size_t{1} << (8 * sizeof(Code)));
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<Code>(first + static_cast<int64_t>(i));
  const Shape shape{static_cast<int64_t>(codes.size())};
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const float scale = round == 0   ? 0x1p-126f
                        : round == 1 ? 0x1p110f
                                     : static_cast<float>(std::exp2(random.Uniform(-100, 100)));
    const Code zero = round % 3 == 0 ? Code{0} : codes[random.Below(codes.size())];
    Graph graph("codes");
    Value* w = graph.AddConstant("w", Tensor::Of<Code>(shape, codes));
    Node* dequantise = graph.AddNode(Op::kDequantizeLinear, "dq",
                                     {w, graph.AddConstant("s", Tensor::Scalar(scale)),
                                      graph.AddConstant("z", Tensor::Scalar(zero))},
                                     {"y"});
    graph.SetType(dequantise->result(), {ElementType::kFloat32, shape});
    Value* x = graph.AddInput("x", {ElementType::kFloat32, shape});
    Node* add = graph.AddNode(Op::kAdd, "add", {x, dequantise->result()}, {"sum"});
    graph.SetType(add->result(), {ElementType::kFloat32, shape});
    graph.MarkOutput(add->result());
    PassContext context;
    ASSERT_TRUE(RunPasses(graph, AnnotationPipeline(), context).ok());
    const Value* constant = graph.FindValue("y");
    ASSERT_TRUE(constant != nullptr && constant->is_constant() &&
                constant->quantisation().has_value())
        << scale;
    EXPECT_EQ(constant->quantisation()->scales, std::vector<float>{scale});
    EXPECT_EQ(constant->quantisation()->zero_points, std::vector<int32_t>{zero});
    const Tensor back = QuantiseTensor(constant->constant(), *constant->quantisation());
    ASSERT_EQ(back.type(), element);
    ASSERT_TRUE(back == Tensor::Of<Code>(shape, codes))
        << "scale " << scale << ", zero point " << int{zero};
  }
}

TEST(OwnConstants, EveryCodeComesBack) {
  ExpectCodesBack<int8_t>(ElementType::kInt8, -128);
  ExpectCodesBack<uint8_t>(ElementType::kUint8, 0);
  ExpectCodesBack<int16_t>(ElementType::kInt16, -32768);
  ExpectCodesBack<uint16_t>(ElementType::kUint16, 0);
}

TEST(OwnConstants, WhatOverflowsStaysANode) {
  const auto graph = ParseGraph(R"(graph "g" {
  input %x : f32[1x2]
  const %codes : i8[2x2] = [127, -128, 3, 4]
  const %scale : f32[] = [3e38]
  %w = dequantize_linear %codes, %scale "weights"
  %y = matmul %x, %w "product"
  output %y
})",
                                "test.kir");
  ASSERT_TRUE(graph.ok());
  const Graph annotated = Annotated(*graph);
  EXPECT_EQ(CountQuantised(annotated).weights, 0);
  EXPECT_EQ(annotated.num_nodes(), 2);
}

class OwnQuantisation : public testing::TestWithParam<QuantisedStyle> {};

// With powers of two nothing is lost in sums, products and quotients: whatever differs is a wrong
// rule.
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
                         testing::Values(QuantisedStyle::kQdq, QuantisedStyle::kQOperator,
                                         QuantisedStyle::kQonnx),
                         [](const auto& info) {
                           return info.param == QuantisedStyle::kQdq         ? "qdq"
                                  : info.param == QuantisedStyle::kQOperator ? "qoperator"
                                                                             : "qonnx";
                         });

}  // namespace
}  // namespace kiln
