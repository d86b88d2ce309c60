// The cycles of pipelines: stages against the formulas of docs/dataflow-machine.md, and channels
// against what their depths promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "kiln/targets/dataflow/compile/channels.h"
#include "kiln/targets/dataflow/isa/builder.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"
#include "tests/targets/dataflow/random_pipeline.h"

namespace kiln::dataflow {
namespace {

struct Layer {
  int64_t kernel, stride, pad, dilation;
};

// One convolution of one element, `words` words per pixel and `passes` output channels.
Pipeline OneConvolution(const Layer& layer, int64_t size, int64_t words, int64_t passes) {
  PipelineBuilder builder;
  const int in = builder.Source("in", {size, size, words}, {8, true}, 1);
  Stage stage;
  stage.kind = StageKind::kConvolution;
  stage.name = "conv";
  stage.map = {size, size, words};
  Window& w = stage.window;
  w.kernel_y = w.kernel_x = layer.kernel;
  w.stride_y = w.stride_x = layer.stride;
  w.pad_top = w.pad_left = layer.pad;
  w.dilation_y = w.dilation_x = layer.dilation;
  w.out_height = w.out_width = (size + 2 * layer.pad - w.rows()) / layer.stride + 1;
  w.extra_rows = ExtraRowsOf(w, stage.map);
  stage.weights.assign(static_cast<size_t>(passes * w.taps() * words), 1);
  stage.weight_bits = 2;
  stage.sum_bits = 24;
  const MapShape map = {w.out_height, w.out_width, passes};
  builder.Sink(builder.Add(std::move(stage), {in}, map, {24, true}, 1), "out");
  Pipeline pipeline = builder.Take();
  for (Channel& channel : pipeline.channels) channel.depth = 4096;
  return pipeline;
}

int64_t IntervalOf(const Pipeline& pipeline, int64_t images) {
  const auto timing = SimulateTiming(pipeline, {.images = images});
  EXPECT_TRUE(timing.ok()) << timing.status();
  const auto last = timing->finished.end() - 1;
  return *last - *(last - 1);
}

TEST(Timing, StagesKeepTheirFormula) {
  // Layers that keep the size of their map, halve it, and pools without overlap.
  const std::vector<Layer> exact = {{3, 1, 1, 1}, {3, 2, 1, 1}, {7, 2, 3, 1}, {5, 1, 2, 1},
                                    {1, 1, 0, 1}, {1, 2, 0, 1}, {2, 2, 0, 1}, {3, 1, 2, 2}};
  // Layers without padding lose a few cycles at the end of a frame, and between rows.
  const std::vector<Layer> nearly = {{3, 1, 0, 1}, {5, 1, 0, 1}, {3, 2, 0, 1},
                                     {3, 3, 0, 1}, {4, 3, 0, 1}, {11, 4, 0, 1}};
  for (const int64_t size : {14, 32}) {
    for (const int64_t words : {1, 2, 4}) {
      for (const int64_t passes : {1, 2, 4, 8}) {
        for (const Layer& layer : exact) {
          const Pipeline pipeline = OneConvolution(layer, size, words, passes);
          EXPECT_EQ(IntervalOf(pipeline, 5), CyclesPerImage(pipeline, pipeline.stages[1]))
              << layer.kernel << " /" << layer.stride << " " << size << " " << words << " "
              << passes;
        }
        for (const Layer& layer : nearly) {
          const Pipeline pipeline = OneConvolution(layer, size, words, passes);
          const int64_t interval = IntervalOf(pipeline, 5),
                        formula = CyclesPerImage(pipeline, pipeline.stages[1]);
          EXPECT_GE(interval, formula);
          EXPECT_LE(interval, formula + formula / 50 + 8 * words)
              << layer.kernel << " /" << layer.stride << " " << size << " " << words << " "
              << passes;
        }
      }
    }
  }
}

// A row of padding above one pixel: it leaves when the pixel is there, one cycle after its push.
TEST(Timing, PaddingWaitsForItsImage) {
  PipelineBuilder builder;
  const int in = builder.Source("in", {1, 1, 1}, {8, true}, 1);
  Stage stage;
  stage.kind = StageKind::kPad;
  stage.name = "pad";
  stage.pad_top = 1;
  builder.Sink(builder.Add(std::move(stage), {in}, {2, 1, 1}, {8, true}, 1), "out");
  const auto timing = SimulateTiming(builder.Take(), {.images = 2, .interval = 10});
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_THAT(timing->channels[0].first_pushes, testing::ElementsAre(0, 10));
  EXPECT_THAT(timing->channels[1].first_pushes, testing::ElementsAre(1, 11));
  EXPECT_THAT(timing->channels[1].last_pushes, testing::ElementsAre(2, 12));
}

// A convolution of columns of two pixels, in eight passes, behind a source that never waits. A word
// that is pushed in cycle t can be written in t + 1.
Pipeline ColumnsOfTwo(const MapShape& map, const MapShape& out) {
  PipelineBuilder builder;
  const int in = builder.Source("in", map, {8, true}, 1);
  Stage stage;
  stage.kind = StageKind::kConvolution;
  stage.name = "conv";
  stage.map = map;
  stage.window.kernel_y = 2;
  stage.window.out_height = out.height;
  stage.window.out_width = out.width;
  stage.weights.assign(8 * 2, 1);
  stage.weight_bits = 2;
  stage.sum_bits = 24;
  builder.Sink(builder.Add(std::move(stage), {in}, out, {24, true}, 1), "out");
  Pipeline pipeline = builder.Take();
  for (Channel& channel : pipeline.channels) channel.depth = 64;
  EXPECT_EQ(CheckPipeline(pipeline), OkStatus());
  return pipeline;
}

// In a map of 2 x 2 with one output, column 1 is never inserted. With the frame's only insertion,
// in cycle 4, the inserter goes on to the next frame. Then the writer replaces all rows during the
// passes. No word waits longer than a cycle.
TEST(Timing, TheInserterGoesOnBeforeTheLastPasses) {
  const auto timing = SimulateTiming(ColumnsOfTwo({2, 2, 1}, {1, 1, 8}), {.images = 2});
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->channels[0].highest, 1);
  EXPECT_THAT(timing->channels[0].last_pushes, testing::ElementsAre(3, 7));
}

// Two buffered rows of a map of 3 x 2. The first insertion, in cycle 4, frees column 0 of row 0 for
// word 4, which is written in cycle 5. Word 5 waits for the insertion of column 1, in cycle 12:
// until then words 5 to 11 of both images are stored.
TEST(Timing, TheWriterStaysBehindTheInserter) {
  const auto timing = SimulateTiming(ColumnsOfTwo({3, 2, 1}, {2, 2, 8}), {.images = 2});
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->channels[0].highest, 7);
  EXPECT_THAT(timing->channels[0].last_pushes, testing::ElementsAre(5, 11));
}

TEST(Timing, NoPipelineIsFasterThanItsSlowestStage) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Pipeline pipeline = RandomPipeline(seed);
    int64_t slowest = 0;
    for (const Stage& stage : pipeline.stages)
      slowest = std::max(slowest, CyclesPerImage(pipeline, stage));
    // Weights that were read ahead last for a few images.
    EXPECT_GE(IntervalOf(pipeline, 40), slowest) << seed << "\n" << PrintPipeline(pipeline);
  }
}

// The depths that the compiler sets: no deadlock, the promised interval whatever the source does,
// and no channel that is filled above its depth.
TEST(Channels, DepthsKeepTheInterval) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Pipeline pipeline = RandomPipeline(seed);
    const auto pace = SetDepths({}, &pipeline);
    ASSERT_TRUE(pace.ok()) << pace.status();
    for (const int64_t interval : {int64_t{0}, pace->interval}) {
      const auto timing = SimulateTiming(pipeline, {.images = 8, .interval = interval});
      ASSERT_TRUE(timing.ok()) << seed << ": " << timing.status();
      EXPECT_EQ(timing->finished[7] - timing->finished[6], pace->interval) << seed;
      for (size_t c = 0; c < pipeline.channels.size(); ++c)
        EXPECT_LE(timing->channels[c].highest, pipeline.channels[c].depth) << seed;
    }
  }
}

// With a word less, some channel is too short in some pipeline.
TEST(Channels, DepthsAreNeeded) {
  int slower = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Pipeline pipeline = RandomPipeline(seed);
    const auto pace = SetDepths({}, &pipeline);
    ASSERT_TRUE(pace.ok()) << pace.status();
    for (Channel& channel : pipeline.channels)
      channel.depth = std::max<int64_t>(1, channel.depth - 1);
    const auto timing = SimulateTiming(pipeline, {.images = 8});
    if (!timing.ok() || timing->finished[7] - timing->finished[6] > pace->interval) ++slower;
  }
  EXPECT_GT(slower, 30);
}

// A fork whose long branch fills rows before it gives a word, joined by a sum: with a short channel
// on the short branch the pipeline stops.
Pipeline Residual() {
  PipelineBuilder builder;
  const int in = builder.Source("in", {8, 8, 2}, {8, true}, 1);
  const auto branches = builder.Fork(in, 2, "in");
  Stage conv;
  conv.kind = StageKind::kConvolution;
  conv.name = "conv";
  conv.map = {8, 8, 2};
  conv.window.kernel_y = conv.window.kernel_x = 3;
  conv.window.pad_top = conv.window.pad_left = 1;
  conv.window.out_height = conv.window.out_width = 8;
  conv.weights.assign(2 * 9 * 2, 1);
  conv.sum_bits = 24;
  conv.requantise = {.way = Requantise::Way::kMultiply,
                     .multipliers = {1, 1},
                     .addends = {0, 0},
                     .shift = 0,
                     .low = -8,
                     .high = 7};
  const int long_branch = builder.Add(std::move(conv), {branches[0]}, {8, 8, 2}, {8, true}, 1);
  Stage sum;
  sum.kind = StageKind::kAffine;
  sum.name = "sum";
  sum.factors = {1, 1};
  sum.low = -128;
  sum.high = 127;
  builder.Sink(builder.Add(std::move(sum), {long_branch, branches[1]}, {8, 8, 2}, {8, true}, 1),
               "out");
  return builder.Take();
}

TEST(Channels, AJoinThatStarvesIsNamed) {
  Pipeline pipeline = Residual();
  for (Channel& channel : pipeline.channels) channel.depth = 4;
  const auto timing = SimulateTiming(pipeline, {});
  ASSERT_FALSE(timing.ok());
  EXPECT_THAT(MessageOf(timing.status()), testing::HasSubstr("deadlock"));
  ASSERT_TRUE(SetDepths({}, &pipeline).ok());
  EXPECT_TRUE(SimulateTiming(pipeline, {.images = 3}).ok());
  // The short branch waits for a row and a pixel of the long one: 9 pixels of 2 words at least.
  EXPECT_GE(pipeline.channels[2].depth, 18);
  const auto limited = SetDepths({.most_bits = 64}, &pipeline);
  ASSERT_FALSE(limited.ok());
  EXPECT_THAT(MessageOf(limited.status()), testing::HasSubstr("layer 'sum': needs a channel of"));
}

TEST(Timing, GivesUpAfterItsBudget) {
  const auto timing = SimulateTiming(RandomPipeline(1), {.images = 100, .most_events = 50});
  ASSERT_FALSE(timing.ok());
  EXPECT_THAT(MessageOf(timing.status()), testing::HasSubstr("50 events"));
}

}  // namespace
}  // namespace kiln::dataflow
