// Tests of calibration and of simulated quantisation.
#include "kiln/quantise/calibrate.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/execute/reference.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/simulate.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

Tensor RandomImages(const Shape& shape, uint64_t seed, double magnitude = 1) {
  Tensor t(ElementType::kFloat32, shape);
  Random random(seed);
  for (float& x : t.data<float>()) x = static_cast<float>(random.Uniform(-magnitude, magnitude));
  return t;
}

// conv - relu - max pool - flatten - gemm
Graph CalibratedNet() {
  Graph graph("small");
  graph.set_source("small.onnx");
  const TensorType f32;
  const auto add = [&](Op op, std::string_view name, std::vector<Value*> operands,
                       Attributes attributes = {}) {
    Value* result =
        graph.AddNode(op, name, std::move(operands), {std::string(name)}, std::move(attributes))
            ->result();
    graph.SetType(result, f32);
    return result;
  };
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 2, 6, 6}});
  Value* conv = add(Op::kConv, "conv",
                    {x, graph.AddConstant("w", RandomImages({3, 2, 3, 3}, 1)),
                     graph.AddConstant("b", RandomImages({3}, 2))});
  Attributes window;
  window.Set("kernel_shape", std::vector<int64_t>{2, 2});
  window.Set("strides", std::vector<int64_t>{2, 2});
  Value* pool = add(Op::kMaxPool, "pool", {add(Op::kRelu, "relu", {conv})}, window);
  Value* y =
      add(Op::kGemm, "y",
          {add(Op::kFlatten, "flat", {pool}), graph.AddConstant("wg", RandomImages({12, 4}, 3)),
           graph.AddConstant("bg", RandomImages({4}, 4))});
  graph.MarkOutput(y);
  return graph;
}

// Two rows of a masked attention: what counts of the masks is 16 below the row's greatest, 2.5 and
// -1.
TEST(Calibrate, MasksInFrontOfASoftmaxTakeNoCodes) {
  for (const bool also_elsewhere : {false, true}) {
    Graph graph("attention");
    const TensorType type{ElementType::kFloat32, Shape{1, 2, 3}};
    Value* scores = graph.AddInput("scores", type);
    Value* mask =
        graph.AddConstant("mask", Tensor::Of<float>({1, 2, 3}, {0, 0, -10000, 0, -10000, -10000}));
    const auto add = [&](Op op, std::string_view name, std::vector<Value*> operands) {
      Value* result = graph.AddNode(op, name, std::move(operands), {std::string(name)})->result();
      graph.SetType(result, type);
      return result;
    };
    Value* masked = add(Op::kAdd, "masked", {scores, mask});
    graph.MarkOutput(add(Op::kSoftmax, "shares", {masked}));
    if (also_elsewhere) graph.MarkOutput(add(Op::kNeg, "negative", {masked}));
    const Tensor image = Tensor::Of<float>({1, 2, 3}, {2.5f, 0.5f, 7, -1, 3, 3});
    const auto data = Calibrate(graph, std::span(&image, 1), 1);
    ASSERT_TRUE(data.ok()) << data.status();
    const Histogram* histogram = data->Find("masked");
    ASSERT_NE(histogram, nullptr);
    EXPECT_EQ(histogram->max(), 2.5f);
    EXPECT_EQ(histogram->min(), also_elsewhere ? -9997.0f : -17.0f);
  }
}

TEST(Calibrate, EqualsOneImageAfterTheOther) {
  const Graph graph = CalibratedNet();
  const Tensor images = RandomImages({21, 2, 6, 6}, 5);
  const auto data = Calibrate(graph, std::span(&images, 1), 1000);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->images(), 21);
  CalibrationData expected;
  const auto executor = ReferenceExecutor::Create(graph);
  ASSERT_TRUE(executor.ok());
  const auto observe = [&](const Value& value, const Tensor& tensor) {
    Histogram h;
    h.Add(tensor.data<float>());
    expected.Add(value.name(), h);
  };
  ASSERT_TRUE((*executor)->ObserveBatch(std::span(&images, 1), observe).ok());
  expected.set_images(21);
  EXPECT_EQ(*data, expected);
  for (const char* name : {"x", "conv", "relu", "pool", "flat", "y"})
    EXPECT_NE(data->Find(name), nullptr) << name;
  EXPECT_EQ(data->Find("w"), nullptr);
  EXPECT_EQ(data->Find("x")->count(), 21 * 72);
}

TEST(Calibrate, SameForAnyNumberOfThreads) {
  const Graph graph = CalibratedNet();
  const Tensor images = RandomImages({50, 2, 6, 6}, 6);
  SetThreadCount(1);
  const auto one = Calibrate(graph, std::span(&images, 1), 50);
  SetThreadCount(7);
  const auto seven = Calibrate(graph, std::span(&images, 1), 50);
  SetThreadCount(0);
  ASSERT_TRUE(one.ok() && seven.ok());
  EXPECT_EQ(*one, *seven);
}

TEST(Calibrate, UsesTheFirstImagesOnly) {
  const Graph graph = CalibratedNet();
  const Tensor images = RandomImages({12, 2, 6, 6}, 7);
  const auto data = Calibrate(graph, std::span(&images, 1), 3);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->images(), 3);
  EXPECT_EQ(data->Find("x")->count(), 3 * 72);
}

TEST(Calibrate, Errors) {
  const Graph graph = CalibratedNet();
  EXPECT_EQ(
      MessageOf(Calibrate(graph, {}, 1).status()),
      "small.onnx: calibration: there are no images; at least one image for each graph input");
  Tensor images = RandomImages({3, 2, 6, 6}, 7);
  images.data<float>()[100] = std::nanf("");
  EXPECT_EQ(MessageOf(Calibrate(graph, std::span(&images, 1), 3).status()),
            "small.onnx: value 'x': 1 of its elements are NaN or infinite on the calibration "
            "images; check the "
            "preprocessing of the images and the network's weights");
}

// What the simulation computes, from the definition: round at every annotation.
TEST(SimulateQuantisation, StaysCloseAndWideFormatsStayCloser) {
  const Graph graph = CalibratedNet();
  const Tensor images = RandomImages({40, 2, 6, 6}, 8);
  const auto data = Calibrate(graph, std::span(&images, 1), 40);
  ASSERT_TRUE(data.ok());
  const auto outputs_of = [&](const Graph& g) {
    const auto executor = ReferenceExecutor::Create(g);
    KILN_CHECK(executor.ok());
    auto outputs = (*executor)->RunBatch(std::span(&images, 1));
    KILN_CHECK(outputs.ok());
    return (*outputs)[0];
  };
  const Tensor exact = outputs_of(graph);
  double last_error = 1e9;
  for (std::string_view format : {"int4", "int8", "int16"}) {
    Recipe recipe = Int8Recipe();
    recipe.activations.type.format = recipe.weights.type.format = *FindFormat(format);
    const auto quantised = Quantise(graph, recipe, *data);
    ASSERT_TRUE(quantised.ok()) << quantised.status();
    const Tensor rounded = outputs_of(*SimulateQuantisation(*quantised));
    double error = 0, power = 0;
    for (int64_t i = 0; i < exact.size(); ++i) {
      error += std::pow(exact.ValueAt(i) - rounded.ValueAt(i), 2);
      power += std::pow(exact.ValueAt(i), 2);
    }
    error = std::sqrt(error / power);
    EXPECT_GT(error, 0);
    EXPECT_LT(error, last_error / 8);  // four bits more: up to 16 times less
    last_error = error;
  }
  EXPECT_LT(last_error, 1e-4);
}

TEST(SimulateQuantisation, RoundsOnceAGroup) {
  const Graph graph = CalibratedNet();
  const Tensor images = RandomImages({8, 2, 6, 6}, 9);
  const auto data = Calibrate(graph, std::span(&images, 1), 8);
  ASSERT_TRUE(data.ok());
  const auto quantised = Quantise(graph, Int8Recipe(), *data);
  ASSERT_TRUE(quantised.ok());
  const auto simulated = SimulateQuantisation(*quantised);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  // x and relu; conv is inside a kernel with relu, pool and flat are on relu's grid.
  const auto nodes = simulated->NodeList();
  EXPECT_EQ(std::count_if(nodes.begin(), nodes.end(),
                          [](const Node* node) { return node->op() == Op::kQuantise; }),
            2);
  for (const Value* value : simulated->Values())
    EXPECT_FALSE(value->quantisation().has_value()) << value->name();
}

}  // namespace
}  // namespace kiln
