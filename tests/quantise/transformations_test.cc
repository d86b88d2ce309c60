// Tests of weight equalisation and bias correction: they preserve the function and improve accuracy
// where they should.
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"
#include "kiln/quantise/correct_biases.h"
#include "kiln/quantise/equalise_weights.h"
#include "kiln/quantise/post_training.h"
#include "kiln/quantise/recipe.h"
#include "kiln/quantise/simulate.h"
#include "tests/quantise/small_net.h"

namespace kiln {
namespace {

// Greatest over least magnitude of the channels of constant `name` along axis 0.
double SpreadOf(const Graph& graph, const Node& node) {
  const Tensor& weights = node.operand(1)->constant();
  const int64_t channels = weights.shape()[0], each = weights.size() / channels;
  double least = 1e30, most = 0;
  for (int64_t c = 0; c < channels; ++c) {
    double greatest = 0;
    for (int64_t i = 0; i < each; ++i)
      greatest = std::max(greatest, std::abs(weights.ValueAt(c * each + i)));
    least = std::min(least, greatest);
    most = std::max(most, greatest);
  }
  KILN_CHECK(Verify(graph).ok());
  return most / least;
}

const Node& NodeNamed(const Graph& graph, std::string_view name) {
  for (const auto& node : graph.nodes()) {
    if (node->name() == name) return *node;
  }
  KILN_CHECK(false && "no such node");
  return *graph.nodes().front();
}

TEST(EqualiseWeights, KeepsTheBitsAndEvensOutChannels) {
  Graph graph = SmallNet(16);
  const Tensor images = UniformTensor({6, 4, 8, 8}, 7);
  const Tensor before = OutputOf(graph, images);
  EXPECT_GT(SpreadOf(graph, NodeNamed(graph, "a_node")), 1000);
  EXPECT_EQ(EqualiseWeights(graph),
            2);  // a -> b, b -> c; the average pool and Flatten stand between c and the product
  EXPECT_LT(SpreadOf(graph, NodeNamed(graph, "a_node")), 8);
  EXPECT_LT(SpreadOf(graph, NodeNamed(graph, "b_node")), 8);
  EXPECT_EQ(OutputOf(graph, images), before);
  EXPECT_EQ(EqualiseWeights(graph), 2);
  EXPECT_EQ(OutputOf(graph, images), before);
}

TEST(EqualiseWeights, ChangesNothingThatOthersSee) {
  // The value between is an output; the weights are used twice; Clip is no linear function.
  for (int harm = 0; harm < 3; ++harm) {
    Graph graph = SmallNet(16);
    Node* a = graph.NodeList()[0];
    if (harm == 0) graph.MarkOutput(graph.FindValue("relu_a"));
    if (harm == 1) graph.MarkOutput(graph.FindValue("w1"));
    if (harm == 2) graph.ReplaceNode(graph.NodeList()[1], Op::kClip, {a->result()}, {});
    EXPECT_EQ(EqualiseWeights(graph), 1) << harm;
    EXPECT_GT(SpreadOf(graph, *a), 1000);
  }
}

double SimulatedError(const Graph& graph, const Recipe& recipe, const Tensor& images) {
  const auto quantised = QuantiseOnImages(graph, recipe, std::span(&images, 1), images.shape()[0]);
  KILN_CHECK(quantised.ok() && Verify(*quantised).ok());
  return MeanSquare(OutputOf(*SimulateQuantisation(*quantised), images), OutputOf(graph, images));
}

TEST(EqualiseWeights, HelpsWhereChannelsDiffer) {
  const Graph graph = SmallNet(16);
  const Tensor images = UniformTensor({32, 4, 8, 8}, 8);
  Recipe recipe = Int8Recipe();
  recipe.weights.type.scheme = Scheme::kPerTensor;
  const double without = SimulatedError(graph, recipe, images);
  recipe.equalise_weights = true;
  EXPECT_LT(SimulatedError(graph, recipe, images), without / 20);
}

TEST(CorrectBiases, BringsChannelMeansBackAndHelps) {
  const Graph graph = SmallNet();
  const Tensor images = UniformTensor({48, 4, 8, 8}, 9);
  auto recipe = ParseRecipe("weights: {format: int3}\n", "r.yaml");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  const double without = SimulatedError(graph, *recipe, images);
  recipe->correct_biases = true;
  EXPECT_LT(SimulatedError(graph, *recipe, images), without / 2);

  const auto quantised = QuantiseOnImages(graph, *recipe, std::span(&images, 1), 48);
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  const Tensor rounded = OutputOf(*SimulateQuantisation(*quantised), images),
               exact = OutputOf(graph, images);
  for (int64_t channel = 0; channel < 5; ++channel) {
    double difference = 0;
    for (int64_t i = 0; i < 48; ++i)
      difference += rounded.ValueAt(i * 5 + channel) - exact.ValueAt(i * 5 + channel);
    EXPECT_NEAR(difference / 48, 0, 1e-5) << channel;
  }
  // Convolutions without a bias got one; the graph itself has none still.
  EXPECT_NE(NodeNamed(*quantised, "b_node").operand(2), nullptr);
  EXPECT_EQ(NodeNamed(graph, "b_node").operand(2), nullptr);
}

TEST(CorrectBiases, BiasesStayInTheirFormat) {
  const Graph graph = SmallNet();
  const Tensor images = UniformTensor({8, 4, 8, 8}, 10);
  const auto recipe =
      ParseRecipe("weights: {format: int3}\nbiases: bf16\ncorrect_biases: true\n", "r.yaml");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  const auto quantised = QuantiseOnImages(graph, *recipe, std::span(&images, 1), 8);
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  for (const float b : NodeNamed(*quantised, "a_node").operand(2)->constant().data<float>()) {
    EXPECT_EQ(Bfloat16ToFloat(FloatToBfloat16(b)), b);
  }
}

// Layers of all kinds whose channels stand on different axes of one result: the means of every
// output channel come back.
TEST(CorrectBiases, FindsTheChannelsOfEveryLayer) {
  struct Layer {
    const char* name;
    Op op;
    Shape input, weights;
    bool nhwc;
    int channel_axis;
  };
  // As many places as channels, and others, so that a wrong axis is either a wrong size or a wrong
  // mean.
  for (const Layer& layer :
       {Layer{"conv", Op::kConv, {1, 3, 6, 6}, {6, 3, 1, 1}, false, 1},
        Layer{"conv nhwc", Op::kConv, {1, 6, 6, 3}, {6, 3, 1, 1}, true, 3},
        Layer{"transposed", Op::kConvTranspose, {1, 3, 6, 6}, {3, 6, 1, 1}, false, 1},
        Layer{"transposed, wide", Op::kConvTranspose, {1, 3, 5, 4}, {3, 6, 1, 1}, false, 1},
        Layer{"product", Op::kMatMul, {1, 5, 3}, {3, 6}, false, 2}}) {
    SCOPED_TRACE(layer.name);
    Graph graph("layer");
    Value* x = graph.AddInput("x", {ElementType::kFloat32, layer.input});
    Attributes attributes;
    if (layer.nhwc) attributes.Set("layout", std::string("nhwc"));
    Value* weights = graph.AddConstant("w", UniformTensor(layer.weights, 21));
    Node* node = graph.AddNode(layer.op, "layer", {x, weights}, {"sum"}, attributes);
    ASSERT_TRUE(InferNode(graph, *node).ok());
    Value* y = node->result();
    if (layer.op == Op::kMatMul) {
      Node* add = graph.AddNode(Op::kAdd, "add",
                                {y, graph.AddConstant("b", UniformTensor({6}, 22))}, {"y"});
      ASSERT_TRUE(InferNode(graph, *add).ok());
      y = add->result();
    }
    graph.MarkOutput(y);
    Shape images_shape = layer.input;
    images_shape[0] = 16;
    const Tensor images = UniformTensor(images_shape, 23, 0, 2);
    const auto recipe = ParseRecipe("weights: {format: int2}\ncorrect_biases: true\n", "r.yaml");
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    const auto quantised = QuantiseOnImages(graph, *recipe, std::span(&images, 1), 16);
    ASSERT_TRUE(quantised.ok()) << quantised.status();
    const Tensor rounded = OutputOf(*SimulateQuantisation(*quantised), images),
                 exact = OutputOf(graph, images);
    int64_t inner = 1;
    for (int axis = layer.channel_axis + 1; axis < exact.shape().rank(); ++axis)
      inner *= exact.shape()[axis];
    double moved = 0;
    for (int64_t channel = 0; channel < 6; ++channel) {
      double difference = 0;
      for (int64_t i = 0; i < exact.size(); ++i) {
        if (i / inner % 6 != channel) continue;
        difference += rounded.ValueAt(i) - exact.ValueAt(i);
        moved = std::max(moved, std::abs(rounded.ValueAt(i) - exact.ValueAt(i)));
      }
      EXPECT_NEAR(difference * 6 / static_cast<double>(exact.size()), 0, 1e-5) << channel;
    }
    EXPECT_GT(moved, 0.01);  // rounding to two bits did something
  }
}

// Recipes that share what they have in common get what each would get alone, in whichever order
// they come.
TEST(PostTraining, RecipesShareCalibrations) {
  const Graph graph = SmallNet(16);
  const Tensor images = UniformTensor({24, 4, 8, 8}, 11);
  const auto parse = [](const char* text) { return *ParseRecipe(text, "r.yaml"); };
  const std::vector<std::pair<Recipe, int64_t>> wanted = {
      {parse("weights: {format: int4}\n"), 16},
      {parse("activations: {format: e4m3, calibration: percentile_per_channel}\n"), 16},
      {parse("weights: {format: int3}\nequalise_weights: true\ncorrect_biases: true\n"), 16},
      {parse("activations: {format: int6}\n"), 16},
      {parse("activations: {format: int6}\n"), 24},
      {parse("weights: {format: int3}\ncorrect_biases: true\n"), 16},
  };
  PostTraining forwards(graph, std::span(&images, 1)), backwards(graph, std::span(&images, 1));
  const auto matches = [&](PostTraining& shared, size_t i) {
    const auto& [recipe, count] = wanted[i];
    const auto alone = QuantiseOnImages(graph, recipe, std::span(&images, 1), count);
    const auto together = shared.Quantise(recipe, count);
    ASSERT_TRUE(alone.ok() && together.ok()) << alone.status() << together.status();
    EXPECT_EQ(PrintGraph(*together), PrintGraph(*alone)) << i;
  };
  for (size_t i = 0; i < wanted.size(); ++i) matches(forwards, i);
  for (size_t i = wanted.size(); i-- > 0;) matches(backwards, i);
  EXPECT_EQ(forwards.calibrations(), 4);  // plain, by channel, equalised, and on more images
  EXPECT_EQ(backwards.calibrations(), 4);
}

}  // namespace
}  // namespace kiln
