// Tests of the counts of multiply-accumulates, operations and parameters.
#include "kiln/ir/work.h"

#include <gtest/gtest.h>

#include "kiln/ir/shape_inference.h"
#include "tests/ir/verified_graph.h"

namespace kiln {
namespace {

using Ints = std::vector<int64_t>;

Value* Input(Graph& graph, Shape shape) {
  return graph.AddInput("", {ElementType::kFloat32, std::move(shape)});
}

Node* Make(Graph& graph, Op op, std::vector<Value*> operands,
           std::vector<std::pair<std::string, Attribute>> list = {}) {
  Attributes attributes;
  for (auto& [name, value] : list) attributes.Set(name, value);
  Node* node = graph.AddNode(op, "", std::move(operands), {""}, std::move(attributes));
  const Status status = InferNode(graph, *node);
  EXPECT_TRUE(status.ok()) << MessageOf(status);
  return node;
}

TEST(Work, Convolutions) {
  VerifiedGraph g;
  // 32 * 32 positions, 16 channels of 3 * 3 * 3 weights; batch 2.
  Value* x = Input(g, {2, 3, 32, 32});
  EXPECT_EQ(MacsOf(*Make(g, Op::kConv, {x, Input(g, {16, 3, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}})),
            2 * 32 * 32 * 16 * 27);
  // Depthwise: one input channel an output channel.
  Value* d = Input(g, {1, 8, 10, 10});
  EXPECT_EQ(MacsOf(*Make(g, Op::kConv, {d, Input(g, {8, 1, 3, 3})}, {{"group", int64_t{8}}})),
            8 * 8 * 8 * 9);
  // Transposed: every input position meets every weight of its channel.
  EXPECT_EQ(
      MacsOf(*Make(g, Op::kConvTranspose, {d, Input(g, {8, 4, 2, 2})}, {{"strides", Ints{2, 2}}})),
      10 * 10 * 8 * 4 * 4);
  // An unknown batch counts as one image.
  EXPECT_EQ(MacsOf(*Make(g, Op::kConv, {Input(g, {kUnknownDim, 1, 3, 3}), Input(g, {1, 1, 3, 3})})),
            9);
  EXPECT_EQ(MacsOf(*Make(g, Op::kConv, {Input(g, {1, 1, kUnknownDim, 3}), Input(g, {1, 1, 3, 3})})),
            0);
}

TEST(Work, Products) {
  VerifiedGraph g;
  EXPECT_EQ(MacsOf(*Make(g, Op::kGemm, {Input(g, {64, 5}), Input(g, {10, 64})},
                         {{"transA", int64_t{1}}, {"transB", int64_t{1}}})),
            5 * 64 * 10);
  EXPECT_EQ(MacsOf(*Make(g, Op::kMatMul, {Input(g, {2, 6, 7, 8}), Input(g, {6, 8, 3})})),
            2 * 6 * 7 * 8 * 3);
  EXPECT_EQ(MacsOf(*Make(g, Op::kMatMul, {Input(g, {8}), Input(g, {8})})), 8);
}

TEST(Work, OtherOperators) {
  VerifiedGraph g;
  Value* x = Input(g, {1, 4, 6, 6});
  EXPECT_EQ(OperationsOf(*Make(g, Op::kRelu, {x})), 144);
  EXPECT_EQ(OperationsOf(*Make(g, Op::kAdd, {x, Input(g, {2, 1, 1, 1, 1})})), 288);
  EXPECT_EQ(OperationsOf(*Make(g, Op::kMaxPool, {x},
                               {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}})),
            4 * 9 * 4);
  EXPECT_EQ(OperationsOf(*Make(g, Op::kGlobalAveragePool, {x})), 144);
  EXPECT_EQ(OperationsOf(*Make(g, Op::kReduceMean, {x})), 144);
  EXPECT_EQ(OperationsOf(*Make(g, Op::kFlatten, {x})), 0);
  EXPECT_EQ(MacsOf(*Make(g, Op::kRelu, {x})), 0);
}

TEST(Work, SaturatesInsteadOfOverflowing) {
  VerifiedGraph g;
  Value* a = Input(g, {int64_t{1} << 16, int64_t{1} << 16});
  EXPECT_EQ(MacsOf(*Make(g, Op::kMatMul, {a, a})), int64_t{1} << 48);
  const int64_t big = int64_t{1} << 33;
  Node* outer = Make(g, Op::kConv, {Input(g, {1, 1 << 4, 1 << 29}), Input(g, {16, 16, 1 << 25})});
  EXPECT_GT(MacsOf(*outer), big);
}

TEST(Work, ParametersAreWhatNodesComputeWith) {
  VerifiedGraph g;
  Value* w = g.AddConstant("w", Tensor(ElementType::kFloat32, Shape{16, 3, 3, 3}));
  Value* b = g.AddConstant("b", Tensor(ElementType::kFloat32, Shape{16}));
  g.AddConstant("unused", Tensor(ElementType::kFloat32, Shape{1000}));
  Node* conv = Make(g, Op::kConv, {Input(g, {1, 3, 8, 8}), w, b});
  Node* again = Make(g, Op::kConv, {Input(g, {1, 3, 8, 8}), w});
  Value* shape = g.AddConstant("shape", Tensor::Of<int64_t>(Shape{2}, {1, -1}));
  Make(g, Op::kReshape, {conv->result(), shape});
  EXPECT_EQ(again->num_operands(), 2);
  EXPECT_EQ(ParametersOf(g), 16 * 27 + 16);
  EXPECT_EQ(ParameterBytesOf(g), 4 * (16 * 27 + 16));
  Quantisation q;
  q.type.format = *FindFormat("int3");
  q.scales = {1};
  q.zero_points = {0};
  w->set_quantisation(q);
  EXPECT_EQ(ParameterBytesOf(g), 16 * 27 * 3 / 8 + 4 * 16);
}

// Codes before a DequantizeLinear count as the weights that they are, one byte each; its scales and
// zero points do not count, as those of an annotation do not.
TEST(Work, ScalesOfQuantisersAreNoParameters) {
  VerifiedGraph g;
  Value* codes = g.AddConstant("codes", Tensor(ElementType::kInt8, Shape{16, 3, 3, 3}));
  Value* scales = g.AddConstant("scales", Tensor(ElementType::kFloat32, Shape{16}));
  Value* zeros = g.AddConstant("zeros", Tensor(ElementType::kInt8, Shape{16}));
  Node* w = Make(g, Op::kDequantizeLinear, {codes, scales, zeros}, {{"axis", int64_t{0}}});
  Make(g, Op::kConv, {Input(g, {1, 3, 8, 8}), w->result()});
  EXPECT_EQ(ParametersOf(g), 16 * 27);
  EXPECT_EQ(ParameterBytesOf(g), 16 * 27);
}

}  // namespace
}  // namespace kiln
