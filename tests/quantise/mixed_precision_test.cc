// Tests of the mixed-precision search and of its merit.
#include "kiln/quantise/mixed_precision.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kiln/quantise/layer_settings.h"
#include "kiln/quantise/post_training.h"
#include "kiln/quantise/scores.h"
#include "kiln/quantise/simulate.h"
#include "tests/quantise/small_net.h"

namespace kiln {
namespace {

// Decibels against the float network's own outputs: any loss shows, with no labels to be had.
Merit Decibels(const Tensor& exact) {
  return [exact](const Tensor& outputs) -> StatusOr<double> {
    double power = 0;
    for (int64_t i = 0; i < exact.size(); ++i) power += exact.ValueAt(i) * exact.ValueAt(i);
    const double error = MeanSquare(outputs, exact) * static_cast<double>(exact.size());
    return -10 * std::log10(std::max(error / power, 1e-10));
  };
}

class MixedPrecisionSearch : public testing::Test {
 protected:
  Graph graph_ = SmallNet();
  Tensor calibration_ = UniformTensor({16, 4, 8, 8}, 11);
  Tensor evaluation_ = UniformTensor({24, 4, 8, 8}, 12);
  Tensor exact_ = OutputOf(graph_, evaluation_);

  StatusOr<MixedPrecision> Run(const MixedPrecisionOptions& options) {
    return SearchMixedPrecision(graph_, std::span(&calibration_, 1), std::span(&evaluation_, 1),
                                Decibels(exact_), options);
  }
};

TEST_F(MixedPrecisionSearch, FindsTheCheapestOnTheCurveWithinTheBudget) {
  const auto found = Run({.candidates = {"int8", "int6", "int4"},
                          .budget = 70});  // 100 dB are exact: 30 dB are asked for
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->units.size(), 4u);
  EXPECT_EQ(found->units[0].layers, std::vector<std::string>{"a_node"});
  EXPECT_EQ(found->units[3].positions, std::vector<int64_t>{3});
  ASSERT_GE(found->curve.size(), 4u);
  EXPECT_TRUE(found->within_budget);
  EXPECT_GE(found->choice().merit, found->fp32_merit - 70);
  for (size_t i = 0; i < found->curve.size(); ++i) {
    const TradeOffPoint& point = found->curve[i];
    EXPECT_EQ(point.lower_bound, point.cost);
    EXPECT_TRUE(i == 0 || point.cost <= found->curve[i - 1].cost);
    EXPECT_TRUE(static_cast<int>(i) <= found->chosen || point.merit < found->fp32_merit - 70);
    // The model is one of small independent errors: here it holds within a factor of three.
    if (point.damage > 0) {
      EXPECT_LT(point.measured_damage, 3 * point.damage);
      EXPECT_GT(point.measured_damage, point.damage / 3);
    }
  }
  // Neither end of the ladder: layers differ in what they bear.
  EXPECT_LT(found->choice().cost, found->curve.front().cost);
  EXPECT_GT(found->choice().cost, found->curve.back().cost);
}

TEST_F(MixedPrecisionSearch, TheRecipeSaysWhatWasMeasured) {
  const auto found =
      Run({.candidates = {"mxint8", "int4"}, .budget = 75, .cost = PrecisionCost::kEnergy});
  ASSERT_TRUE(found.ok()) << found.status();
  const auto read = ParseRecipe(PrintRecipe(found->recipe), "found.yaml");
  ASSERT_TRUE(read.ok()) << read.status();
  const auto quantised =
      QuantiseOnImages(graph_, *read, std::span(&calibration_, 1), read->calibration_images);
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  const auto merit = Decibels(exact_)(OutputOf(*SimulateQuantisation(*quantised), evaluation_));
  EXPECT_EQ(*merit, found->choice().merit);
  // The net's nodes have names of their own, by which the recipe selects them.
  ASSERT_FALSE(read->layers.empty());
  for (const LayerRecipe& layer : read->layers) {
    EXPECT_FALSE(layer.position.has_value());
    EXPECT_TRUE(layer.match.ends_with("_node")) << layer.match;
  }
  const std::string report = found->Report("bit", "dB");
  for (const auto& node : graph_.nodes()) {
    if (!node->info().Has(kMacs)) continue;
    const bool is_named = std::ranges::any_of(
        read->layers, [&](const LayerRecipe& layer) { return layer.match == node->name(); });
    const std::string row = report.substr(report.find("  " + node->name()));
    EXPECT_EQ(row.substr(0, row.find('\n')).ends_with(is_named ? "  int4" : "  mxint8"), true)
        << report;
  }
  EXPECT_NE(found->Report("bit", "dB").find(" dB. Chosen: "), std::string::npos);
}

// A name that selects two layers cannot select one of them: the recipe uses their positions.
TEST_F(MixedPrecisionSearch, LayersWithoutANameOfTheirOwnAreSelectedByPosition) {
  Graph twins = graph_.Clone();
  std::vector<Node*> layers;
  for (const auto& node : twins.nodes()) {
    if (node->info().Has(kMacs)) layers.push_back(node.get());
  }
  ASSERT_EQ(layers.size(), 4u);
  layers[0]->set_name("twin");
  layers[1]->set_name("twin");
  layers[2]->set_name("c*");
  // A node that does not multiply may have the same name: the settings do not concern it.
  for (const auto& node : twins.nodes()) {
    if (!node->info().Has(kMacs)) node->set_name(layers[3]->name());
  }
  EXPECT_EQ(MatchesByPosition(twins), (std::vector<std::string>{"", "", "c*", layers[3]->name()}));
}

TEST_F(MixedPrecisionSearch, NothingWithinTheBudgetIsSaid) {
  const auto found = Run({.candidates = {"int4", "int3"}, .budget = 1});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->within_budget);
  EXPECT_EQ(found->chosen, 0);
  EXPECT_NE(found->Report("bit", "dB").find("not within the budget"), std::string::npos);
}

// The network with a second output, of a convolution that the first output does not depend on.
Graph TwoOutputNet() {
  Graph net = SmallNet();
  Node* gate = net.AddNode(Op::kSigmoid, "gate_node", {net.FindValue("a")}, {"gate"}, {});
  KILN_CHECK(InferNode(net, *gate).ok());
  Value* weights = net.AddConstant("w_side", UniformTensor({8, 16, 1, 1}, 21, -0.5, 0.5));
  Node* side = net.AddNode(Op::kConv, "side_node", {gate->result(), weights}, {"side"}, {});
  KILN_CHECK(InferNode(net, *side).ok());
  net.MarkOutput(side->result());
  return net;
}

std::vector<Tensor> AllOutputsOf(const Graph& graph, const Tensor& images) {
  const auto executor = ReferenceExecutor::Create(graph);
  KILN_CHECK(executor.ok());
  return *(*executor)->RunBatch(std::span(&images, 1));
}

TEST_F(MixedPrecisionSearch, JudgesAllOutputs) {
  const Graph net = TwoOutputNet();
  const std::vector<Tensor> exact = AllOutputsOf(net, evaluation_);
  ASSERT_EQ(exact.size(), 2u);
  const auto run = [&](int judged, double other_error) {
    return *SearchMixedPrecision(net, std::span(&calibration_, 1), std::span(&evaluation_, 1),
                                 Decibels(exact[static_cast<size_t>(judged)]),
                                 {.candidates = {"int8", "int4"},
                                  .budget = 100,
                                  .merit_output = judged,
                                  .other_error = other_error});
  };
  // 100 dB may be lost: only the other output limits the choice.
  const MixedPrecision any = run(0, 1e9), some = run(0, 0.06), none = run(0, 0);
  EXPECT_TRUE(any.has_others);
  EXPECT_EQ(any.chosen, static_cast<int>(any.curve.size()) - 1);
  ASSERT_TRUE(some.within_budget);
  EXPECT_LE(some.choice().other_error, 0.06);
  EXPECT_GT(some.choice().cost, any.choice().cost);
  EXPECT_LT(some.choice().cost, some.curve.front().cost);
  EXPECT_FALSE(none.within_budget);
  EXPECT_EQ(none.chosen, 0);
  EXPECT_NE(some.Report("bit", "dB").find("others/%"), std::string::npos);
  // The layer that the first output does not see has damage all the same.
  for (const PrecisionUnit& unit : any.units)
    EXPECT_GT(unit.choices[1].damage, 0) << unit.layers[0];

  // What was measured is what the chosen recipe does to the second output.
  const auto quantised = QuantiseOnImages(net, some.recipe, std::span(&calibration_, 1),
                                          some.recipe.calibration_images);
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  const std::vector<Tensor> got = AllOutputsOf(*SimulateQuantisation(*quantised), evaluation_);
  const Tensor zero(ElementType::kFloat32, exact[1].shape());
  EXPECT_DOUBLE_EQ(some.choice().other_error,
                   std::sqrt(MeanSquare(got[1], exact[1]) / MeanSquare(exact[1], zero)));

  // The merit may judge the second; the first is then the other.
  const MixedPrecision second = run(1, 1e9);
  EXPECT_DOUBLE_EQ(
      second.choice().merit,
      *Decibels(exact[1])(AllOutputsOf(*SimulateQuantisation(*QuantiseOnImages(
                                           net, second.recipe, std::span(&calibration_, 1), 256)),
                                       evaluation_)[1]));
}

// Each step goes from 0 to its total without a step back, one after the other; the long ones image
// by image.
TEST_F(MixedPrecisionSearch, TellsHowFarItIs) {
  struct Step {
    std::string name;
    int64_t done = 0, total = 0;
    int calls = 0;
  };
  std::vector<Step> steps;
  const auto progress = [&](const std::string& name, int64_t done, int64_t total) {
    if (steps.empty() || steps.back().name != name) {
      EXPECT_EQ(done, 0) << name;
      steps.push_back({name, 0, total});
    }
    Step& step = steps.back();
    EXPECT_EQ(total, step.total) << name;
    EXPECT_GE(done, step.done) << name;
    step.done = done;
    ++step.calls;
  };
  const auto found = SearchMixedPrecision(
      graph_, std::span(&calibration_, 1), std::span(&evaluation_, 1), Decibels(exact_),
      {.candidates = {"int8", "int6", "int4"}, .budget = 70}, progress);
  ASSERT_TRUE(found.ok()) << found.status();
  std::vector<std::string> names;
  for (const Step& step : steps) {
    names.push_back(step.name);
    EXPECT_EQ(step.done, step.total) << step.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"calibration", "fp32", "sensitivity", "ladder",
                                             "refinement"}));
  EXPECT_EQ(steps[1].total, 24);
  EXPECT_EQ(steps[2].total, 24 * (1 + 4 * 2))
      << "all units in the first candidate, each alone in two others";
  EXPECT_GT(steps[2].calls, 24 * 9) << "image by image";
}

// Two images of two places and three classes: ranks of the labels are 1, 2, 3 and 1.
TEST(TopScores, CountsLabelsAmongTheHighest) {
  const Tensor scores = Tensor::Of<float>({2, 2, 3}, {5, 3, 1, 5, 3, 1, 5, 3, 1, 5, 3, 1});
  const ScoreLayout layout{.places = 2, .classes = 3, .class_stride = 1, .place_stride = 3};
  const std::vector<int32_t> labels = {0, 1, 2, 0};
  EXPECT_EQ(*TopScores(labels, layout, 1)(scores), 50);
  EXPECT_EQ(*TopScores(labels, layout, 2)(scores), 75);
  EXPECT_EQ(*TopScores(labels, layout, 3)(scores), 100);
  // Labels of 255 are no labels: one of the three others is first.
  EXPECT_EQ(*TopScores({255, 1, 2, 0}, layout, 1)(scores), 100.0 * 1 / 3);
  EXPECT_EQ(*TopScores({255, 255, 255, 255}, layout, 1)(scores), 0);
  EXPECT_FALSE(TopScores({}, layout, 1)(scores).ok());
}

TEST_F(MixedPrecisionSearch, Errors) {
  EXPECT_FALSE(Run({.candidates = {}}).ok());
  EXPECT_FALSE(Run({.candidates = {"int8", "int99"}}).ok());
}

// Costs of large networks in bits have all digits, not an exponent.
TEST(MixedPrecisionReport, LargeCostsHaveNoExponent) {
  MixedPrecision result;
  result.candidates = {"int8"};
  result.units = {{.layers = {"conv"}, .positions = {0}, .matches = {"conv"}, .choices = {}}};
  TradeOffPoint point;
  point.picks = {0};
  point.cost = 1998720;
  point.lower_bound = 1998000;
  result.curve = {point};
  const std::string text = result.Report("bit", "%");
  EXPECT_NE(text.find("Chosen: cost 1998720 bit"), std::string::npos) << text;
  EXPECT_NE(text.find("costs less than 1998000 bit"), std::string::npos) << text;
  EXPECT_EQ(text.find("e+"), std::string::npos) << text;
}

}  // namespace
}  // namespace kiln
