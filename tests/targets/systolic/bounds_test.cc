// No lower bound is above what some schedule reaches: every tiling of small matrix and depthwise
// instructions, and every order of the loops of small vector instructions, is timed.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kiln/targets/systolic/compile/schedule.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

// Cycles of the best tiling; checks the bound of every tiling on the way. 0: no tiling fits.
int64_t BestOfAllTilings(const Instruction& instruction, const Config& config) {
  Instruction trial = instruction;
  int64_t best = 0;
  for (const Tiling& tiling : TilingsOf(instruction, config)) {
    trial.tiling = tiling;
    const int64_t cycles = EstimateCycles(trial, config);
    EXPECT_LE(TilingBound(instruction, config, tiling), cycles) << Print(trial, config);
    best = best == 0 ? cycles : std::min(best, cycles);
  }
  return best;
}

void ExpectBoundsHold(const Instruction& instruction, const Config& config) {
  const int64_t best = BestOfAllTilings(instruction, config);
  if (best == 0) return;
  std::string from;
  EXPECT_LE(LowerBound(instruction, config, &from), static_cast<double>(best))
      << from << Print(instruction, config);
  Scheduler scheduler(config);
  const auto schedule = scheduler.Find(instruction);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->certificate.cost, static_cast<double>(best)) << Print(instruction, config);
  EXPECT_LE(schedule->certificate.lower_bound, static_cast<double>(best))
      << schedule->certificate.bound_from;
}

TEST(SystolicBounds, HoldForEveryTilingOfRandomInstructions) {
  Random random(71);
  for (int i = 0; i < 120; ++i) {
    const Config config = RandomConfig(random);
    const Opcode opcode =
        i % 3 == 0 && config.depthwise_multipliers > 0 ? Opcode::kDepthwise : Opcode::kMatrix;
    ExpectBoundsHold(RandomInstruction(random, config, opcode).instruction, config);
    if (HasFailure()) return;
  }
}

// A matrix product [pixels, channels] x [channels, out_channels] of int8, with tiled weights.
Instruction Product(int32_t pixels, int32_t channels, int32_t out_channels) {
  Instruction in;
  in.opcode = Opcode::kMatrix;
  Convolution& c = in.convolution;
  c.width = c.out_width = pixels;
  c.channels = channels;
  c.out_channels = out_channels;
  c.input_column_stride = channels;
  c.input_row_stride = int64_t{pixels} * channels;
  VectorProgram& v = in.vector;
  v.outer = {1, 1, pixels, 1};
  v.length = out_channels;
  v.output.element_stride = 1;
  v.output.outer_stride = {0, 0, out_channels, 0};
  Pass pass;
  pass.source = Source::kAccumulator;
  pass.to_memory = true;
  v.passes = {pass};
  return in;
}

// Tall arrays: shifting a tile of weights in takes longer than a pass over few pixels, but for the
// very last pass, which no further tile follows.
TEST(SystolicBounds, HoldWhereWeightLoadsAreLongerThanPasses) {
  Random random(72);
  int longer = 0;
  for (int i = 0; i < 60; ++i) {
    Config config = Fp32Machine();
    config.array_rows = 32 << random.Below(2);
    config.array_columns = 1 << random.Below(4);
    config.weight_rows_per_cycle = 1 << random.Below(3);
    config.weight_buffer_words = config.array_rows * static_cast<int>(1 + random.Below(4));
    config.accumulation_buffer_words = static_cast<int>(4 + random.Below(60));
    config.accumulation_buffer_banks = static_cast<int>(1 + random.Below(2));
    config.input_buffer_words = 64;
    config.memory_latency = kLeastMemoryLatency;
    config.vector_stage_latency = 1;
    config.input_port_bytes = config.weight_port_bytes = config.output_port_bytes = kMostPort;
    const auto pixels = static_cast<int32_t>(1 + random.Below(40));
    const auto channels =
        static_cast<int32_t>(1 + random.Below(3 * static_cast<uint64_t>(config.array_rows)));
    const auto outputs =
        static_cast<int32_t>(1 + random.Below(3 * static_cast<uint64_t>(config.array_columns)));
    longer += WeightLoadCycles(config) > pixels;
    ExpectBoundsHold(Product(pixels, channels, outputs), config);
    if (HasFailure()) return;
  }
  EXPECT_GT(longer, 10);
}

// Narrow input ports: a word of the array takes several beats, padding only one. Strides and
// dilations leave positions out, among them the first ones of the image.
TEST(SystolicBounds, HoldWhereInputsTakeManyBeats) {
  Random random(74);
  int by_inputs = 0;
  for (int i = 0; i < 60; ++i) {
    Config config = Fp32Machine();
    config.array_rows = 32 << random.Below(2);
    config.array_columns = 4;
    config.weight_rows_per_cycle = config.array_rows;
    config.weight_buffer_words = config.array_rows * 4;
    config.input_buffer_words = 256;
    config.memory_latency = kLeastMemoryLatency;
    config.vector_stage_latency = 1;
    config.input_port_bytes = kLeastPort;
    config.weight_port_bytes = config.output_port_bytes = kMostPort;
    const auto draw = [&](int64_t low, int64_t high) {
      return static_cast<int32_t>(random.Between(low, high));
    };
    Instruction in = Product(1, draw(8, 64), draw(1, 4));
    Convolution& c = in.convolution;
    c.kernel_y = draw(1, 2);
    c.kernel_x = draw(1, 2);
    c.stride_y = draw(1, 3);
    c.stride_x = draw(1, 3);
    c.dilation_y = draw(1, 2);
    c.dilation_x = draw(1, 2);
    c.pad_top = draw(0, 2);
    c.pad_left = draw(0, 2);
    c.out_height = draw(1, 8);
    c.out_width = draw(1, 8);
    c.height = std::max(
        1, (c.out_height - 1) * c.stride_y + (c.kernel_y - 1) * c.dilation_y + 1 - c.pad_top);
    c.width = std::max(
        1, (c.out_width - 1) * c.stride_x + (c.kernel_x - 1) * c.dilation_x + 1 - c.pad_left);
    c.input_column_stride = c.channels;
    c.input_row_stride = int64_t{c.width} * c.channels;
    in.vector.outer = {1, c.out_height, c.out_width, 1};
    in.vector.output.outer_stride = {0, int64_t{c.out_width} * c.out_channels, c.out_channels, 0};
    std::string from;
    (void)LowerBound(in, config, &from);
    by_inputs += from == "memory traffic";
    ExpectBoundsHold(in, config);
    if (HasFailure()) return;
  }
  EXPECT_GT(by_inputs, 10);
}

// Wide input ports: a beat brings several words into the depthwise unit's banks.
TEST(SystolicBounds, HoldWhereABeatBringsSeveralWords) {
  Random random(75);
  for (int i = 0; i < 40; ++i) {
    Config config = Fp32Machine();
    config.array_rows = config.array_columns = 8;
    config.depthwise_words_per_cycle = 2 << random.Below(4);
    config.depthwise_multipliers = 9;
    config.input_port_bytes = config.weight_port_bytes = config.operand_port_bytes =
        config.output_port_bytes = kMostPort;
    config.memory_latency = kLeastMemoryLatency;
    config.vector_stage_latency = 1;
    Instruction in = Product(1, 8, 8);
    in.opcode = Opcode::kDepthwise;
    Convolution& c = in.convolution;
    c.channels = c.out_channels = 8 * static_cast<int32_t>(random.Between(1, 2));
    c.kernel_y = c.kernel_x = 3;
    c.stride_y = c.stride_x = 2;
    c.pad_top = c.pad_left = static_cast<int32_t>(random.Between(0, 1));
    c.out_height = static_cast<int32_t>(random.Between(2, 10));
    c.out_width = static_cast<int32_t>(random.Between(2, 10));
    c.height = 2 * c.out_height;
    c.width = 2 * c.out_width;
    c.input_column_stride = c.channels;
    c.input_row_stride = int64_t{c.width} * c.channels;
    in.vector.outer = {1, c.out_height, c.out_width, 1};
    in.vector.length = c.channels;
    in.vector.output.outer_stride = {0, int64_t{c.out_width} * c.channels, c.channels, 0};
    ExpectBoundsHold(in, config);
    if (HasFailure()) return;
  }
}

// Drains that wait for operands with a beat an element: the last word's output is in memory before
// its slot is over.
TEST(SystolicBounds, HoldWhereDrainsReadScatteredOperands) {
  Random random(76);
  for (int i = 0; i < 60; ++i) {
    Config config = Fp32Machine();
    config.array_rows = 8;
    config.array_columns = 8 << random.Below(3);
    config.memory_latency = static_cast<int>(random.Between(kLeastMemoryLatency, 12));
    config.vector_stage_latency = 1;
    config.operand_buffer_words = kMostOperandBuffer;
    config.input_port_bytes = config.weight_port_bytes = config.output_port_bytes = kMostPort;
    config.operand_port_bytes = kLeastPort;
    const auto pixels = static_cast<int32_t>(random.Between(1, 6));
    const auto outputs = static_cast<int32_t>(random.Between(1, 2 * config.array_columns));
    Instruction in = Product(pixels, static_cast<int32_t>(random.Between(1, 16)), outputs);
    Stream residual;
    residual.element = Element::kFloat32;
    residual.element_stride = 64;
    residual.outer_stride = {0, 0, int64_t{64} * outputs, 0};
    in.vector.operands = {residual};
    in.vector.passes[0].stages = {{.op = StageOp::kAdd, .a = Argument::kOperand0}};
    ExpectBoundsHold(in, config);
    if (HasFailure()) return;
  }
}

// By hand: one pixel, one tile. The bound of the array is what the machine cannot avoid: the
// weights come, are shifted in (32 cycles), one pass of one cycle, and the way out. A second load
// does not follow.
TEST(SystolicBounds, OneTileOfATallArrayPaysForOneLoad) {
  Config config = Fp32Machine();
  config.array_rows = 32;
  config.array_columns = 4;
  config.input_buffer_words = 64;
  config.memory_latency = kLeastMemoryLatency;
  const Instruction in = Product(1, 32, 4);
  const int64_t best = BestOfAllTilings(in, config);
  // Latency, 32 words of 4 bytes a beat each, the load, the pass.
  EXPECT_GE(best, config.memory_latency + 32 + 32 + 1);
  EXPECT_LT(best, config.memory_latency + 32 + 2 * 32 + SettleCycles(in, config) +
                      config.memory_latency + PipelineDepth(in.vector, config));
}

// A vector program of five axes: four outer loops and the innermost one. `sizes` and `strides` by
// axis.
struct Axes {
  std::array<int32_t, kOuterLoops + 1> sizes;
  std::vector<std::array<int64_t, kOuterLoops + 1>> strides;  // of each operand, the output last
};

// The same program with its axes in another order.
Instruction InOrder(const Instruction& in, const Axes& axes,
                    const std::array<size_t, kOuterLoops + 1>& order) {
  Instruction turned = in;
  VectorProgram& v = turned.vector;
  const auto place = [&](const std::array<int64_t, kOuterLoops + 1>& strides, Stream* stream) {
    for (size_t i = 0; i < kOuterLoops; ++i) stream->outer_stride[i] = strides[order[i]];
    stream->element_stride = strides[order[kOuterLoops]];
  };
  for (size_t i = 0; i < kOuterLoops; ++i) v.outer[i] = axes.sizes[order[i]];
  v.length = axes.sizes[order[kOuterLoops]];
  for (size_t i = 0; i < v.operands.size(); ++i) place(axes.strides[i], &v.operands[i]);
  place(axes.strides.back(), &v.output);
  return turned;
}

Element RandomElement(Random& random) {
  constexpr Element kElements[] = {Element::kInt8, Element::kInt16, Element::kInt32,
                                   Element::kFloat32};
  return kElements[random.Below(std::size(kElements))];
}

// Elementwise programs whose operands are broadcast along some axes, in every order of the axes:
// the bound of each order holds for all of them.
TEST(SystolicBounds, HoldForEveryOrderOfLoops) {
  Random random(73);
  int broadcast_lengths = 0;
  for (int i = 0; i < 60; ++i) {
    Config config = Fp32Machine();
    config.array_columns = 1 << random.Below(5);
    config.memory_latency = kLeastMemoryLatency;
    config.vector_stage_latency = 1;
    config.operand_port_bytes = 1 << (3 + random.Below(5));
    config.output_port_bytes = 1 << (3 + random.Below(5));
    Axes axes{{1, 1, 1, 1, 1}, {}};
    for (int32_t& size : axes.sizes)
      size = static_cast<int32_t>(random.Below(2) == 0 ? 1 : 1 + random.Below(6));
    axes.sizes[kOuterLoops] = static_cast<int32_t>(1 + random.Below(40));
    Instruction in;
    in.opcode = Opcode::kVector;
    VectorProgram& v = in.vector;
    const size_t operands = 1 + random.Below(2);
    uint64_t base = 0;
    for (size_t o = 0; o <= operands; ++o) {
      Stream stream;
      stream.element = RandomElement(random);
      stream.base = base;
      std::array<int64_t, kOuterLoops + 1> strides{};
      int64_t stride = BytesOf(stream.element, config);
      for (size_t axis = kOuterLoops + 1; axis-- > 0;) {
        if (o < operands && random.Below(2) == 0) continue;  // broadcast
        strides[axis] = stride;
        stride *= axes.sizes[axis];
      }
      axes.strides.push_back(strides);
      base += static_cast<uint64_t>(stride + 127) / 128 * 128;
      (o < operands ? v.operands.emplace_back() : v.output) = stream;
    }
    Pass pass;
    pass.to_memory = true;
    if (operands == 2) pass.stages.push_back({.op = StageOp::kAdd, .a = Argument::kOperand1});
    v.passes = {pass};

    std::array<size_t, kOuterLoops + 1> order;
    std::iota(order.begin(), order.end(), 0);
    int64_t best = std::numeric_limits<int64_t>::max();
    double greatest_bound = 0;
    std::string from;
    do {
      const Instruction turned = InOrder(in, axes, order);
      best = std::min(best, EstimateCycles(turned, config));
      greatest_bound = std::max(greatest_bound, LowerBound(turned, config, &from));
      broadcast_lengths +=
          turned.vector.length > 1 && turned.vector.operands[0].element_stride == 0;
    } while (std::next_permutation(order.begin(), order.end()));
    ASSERT_LE(greatest_bound, static_cast<double>(best) * (1 + 1e-12)) << from << "\n"
                                                                       << Print(in, config);
  }
  EXPECT_GT(broadcast_lengths, 100);
}

// By hand, on 16 lanes: an fp32 operand that is the same for a whole row takes one beat of the
// operand port a word and not four.
TEST(SystolicBounds, ABroadcastWordIsOneBeat) {
  Config config = Fp32Machine();
  config.memory_latency = kLeastMemoryLatency;
  Instruction in;
  in.opcode = Opcode::kVector;
  VectorProgram& v = in.vector;
  v.outer = {1, 1, 8, 1};
  v.length = 64;
  v.operands = {Stream{}};
  v.operands[0].element = Element::kFloat32;
  v.operands[0].outer_stride = {0, 0, 4, 0};
  v.output.element_stride = 1;
  v.output.outer_stride = {0, 0, 64, 0};
  v.passes = {Pass{}};
  v.passes[0].to_memory = true;
  std::string from;
  EXPECT_EQ(LowerBound(in, config, &from), 8 * 64 / 16);
  EXPECT_EQ(from, "vector passes");
  EXPECT_GE(EstimateCycles(in, config), 8 * 64 / 16);
  EXPECT_LT(EstimateCycles(in, config), 2 * 8 * 64 / 16 + 100);
  // Along a loop the same: some order of the loops makes a row of it.
  v.operands[0].outer_stride = {0, 0, 0, 0};
  v.operands[0].element_stride = 4;
  EXPECT_EQ(LowerBound(in, config, &from), 8 * 64 / 16);
  // Nothing is broadcast: 4 beats a word.
  v.operands[0].outer_stride = {0, 0, 256, 0};
  EXPECT_EQ(LowerBound(in, config, &from), 8 * 64 / 4);
  EXPECT_EQ(from, "memory traffic");
}

}  // namespace
}  // namespace kiln::systolic
