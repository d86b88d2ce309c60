// Tests of the error by layer, on networks small enough to compute every error by hand.
#include "kiln/quantise/layer_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/quantise/post_training.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/quantise/simulate.h"
#include "kiln/support/parallel.h"
#include "tests/quantise/small_net.h"

namespace kiln {
namespace {

using testing::ElementsAre;

Quantisation Int8Of(float scale) {
  Quantisation q;
  q.type.format = *FindFormat("int8");
  q.type.scheme = Scheme::kPerTensor;
  q.type.symmetric = true;
  q.scales = {scale};
  q.zero_points = {0};
  return q;
}

// x [1, 2] -> fc1 (the identity) -> h -> fc2 (3, 1) -> y [1, 1]
Graph TwoProducts() {
  Graph net("two");
  Value* x = net.AddInput("x", {ElementType::kFloat32, Shape{1, 2}});
  const Tensor identity = Tensor::Of<float>(Shape{2, 2}, std::vector<float>{1, 0, 0, 1});
  const Tensor column = Tensor::Of<float>(Shape{2, 1}, std::vector<float>{3, 1});
  Node* fc1 = net.AddNode(Op::kMatMul, "fc1", {x, net.AddConstant("w1", identity)}, {"h"});
  KILN_CHECK(InferNode(net, *fc1).ok());
  Node* fc2 =
      net.AddNode(Op::kMatMul, "fc2", {fc1->result(), net.AddConstant("w2", column)}, {"y"});
  KILN_CHECK(InferNode(net, *fc2).ok());
  net.MarkOutput(fc2->result());
  return net;
}

// The figures by hand, for x = (1.25, -2), y = 1.75:
//   x, scale 1     rounds to (1, -2): signal 5.5625, noise 0.0625; alone y = 1
//   w1, scale 0.5  is exact
//   h, scale 1     rounds as x does; so far h = (1, -2), which is exact on its grid; alone y = 1
//   w2, scale 2    rounds (3, 1) to (4, 0), ties to even: signal 10, noise 2; alone y = 5
//   all            y = 4
TEST(LayerErrors, AreThoseByHand) {
  const Graph exact = TwoProducts();
  Graph quantised = exact.Clone();
  quantised.FindValue("x")->set_quantisation(Int8Of(1));
  quantised.FindValue("w1")->set_quantisation(Int8Of(0.5f));
  quantised.FindValue("h")->set_quantisation(Int8Of(1));
  quantised.FindValue("w2")->set_quantisation(Int8Of(2));
  const std::vector<Tensor> inputs = {
      Tensor::Of<float>(Shape{1, 2}, std::vector<float>{1.25f, -2})};
  const auto errors = MeasureLayerErrors(exact, quantised, inputs, {});
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_EQ(errors->images, 1);
  ASSERT_EQ(errors->layers.size(), 3u);

  const LayerError& input = errors->layers[0];
  EXPECT_EQ(input.name, "x");
  EXPECT_EQ(input.operation, "input");
  ASSERT_EQ(input.values.size(), 1u);
  EXPECT_EQ(input.values[0].type, "int8 per_tensor");
  EXPECT_EQ(input.values[0].own.signal, 5.5625);
  EXPECT_EQ(input.values[0].own.noise, 0.0625);
  EXPECT_EQ(input.values[0].so_far->noise, 0.0625);
  EXPECT_NEAR(*input.values[0].own.sqnr_db(), 10 * std::log10(89.0), 1e-12);
  EXPECT_NEAR(*input.alone.sqnr_db(), 10 * std::log10(3.0625 / 0.5625), 1e-12);

  const LayerError& fc1 = errors->layers[1];
  EXPECT_EQ(fc1.name, "fc1");
  EXPECT_EQ(fc1.operation, "MatMul");
  ASSERT_EQ(fc1.values.size(), 2u);
  EXPECT_EQ(fc1.values[0].value, "w1");
  EXPECT_TRUE(fc1.values[0].is_constant);
  EXPECT_EQ(fc1.values[0].own.noise, 0);
  EXPECT_FALSE(fc1.values[0].so_far.has_value());
  EXPECT_EQ(fc1.values[1].value, "h");
  EXPECT_EQ(fc1.values[1].own.noise, 0.0625);
  EXPECT_EQ(fc1.values[1].so_far->signal, 5.5625);
  EXPECT_EQ(fc1.values[1].so_far->noise, 0.0625);
  EXPECT_NEAR(*fc1.alone.sqnr_db(), 10 * std::log10(3.0625 / 0.5625), 1e-12);

  const LayerError& fc2 = errors->layers[2];
  ASSERT_EQ(fc2.values.size(), 1u);
  EXPECT_EQ(fc2.values[0].own.signal, 10);
  EXPECT_EQ(fc2.values[0].own.noise, 2);
  EXPECT_NEAR(*fc2.alone.sqnr_db(), 10 * std::log10(3.0625 / 10.5625), 1e-12);
  EXPECT_NEAR(*errors->all.sqnr_db(), 10 * std::log10(3.0625 / 5.0625), 1e-12);
  EXPECT_THAT(errors->MostSensitive(2), ElementsAre(2, 0));
  EXPECT_FALSE(errors->PointsLost(errors->all).has_value()) << "no labels";
}

// x [1, 2] -> fc (the identity) -> + bias -> relu -> y: one kernel, which rounds only y.
TEST(LayerErrors, AKernelIsOneLayerWithItsBias) {
  Graph exact("kernel");
  Value* x = exact.AddInput("x", {ElementType::kFloat32, Shape{1, 2}});
  const Tensor identity = Tensor::Of<float>(Shape{2, 2}, std::vector<float>{1, 0, 0, 1});
  const auto add = [&exact](Op op, const char* name, std::vector<Value*> operands,
                            const char* result) {
    Node* node = exact.AddNode(op, name, std::move(operands), {result});
    KILN_CHECK(InferNode(exact, *node).ok());
    return node->result();
  };
  Value* sum = add(Op::kMatMul, "fc", {x, exact.AddConstant("w", identity)}, "sum");
  Value* biased =
      add(Op::kAdd, "bias",
          {sum, exact.AddConstant("b", Tensor::Of<float>(Shape{2}, std::vector<float>{0.25f, 0}))},
          "biased");
  exact.MarkOutput(add(Op::kRelu, "relu", {biased}, "y"));

  Graph quantised = exact.Clone();
  for (const char* value : {"sum", "biased", "y"})
    quantised.FindValue(value)->set_quantisation(Int8Of(1));
  // A rounded bias, as the recipe key `biases` makes it.
  Node* bias = quantised.FindValue("biased")->producer();
  quantised.SetOperand(
      bias, 1, quantised.AddConstant("b", Tensor::Of<float>(Shape{2}, std::vector<float>{0, 0})));
  quantised.EraseUnusedConstants();
  // Two images. Exact: y = (2.75, 0), (0.75, 1); quantised: (2, 0), since 2.5 is a tie, and (0, 1).
  const std::vector<Tensor> inputs = {
      Tensor::Of<float>(Shape{2, 2}, std::vector<float>{2.5f, -1, 0.5f, 1})};
  const std::vector<int32_t> labels = {0, 0};
  LayerErrorOptions options;
  options.layout = ScoreLayout{.classes = 2};
  options.labels = labels;
  const auto errors = MeasureLayerErrors(exact, quantised, inputs, options);
  ASSERT_TRUE(errors.ok()) << errors.status();
  ASSERT_EQ(errors->layers.size(), 1u);
  const LayerError& layer = errors->layers[0];
  EXPECT_EQ(layer.name, "fc");
  ASSERT_EQ(layer.values.size(), 1u);
  EXPECT_EQ(layer.values[0].value, "y");
  // Own: (2.75, 0) to (3, 0), (0.75, 1) to (1, 1).
  EXPECT_EQ(layer.values[0].own.signal, 2.75 * 2.75 + 0.75 * 0.75 + 1);
  EXPECT_EQ(layer.values[0].own.noise, 0.0625 + 0.0625);
  EXPECT_EQ(layer.values[0].so_far->noise, 0.75 * 0.75 + 0.75 * 0.75);
  ASSERT_EQ(layer.alone.outputs.size(), 1u);
  EXPECT_EQ(layer.alone.outputs[0].noise, 0.75 * 0.75 + 0.75 * 0.75) << "with the rounded bias";
  // fp32 gives the classes 0 and 1, so one label of two is right in both networks.
  EXPECT_EQ(errors->exact->correct, 1);
  EXPECT_EQ(*errors->PointsLost(errors->all), 0);
}

// A constant that two layers read is quantised only where the measured layer reads it.
TEST(LayerErrors, SharedWeightsAreQuantisedForOneLayerAtATime) {
  Graph exact("shared");
  Value* x = exact.AddInput("x", {ElementType::kFloat32, Shape{1, 1}});
  Value* w = exact.AddConstant("w", Tensor::Of<float>(Shape{1, 1}, std::vector<float>{1.25f}));
  Node* a = exact.AddNode(Op::kMatMul, "a", {x, w}, {"h"});
  KILN_CHECK(InferNode(exact, *a).ok());
  Node* b = exact.AddNode(Op::kMatMul, "b", {a->result(), w}, {"y"});
  KILN_CHECK(InferNode(exact, *b).ok());
  exact.MarkOutput(b->result());
  Graph quantised = exact.Clone();
  quantised.FindValue("w")->set_quantisation(Int8Of(1));
  const std::vector<Tensor> inputs = {Tensor::Of<float>(Shape{1, 1}, std::vector<float>{4})};
  const auto errors = MeasureLayerErrors(exact, quantised, inputs, {});
  ASSERT_TRUE(errors.ok()) << errors.status();
  ASSERT_EQ(errors->layers.size(), 2u);
  // y = 4 * 1.25 * 1.25 = 6.25; with one factor rounded 5, with both 4.
  for (const LayerError& layer : errors->layers)
    EXPECT_EQ(layer.alone.outputs[0].noise, 1.25 * 1.25) << layer.name;
  EXPECT_EQ(errors->all.outputs[0].noise, 2.25 * 2.25);
}

// A constant of the quantised network may be another one than in fp32: 1 in place of 1.25.
TEST(LayerErrors, WeightsAreComparedWithThoseOfTheFp32Network) {
  Graph exact("changed");
  Value* x = exact.AddInput("x", {ElementType::kFloat32, Shape{1, 1}});
  Value* w = exact.AddConstant("w", Tensor::Of<float>(Shape{1, 1}, std::vector<float>{1.25f}));
  Node* product = exact.AddNode(Op::kMatMul, "product", {x, w}, {"y"});
  KILN_CHECK(InferNode(exact, *product).ok());
  exact.MarkOutput(product->result());
  Graph quantised = exact.Clone();
  Value* one =
      quantised.AddConstant("one", Tensor::Of<float>(Shape{1, 1}, std::vector<float>{1.0f}));
  one->set_quantisation(Int8Of(1));
  quantised.SetOperand(quantised.NodeList()[0], 1, one);
  quantised.EraseUnusedConstants();
  const std::vector<Tensor> inputs = {Tensor::Of<float>(Shape{1, 1}, std::vector<float>{4})};
  const auto errors = MeasureLayerErrors(exact, quantised, inputs, {});
  ASSERT_TRUE(errors.ok()) << errors.status();
  ASSERT_EQ(errors->layers.size(), 1u);
  EXPECT_EQ(errors->layers[0].values[0].own.signal, 1.25 * 1.25);
  EXPECT_EQ(errors->layers[0].values[0].own.noise, 0.25 * 0.25);
  EXPECT_EQ(errors->layers[0].alone.outputs[0].noise, 1) << "4 in place of 5";
}

TEST(LayerErrors, WholeNetworkIsTheSimulatedNetworkForAnyNumberOfThreads) {
  const Graph exact = SmallNet();
  const Tensor images = UniformTensor({6, 4, 8, 8}, 9);
  const auto recipe = RecipeByName("int6");
  ASSERT_TRUE(recipe.ok());
  const auto quantised = QuantiseOnImages(exact, *recipe, std::span(&images, 1), 6);
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  const auto errors = MeasureLayerErrors(exact, *quantised, std::span(&images, 1), {});
  ASSERT_TRUE(errors.ok()) << errors.status();
  NoisePower direct;
  direct.Add(OutputOf(exact, images), OutputOf(*SimulateQuantisation(*quantised), images));
  EXPECT_EQ(errors->all.outputs[0].noise, direct.noise);
  EXPECT_EQ(errors->all.outputs[0].signal, direct.signal);
  for (const LayerError& layer : errors->layers)
    EXPECT_GT(*layer.alone.sqnr_db(), *errors->all.sqnr_db() - 3) << layer.name;

  const int threads = ThreadCount();
  SetThreadCount(threads == 1 ? 4 : 1);
  const auto again = MeasureLayerErrors(exact, *quantised, std::span(&images, 1), {});
  SetThreadCount(0);
  ASSERT_TRUE(again.ok()) << again.status();
  for (size_t i = 0; i < errors->layers.size(); ++i) {
    for (size_t v = 0; v < errors->layers[i].values.size(); ++v) {
      const ValueError &one = errors->layers[i].values[v], &other = again->layers[i].values[v];
      EXPECT_EQ(one.own.noise, other.own.noise) << one.value;
      if (one.so_far) {
        EXPECT_EQ(one.so_far->noise, other.so_far->noise) << one.value;
      }
    }
  }
}

TEST(LayerErrors, NeedImages) {
  const Graph exact = TwoProducts();
  const std::vector<Tensor> none = {Tensor(ElementType::kFloat32, {0, 2})};
  EXPECT_EQ(MessageOf(MeasureLayerErrors(exact, exact, none, {}).status()),
            "errors by layer: there are no images; at least one");
}

}  // namespace
}  // namespace kiln
