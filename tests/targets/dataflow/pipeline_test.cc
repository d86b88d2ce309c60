// What a pipeline must be for the hardware library to build it.
#include "kiln/targets/dataflow/isa/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kiln/targets/dataflow/isa/derived.h"
#include "tests/targets/dataflow/random_pipeline.h"

namespace kiln::dataflow {
namespace {

// A source, a convolution of 4 to 6 channels folded to 2 lanes and 3 elements, and a sink.
Pipeline Small() {
  Pipeline p;
  p.channels.resize(2);
  p.channels[0] = {.map = {5, 5, 4}, .type = {4, false}, .lanes = 2, .from = 0, .to = 1};
  p.channels[1] = {.map = {5, 5, 6}, .type = {8, true}, .lanes = 3, .from = 1, .to = 2};
  p.stages.resize(3);
  p.stages[0] = {.kind = StageKind::kSource, .name = "in", .outputs = {0}};
  Stage& s = p.stages[1];
  s = {.kind = StageKind::kConvolution, .name = "conv", .inputs = {0}, .outputs = {1}};
  s.map = {5, 5, 4};
  s.window.kernel_y = s.window.kernel_x = 3;
  s.window.pad_top = s.window.pad_left = 1;
  s.window.out_height = s.window.out_width = 5;
  s.elements = 3;
  s.weight_bits = 3;
  s.weights.assign(6 * 9 * 4, 2);
  s.sum_bits = 12;
  s.requantise.way = Requantise::Way::kMultiply;
  s.requantise.multipliers.assign(6, 1000);
  s.requantise.addends.assign(6, 0);
  s.requantise.shift = 10;
  s.requantise.low = -128;
  s.requantise.high = 127;
  p.stages[2] = {.kind = StageKind::kSink, .name = "out", .inputs = {1}};
  return p;
}

TEST(Pipeline, RefusesWhatCannotBeBuilt) {
  ASSERT_EQ(CheckPipeline(Small()), OkStatus());
  const std::vector<std::pair<std::string, std::function<void(Pipeline&)>>> faults = {
      {"channel 0: does not lead from a stage to a later one",
       [](Pipeline& p) { std::swap(p.channels[0].from, p.channels[0].to); }},
      {"channel 1: holds no word", [](Pipeline& p) { p.channels[1].depth = 0; }},
      {"channel 0: has words that do not divide its map",
       [](Pipeline& p) { p.channels[0].lanes = 3; }},
      {"channel 0: has codes of 60 bits", [](Pipeline& p) { p.channels[0].type.bits = 60; }},
      {"channel 0: is not listed once at both of its stages",
       [](Pipeline& p) { p.stages[1].inputs.push_back(0); }},
      {"stage 'out': has 1 inputs and 0 outputs",
       [](Pipeline& p) { p.stages[2].kind = StageKind::kTable; }},
      {"stage 'conv': names channel 7", [](Pipeline& p) { p.stages[1].outputs = {7}; }},
      {"stage '1': has no name of its own", [](Pipeline& p) { p.stages[1].name = "1"; }},
      {"stage 'in': has no name of its own", [](Pipeline& p) { p.stages[2].name = "in"; }},
      {"stage 'conv': computes with codes of 17 bits",
       [](Pipeline& p) { p.channels[0].type.bits = 17; }},
      {"stage 'conv': pads a maximum with 3",
       [](Pipeline& p) {
         p.stages[1].kind = StageKind::kMaxPool;
         p.stages[1].window.pad_value = 3;
         p.channels[1].map.channels = 4;
         p.channels[1].type = p.channels[0].type;
         p.channels[1].lanes = 2;
       }},
      {"stage 'conv': is folded to 2 x 4 lanes", [](Pipeline& p) { p.stages[1].elements = 4; }},
      {"stage 'conv': has results of 1 lanes",
       [](Pipeline& p) {
         p.channels[1].lanes = 1;
         p.stages[1].elements = 6;
       }},
      {"stage 'conv': has groups that do not divide", [](Pipeline& p) { p.stages[1].groups = 4; }},
      {"stage 'conv': packs 2 products of 4 x 3 bits", [](Pipeline& p) { p.stages[1].pack = 2; }},
      {"stage 'conv': has 5 weights", [](Pipeline& p) { p.stages[1].weights.resize(5); }},
      {"stage 'conv': has the weight 4", [](Pipeline& p) { p.stages[1].weights[7] = 4; }},
      {"stage 'conv': has sums of", [](Pipeline& p) { p.stages[1].sum_bits = 9; }},
      {"stage 'conv': has sums of",
       [](Pipeline& p) {
         p.stages[1].sum_bits = -1;
         p.stages[1].requantise.way = Requantise::Way::kThresholds;
         p.stages[1].requantise.threshold_bits = 1;
         p.stages[1].requantise.thresholds.assign(6, 0);
       }},
      {"stage 'conv': multiplies by 131072",
       [](Pipeline& p) { p.stages[1].requantise.multipliers[5] = 1 << 17; }},
      {"stage 'conv': gives 128", [](Pipeline& p) { p.stages[1].requantise.high = 128; }},
      {"stage 'conv': has a window with more padding",
       [](Pipeline& p) { p.stages[1].window.pad_left = 3; }},
      {"stage 'conv': has a result of the wrong size",
       [](Pipeline& p) { p.stages[1].window.out_height = 4; }},
      {"stage 'conv': reads its input as a map of other size",
       [](Pipeline& p) { p.stages[1].map.channels = 8; }},
  };
  for (const auto& [message, spoil] : faults) {
    Pipeline pipeline = Small();
    spoil(pipeline);
    const Status status = CheckPipeline(pipeline);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_THAT(MessageOf(status), testing::StartsWith(message));
  }
}

TEST(Pipeline, PrintsItsStages) {
  EXPECT_EQ(PrintPipeline(Small()),
            "in source:  -> 0\n"
            "conv convolution 3x3 /1x1 groups 1 fold 2x3 pack 1 weights 3 bits lut: 0 -> 1\n"
            "out sink: 1 -> \n"
            "channel 0: 5x5x4 uint4 lanes 2 depth 2 lut\n"
            "channel 1: 5x5x6 int8 lanes 3 depth 2 lut\n");
}

// The loops of a stage by hand: 4 channels in words of 2, 6 outputs in passes of 3.
TEST(Derived, LoopsByHand) {
  const Pipeline pipeline = Small();
  const WindowLoops loops = LoopsOf(pipeline, pipeline.stages[1]);
  EXPECT_EQ(loops.words_per_pixel, 2);
  EXPECT_EQ(loops.words_per_group, 2);
  EXPECT_EQ(loops.passes, 2);
  EXPECT_EQ(loops.reserve, 1);
  EXPECT_EQ(loops.first_insertions, 2);
  EXPECT_EQ(loops.row_insertions, 1);
  EXPECT_EQ(loops.insertions, 26);  // 25 pixels and one column at the begin
  EXPECT_EQ(CyclesPerImage(pipeline, pipeline.stages[1]), 25 * 4 + 2);
  // 18 terms: 5 levels of adders; 8 for the rest.
  EXPECT_EQ(LatencyOf(pipeline, pipeline.stages[1]), 13);
  // 36 weights of 2 and codes up to 15.
  EXPECT_EQ(RangeOfSums(pipeline, pipeline.stages[1]).high, 36 * 2 * 15);
  EXPECT_EQ(RangeOfSums(pipeline, pipeline.stages[1]).low, 0);
}

// The latencies that docs/dataflow-machine.md lists, for 18 terms (L = 5).
TEST(Derived, LatenciesByHand) {
  Pipeline pipeline = Small();
  Stage& stage = pipeline.stages[1];
  const auto latency = [&](Requantise::Way way, int64_t pack) {
    stage.requantise.way = way;
    stage.requantise.threshold_bits = 3;
    stage.pack = pack;
    return LatencyOf(pipeline, stage);
  };
  EXPECT_EQ(latency(Requantise::Way::kNone, 1), 5 + 5);
  EXPECT_EQ(latency(Requantise::Way::kMultiply, 1), 8 + 5);
  EXPECT_EQ(latency(Requantise::Way::kThresholds, 1), 5 + 5 + 2 * 3);
  EXPECT_EQ(latency(Requantise::Way::kMultiply, 2), 8 + 5 + 1);
  EXPECT_EQ(latency(Requantise::Way::kMultiply, 4), 8 + 5 + 1);
}

// Codes of 0 to 15: positive weights give the greatest sum, negative ones the least.
TEST(Derived, RangeOfSumsByHand) {
  Pipeline pipeline = Small();
  Stage& stage = pipeline.stages[1];
  stage.weights.assign(stage.weights.size(), 0);
  stage.weights[0] = 3;
  stage.weights[1] = -2;
  EXPECT_EQ(RangeOfSums(pipeline, stage).high, 3 * 15);
  EXPECT_EQ(RangeOfSums(pipeline, stage).low, -2 * 15);
  pipeline.channels[0].type = {4, true};  // -8 to 7
  EXPECT_EQ(RangeOfSums(pipeline, stage).high, 3 * 7 + 2 * 8);
  EXPECT_EQ(RangeOfSums(pipeline, stage).low, -3 * 8 - 2 * 7);
}

TEST(Derived, BitsByHand) {
  EXPECT_EQ(AdderLevels(1), 0);
  EXPECT_EQ(AdderLevels(2), 1);
  EXPECT_EQ(AdderLevels(9), 4);
  EXPECT_EQ(AdderLevels(16), 4);
}

}  // namespace
}  // namespace kiln::dataflow
