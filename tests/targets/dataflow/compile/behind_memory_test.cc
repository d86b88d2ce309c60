// Networks in several segments behind memory: over devices, over passes, and with host kernels
// between them. Segments of one device share its memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/compile/compile.h"
#include "kiln/targets/dataflow/run_network.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"
#include "kiln/targets/run/stream_simulation.h"
#include "tests/targets/dataflow/compile/lowered.h"

namespace kiln::dataflow {
namespace {

// Two layers that a small device holds one at a time.
constexpr char kTwoLayers[] = R"(
  input %x : f32[1x6x9x4] Q
  const %v : f32[4x4x1x1] Q = [100.0, 2.0, 3.0, 4.0, 100.0, 2.0, 3.0, 4.0,
                               100.0, 2.0, 3.0, 4.0, 100.0, 2.0, 3.0, 4.0]
  const %w : f32[2x4x1x1] Q = [100.0, 2.0, 3.0, 4.0, 100.0, 2.0, 3.0, 4.0]
  %1 = conv %x, %v {layout="nhwc"} : f32[1x6x9x4] Q
  %2 = conv %1, %w {layout="nhwc"} : f32[1x6x9x2] Q
  output %2
)";

// Two layers with a host kernel between them: a product of two activations.
constexpr char kHostBetween[] = R"(
  input %x : f32[1x6x9x4] Q
  const %v : f32[4x4x1x1] Q = [100.0, 2.0, 3.0, 4.0, 100.0, 2.0, 3.0, 4.0,
                               100.0, 2.0, 3.0, 4.0, 100.0, 2.0, 3.0, 4.0]
  const %w : f32[2x4x1x1] Q = [100.0, 2.0, 3.0, 4.0, 100.0, 2.0, 3.0, 4.0]
  %1 = conv %x, %v {layout="nhwc"} : f32[1x6x9x4] Q
  %2 = mul %1, %1 : f32[1x6x9x4] Q
  %3 = conv %2, %w {layout="nhwc"} : f32[1x6x9x2] Q
  output %3
)";

Config Device(int64_t dsp) {
  Config config;
  config.name = "d";
  config.dsp = dsp;
  config.bram = 4;
  config.uram = 0;
  config.lut = 3000;
  config.products_per_dsp = 1;
  config.link_bits = 16;
  config.reload_cycles = 11;
  return config;
}

std::unique_ptr<Program> MustCompile(const char* body, const Config& config) {
  auto program = CompileNetwork(GraphOf(body), config, {});
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}
const DataflowProgram& OwnOf(const Program& program) {
  return dynamic_cast<const DataflowProgram&>(program);
}

RtlOptions Dram(double bytes_per_cycle, uint64_t latency, uint64_t row_miss) {
  RtlOptions rtl;
  rtl.dram_bytes_per_cycle = bytes_per_cycle;
  rtl.memory_latency = latency;
  rtl.dram_row_miss = row_miss;
  return rtl;
}

// Returns half of what a run of four images of one segment takes longer than one of two.
int64_t IntervalAlone(const Pipeline& pipeline, const RtlOptions& rtl) {
  int64_t cycles[2] = {};
  for (const int64_t images : {4, 2}) {
    const auto timing = SimulateTiming(pipeline, {.images = images, .memory = StreamMemoryOf(rtl)});
    EXPECT_TRUE(timing.ok()) << timing.status();
    cycles[images == 2 ? 1 : 0] = timing->cycles;
  }
  return CeilDivide(cycles[0] - cycles[1], int64_t{2});
}

int64_t IntervalOf(const DataflowProgram& program, const RtlOptions& rtl) {
  const auto interval = IntervalBehindMemory(program, rtl);
  EXPECT_TRUE(interval.ok()) << interval.status();
  return *interval;
}

// Every device has a memory of its own. The link, of 4 channels of 8 bits at 16 bits a cycle, takes
// 2 cycles for each of 54 pixels.
TEST(DataflowBehindMemory, DevicesHaveTheirOwn) {
  Config config = Device(12);
  config.devices = 2;
  const auto program = MustCompile(kTwoLayers, config);
  const auto& segments = OwnOf(*program).segments();
  ASSERT_EQ(segments.size(), 2u);
  ASSERT_NE(segments[0].part, segments[1].part);
  for (const RtlOptions& rtl : {Dram(1e6, 5, 0), Dram(1.5, 30, 9), Dram(0.3, 10, 40)}) {
    const int64_t expected = std::max({IntervalAlone(segments[0].pipeline, rtl),
                                       IntervalAlone(segments[1].pipeline, rtl), int64_t{54 * 2}});
    EXPECT_EQ(IntervalOf(OwnOf(*program), rtl), expected) << rtl.dram_bytes_per_cycle;
  }
}

TEST(DataflowBehindMemory, PassesAddUp) {
  Config config = Device(12);
  config.passes = 2;
  const auto program = MustCompile(kTwoLayers, config);
  const auto& segments = OwnOf(*program).segments();
  ASSERT_EQ(segments.size(), 2u);
  for (const RtlOptions& rtl : {Dram(1e6, 5, 0), Dram(1.5, 30, 9), Dram(0.3, 10, 40)}) {
    const int64_t expected = IntervalAlone(segments[0].pipeline, rtl) +
                             IntervalAlone(segments[1].pipeline, rtl) + config.reload_cycles;
    EXPECT_EQ(IntervalOf(OwnOf(*program), rtl), expected) << rtl.dram_bytes_per_cycle;
  }
}

// A slow memory takes its time for the words of both segments, which are read and stored in parts
// of 64 bytes. A fast memory delays neither segment.
TEST(DataflowBehindMemory, SegmentsOfADeviceShareIt) {
  const auto program = MustCompile(kHostBetween, Device(40));
  const auto& segments = OwnOf(*program).segments();
  ASSERT_EQ(segments.size(), 2u);
  ASSERT_EQ(segments[0].part, segments[1].part);
  const auto alone = [&](size_t i, const RtlOptions& rtl) {
    return IntervalAlone(segments[i].pipeline, rtl);
  };
  const RtlOptions fast = Dram(1e6, 5, 0), slow = Dram(0.25, 5, 0);
  // Runs of different lengths may end with different segments.
  EXPECT_NEAR(static_cast<double>(IntervalOf(OwnOf(*program), fast)),
              static_cast<double>(std::max(alone(0, fast), alone(1, fast))), 1);
  int64_t bytes = 0;  // of an image
  for (const Segment& segment : segments) {
    for (const Stage& stage : segment.pipeline.stages) {
      const bool in = stage.kind == StageKind::kSource;
      if (!in && stage.kind != StageKind::kSink) continue;
      const Channel& channel = in ? segment.pipeline.output(stage) : segment.pipeline.input(stage);
      bytes += channel.words() * ((channel.word_bits() + 7) / 8);
    }
  }
  const int64_t least = bytes * 4;  // at a quarter of a byte a cycle
  const int64_t interval = IntervalOf(OwnOf(*program), slow);
  EXPECT_NEAR(static_cast<double>(interval), static_cast<double>(least), 64 * 4);
  EXPECT_GT(interval, std::max(alone(0, slow), alone(1, slow)));
}

// Every segment in Verilator has the cycles of the cycle level.
TEST(DataflowBehindMemory, CutNetworksHaveTheHardwaresCycles) {
  Config config = Device(12);
  config.devices = 2;
  const auto program = MustCompile(kTwoLayers, config);
  std::vector<float> values(4 * 54);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) - 5;
  const Batch batch{{Tensor::Of(Shape{1, 6, 9, 4}, values)}};
  RunOptions options;
  options.rtl = Dram(2.5, 17, 23);
  std::vector<RunResult> results;
  for (const Level level : {Level::kCycle, Level::kRtl}) {
    options.level = level;
    auto result = RunNetwork(OwnOf(*program), batch, options);
    ASSERT_TRUE(result.ok()) << result.status();
    results.push_back(*std::move(result));
  }
  EXPECT_EQ(results[0].cycles_per_image, results[1].cycles_per_image);
  ASSERT_EQ(results[0].trace.kernels.size(), results[1].trace.kernels.size());
  for (size_t k = 0; k < results[0].trace.kernels.size(); ++k)
    EXPECT_EQ(results[0].trace.kernels[k].end, results[1].trace.kernels[k].end) << k;
  EXPECT_TRUE(results[0].codes[0] == results[1].codes[0]);
}

}  // namespace
}  // namespace kiln::dataflow
