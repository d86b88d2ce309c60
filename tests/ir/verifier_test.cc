// Tests of the verifier: it accepts valid graphs and names what is broken in others.
#include "kiln/ir/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kiln/ir/random_graph.h"
#include "kiln/ir/shape_inference.h"
#include "tests/ir/verified_graph.h"

namespace kiln {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

TEST(Verifier, AcceptsRandomGraphsAndTheirClones) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomGraph(seed, {.allow_nhwc = true});
    ASSERT_TRUE(Verify(graph).ok()) << "seed " << seed << ": " << MessageOf(Verify(graph));
    ASSERT_TRUE(Verify(graph.Clone()).ok()) << "seed " << seed;
  }
}

// input -> relu -> add(constant) -> output
struct Small {
  Graph graph{"small"};
  Value* input;
  Value* bias;
  Node* relu;
  Node* add;
  Small() {
    graph.set_source("net.onnx");
    input = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 4}});
    bias = graph.AddConstant("b", Tensor(ElementType::kFloat32, Shape{4}));
    relu = graph.AddNode(Op::kRelu, "act", {input}, {"r"});
    add = graph.AddNode(Op::kAdd, "sum", {relu->result(), bias}, {"y"});
    graph.MarkOutput(add->result());
    KILN_CHECK(InferShapes(graph).ok());
  }
  std::string Fault() { return MessageOf(Verify(graph)); }
};

TEST(Verifier, AcceptsTheSmallGraph) { EXPECT_TRUE(Verify(Small().graph).ok()); }

struct Breakage {
  std::string_view what;
  std::function<void(Small&)> harm;
  std::string message;
};

Quantisation PerTensor(float scale, int32_t zero) {
  return {.type = {.format = *FindFormat("int8"), .symmetric = false},
          .scales = {scale},
          .zero_points = {zero}};
}

Quantisation MxInt8(int axis) {
  Quantisation q;
  q.type = *FindQuantType("mxint8");
  q.axis = axis;
  return q;
}

TEST(Verifier, NamesWhatIsBroken) {
  const std::vector<Breakage> cases = {
      {"operand count", [](Small& s) { s.graph.SetOperand(s.relu, 1, s.bias); },
       "net.onnx: node 'act' (Relu): has 2 operands; Relu takes 1"},
      {"absent operand", [](Small& s) { s.graph.SetOperand(s.add, 0, nullptr); },
       "node 'sum' (Add): operand 0 is absent"},
      {"unknown attribute", [](Small& s) { s.relu->attributes().Set("alpha", 1.0f); },
       "node 'act' (Relu): has the unknown attribute 'alpha'; it takes none"},
      {"shape",
       [](Small& s) { s.graph.SetType(s.relu->result(), {ElementType::kFloat32, Shape{1, 5}}); },
       "node 'act' (Relu): result 'r' has type f32[1x5], where f32[1x4] follows"},
      {"element type",
       [](Small& s) { s.graph.SetType(s.relu->result(), {ElementType::kInt8, Shape{1, 4}}); },
       "result 'r' has type i8[1x4]"},
      {"broadcast",
       [](Small& s) {
         s.graph.SetOperand(s.add, 1, s.graph.AddConstant("c", Tensor(ElementType::kFloat32, {3})));
       },
       "node 'sum' (Add): operands of shape 1x4 and 3 do not broadcast"},
      {"mixed types",
       [](Small& s) {
         s.graph.SetOperand(s.add, 1, s.graph.AddConstant("c", Tensor(ElementType::kInt32, {4})));
       },
       "operands 'r' of f32 and 'c' of i32 differ in element type"},
      {"order",
       [](Small& s) {
         Node* late = s.graph.AddNode(Op::kAbs, "late", {s.input}, {"l"});
         KILN_CHECK(InferNode(s.graph, *late).ok());
         s.graph.SetOperand(s.add, 0, late->result());
       },
       "node 'sum' (Add): operand 'l' is computed later"},
      {"erased input", [](Small& s) { s.graph.EraseInput(s.input); },
       "node 'act' (Relu): operand 'x' is no input, constant or result of the graph"},
      {"huge input",
       [](Small& s) { s.graph.SetType(s.input, {ElementType::kFloat32, Shape{1 << 30, 1 << 30}}); },
       "value 'x': has shape 1073741824x1073741824"},
      {"absurd dimension",
       [](Small& s) { s.graph.SetType(s.input, {ElementType::kFloat32, Shape{-7}}); },
       "value 'x': has shape ?"},
      {"constant type",
       [](Small& s) { s.graph.SetType(s.bias, {ElementType::kFloat32, Shape{2, 2}}); },
       "value 'b': has type f32[2x2], its constant f32[4]"},
      {"scale 0", [](Small& s) { s.input->set_quantisation(PerTensor(0, 0)); },
       "value 'x': has the scale 0"},
      {"scale NaN", [](Small& s) { s.input->set_quantisation(PerTensor(NAN, 0)); },
       "value 'x': has the scale nan"},
      {"scale infinite", [](Small& s) { s.input->set_quantisation(PerTensor(INFINITY, 0)); },
       "has the scale inf"},
      {"zero point", [](Small& s) { s.input->set_quantisation(PerTensor(1, 128)); },
       "value 'x': has the zero point 128; -128 to 127 in int8"},
      {"symmetric",
       [](Small& s) {
         Quantisation q = PerTensor(1, 5);
         q.type.symmetric = true;
         s.input->set_quantisation(q);
       },
       "is symmetric with zero point 5"},
      {"channels",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.type.scheme = Scheme::kPerChannel;
         q.axis = 1;
         s.input->set_quantisation(q);
       },
       "has 1 scales under per_channel; 4"},
      {"axis",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.type.scheme = Scheme::kPerChannel;
         q.axis = 2;
         s.input->set_quantisation(q);
       },
       "is per_channel along axis 2 of 1x4; 0 to 1"},
      {"zero points",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.zero_points = {0, 0};
         s.input->set_quantisation(q);
       },
       "has 2 zero points for 1 scales"},
      {"block",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.type.scheme = Scheme::kPerBlock;
         q.axis = 1;
         s.input->set_quantisation(q);
       },
       "is per_block with blocks of 0"},
      {"no scales wanted",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.type = *FindQuantType("bf16");
         s.input->set_quantisation(q);
       },
       "has 1 scales under none; 0"},
      {"some scales of blocks",
       [](Small& s) {
         Quantisation q = MxInt8(1);
         q.scales = {1};
         q.zero_points = {0};
         q.type.block_size = 2;
         s.input->set_quantisation(q);
       },
       "has 1 scales under per_block; 2"},
      {"block without axis", [](Small& s) { s.input->set_quantisation(MxInt8(-1)); },
       "is per_block along axis -1 of 1x4; 0 to 1"},
      {"block size without blocks",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.type.block_size = 32;
         s.input->set_quantisation(q);
       },
       "has blocks of 32 under per_tensor"},
      {"asymmetric float",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.type.format = *FindFormat("e4m3");
         s.input->set_quantisation(q);
       },
       "is asymmetric in e4m3; symmetric: only whole integers take zero points"},
      {"asymmetric fixed point",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.type.format = *FindFormat("fixed8_4");
         s.input->set_quantisation(q);
       },
       "is asymmetric in fixed8_4"},
      {"scale format",
       [](Small& s) {
         Quantisation q = MxInt8(1);
         q.type.scale_format = *FindFormat("int8");
         s.input->set_quantisation(q);
       },
       "has scales in 'int8'; a float format"},
      {"format",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.type.format.name = "int99";
         s.input->set_quantisation(q);
       },
       "has the unknown number format 'int99'"},
      {"annotation along a scalar's axis",
       [](Small& s) {
         Quantisation q = PerTensor(1, 0);
         q.axis = 0;
         s.input->set_quantisation(q);
       },
       "is per_tensor along axis 0"},
      {"attribute kind",
       [](Small& s) {
         Node* node = s.graph.AddNode(Op::kSoftmax, "soft", {s.input}, {"p"});
         node->attributes().Set("axis", 1.0f);
       },
       "node 'soft' (Softmax): attribute 'axis' is of kind float; Softmax takes int"},
      {"attribute missing",
       [](Small& s) { s.graph.AddNode(Op::kConcat, "join", {s.input}, {"p"}); },
       "node 'join' (Concat): lacks the attribute 'axis'"},
      {"attribute value",
       [](Small& s) {
         Node* node = s.graph.AddNode(Op::kGelu, "gelu", {s.input}, {"p"});
         node->attributes().Set("approximate", std::string("erf"));
       },
       "attribute 'approximate' is 'erf'; one of: none, tanh"},
      {"results", [](Small& s) { s.graph.AddNode(Op::kAbs, "two", {s.input}, {"p", "q"}); },
       "node 'two' (Abs): has 2 results; Abs gives 1"},
      {"no result", [](Small& s) { s.graph.AddNode(Op::kAbs, "none", {s.input}, {}); },
       "node 'none' (Abs): has 0 results"},
  };
  for (const Breakage& c : cases) {
    Small small;
    c.harm(small);
    ASSERT_FALSE(Verify(small.graph).ok()) << c.what;
    EXPECT_THAT(small.Fault(), HasSubstr(c.message)) << c.what;
  }
}

TEST(Verifier, AcceptsGoodAnnotations) {
  VerifiedGraph graph;
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{kUnknownDim, 3, 70}});
  x->set_quantisation(PerTensor(0.5f, -128));
  Value* w = graph.AddConstant("w", Tensor(ElementType::kFloat32, Shape{3, 70}));
  Quantisation q{
      .type = {.format = *FindFormat("int4"), .scheme = Scheme::kPerBlock, .block_size = 32},
      .axis = 1};
  q.scales.assign(9, 0.25f);  // 3 rows of ceil(70 / 32) = 3 blocks
  q.zero_points.assign(9, 0);
  w->set_quantisation(q);
  Value* f = graph.AddConstant("f", Tensor(ElementType::kFloat32, Shape{3}));
  Quantisation none;
  none.type = *FindQuantType("bf16");
  f->set_quantisation(none);
  // The rule finds the scales of blocks, known shape or not.
  graph.AddInput("blocked", {ElementType::kFloat32, Shape{kUnknownDim, 3, 70}})
      ->set_quantisation(MxInt8(2));
  graph.AddInput("shapeless", {ElementType::kFloat32, std::nullopt})->set_quantisation(MxInt8(1));
}

}  // namespace
}  // namespace kiln
