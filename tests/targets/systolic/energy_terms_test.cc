// Every term of a program's energy, and every on-chip memory, against counts by hand on a machine
// of 4 x 4.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kiln/hardware/energy.h"
#include "kiln/targets/systolic/cost/cost.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::systolic {
namespace {

// int8 operands, sums of int32.
Config EnergyConfig() {
  Config c = Fp32Machine();
  c.name = "small";
  c.array_rows = c.array_columns = 4;
  c.input_buffer_words = 64;
  c.weight_buffer_words = 32;
  c.accumulation_buffer_words = c.parameter_buffer_words = 16;
  c.accumulation_buffer_banks = 2;
  c.depthwise_multipliers = 3;
  c.depthwise_buffer_words = 128;
  c.vector_row_buffer_words = 8;
  c.operand_buffer_words = 16;
  c.input_port_bytes = c.weight_port_bytes = c.operand_port_bytes = c.output_port_bytes = 8;
  return c;
}

Pass FromAccumulators() {
  Pass pass;
  pass.source = Source::kAccumulator;
  pass.to_memory = true;
  return pass;
}

// Three pixels of 6 channels times weights of 6 x 5, all in one tile: two row tiles by two column
// tiles.
Instruction Product() {
  Instruction in;
  in.opcode = Opcode::kMatrix;
  Convolution& c = in.convolution;
  c.width = c.out_width = 3;
  c.channels = 6;
  c.out_channels = 5;
  c.input_column_stride = 6;
  c.input_row_stride = 18;
  in.tiling.tile_width = 3;
  in.tiling.columns_per_block = 2;
  in.tiling.groups_per_bank = 2;
  in.tiling.weight_tiles_per_bank = 4;
  VectorProgram& v = in.vector;
  v.outer = {1, 1, 3, 1};
  v.length = 5;
  v.output.element_stride = 1;
  v.output.outer_stride = {0, 0, 5, 0};
  v.passes = {FromAccumulators()};
  return in;
}

// Six channels at 4 x 1 pixels with taps 3 x 1 and stride 1, without padding: 2 x 1 outputs, two
// column tiles.
Instruction Depthwise() {
  Instruction in;
  in.opcode = Opcode::kDepthwise;
  Convolution& c = in.convolution;
  c.height = 4;
  c.out_height = 2;
  c.kernel_y = 3;
  c.channels = c.out_channels = 6;
  c.input_column_stride = c.input_row_stride = 6;
  in.tiling.tile_height = 2;
  VectorProgram& v = in.vector;
  v.outer = {1, 2, 1, 1};
  v.length = 6;
  v.output.element_stride = 1;
  v.output.outer_stride = {0, 6, 6, 0};
  v.passes = {FromAccumulators()};
  return in;
}

// Two rows of 6 fp32 elements less their own maximum, times a number, as int8: two passes, of which
// the first keeps the row.
Instruction TwoPasses() {
  Instruction in;
  in.opcode = Opcode::kVector;
  VectorProgram& v = in.vector;
  v.outer = {1, 1, 2, 1};
  v.length = 6;
  v.operands = {Stream{}};
  v.operands[0].element = Element::kFloat32;
  v.operands[0].element_stride = 4;
  v.operands[0].outer_stride = {0, 0, 24, 0};
  v.output.element_stride = 1;
  v.output.outer_stride = {0, 0, 6, 0};
  Pass first, second;
  first.reduce = Reduce::kMax;
  first.to_row_buffer = true;
  first.scalar_stages = {{.op = StageOp::kMultiply, .a = Argument::kImmediate, .immediate_a = 1}};
  second.source = Source::kRowBuffer;
  second.stages = {{.op = StageOp::kSubtract, .a = Argument::kScalar0},
                   {.op = StageOp::kFunction},
                   {.op = StageOp::kMultiply, .a = Argument::kImmediate, .immediate_a = 2}};
  second.to_memory = true;
  v.passes = {first, second};
  return in;
}

// One row of 2 x 2 windows over a 2 x 4 image of 3 channels in int8: two outputs of four places
// each.
Instruction Pool() {
  Instruction in;
  in.opcode = Opcode::kVector;
  VectorProgram& v = in.vector;
  v.outer = {1, 1, 2, 1};
  v.length = 3;
  v.operands = {Stream{}};
  v.operands[0].element_stride = 1;
  v.output.element_stride = 1;
  v.output.outer_stride = {0, 0, 3, 0};
  v.window = {.combine = Combine::kMax, .window_y = 2, .window_x = 2, .stride_y = 2, .stride_x = 2};
  v.window.height = 2;
  v.window.width = 4;
  v.window.row_stride = 12;
  v.window.column_stride = 3;
  v.passes = {Pass{}};
  v.passes[0].to_memory = true;
  return in;
}

using Counts = std::map<std::string, int64_t>;

// "unit: event", and how often.
Counts CountsOf(const Instruction& in, const Config& config) {
  EXPECT_TRUE(CheckInstruction(in, config).ok())
      << CheckInstruction(in, config) << Print(in, config);
  const auto energy = EnergyOf(CountEvents({&in, 1}, config), config, 45);
  EXPECT_TRUE(energy.ok()) << energy.status();
  Counts counts;
  for (const EnergyPart& part : energy->parts) counts[part.unit + ": " + part.event] = part.count;
  return counts;
}

int64_t ProgramBytes(const Instruction& in, const Config& config) {
  return static_cast<int64_t>(Encode(in, config).size());
}

TEST(SystolicEnergyTerms, OfAProduct) {
  const Config config = EnergyConfig();
  const Instruction in = Product();
  // 4 passes of 3 pixels. A cycle moves 16 activations of 8 bits and 16 sums of 32, and the skew: 0
  // + 1 + 2 + 3 places of both.
  constexpr int64_t kPasses = 4, kPixels = 3, kCycleBits = 16 * (8 + 32) + 6 * 8 + 6 * 32;
  const int64_t words = 2 * kPixels;  // of 4 accumulators, two column tiles
  EXPECT_EQ(CountsOf(in, config),
            (Counts{
                {"array: multiply-accumulates", kPixels * 6 * 5},
                // A weight goes into a shadow register and from there into the array.
                {"array: register bits", kPasses * kPixels * kCycleBits + kPasses * 16 * 2 * 8},
                // Words of 4 codes: written once for each of two row tiles, read once a pass.
                {"input buffer: bits read and written", (2 * kPixels + kPasses * kPixels) * 4 * 8},
                {"weight buffer: bits read and written", 2 * kPasses * 16 * 8},
                {"accumulators: accumulations", kPasses * kPixels * 4},
                // Every pass writes; the second row tile's passes read what the first ones' wrote;
                // the vector unit reads.
                {"accumulators: bits read and written",
                 (kPasses * kPixels + 2 * kPixels + words) * 4 * 32},
                // Three arrays of 32 bits: 8 columns written, 4 columns read with each word.
                {"channel parameters: bits read and written", (8 + words * 4) * 96},
                {"vector unit: multiply-adds", kPixels * 5},
                {"vector unit: multiplications", kPixels * 5},  // to codes
                {"vector unit: register bits", words * 4 * 32 * PipelineDepth(in.vector, config)},
                {"outer memory: bytes",
                 kPixels * 6 + kPasses * 16 + 3 * 4 * 5 + kPixels * 5 + ProgramBytes(in, config)},
            }));
}

TEST(SystolicEnergyTerms, OfADepthwiseLayer) {
  const Config config = EnergyConfig();
  const Instruction in = Depthwise();
  constexpr int64_t kTiles = 2, kPixels = 2, kTaps = 3;
  EXPECT_EQ(
      CountsOf(in, config),
      (Counts{
          {"depthwise unit: multiply-accumulates", kPixels * kTaps * 6},
          // Four places of 4 codes a tile are written; each output reads three.
          {"depthwise unit: input bits read and written", kTiles * (4 + kPixels * kTaps) * 4 * 8},
          {"depthwise unit: weight bits read and written",
           kTiles * (kTaps + kPixels * kTaps) * 4 * 8},
          {"accumulators: bits read and written", 2 * kTiles * kPixels * 4 * 32},
          {"channel parameters: bits read and written", (8 + kTiles * kPixels * 4) * 96},
          {"vector unit: multiply-adds", kPixels * 6},
          {"vector unit: multiplications", kPixels * 6},
          {"vector unit: register bits",
           kTiles * kPixels * 4 * 32 * PipelineDepth(in.vector, config)},
          {"outer memory: bytes",
           4 * 6 + kTiles * kTaps * 4 + 3 * 4 * 6 + kPixels * 6 + ProgramBytes(in, config)},
      }));
}

TEST(SystolicEnergyTerms, OfAProgramOfTwoPasses) {
  const Config config = EnergyConfig();
  const Instruction in = TwoPasses();
  constexpr int64_t kRows = 2, kElements = 6, kWords = 2;  // of 4 lanes, a row
  EXPECT_EQ(CountsOf(in, config),
            (Counts{
                // An element to its lane's maximum, then 3 joins of 4 lanes.
                {"vector unit: comparisons", kRows * (kElements + 3)},
                {"vector unit: additions", kRows * kElements},
                {"vector unit: functions", kRows * kElements},
                // The stage, the code, and one on the row's scalar.
                {"vector unit: multiplications", kRows * (2 * kElements + 1)},
                // The first pass moves the lane value and its operand, the second the lane value.
                {"vector unit: register bits",
                 kRows * kWords * 4 * 32 * (2 + 1) * PipelineDepth(in.vector, config)},
                {"vector unit: row buffer bits read and written", 2 * kRows * kWords * 4 * 32},
                {"vector unit: operand buffer bits read and written", 2 * kRows * kWords * 4 * 32},
                {"outer memory: bytes", kRows * kElements * (4 + 1) + ProgramBytes(in, config)},
            }));
}

TEST(SystolicEnergyTerms, OfAPool) {
  const Config config = EnergyConfig();
  const Instruction in = Pool();
  constexpr int64_t kOutputs = 2, kPlaces = 4, kChannels = 3;
  EXPECT_EQ(
      CountsOf(in, config),
      (Counts{
          {"vector unit: comparisons", kOutputs * kPlaces * kChannels},
          // Every place from its code, every output to one.
          {"vector unit: multiplications", kOutputs * (kPlaces + 1) * kChannels},
          {"vector unit: register bits", kOutputs * 4 * 32 * 2 * PipelineDepth(in.vector, config)},
          // What the window's places amount to.
          {"vector unit: operand buffer bits read and written", 2 * kOutputs * 4 * 32},
          {"outer memory: bytes", kOutputs * (kPlaces + 1) * kChannels + ProgramBytes(in, config)},
      }));
}

// Numbers of a short float have 16 bits.
TEST(SystolicEnergyTerms, NarrowNumbersHaveFewerBits) {
  Config config = EnergyConfig();
  const Counts wide = CountsOf(TwoPasses(), config);
  config.vector_format = *FindFormat("bf16.flush");
  Instruction in = TwoPasses();
  const Counts narrow = CountsOf(in, config);
  for (const char* event :
       {"vector unit: register bits", "vector unit: row buffer bits read and written",
        "vector unit: operand buffer bits read and written"})
    EXPECT_EQ(2 * narrow.at(event), wide.at(event)) << event;
}

// A broadcast operand comes once a word.
TEST(SystolicEnergyTerms, BroadcastOperandsComeOnceAWord) {
  const Config config = EnergyConfig();
  Instruction in = Pool();
  VectorProgram& v = in.vector;
  v.window = Window{};
  v.length = 6;
  v.operands[0].outer_stride = {0, 0, 1, 0};
  v.operands[0].element_stride = 0;
  v.output.outer_stride = {0, 0, 6, 0};
  EXPECT_EQ(CountsOf(in, config)["outer memory: bytes"], 2 * 2 + 2 * 6 + ProgramBytes(in, config));
}

// Picojoules of one event at 45 nm, from the formulas of hardware/energy.h and the sizes of the
// memories.
TEST(SystolicEnergyTerms, OfSingleEvents) {
  const Config config = EnergyConfig();
  const Format int8 = *FindFormat("int8"), int32 = *FindFormat("int32"), fp32 = *FindFormat("fp32");
  std::map<std::string, double> each;
  for (const Instruction& in : {Product(), Depthwise(), TwoPasses()}) {
    const auto energy = EnergyOf(CountEvents({&in, 1}, config), config, 45);
    ASSERT_TRUE(energy.ok()) << energy.status();
    for (const EnergyPart& part : energy->parts)
      each[part.unit + ": " + part.event] = part.picojoules_each;
  }
  const double accumulate = hardware::MultiplyEnergy(int8, int8) + hardware::AddEnergy(int32);
  const double multiply = hardware::MultiplyEnergy(fp32, fp32), add = hardware::AddEnergy(fp32);
  const auto memory = [](int64_t bits) { return hardware::MemoryEnergyPerBit(bits); };
  const std::map<std::string, double> expected = {
      {"array: multiply-accumulates", accumulate},
      {"depthwise unit: multiply-accumulates", accumulate},
      {"array: register bits", hardware::RegisterEnergyPerBit()},
      {"vector unit: register bits", hardware::RegisterEnergyPerBit()},
      {"accumulators: accumulations", hardware::AddEnergy(int32)},
      {"input buffer: bits read and written", memory(2 * 64 * 4 * 8)},  // two banks in one memory
      {"weight buffer: bits read and written",
       memory(2 * (32 / 4) * 4 * 8)},  // a memory a column: both banks' tiles
      {"accumulators: bits read and written", memory(16 * 4 * 32)},  // a memory a bank
      {"depthwise unit: input bits read and written", memory(2 * 128 * 4 * 8)},
      {"depthwise unit: weight bits read and written",
       memory(2 * 11 * 4 * 8)},  // ceil(32 / 3) taps a multiplier
      {"channel parameters: bits read and written", memory(16 * 4 * 32)},
      {"vector unit: row buffer bits read and written", memory(8 * 4 * 32)},
      // Words that wait, and those of the cycles until they are read.
      {"vector unit: operand buffer bits read and written", memory((16 + 4) * 4 * 32)},
      {"vector unit: multiply-adds", multiply + add},
      {"vector unit: multiplications", multiply},
      {"vector unit: additions", add},
      {"vector unit: functions", 2 * (multiply + add)},
      {"vector unit: comparisons", hardware::AddEnergy(int32)},
      {"outer memory: bytes", 162.5},
  };
  ASSERT_EQ(each.size(), expected.size());
  for (const auto& [event, picojoules] : expected)
    EXPECT_DOUBLE_EQ(each[event], picojoules) << event;
}

// On-chip memories, unit by unit.
TEST(SystolicAreaTerms, MemoriesOfEveryUnit) {
  const auto cost = CostOf(EnergyConfig(), 45);
  ASSERT_TRUE(cost.ok());
  std::map<std::string, int64_t> bits;
  int64_t sum = 0;
  for (const UnitArea& unit : cost->units) {
    if (unit.memory_bits == 0) continue;
    bits[unit.unit] = unit.memory_bits;
    sum += unit.memory_bits;
    EXPECT_GT(unit.memory, 0);
  }
  EXPECT_EQ(
      bits,
      (std::map<std::string, int64_t>{
          {"input buffer", 2 * 64 * 4 * 8},
          {"weight buffer", 2 * 32 * 4 * 8},
          {"accumulators", 2 * 16 * 4 * 32},
          {"depthwise unit", 3 * (2 * 128 * 4 * 8) + 3 * (2 * 11 * 4 * 8)},  // a copy a multiplier
          {"channel parameters", 3 * 16 * 4 * 32},
          // 20 requests in flight: a flag, an offset within 8 bytes, up to two beats, a tag.
          {"input fetch", 20 * (1 + 3 + 2 + 24)},
          {"weight fetch", 20 * (1 + 3 + 2 + 12)},
          // Rows; words of three operands, with a factor; what is known of 16 waiting words and of
          // four until their last operands are read, with lengths of 18, and of 57 words in the
          // lanes; configurations of twelve stages and as many scalar ones, for twelve programs of
          // four passes; the programs' output streams; requests of up to three beats.
          {"vector unit", 8 * 4 * 32 + 3 * 20 * 4 * 32 + 20 * 32 + 20 * 125 + 18 * 32 + 57 * 80 +
                              12 * 32 + 2 * 12 * 12 * 4 * (16 + 2 * 32) + 12 * 134 +
                              20 * (1 + 3 + 2 + 24)},
          {"command processor",
           (16 + 16) * 128 + 64 * 48},  // words of the program that are read ahead, counters
      }));
  EXPECT_EQ(cost->on_chip_memory_bits, sum);
  EXPECT_EQ(cost->multipliers, 16 + 4 * 3);
}

}  // namespace
}  // namespace kiln::systolic
