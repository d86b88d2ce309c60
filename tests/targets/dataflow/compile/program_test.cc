// Compiled programs: their text, their kernels, and the errors of networks that a device does not
// hold.
#include "kiln/targets/dataflow/compile/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/targets/dataflow/compile/compile.h"
#include "kiln/targets/dataflow/simulate/cycle/data.h"
#include "kiln/targets/dataflow/simulate/functional/functional.h"
#include "tests/targets/dataflow/compile/lowered.h"

namespace kiln::dataflow {
namespace {

using testing::HasSubstr;

// A row of 64 pixels: a pointwise layer and a sum with its input.
constexpr char kRowOfPixels[] = R"(
  input %x : f32[1x1x64x1] Q
  const %w : f32[1x1x1x1] Q = [100.0]
  %1 = conv %x, %w {layout="nhwc"} "scale" : f32[1x1x64x1] Q
  %2 = add %1, %x "sum" : f32[1x1x64x1] Q
  output %2
)";

StatusOr<std::unique_ptr<Program>> Compiled(const std::string& body, const Config& config) {
  return CompileNetwork(GraphOf(body), config, {});
}

TEST(DataflowProgram, PrintsSegmentsStagesAndChannels) {
  Config config;
  config.name = "device";
  const auto program = Compiled(kRowOfPixels, config);
  ASSERT_TRUE(program.ok()) << MessageOf(program.status());
  // The depths are worked out in channels_test.cc: the sink's stage is the same.
  EXPECT_EQ((*program)->Print(),
            "segment 0: an image every 64 cycles, 81 cycles for one alone\n"
            "x source:  -> 0\n"
            "x_fork fork: 0 -> 1, 2\n"
            "scale convolution 1x1 /1x1 groups 1 fold 1x1 pack 1 weights 8 bits lut: 1 -> 3\n"
            "sum affine: 3, 2 -> 4\n"
            "sum_out sink: 4 -> \n"
            "channel 0: 1x64x1 int8 lanes 1 depth 2 lut\n"
            "channel 1: 1x64x1 int8 lanes 1 depth 2 lut\n"
            "channel 2: 1x64x1 int8 lanes 1 depth 11 lut\n"
            "channel 3: 1x64x1 int8 lanes 1 depth 10 lut\n"
            "channel 4: 1x64x1 int8 lanes 1 depth 7 lut\n");
  EXPECT_EQ((*program)->interval_cycles(), 64);
  EXPECT_EQ((*program)->peak_macs_per_cycle(), 1);
  ASSERT_EQ((*program)->kernels().size(), 2u);
  EXPECT_EQ((*program)->kernels()[0].schedule, "1 lanes x 1 elements");
  EXPECT_EQ((*program)->kernels()[0].certificate.cost, 64);
  EXPECT_EQ((*program)->kernels()[0].macs, 64);
  EXPECT_EQ((*program)->constant_bytes(), 1);
  EXPECT_EQ((*program)->activation_bytes(), 2 + 2 + 11 + 10 + 7);  // channels; no row buffers
}

// Passes over one device: 64 cycles for each, or more where the memory is slower, and the reload.
TEST(DataflowProgram, PartsOfACutAreNamed) {
  Config config;
  config.name = "device";
  // The multiplication and its requantisation; the sum needs two as well, and the registers one.
  config.dsp = 3;
  config.passes = 2;
  config.reload_cycles = 100;
  config.memory_bits = 128;
  const auto program = Compiled(kRowOfPixels, config);
  ASSERT_TRUE(program.ok()) << MessageOf(program.status());
  const std::string text = (*program)->Print();
  EXPECT_THAT(text, HasSubstr("segment 0: pass 0, an image every 64 cycles"));
  EXPECT_THAT(text, HasSubstr("segment 1: pass 1, an image every 64 cycles"));
  EXPECT_EQ((*program)->interval_cycles(), 64 + 100 + 64);
}

// Seven channels from eight on four DSP slices: the registers take one, the requantisation one, and
// two multiply. With elements that divide seven these are one element with two lanes. With an
// eighth channel that is dropped they are two elements with two lanes, which share slices by two.
TEST(DataflowProgram, ElementsMayComputeChannelsThatAreDropped) {
  std::string weights;
  for (int i = 0; i < 7 * 8; ++i) weights += fmt::format("{}{}.0", i > 0 ? ", " : "", i % 9 - 4);
  const std::string body = fmt::format(R"(
  input %x : f32[1x4x4x8] Q
  const %w : f32[7x8x1x1] Q = [{}]
  %1 = conv %x, %w {{layout="nhwc"}} "seven" : f32[1x4x4x7] Q
  output %1
)",
                                       weights);
  Config config;
  config.name = "device";
  config.dsp = 4;
  const auto plain = Compiled(body, config);
  ASSERT_TRUE(plain.ok()) << MessageOf(plain.status());
  EXPECT_EQ((*plain)->interval_cycles(), 16 * 4 * 7);
  config.channel_padding = true;
  const auto padded = Compiled(body, config);
  ASSERT_TRUE(padded.ok()) << MessageOf(padded.status());
  EXPECT_EQ((*padded)->interval_cycles(), 16 * 4 * 4);
  EXPECT_THAT((*padded)->Print(), HasSubstr("fold 2x2 pack 2"));
  EXPECT_THAT((*padded)->Print(), HasSubstr("seven_crop crop: "));
  // The same codes at both levels with either fold.
  const auto pipeline_of = [](const Program& program) -> const Pipeline& {
    return dynamic_cast<const DataflowProgram&>(program).segments()[0].pipeline;
  };
  std::vector<std::vector<int64_t>> image(1);
  for (int i = 0; i < 128; ++i) image[0].push_back(i * 29 % 101 - 50);
  const auto expected = FunctionalPipeline(pipeline_of(**plain)).Run(image);
  EXPECT_EQ(FunctionalPipeline(pipeline_of(**padded)).Run(image), expected);
  EXPECT_EQ(StreamData(pipeline_of(**padded), image), expected);
}

// What a device does not hold is one line that names the layer and the limit.
TEST(DataflowProgram, ErrorsNameLayerAndLimit) {
  const auto message = [](const Config& config) {
    const auto program = Compiled(kRowOfPixels, config);
    return program.ok() ? "" : MessageOf(program.status());
  };
  Config config;
  config.name = "device";
  ASSERT_EQ(message(config), "");
  Config no_dsp = config;
  no_dsp.dsp = 1;
  EXPECT_THAT(message(no_dsp), testing::StartsWith("device 'device': does not hold the network: "));
  EXPECT_THAT(message(no_dsp), HasSubstr("DSP"));
  Config few_luts = config;
  few_luts.lut = 100;
  EXPECT_THAT(message(few_luts), HasSubstr("LUT"));
  Config narrow = config;
  narrow.channel_bits = 87;
  EXPECT_THAT(message(narrow), HasSubstr("layer 'sum': needs a channel of 88 bits"));
  EXPECT_THAT(message(narrow), HasSubstr("the limit is 87"));
  for (const Config& bad : {no_dsp, few_luts, narrow})
    EXPECT_EQ(message(bad).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace kiln::dataflow
