#include "kiln/targets/run/host_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kiln/ir/shape_inference.h"
#include "kiln/numerics/format.h"

namespace kiln {
namespace {

using testing::HasSubstr;

// int8 in steps of `scale`.
Quantisation Steps(float scale) {
  QuantType type = *FindQuantType("int8");
  type.scheme = Scheme::kPerTensor;
  return {.type = type, .axis = -1, .scales = {scale}, .zero_points = {0}};
}

// Runs a subgraph of one input and gives its outputs as they are stored.
StatusOr<std::vector<Tensor>> OutputsOf(const Graph& graph, const Tensor& input) {
  std::vector<Tensor> outputs;
  KILN_RETURN_IF_ERROR(RunHostKernel(
      graph, [&](size_t) { return input; },
      [&](size_t i, const Tensor& computed) {
        EXPECT_EQ(i, outputs.size());
        outputs.push_back(computed);
        return OkStatus();
      }));
  return outputs;
}

TEST(RoundedAsAnnotated, OnlyAnnotatedValuesOfFp32AreRounded) {
  const Tensor x = Tensor::Of<float>({3}, {0.3f, 0.8f, 1000});
  EXPECT_EQ(RoundedAsAnnotated(x, Steps(0.5f)), Tensor::Of<float>({3}, {0.5f, 1, 63.5f}));
  EXPECT_EQ(RoundedAsAnnotated(x, std::nullopt), x);
  const Tensor codes = Tensor::Of<int32_t>({1}, {1000});
  EXPECT_EQ(RoundedAsAnnotated(codes, Steps(0.5f)), codes);
}

// The constant 2.2 is rounded to 2. The product 2 x is annotated in halves, and its negative in
// steps of 4. The second node sees the product rounded; both outputs are as they were computed.
TEST(RunHostKernel, NodesSeeValuesRoundedWhereTheyAreAnnotated) {
  Graph network("network");
  Value* x = network.AddInput("x", {ElementType::kFloat32, Shape{1, 2}});
  Value* two = network.AddConstant("two", Tensor::Of<float>({1}, {2.2f}));
  two->set_quantisation(Steps(1));
  Value* doubled = network.AddNode(Op::kMul, "double", {x, two}, {"doubled"})->result();
  Value* negative = network.AddNode(Op::kNeg, "minus", {doubled}, {"negative"})->result();
  network.MarkOutput(doubled);
  network.MarkOutput(negative);
  ASSERT_TRUE(InferShapes(network).ok());
  doubled->set_quantisation(Steps(0.5f));
  negative->set_quantisation(Steps(4));
  const HostGraph host =
      CopyForHost(network, std::vector<const Node*>{doubled->producer(), negative->producer()});
  EXPECT_EQ(host.inputs, std::vector<const Value*>{x});
  EXPECT_EQ(host.outputs, (std::vector<const Value*>{doubled, negative}));
  const auto outputs = OutputsOf(host.graph, Tensor::Of<float>({1, 2}, {0.625f, -2.375f}));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 2u);
  // In halves 1.25 is 1 and -4.75 is -5: ties go to even codes.
  EXPECT_EQ((*outputs)[0], Tensor::Of<float>({1, 2}, {1.25f, -4.75f}));
  EXPECT_EQ((*outputs)[1], Tensor::Of<float>({1, 2}, {-1, 5}));
}

// A value that other nodes and the network's output do not need stays inside, and is rounded.
TEST(RunHostKernel, ValuesInsideAreRounded) {
  Graph network("network");
  Value* x = network.AddInput("x", {ElementType::kFloat32, Shape{1, 1}});
  Value* inside = network.AddNode(Op::kNeg, "first", {x}, {"inside"})->result();
  Value* y = network.AddNode(Op::kNeg, "second", {inside}, {"y"})->result();
  network.MarkOutput(y);
  ASSERT_TRUE(InferShapes(network).ok());
  inside->set_quantisation(Steps(2));
  const HostGraph host =
      CopyForHost(network, std::vector<const Node*>{inside->producer(), y->producer()});
  const auto outputs = OutputsOf(host.graph, Tensor::Of<float>({1, 1}, {2.75f}));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ((*outputs)[0], Tensor::Of<float>({1, 1}, {2}));
}

TEST(RunHostKernel, ErrorsAreThoseOfOperatorsAndOfStore) {
  Graph graph("host");
  Value* x = graph.AddInput("x", {ElementType::kInt32, Shape{1}});
  Value* one = graph.AddConstant("one", Tensor::Of<int32_t>({1}, {1}));
  graph.MarkOutput(graph.AddNode(Op::kDiv, "quotient", {one, x}, {"y"})->result());
  EXPECT_THAT(MessageOf(OutputsOf(graph, Tensor::Of<int32_t>({1}, {0})).status()),
              HasSubstr("quotient"));
  const Status status = RunHostKernel(
      graph, [](size_t) { return Tensor::Of<int32_t>({1}, {1}); },
      [](size_t, const Tensor&) { return absl::InternalError("no room"); });
  EXPECT_EQ(MessageOf(status), "no room");
}

}  // namespace
}  // namespace kiln
