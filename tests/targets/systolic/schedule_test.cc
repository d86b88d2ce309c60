#include "kiln/targets/systolic/compile/schedule.h"

#include <limits>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "kiln/support/file.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

// On small instructions every tiling of the space can be timed: the search, which skips by bounds,
// must find the best.
TEST(SystolicSchedule, TheSearchFindsTheBestOfItsSpace) {
  Random random(3);
  int searched = 0, skipped_some = 0;
  for (int i = 0; i < 150; ++i) {
    const Config config = RandomConfig(random);
    const Opcode opcode =
        i % 4 == 0 && config.depthwise_multipliers > 0 ? Opcode::kDepthwise : Opcode::kMatrix;
    Instruction instruction = RandomInstruction(random, config, opcode).instruction;
    const std::vector<Tiling> tilings = TilingsOf(instruction, config);
    Scheduler scheduler(config);
    const auto schedule = scheduler.Find(instruction);
    if (tilings.empty()) {
      EXPECT_FALSE(schedule.ok());
      continue;
    }
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    int64_t best = std::numeric_limits<int64_t>::max();
    for (const Tiling& tiling : tilings) {
      instruction.tiling = tiling;
      const Status status = CheckInstruction(instruction, config);
      ASSERT_TRUE(status.ok()) << status << "\n" << Print(instruction, config);
      best = std::min(best, EstimateCycles(instruction, config));
    }
    EXPECT_EQ(schedule->certificate.cost, static_cast<double>(best)) << Print(instruction, config);
    EXPECT_TRUE(schedule->certificate.optimal);
    EXPECT_LE(schedule->certificate.lower_bound, schedule->certificate.cost);
    instruction.tiling = schedule->tiling;
    EXPECT_EQ(EstimateCycles(instruction, config), best);
    ++searched;
    skipped_some += scheduler.timed() < std::ssize(tilings);
    // The same shape again costs nothing.
    const int64_t timed = scheduler.timed();
    ASSERT_TRUE(scheduler.Find(instruction).ok());
    EXPECT_EQ(scheduler.timed(), timed);
    // Nor with other numbers: a network's blocks are alike but for their scales.
    instruction.vector.quantise.inverse_scale *= 3;
    instruction.convolution.pad_code = 1;
    for (Pass& pass : instruction.vector.passes) {
      for (Stage& stage : pass.stages) stage.immediate_a += 1;
    }
    ASSERT_TRUE(scheduler.Find(instruction).ok());
    EXPECT_EQ(scheduler.timed(), timed);
  }
  EXPECT_GT(searched, 100);
  EXPECT_GT(skipped_some, 20);
}

// Tilings are timed several at once; which one wins does not depend on how many threads do it.
TEST(SystolicSchedule, TheSearchDoesNotDependOnThreads) {
  const auto search = [](int threads) {
    SetThreadCount(threads);
    Random random(31);
    std::string found;
    for (int i = 0; i < 40; ++i) {
      const Config config = RandomConfig(random);
      Instruction instruction = RandomInstruction(random, config, Opcode::kMatrix).instruction;
      Scheduler scheduler(config);
      const auto schedule = scheduler.Find(instruction);
      if (!schedule.ok()) continue;
      instruction.tiling = schedule->tiling;
      const Certificate& c = schedule->certificate;
      found += fmt::format("{}{} of at least {} from {}, {} timed, optimal {}\n",
                           Print(instruction, config), c.cost, c.lower_bound, c.bound_from,
                           scheduler.timed(), c.optimal);
    }
    SetThreadCount(0);
    return found;
  };
  const std::string alone = search(1);
  EXPECT_NE(alone, "");
  EXPECT_EQ(search(4), alone);
}

// A search stops timing a tiling once it is known to be slower than another; that never hides a
// faster one.
TEST(SystolicSchedule, TimesAreExactBelowEnough) {
  Random random(37);
  int cut = 0;
  for (int i = 0; i < 200; ++i) {
    Config config = RandomConfig(random);
    if (config.depthwise_multipliers == 0) config.depthwise_multipliers = 2;
    const Opcode opcode = i % 2 == 0 ? Opcode::kMatrix : Opcode::kDepthwise;
    const Instruction instruction = RandomInstruction(random, config, opcode).instruction;
    const int64_t cycles = EstimateCycles(instruction, config);
    EXPECT_EQ(EstimateCycles(instruction, config, cycles + 1), cycles)
        << Print(instruction, config);
    const int64_t half = EstimateCycles(instruction, config, cycles / 2);
    EXPECT_GE(half, cycles / 2) << Print(instruction, config);
    cut += half < cycles;
  }
  EXPECT_GT(cut, 20);
}

// An instruction takes the same time whatever it computes with, which is what lets blocks share a
// search.
TEST(SystolicSchedule, NumbersTakeNoTime) {
  Random random(23);
  for (const Opcode opcode : {Opcode::kMatrix, Opcode::kDepthwise, Opcode::kVector}) {
    for (int i = 0; i < 200; ++i) {
      Config config = RandomConfig(random);
      if (opcode == Opcode::kDepthwise && config.depthwise_multipliers == 0)
        config.depthwise_multipliers = 2;
      const Instruction instruction = RandomInstruction(random, config, opcode).instruction;
      EXPECT_EQ(EstimateCycles(WithoutNumbers(instruction), config),
                EstimateCycles(instruction, config))
          << Print(instruction, config);
    }
  }
}

// Whatever the tiling, the time is never below the bound; and the bound is no idle one, though it
// takes every address for an aligned one and these lie anywhere.
TEST(SystolicSchedule, NoInstructionIsFasterThanItsBound) {
  Random random(17);
  for (const Opcode opcode : {Opcode::kMatrix, Opcode::kDepthwise, Opcode::kVector}) {
    int half = 0;
    for (int i = 0; i < 400; ++i) {
      Config config = RandomConfig(random);
      if (opcode == Opcode::kDepthwise && config.depthwise_multipliers == 0)
        config.depthwise_multipliers = 2;
      const Instruction instruction = RandomInstruction(random, config, opcode).instruction;
      std::string from;
      const double bound = LowerBound(instruction, config, &from);
      const auto cycles = static_cast<double>(EstimateCycles(instruction, config));
      ASSERT_LE(bound, cycles * (1 + 1e-12)) << from << "\n" << Print(instruction, config);
      EXPECT_GT(bound, 0);
      EXPECT_NE(from, "");
      half += bound > 0.5 * cycles;
    }
    EXPECT_GT(half, 20) << "of opcode " << static_cast<int>(opcode);
  }
}

Instruction PointwiseVector(int32_t rows, int32_t length) {
  Instruction in;
  in.opcode = Opcode::kVector;
  VectorProgram& v = in.vector;
  v.outer = {1, 1, rows, 1};
  v.length = length;
  v.operands = {Stream{}};
  v.operands[0].element_stride = 1;
  v.operands[0].outer_stride = {0, 0, length, 0};
  v.output = v.operands[0];
  v.passes = {Pass{}};
  v.passes[0].to_memory = true;
  return in;
}

// By hand, on 16 lanes and ports of 16 bytes.
TEST(SystolicSchedule, BoundsOfVectorInstructionsCountPassesAndTraffic) {
  const Config config = Fp32Machine();
  std::string from;
  // 10 x 64 bytes: a word a cycle.
  Instruction in = PointwiseVector(10, 64);
  EXPECT_EQ(LowerBound(in, config, &from), 40);
  EXPECT_EQ(from, "vector passes");
  // fp32 in: four beats a word.
  in.vector.operands[0].element = Element::kFloat32;
  in.vector.operands[0].element_stride = 4;
  in.vector.operands[0].outer_stride = {0, 0, 256, 0};
  EXPECT_EQ(LowerBound(in, config, &from), 160);
  EXPECT_EQ(from, "memory traffic");
  // Like soft-max: three passes over the rows, of which only the first reads memory and only the
  // last writes.
  in = PointwiseVector(10, 64);
  in.vector.passes.resize(3);
  in.vector.passes[0].to_memory = false;
  in.vector.passes[0].to_row_buffer = true;
  in.vector.passes[1].source = in.vector.passes[2].source = Source::kRowBuffer;
  in.vector.passes[2].to_memory = true;
  EXPECT_EQ(LowerBound(in, config, &from), 120);
  EXPECT_EQ(from, "vector passes");
  // 2x2 max-pool of 16 channels, 8x8 to 4x4: each output reads four places.
  in = PointwiseVector(1, 16);
  in.vector.outer = {1, 4, 4, 1};
  Window& w = in.vector.window;
  w.combine = Combine::kMax;
  w.window_y = w.window_x = w.stride_y = w.stride_x = 2;
  w.height = w.width = 8;
  w.row_stride = 128;
  w.column_stride = 16;
  EXPECT_EQ(LowerBound(in, config, &from), 64);
  EXPECT_EQ(from, "memory traffic");
}

// Optimal is said only of what was searched or meets its bound.
TEST(SystolicSchedule, VectorInstructionsAreOptimalWhereProved) {
  const Config config = Fp32Machine();
  Instruction in =
      PointwiseVector(10, 64);  // whole words: only latencies stand between time and bound
  EXPECT_TRUE(CertifyVector(in, config, false).optimal);
  EXPECT_EQ(CertifyVector(in, config, false).cost, 1 + 1 + 40 + 8 + 2 * config.memory_latency);
  in = PointwiseVector(10, 8);  // half a word a row
  EXPECT_EQ(CertifyVector(in, config, false).lower_bound, 5);
  EXPECT_FALSE(CertifyVector(in, config, false).optimal);
  EXPECT_TRUE(CertifyVector(in, config, true).optimal);
}

// A depthwise 3x3 of 16 channels with stride 2, 32x32 to 16x16: nine multipliers do an output a
// cycle, but four inputs must be fetched for each.
TEST(SystolicSchedule, StridedDepthwiseIsBoundByItsInputs) {
  Instruction in = PointwiseVector(1, 16);
  in.opcode = Opcode::kDepthwise;
  in.vector.outer = {1, 16, 16, 1};
  in.vector.operands.clear();
  in.vector.passes[0].source = Source::kAccumulator;
  Convolution& c = in.convolution;
  c.height = c.width = 32;
  c.out_height = c.out_width = 16;
  c.kernel_y = c.kernel_x = 3;
  c.stride_y = c.stride_x = 2;
  c.pad_top = c.pad_left = 1;
  c.channels = c.out_channels = 16;
  std::string from;
  EXPECT_EQ(LowerBound(in, Config(), &from), 32 * 32);
  EXPECT_EQ(from, "memory traffic");
  c.stride_y = c.stride_x = 1;
  c.out_height = c.out_width = 32;
  in.vector.outer = {1, 32, 32, 1};
  EXPECT_EQ(LowerBound(in, Config(), &from), 32 * 32);
  EXPECT_EQ(from, "multiply-accumulates");
}

// A depthwise 3x3 layer of MobileNetV2, as its convolutions pad.
Instruction DepthwiseLayer(int32_t size, int32_t stride, int32_t channels) {
  const int32_t out = size / stride;
  Instruction in = PointwiseVector(1, channels);
  in.opcode = Opcode::kDepthwise;
  Convolution& c = in.convolution;
  c.height = c.width = size;
  c.out_height = c.out_width = out;
  c.channels = c.out_channels = channels;
  c.kernel_y = c.kernel_x = 3;
  c.stride_y = c.stride_x = stride;
  c.pad_top = c.pad_left = 1;
  c.input_column_stride = channels;
  c.input_row_stride = size * channels;
  VectorProgram& v = in.vector;
  v.outer = {1, out, out, 1};
  v.operands.clear();
  v.output.outer_stride = {0, out * channels, channels, 0};
  v.passes[0].source = Source::kAccumulator;
  return in;
}

double CyclesOf(const Instruction& in, const Config& config) {
  Scheduler scheduler(config);
  const auto schedule = scheduler.Find(in);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return schedule.ok() ? schedule->certificate.cost : 0;
}

// What share of the cycles the depthwise unit has an output word.
double DepthwiseUse(const Instruction& in, const Config& config) {
  const Convolution& c = in.convolution;
  const int64_t words = CeilDivide(c.channels, config.array_columns) * c.out_height * c.out_width;
  return static_cast<double>(words) / CyclesOf(in, config);
}

TEST(SystolicSchedule, AWideInputPortKeepsStridedDepthwiseLayersBusy) {
  const std::string path = "accelerators/systolic-int8-16x16-wide-input.yaml";
  const auto text = ReadFile(path);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto wide = ParseConfig(*text, path);
  ASSERT_TRUE(wide.ok()) << wide.status();
  // One word per beat: each output word needs four input words, and the edges of regions are read
  // twice.
  const Config narrow;
  for (const auto& [size, channels] : {std::pair{112, 96}, {56, 144}, {28, 192}, {14, 576}}) {
    const Instruction in = DepthwiseLayer(size, 2, channels);
    EXPECT_LT(DepthwiseUse(in, narrow), 0.25) << size;
    EXPECT_GT(DepthwiseUse(in, *wide), 0.5) << size;
  }
  // The figures of docs/systolic.md.
  const Instruction layer = DepthwiseLayer(112, 2, 96);
  EXPECT_EQ(CyclesOf(layer, narrow), 85'854);
  EXPECT_EQ(CyclesOf(layer, *wide), 30'091);
  EXPECT_GT(DepthwiseUse(layer, *wide), 0.6);
}

// Where rows and columns stay idle or weights are used once, that is the bound.
TEST(SystolicSchedule, MatrixBoundsNameTheBusiestUnit) {
  Instruction in = PointwiseVector(1, 20);
  in.opcode = Opcode::kMatrix;
  in.vector.outer = {1, 1, 100, 1};
  in.vector.operands.clear();
  in.vector.output.outer_stride = {0, 0, 20, 0};
  in.vector.passes[0].source = Source::kAccumulator;
  Convolution& c = in.convolution;
  c.width = c.out_width = 100;
  c.channels = 24;
  c.out_channels = 20;
  std::string from;
  // [100, 24] x [24, 20]: two row tiles and two column tiles, 100 rows each; 187.5 full ones would
  // do.
  EXPECT_EQ(LowerBound(in, Config(), &from), 400);
  EXPECT_EQ(from, "array passes");
  // One row: four tiles of 16 rows must be shifted in.
  c.width = c.out_width = 1;
  in.vector.outer = {1, 1, 1, 1};
  EXPECT_EQ(LowerBound(in, Config(), &from), 64);
  EXPECT_EQ(from, "weight load");
}

// A layer of ResNet-50, 3x3 128 -> 128 at 28x28: the array hardly ever waits.
TEST(SystolicSchedule, ALargeLayerKeepsTheArrayBusy) {
  Instruction instruction;
  instruction.opcode = Opcode::kMatrix;
  Convolution& c = instruction.convolution;
  c.height = c.width = c.out_height = c.out_width = 28;
  c.channels = c.out_channels = 128;
  c.kernel_y = c.kernel_x = 3;
  c.pad_top = c.pad_left = 1;
  c.input_column_stride = 128;
  c.input_row_stride = 28 * 128;
  VectorProgram& v = instruction.vector;
  v.outer = {1, 28, 28, 1};
  v.length = 128;
  v.output.element_stride = 1;
  v.output.outer_stride = {0, 28 * 128, 128, 0};
  Pass pass;
  pass.source = Source::kAccumulator;
  pass.to_memory = true;
  v.passes = {pass};
  const Config config = Fp32Machine();
  Scheduler scheduler(config);
  const auto schedule = scheduler.Find(instruction);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->certificate.bound_from, "multiply-accumulates");
  EXPECT_EQ(schedule->certificate.lower_bound, 28.0 * 28 * 9 * 128 * 128 / 256);
  EXPECT_LT(schedule->certificate.gap(), 0.02);
}

}  // namespace
}  // namespace kiln::systolic
