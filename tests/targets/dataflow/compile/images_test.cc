// Memory images of small layers, worked out by hand.
#include "kiln/targets/dataflow/emit/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "kiln/targets/dataflow/isa/builder.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;
using testing::Pair;

// A source, one stage and a sink.
Pipeline Alone(Stage stage, const MapShape& in, int64_t in_lanes, const MapShape& out,
               int64_t out_lanes, const CodeType& type = {8, true}) {
  PipelineBuilder builder;
  const int source = builder.Source("in", in, {8, true}, in_lanes);
  builder.Sink(builder.Add(std::move(stage), {source}, out, type, out_lanes), "out");
  return builder.Take();
}

Stage Sums(StageKind kind, std::vector<int32_t> weights, int bits) {
  Stage stage;
  stage.kind = kind;
  stage.name = "s";
  stage.weights = std::move(weights);
  stage.weight_bits = bits;
  stage.sum_bits = 4;
  return stage;
}

TEST(DataflowImages, WeightsOfAConvolution) {
  // Two inputs, one lane; two outputs, both at once. Words: channel 0, then channel 1. Lowest bits:
  // output 0.
  Stage stage = Sums(StageKind::kConvolution, {1, -2, 3, -4}, 4);
  stage.map = {1, 1, 2};
  stage.elements = 2;
  Pipeline pipeline = Alone(stage, {1, 1, 2}, 1, {1, 1, 2}, 1);
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_weights.hex", "31\nce\n")));
  // Two lanes, one element: a word for each output, channel 0 lowest.
  stage.elements = 1;
  pipeline = Alone(stage, {1, 1, 2}, 2, {1, 1, 2}, 1);
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_weights.hex", "e1\nc3\n")));
  // Two groups of one channel: a word for each group.
  stage.groups = 2;
  stage.weights = {5, -6};
  pipeline = Alone(stage, {1, 1, 2}, 1, {1, 1, 2}, 1);
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_weights.hex", "5\na\n")));
}

// Taps in the order ky, kx, and lanes within a tap: number (ky KX + kx) a + lane. 5-bit weights are
// not whole digits: 2 taps of 2 lanes are 20 bits.
TEST(DataflowImages, TapsAndLanesOfAWord) {
  // [tap][channel]: taps of one row, 1x2.
  Stage stage = Sums(StageKind::kConvolution, {1, 2, 3, -1}, 5);
  stage.map = {1, 2, 2};
  stage.window.kernel_x = 2;
  const Pipeline pipeline = Alone(stage, {1, 2, 2}, 2, {1, 1, 1}, 1);
  // 1 + 2 << 5 + 3 << 10 + 31 << 15 = 0x1 + 0x40 + 0xc00 + 0xf8000
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_weights.hex", "f8c41\n")));
}

// Weights -1 and +1 are stored as 0 and 1.
TEST(DataflowImages, BinaryWeights) {
  Stage stage = Sums(StageKind::kConvolution, {1, -1, -1, 1, 1, 1, -1, 1}, 1);
  stage.map = {1, 1, 8};
  Pipeline pipeline = Alone(stage, {1, 1, 8}, 4, {1, 1, 1}, 1);
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_weights.hex", "9\nb\n")));
}

// A word of a depthwise layer has all taps of its lanes; weights are stored by channel.
TEST(DataflowImages, WeightsOfADepthwiseLayer) {
  Stage stage = Sums(StageKind::kDepthwise, {1, 2, 3, 4, 5, 6, 7, -8}, 4);
  stage.map = {1, 2, 4};
  stage.window.kernel_x = 2;
  const Pipeline pipeline = Alone(stage, {1, 2, 4}, 2, {1, 1, 4}, 2);
  // Channels 0 and 1: tap 0 is 1, 3; tap 1 is 2, 4. Channels 2 and 3: 5, 7; 6, 8.
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_weights.hex", "4231\n8675\n")));
}

// A multiplier of 17 bits below its addend. The addends 3 and -1 take 3 bits.
TEST(DataflowImages, ConstantsOfAMultiplication) {
  Stage stage = Sums(StageKind::kGlobalSum, {}, 8);
  stage.requantise.way = Requantise::Way::kMultiply;
  stage.requantise.multipliers = {5, 0x1ffff};
  stage.requantise.addends = {3, -1};
  Pipeline pipeline = Alone(stage, {1, 1, 2}, 1, {1, 1, 2}, 1);
  EXPECT_EQ(AddendBits(stage.requantise), 3);
  // 5 + (3 << 17); 0x1ffff + (7 << 17)
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_constants.hex", "60005\nfffff\n")));
  // Both channels in one word of 40 bits, channel 0 lowest.
  pipeline = Alone(stage, {1, 1, 2}, 2, {1, 1, 2}, 2);
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_constants.hex", "fffff60005\n")));
}

// Binary search in two steps: the middle threshold first, then the first or the third.
TEST(DataflowImages, ThresholdsByLevel) {
  Stage stage = Sums(StageKind::kGlobalSum, {}, 8);
  stage.requantise.way = Requantise::Way::kThresholds;
  stage.requantise.threshold_bits = 2;
  stage.requantise.thresholds = {-1, 2, 5, 0, 1, 7};
  Pipeline pipeline = Alone(stage, {1, 1, 2}, 1, {1, 1, 2}, 1, {2, false});
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_thresholds_0_000.hex", "2\n1\n"),
                          Pair("memory/s_thresholds_1_000.hex", "f\n5\n0\n7\n")));
  // A file for each lane.
  pipeline = Alone(stage, {1, 1, 2}, 2, {1, 1, 2}, 2, {2, false});
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_thresholds_0_000.hex", "2\n"),
                          Pair("memory/s_thresholds_0_001.hex", "1\n"),
                          Pair("memory/s_thresholds_1_000.hex", "f\n5\n"),
                          Pair("memory/s_thresholds_1_001.hex", "0\n7\n")));
}

// Three steps over seven thresholds T[1] to T[7]: T[4], then T[2] and T[6], then the others.
TEST(DataflowImages, ThresholdsOfThreeLevels) {
  Stage stage = Sums(StageKind::kGlobalSum, {}, 8);
  stage.requantise.way = Requantise::Way::kThresholds;
  stage.requantise.threshold_bits = 3;
  stage.requantise.thresholds = {-3, -2, -1, 0, 1, 2, 3};
  const Pipeline pipeline = Alone(stage, {1, 1, 1}, 1, {1, 1, 1}, 1, {3, false});
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_thresholds_0_000.hex", "0\n"),
                          Pair("memory/s_thresholds_1_000.hex", "e\n2\n"),
                          Pair("memory/s_thresholds_2_000.hex", "d\nf\n1\n3\n")));
}

TEST(DataflowImages, TablesByCode) {
  Stage stage;
  stage.kind = StageKind::kTable;
  stage.name = "s";
  stage.table = {0, 1, -2, -1};
  const Pipeline pipeline = Alone(stage, {1, 1, 1}, 1, {1, 1, 1}, 1, {5, true});
  EXPECT_THAT(ImagesOf(pipeline, pipeline.stages[1]),
              ElementsAre(Pair("memory/s_table.hex", "00\n01\n1e\n1f\n")));
}

}  // namespace
}  // namespace kiln::dataflow
