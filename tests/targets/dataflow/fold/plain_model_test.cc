// Tests of the plain model: its folds by hand, and the sizes of its networks.
#include "kiln/targets/dataflow/fold/plain_model.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/targets/dataflow/fold/objective.h"
#include "tests/targets/dataflow/fold/networks.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;

TEST(DivisorsOf, AreAscending) {
  EXPECT_THAT(DivisorsOf(1), ElementsAre(1));
  EXPECT_THAT(DivisorsOf(12), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_THAT(DivisorsOf(49), ElementsAre(1, 7, 49));
}

TEST(PlainFolds, FollowTheFormulas) {
  const Layer layer = PlainFolds({"conv", 10, 20, 6, 4, 3});
  EXPECT_EQ(layer.candidates.size(), 12u);
  EXPECT_EQ(layer.operations, 10.0 * 20 * 6 * 4 * 9);
  const Candidate& first = layer.candidates.front();
  EXPECT_EQ(first.cycles, 10 * 20 * 6 * 4);
  EXPECT_EQ(first.resources[kDsp], 9);
  const Candidate& last = layer.candidates.back();
  EXPECT_EQ(last.in_lanes, 6);
  EXPECT_EQ(last.out_lanes, 4);
  EXPECT_EQ(last.cycles, 200);
  EXPECT_EQ(last.resources[kDsp], 216);
}

TEST(VdsrLayers, HaveThePapersNumberOfFolds) {
  // 49 divisor pairs for each of the middle layers, as in table 1 of the Origami paper; 2 * 7 for
  // the first and for the last layer.
  for (const int layers : {4, 5, 10, 20}) {
    EXPECT_NEAR(Log10Folds(PlainChain(VdsrLayers(layers, 200), 1)),
                std::log10(14.0 * 14.0) + (layers - 2) * std::log10(49.0), 1e-9);
  }
}

TEST(ResNet20Layers, AreNineteenConvolutions) {
  const std::vector<PlainLayer> layers = ResNet20Layers();
  ASSERT_EQ(layers.size(), 19u);
  double operations = 0;
  for (const PlainLayer& layer : layers) operations += PlainFolds(layer).operations;
  EXPECT_EQ(operations, 40550400);  // MACs
}

TEST(Networks, HaveTheKnownNumberOfMacs) {
  const auto macs_of = [](const FoldProblem& problem) {
    double sum = 0;
    for (const Layer& layer : problem.layers) sum += layer.operations;
    return sum / 1e9;
  };
  // Published: 1.82, 4.09 and 0.30 G, the last dense layers (0.5, 2.0 and 1.3 M) included.
  EXPECT_NEAR(macs_of(ResNet(18, {}, U250())), 1.814, 0.001);
  EXPECT_NEAR(macs_of(ResNet(50, {}, U250())), 4.087, 0.001);
  EXPECT_NEAR(macs_of(MobileNetV2({}, Zcu104())), 0.2995, 0.001);
}

}  // namespace
}  // namespace kiln::dataflow
