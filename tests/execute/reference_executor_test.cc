// Tests of ReferenceExecutor: batches, observers, and errors that name the input or node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/ir/shape_inference.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "tests/execute/evaluate.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor RandomTensor(const Shape& shape, uint64_t seed) {
  Random random(seed);
  Tensor t(ElementType::kFloat32, shape);
  for (float& v : t.data<float>()) v = static_cast<float>(random.Uniform(-1, 1));
  return t;
}

// conv -> relu -> max_pool -> conv, added to a strided conv of the first relu -> relu -> global
// pool -> flatten -> gemm
struct SmallNet {
  SmallNet() {
    Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 3, 12, 12}});
    const auto add = [&](Op op, std::string name, std::vector<Value*> operands,
                         AttributeList list = {}) {
      Attributes a;
      for (auto& [key, value] : list) a.Set(key, value);
      return graph.AddNode(op, name, std::move(operands), {name}, a)->result();
    };
    const auto weights = [&](std::string name, Shape shape) {
      return graph.AddConstant(name, RandomTensor(shape, std::hash<std::string>()(name)));
    };
    Value* c1 = add(Op::kConv, "c1", {x, weights("w1", {16, 3, 3, 3}), weights("b1", {16})},
                    {{"pads", Ints{1, 1, 1, 1}}});
    Value* r1 = add(Op::kRelu, "r1", {c1});
    Value* pool =
        add(Op::kMaxPool, "pool", {r1}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    Value* c2 =
        add(Op::kConv, "c2", {pool, weights("w2", {32, 16, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}});
    Value* side =
        add(Op::kConv, "side", {r1, weights("w3", {32, 16, 1, 1})}, {{"strides", Ints{2, 2}}});
    Value* sum = add(Op::kAdd, "sum", {c2, side});
    Value* r2 = add(Op::kRelu, "r2", {sum});
    Value* mean = add(Op::kGlobalAveragePool, "mean", {r2});
    Value* flat = add(Op::kFlatten, "flat", {mean});
    Value* y = add(Op::kGemm, "y", {flat, weights("w4", {10, 32}), weights("b4", {10})},
                   {{"transB", int64_t{1}}});
    graph.MarkOutput(y);
  }
  Graph graph{"small"};
};

// What the kernels give, node by node.
Tensor ByKernels(const Graph& graph, const Tensor& input) {
  std::map<const Value*, Tensor> values;
  values[graph.inputs()[0]] = input;
  for (const Value* c : graph.Constants()) values[c] = c->constant();
  for (const auto& node : graph.nodes()) {
    std::vector<const Tensor*> operands;
    for (const Value* operand : node->operands()) operands.push_back(&values.at(operand));
    auto results = EvaluateNode(*node, operands);
    EXPECT_TRUE(results.ok()) << MessageOf(results.status());
    values[node->result()] = (*results)[0];
  }
  return values.at(graph.outputs()[0]);
}

void ExpectClose(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.type(), b.type());
  double largest = 1;
  for (int64_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(b.ValueAt(i)));
  for (int64_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a.ValueAt(i), b.ValueAt(i), tolerance * largest) << "element " << i;
}

TEST(ReferenceExecutor, AgreesWithTheKernels) {
  const SmallNet net;
  const auto executor = ReferenceExecutor::Create(net.graph);
  ASSERT_TRUE(executor.ok());
  const Tensor x = RandomTensor({1, 3, 12, 12}, 1);
  const auto y = (*executor)->Run(std::vector<Tensor>{x});
  ASSERT_TRUE(y.ok()) << MessageOf(y.status());
  ExpectClose((*y)[0], ByKernels(net.graph, x));
}

TEST(ReferenceExecutor, ObserverSeesEveryValueOnceAndAsTheKernelsGiveIt) {
  const SmallNet net;
  const auto executor = ReferenceExecutor::Create(net.graph);
  ASSERT_TRUE(executor.ok());
  std::vector<std::string> seen;
  const Tensor x = RandomTensor({1, 3, 12, 12}, 2);
  bool clipped = false;
  const auto y =
      (*executor)->Run(std::vector<Tensor>{x}, [&](const Value& value, const Tensor& tensor) {
        seen.push_back(value.name());
        if (value.name() == "c1") {
          // Before the activation there are negative numbers: nothing was fused away.
          for (float v : tensor.data<float>()) clipped |= v < 0;
        }
      });
  ASSERT_TRUE(y.ok());
  EXPECT_THAT(seen,
              ElementsAre("x", "c1", "r1", "pool", "c2", "side", "sum", "r2", "mean", "flat", "y"));
  EXPECT_TRUE(clipped);
}

TEST(ReferenceExecutor, BatchIsTheImagesOneByOneForAnyThreadCount) {
  const SmallNet net;
  const auto executor = ReferenceExecutor::Create(net.graph);
  ASSERT_TRUE(executor.ok());
  const std::vector<Tensor> x = {RandomTensor({9, 3, 12, 12}, 3)};
  SetThreadCount(1);
  const auto one = (*executor)->RunBatch(x);
  SetThreadCount(4);
  int64_t last = 0;
  const auto four = (*executor)->RunBatch(x, [&](int64_t done, int64_t total) {
    EXPECT_EQ(done, last + 1);
    EXPECT_EQ(total, 9);
    last = done;
  });
  SetThreadCount(0);
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_EQ(last, 9);
  EXPECT_EQ((*one)[0].shape(), (Shape{9, 10}));
  EXPECT_EQ((*one)[0], (*four)[0]);
  for (int64_t i = 0; i < 9; ++i) {
    Tensor image(ElementType::kFloat32, {1, 3, 12, 12});
    std::copy_n(x[0].data<float>().data() + i * image.size(), image.size(),
                image.data<float>().data());
    Tensor row(ElementType::kFloat32, {1, 10});
    std::copy_n((*one)[0].data<float>().data() + i * 10, 10, row.data<float>().data());
    ExpectClose(row, ByKernels(net.graph, image));
  }
}

// Inputs and outputs without an axis of images get one in front: a table, a scalar.
TEST(ReferenceExecutor, BatchesValuesWithoutABatchAxis) {
  Graph graph("net");
  Value* rows = graph.AddInput("rows", {ElementType::kFloat32, Shape{2, 2}});
  Value* factor = graph.AddInput("factor", {ElementType::kFloat32, Shape{}});
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 2}});
  Value* scaled = graph.AddNode(Op::kMul, "scale", {rows, factor}, {"scaled"})->result();
  graph.MarkOutput(scaled);
  graph.MarkOutput(graph.AddNode(Op::kMul, "twice", {factor, factor}, {"square"})->result());
  graph.MarkOutput(graph.AddNode(Op::kMul, "row", {x, factor}, {"row"})->result());
  ASSERT_TRUE(InferShapes(graph).ok());
  const auto executor = ReferenceExecutor::Create(graph);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto outputs = (*executor)->RunBatch(std::vector<Tensor>{
      Tensor::Of<float>({3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
      Tensor::Of<float>({3}, {1, 2, 3}), Tensor::Of<float>({3, 2}, {1, 1, 2, 2, 3, 3})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0],
            Tensor::Of<float>({3, 2, 2}, {1, 2, 3, 4, 10, 12, 14, 16, 27, 30, 33, 36}));
  EXPECT_EQ((*outputs)[1], Tensor::Of<float>({3}, {1, 4, 9}));
  EXPECT_EQ((*outputs)[2], Tensor::Of<float>({3, 2}, {1, 1, 4, 4, 9, 9}));
}

// 2x3 and 3x2 have as many bytes, and no tensor holds both.
TEST(ReferenceExecutor, ABatchRefusesResultsOfAnotherShape) {
  Graph graph("net");
  Value* shape = graph.AddInput("shape", {ElementType::kInt64, Shape{2}});
  Value* values = graph.AddConstant("values", Iota({6}));
  graph.MarkOutput(graph.AddNode(Op::kReshape, "reshape", {values, shape}, {"y"})->result());
  ASSERT_TRUE(InferShapes(graph).ok());
  const auto executor = ReferenceExecutor::Create(graph);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto same =
      (*executor)->RunBatch(std::vector<Tensor>{Tensor::Of<int64_t>({2, 2}, {2, 3, 2, 3})});
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ((*same)[0].shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(
      MessageOf((*executor)
                    ->RunBatch(std::vector<Tensor>{Tensor::Of<int64_t>({2, 2}, {2, 3, 3, 2})})
                    .status()),
      HasSubstr("image 1: output 'y': is 3x2, another shape than for the first image"));
}

TEST(ReferenceExecutor, WrongInputsAreErrorsThatNameThem) {
  const SmallNet net;
  const auto executor = ReferenceExecutor::Create(net.graph);
  ASSERT_TRUE(executor.ok());
  const auto message = [&](const std::vector<Tensor>& inputs, bool batch) {
    const auto result = batch ? (*executor)->RunBatch(inputs) : (*executor)->Run(inputs);
    return result.ok() ? std::string("accepted") : MessageOf(result.status());
  };
  EXPECT_THAT(message({}, false), HasSubstr("0 inputs given; the network takes 1"));
  EXPECT_THAT(message({Iota({1, 3, 12, 11})}, false),
              HasSubstr("input 'x': is 1x3x12x11; it takes 1x3x12x12"));
  EXPECT_THAT(message({Tensor(ElementType::kInt8, {1, 3, 12, 12})}, false),
              HasSubstr("holds i8; it takes f32"));
  EXPECT_THAT(message({Iota({0, 3, 12, 12})}, true), HasSubstr("its first axis counts images"));
}

TEST(ReferenceExecutor, ErrorsOfNodesNameTheNode) {
  Graph graph;
  Value* x = graph.AddInput("x", {ElementType::kFloat32, std::nullopt});
  Value* w = graph.AddConstant("w", Iota({4, 3, 3, 3}));
  graph.MarkOutput(graph.AddNode(Op::kConv, "first", {x, w}, {"y"})->result());
  const auto executor = ReferenceExecutor::Create(graph);
  ASSERT_TRUE(executor.ok());
  const auto result = (*executor)->Run(std::vector<Tensor>{Iota({1, 2, 8, 8})});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(MessageOf(result.status()),
              HasSubstr("node 'first' (Conv): the input has 2 channels"));
}

}  // namespace
}  // namespace kiln
