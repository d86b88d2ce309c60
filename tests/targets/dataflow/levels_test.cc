// The functional level and the data of the cycle level are two implementations: random pipelines
// must have the same codes at both.
#include <gtest/gtest.h>

#include "kiln/targets/dataflow/simulate/cycle/data.h"
#include "kiln/targets/dataflow/simulate/functional/functional.h"
#include "tests/targets/dataflow/random_pipeline.h"

namespace kiln::dataflow {
namespace {

TEST(Levels, RandomPipelinesHaveTheSameCodesAtBoth) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const Pipeline pipeline = RandomPipeline(seed);
    const auto image = RandomImage(pipeline, seed);
    ASSERT_EQ(FunctionalPipeline(pipeline).Run(image), StreamData(pipeline, image))
        << "seed " << seed << "\n"
        << PrintPipeline(pipeline);
  }
}

// A convolution by hand: 3x3 pixels, one channel, kernel 2x2 with weights 1 2 3 4, no padding.
TEST(Levels, AConvolutionByHand) {
  Pipeline pipeline;
  pipeline.channels.resize(2);
  pipeline.channels[0] = {.map = {3, 3, 1}, .type = {8, true}, .from = 0, .to = 1};
  pipeline.channels[1] = {.map = {2, 2, 1}, .type = {8, true}, .from = 1, .to = 2};
  pipeline.stages.resize(3);
  pipeline.stages[0] = {.kind = StageKind::kSource, .name = "in", .outputs = {0}};
  Stage& conv = pipeline.stages[1];
  conv.kind = StageKind::kConvolution;
  conv.name = "conv";
  conv.inputs = {0};
  conv.outputs = {1};
  conv.map = {3, 3, 1};
  conv.window.kernel_y = conv.window.kernel_x = 2;
  conv.window.out_height = conv.window.out_width = 2;
  conv.weights = {1, 2, 3, 4};
  conv.weight_bits = 4;
  conv.sum_bits = 16;
  // (sum * 1 + 2) >> 2, between -10 and 30.
  conv.requantise = {.way = Requantise::Way::kMultiply,
                     .multipliers = {1},
                     .addends = {2},
                     .shift = 2,
                     .low = -10,
                     .high = 30};
  pipeline.stages[2] = {.kind = StageKind::kSink, .name = "out", .inputs = {1}};
  ASSERT_EQ(CheckPipeline(pipeline), OkStatus());
  const std::vector<std::vector<int64_t>> image = {{1, 2, 3, 4, 5, 6, -7, -8, -9}};
  // 1 + 4 + 12 + 20 = 37 -> 9; 2 + 6 + 15 + 24 = 47 -> 12; 4 + 10 - 21 - 32 = -39 -> -10 (floor of
  // -9.25); 5 + 12 - 24 - 36 = -43 -> -11, bounded to -10.
  const std::vector<std::vector<int64_t>> expected = {{9, 12, -10, -10}};
  EXPECT_EQ(FunctionalPipeline(pipeline).Run(image), expected);
  EXPECT_EQ(StreamData(pipeline, image), expected);
}

}  // namespace
}  // namespace kiln::dataflow
