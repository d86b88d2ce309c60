// Depths of channels: by hand on a small join, and on random joins against the simulation. The
// tests of whole random pipelines are in timing_test.cc.
#include "kiln/targets/dataflow/compile/channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/random.h"
#include "kiln/targets/dataflow/isa/builder.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"

namespace kiln::dataflow {
namespace {

// A block with a sum at its end: a convolution with `kernel` x `kernel` taps on one branch.
struct Block {
  int64_t height = 8, width = 8, channels = 1, kernel = 3;
  int64_t lanes = 1, elements = 1;
};

constexpr size_t kSkip = 2;  // the channel from the fork to the sum

Pipeline Residual(const Block& block) {
  PipelineBuilder builder;
  const MapShape map = {block.height, block.width, block.channels};
  const auto branches = builder.Fork(builder.Source("in", map, {8, true}, block.lanes), 2, "in");
  Stage conv;
  conv.kind = StageKind::kConvolution;
  conv.name = "conv";
  conv.map = map;
  conv.window.kernel_y = conv.window.kernel_x = block.kernel;
  conv.window.pad_top = conv.window.pad_left = block.kernel / 2;
  conv.window.out_height = block.height;
  conv.window.out_width = block.width;
  conv.elements = block.elements;
  conv.weights.assign(
      static_cast<size_t>(block.channels * block.channels * block.kernel * block.kernel), 1);
  conv.sum_bits = 24;
  conv.requantise.way = Requantise::Way::kMultiply;
  conv.requantise.multipliers.assign(static_cast<size_t>(block.channels), 1);
  conv.requantise.addends.assign(static_cast<size_t>(block.channels), 0);
  conv.requantise.low = -128;
  conv.requantise.high = 127;
  Stage sum;
  sum.kind = StageKind::kAffine;
  sum.name = "sum";
  sum.factors = {1, 1};
  sum.low = -128;
  sum.high = 127;
  // Results leave one by one, and words of the sum have the lanes of the input.
  int value = builder.Add(std::move(conv), {branches[0]}, map, {8, true}, block.elements);
  value = builder.WithLanes(value, block.lanes, "conv");
  builder.Sink(builder.Add(std::move(sum), {value, branches[1]}, map, {8, true}, block.lanes),
               "out");
  return builder.Take();
}

// One row of 64 pixels of one channel, kernel 1x1: a word moves in every cycle.
//   cycle t         fork takes a word that the source pushed in t - 1, and pushes it to both
//   t + 1           the convolution issues it: D = 8, one product has no adders
//   t + 9           it pushes the result
//   t + 10          the sum takes both words; their space can be reserved from t + 11 on
//   t + 15          the sum pushes
//   t + 16          the sink takes the word
// So the skip holds the words of cycles t to t + 10. Every other channel holds the words whose
// space is reserved and cannot be reserved again yet.
TEST(DataflowDepths, AJoinByHand) {
  Pipeline pipeline = Residual({.height = 1, .width = 64, .kernel = 1});
  const auto pace = SetDepths({}, &pipeline);
  ASSERT_TRUE(pace.ok()) << MessageOf(pace.status());
  ASSERT_EQ(pipeline.channels.size(), 5u);
  EXPECT_EQ(pipeline.channels[0].depth, 2);       // source to fork
  EXPECT_EQ(pipeline.channels[1].depth, 2);       // fork to convolution
  EXPECT_EQ(pipeline.channels[kSkip].depth, 11);  // fork to sum
  EXPECT_EQ(pipeline.channels[3].depth, 10);      // convolution to sum
  EXPECT_EQ(pipeline.channels[4].depth, 7);       // sum to sink
  EXPECT_EQ(pace->interval, 64);
  // Of one image, first word into the source in cycle 0: the fork takes the last word in cycle 64.
  EXPECT_EQ(pace->latency, 64 + 16 + 1);
  EXPECT_EQ(pace->words, 2 + 2 + 11 + 10 + 7);
  EXPECT_EQ(pace->bits, 8 * pace->words);
  // One entry less: a word waits in one cycle of eleven.
  pipeline.channels[kSkip].depth = 10;
  const auto timing = SimulateTiming(pipeline, {.images = 11});
  ASSERT_TRUE(timing.ok());
  EXPECT_NEAR(static_cast<double>(timing->finished[10] - timing->finished[0]), 10 * 64 * 1.1, 2);
}

// The join in front of a limit of 80 bits: 11 words of 8 bits do not fit.
TEST(DataflowDepths, ALimitIsOneLine) {
  Pipeline pipeline = Residual({.height = 1, .width = 64, .kernel = 1});
  const auto pace = SetDepths({.most_bits = 87}, &pipeline);
  ASSERT_FALSE(pace.ok());
  EXPECT_EQ(MessageOf(pace.status()),
            "layer 'sum': needs a channel of 88 bits in front of it, or the pipeline stalls or "
            "stops; the limit is 87; raise channel_bits");
  EXPECT_TRUE(SetDepths({.most_bits = 88}, &pipeline).ok());
}

// With names of layers, errors name the layer behind the channel, past forks and converters.
TEST(DataflowDepths, ALimitNamesTheLayer) {
  Pipeline pipeline = Residual({.height = 1, .width = 64, .kernel = 1});
  const std::vector<std::string> names = {"/body/Conv", "/body/Add"};
  for (Stage& stage : pipeline.stages) {
    if (stage.name == "conv") stage.layer = 0;
    if (stage.name == "sum") stage.layer = 1;
  }
  const auto join = SetDepths({.most_bits = 87, .layers = names}, &pipeline);
  ASSERT_FALSE(join.ok());
  EXPECT_THAT(MessageOf(join.status()), testing::StartsWith("layer '/body/Add': needs a channel"));
  // The channel from the source leads to a fork.
  const auto fork = SetDepths({.most_bits = 8, .layers = names}, &pipeline);
  ASSERT_FALSE(fork.ok());
  EXPECT_THAT(MessageOf(fork.status()), testing::StartsWith("layer '/body/Conv': needs a channel"));
}

// Channels of up to 64 words or 2048 bits are in LUTs. Longer ones are in block RAM, and those of
// more than 128 Kb in ultra RAM if the device has any.
TEST(DataflowDepths, MemoryByDepthAndBits) {
  Pipeline narrow = Residual({.height = 16, .width = 100, .kernel = 3});
  ASSERT_TRUE(SetDepths({.most_bits = 0, .has_ultra = true}, &narrow).ok());
  EXPECT_GT(narrow.channels[kSkip].depth, 100);
  EXPECT_LE(narrow.channels[kSkip].depth, 256);
  EXPECT_EQ(narrow.channels[kSkip].memory, MemoryKind::kLut);
  EXPECT_EQ(narrow.channels[0].memory, MemoryKind::kLut);
  Pipeline wide = Residual(
      {.height = 16, .width = 100, .channels = 16, .kernel = 3, .lanes = 4, .elements = 4});
  ASSERT_TRUE(SetDepths({.most_bits = 0, .has_ultra = true}, &wide).ok());
  EXPECT_EQ(wide.channels[kSkip].memory, MemoryKind::kBlock);
  Pipeline deep = Residual(
      {.height = 24, .width = 600, .channels = 16, .kernel = 5, .lanes = 16, .elements = 4});
  for (const bool ultra : {false, true}) {
    ASSERT_TRUE(SetDepths({.most_bits = 0, .has_ultra = ultra}, &deep).ok());
    ASSERT_GT(deep.channels[kSkip].depth * 16 * 8, 128 * 1024);
    EXPECT_EQ(deep.channels[kSkip].memory, ultra ? MemoryKind::kUltra : MemoryKind::kBlock);
  }
}

// The longest skip in LUTs has 64 words, of 64 bits; the longest in block RAM 1024, of 128 bits. A
// pixel more makes the skip a word longer.
TEST(DataflowDepths, MemoryAtTheBounds) {
  const auto memory_of = [](int64_t lanes, int64_t depth) {
    for (int64_t width = depth - 30; width < depth; ++width) {
      Pipeline pipeline = Residual({.height = 4,
                                    .width = width,
                                    .channels = lanes,
                                    .kernel = 3,
                                    .lanes = lanes,
                                    .elements = lanes});
      EXPECT_TRUE(SetDepths({.most_bits = 0, .has_ultra = true}, &pipeline).ok());
      if (pipeline.channels[kSkip].depth == depth) return pipeline.channels[kSkip].memory;
    }
    ADD_FAILURE() << "no skip has " << depth << " words";
    return MemoryKind::kLut;
  };
  EXPECT_EQ(memory_of(8, 64), MemoryKind::kLut);
  EXPECT_EQ(memory_of(8, 65), MemoryKind::kBlock);
  EXPECT_EQ(memory_of(16, 1024), MemoryKind::kBlock);
  EXPECT_EQ(memory_of(16, 1025), MemoryKind::kUltra);
}

// Returns the cycles in which a stage waits for room in its output; -1 in a deadlock.
int64_t WaitsForRoom(const Pipeline& pipeline, size_t stage, int64_t interval) {
  const auto timing = SimulateTiming(pipeline, {.images = 12, .interval = interval});
  if (!timing.ok()) {
    EXPECT_THAT(MessageOf(timing.status()), testing::HasSubstr("deadlock"));
    return -1;
  }
  const auto& stalls = timing->stages[stage].stalls;
  const auto at = stalls.find("output");
  return at == stalls.end() ? 0 : at->second;
}

// On joins of random sizes, every depth is the greatest fill of a run that is fed evenly, and no
// stage waits for room. With one word less in the skip, the fork waits.
TEST(DataflowDepths, AreTheGreatestFillsOfTheSimulation) {
  Random random(21);
  for (int i = 0; i < 150; ++i) {
    const int64_t channels = int64_t{1} << random.Below(3);
    const Block block = {.height = random.Between(4, 9),
                         .width = random.Between(4, 9),
                         .channels = channels,
                         .kernel = 2 * random.Between(0, 2) + 1,
                         .lanes = int64_t{1} << random.Below(channels > 1 ? 2 : 1)};
    const std::string what = fmt::format("{}x{}x{} kernel {} lanes {}", block.height, block.width,
                                         block.channels, block.kernel, block.lanes);
    Pipeline pipeline = Residual(block);
    ASSERT_EQ(CheckPipeline(pipeline), OkStatus());
    const auto pace = SetDepths({}, &pipeline);
    ASSERT_TRUE(pace.ok()) << MessageOf(pace.status());
    // The run with these depths has the levels that they allow, and is never late.
    const auto even = SimulateTiming(pipeline, {.images = 12, .interval = pace->interval});
    ASSERT_TRUE(even.ok()) << what;
    EXPECT_EQ(even->finished[11] - even->finished[10], pace->interval) << what;
    for (size_t c = 0; c < pipeline.channels.size(); ++c)
      EXPECT_EQ(pipeline.channels[c].depth, even->channels[c].needed) << what << " channel " << c;
    const auto fork = static_cast<size_t>(pipeline.channels[kSkip].from);
    EXPECT_EQ(WaitsForRoom(pipeline, fork, pace->interval), 0) << what;
    --pipeline.channels[kSkip].depth;
    EXPECT_NE(WaitsForRoom(pipeline, fork, pace->interval), 0) << what;

    // The skip must hold all words up to the last pixel that the first result needs. With one word
    // less, the fork never sends the last of these words.
    const int64_t reach = block.kernel / 2;
    const int64_t needed = (reach * block.width + reach + 1) * block.channels / block.lanes;
    EXPECT_LE(needed, pipeline.channels[kSkip].depth + 1) << what;
    pipeline.channels[kSkip].depth = needed;
    EXPECT_GE(WaitsForRoom(pipeline, fork, pace->interval), 0) << what;
    if (needed > 1) {
      --pipeline.channels[kSkip].depth;
      EXPECT_EQ(WaitsForRoom(pipeline, fork, pace->interval), -1) << what;
    }
  }
}

}  // namespace
}  // namespace kiln::dataflow
