// Tests of the mixed-precision search and of its merit.
#include "kiln/quantise/mixed_precision.h"

#include <gtest/gtest.h>

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
  EXPECT_NE(found->Report("bit", "dB").find(" dB. Chosen: "), std::string::npos);
}

TEST_F(MixedPrecisionSearch, NothingWithinTheBudgetIsSaid) {
  const auto found = Run({.candidates = {"int4", "int3"}, .budget = 1});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->within_budget);
  EXPECT_EQ(found->chosen, 0);
  EXPECT_NE(found->Report("bit", "dB").find("not within the budget"), std::string::npos);
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

}  // namespace
}  // namespace kiln
