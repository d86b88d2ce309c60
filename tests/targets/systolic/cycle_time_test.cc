// Time of single instructions: the event-driven count against the closed form, and against hand
// arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "kiln/support/file.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

Config ConfigOfArray(int rows, int columns) {
  Config config = Fp32Machine();
  config.name = "test";
  config.array_rows = rows;
  config.array_columns = columns;
  config.input_format = *FindFormat("int8");
  config.weight_format = *FindFormat("int8");
  config.vector_format = *FindFormat("fp32");
  return config;
}

// A convolution on made-up addresses in a memory of kMemoryBytes; every byte it touches lies
// inside.
constexpr size_t kMemoryBytes = size_t{8} << 20;

Instruction Conv(const Config& config, int32_t height, int32_t width, int32_t channels,
                 int32_t kernel, int32_t stride, int32_t out_channels) {
  Instruction in;
  in.opcode = Opcode::kMatrix;
  in.wait_distance = 1;
  Convolution& c = in.convolution;
  c.height = height;
  c.width = width;
  c.channels = channels;
  c.kernel_y = c.kernel_x = kernel;
  c.stride_y = c.stride_x = stride;
  c.pad_top = c.pad_left = kernel / 2;
  c.out_height = (height + 2 * c.pad_top - kernel) / stride + 1;
  c.out_width = (width + 2 * c.pad_left - kernel) / stride + 1;
  c.out_channels = out_channels;
  c.input_base = 0;
  c.input_column_stride = channels;
  c.input_row_stride = int64_t{width} * channels;
  c.input_batch_stride = int64_t{height} * width * channels;
  c.weight_base = 2 << 20;
  c.parameters.base = 6 << 20;
  VectorProgram& v = in.vector;
  v.outer = {1, c.out_height, c.out_width, 1};
  v.length = out_channels;
  v.passes = {Pass{}};
  v.passes[0].source = Source::kAccumulator;
  v.passes[0].to_memory = true;
  v.output.base = 4 << 20;
  v.output.element = Element::kInt8;
  v.output.element_stride = 1;
  v.output.outer_stride = {0, int64_t{c.out_width} * out_channels, out_channels, 0};
  (void)config;
  return in;
}

// The largest square-ish tile that fits, everything else one at a time.
Tiling TilingFor(int32_t tile_height, int32_t tile_width) {
  Tiling tiling;
  tiling.tile_height = tile_height;
  tiling.tile_width = tile_width;
  return tiling;
}

int64_t EventCycles(const Config& config, const Instruction& in) {
  std::vector<uint8_t> memory(kMemoryBytes, 0);
  const auto trace = RunInstructions(config, std::span(&in, 1), memory);
  EXPECT_TRUE(trace.ok()) << trace.status();
  return trace.ok() ? trace->cycles : -1;
}

int64_t ClosedForm(const Config& config, const Instruction& in) {
  return ProgramCycles(in, config);
}

// A matrix product of [M, 16] by [16, 16] on a 16x16 array, one tile: fill, one pass, drain,
// nothing overlaps.
//   inputs    M words, one a cycle, the first after 2, there after L more       2 + M + L
//   the pass  M cycles, the last sums settle R + C cycles later                 M + 32
//   drain     M words, the pipeline's depth without stages, the write's latency M + 8 + L
// Weights (16 fetch + L + 16 load) and parameters (12 + L) are there earlier when M > 16.
TEST(CycleTime, OneTileMatrixProductIsFillPassDrain) {
  const Config config = ConfigOfArray(16, 16);
  for (const int32_t m : {32, 100, 1000}) {
    Instruction in = Conv(config, 1, m, 16, 1, 1, 16);
    in.tiling = TilingFor(1, m);
    const int64_t by_hand = 2 + 3 * m + 2 * config.memory_latency + 32 + 8;
    EXPECT_EQ(EstimateCycles(in, config), by_hand) << m;
    EXPECT_EQ(EventCycles(config, in), ClosedForm(config, in)) << m;
  }
}

// A 3x3 convolution of 16 channels over many tiles is bound by its 9 passes a tile: the first fill
// and the last drain stand out, the rest is the ideal number of cycles.
TEST(CycleTime, ConvolutionOfManyTilesIsBoundByPasses) {
  const Config config = ConfigOfArray(16, 16);
  Instruction in = Conv(config, 32, 32, 16, 3, 1, 16);
  in.tiling = TilingFor(8, 16);
  const int64_t ideal = 32 * 32 * 9;
  const int64_t fill = 2 + 10 * 18 + config.memory_latency;
  const int64_t drain = 8 * 16 + 32 + 8 + config.memory_latency;
  EXPECT_EQ(EstimateCycles(in, config), fill + ideal + drain);
  EXPECT_EQ(EventCycles(config, in), ClosedForm(config, in));
}

// The columns of a row of a Markdown table, without the spaces around them.
std::vector<std::string> ColumnsOf(const std::string& row) {
  std::vector<std::string> columns;
  std::istringstream in(row.substr(1));
  for (std::string column; std::getline(in, column, '|');) {
    const size_t first = column.find_first_not_of(' '), last = column.find_last_not_of(' ');
    columns.push_back(first == std::string::npos ? "" : column.substr(first, last - first + 1));
  }
  return columns;
}

std::vector<int32_t> Sizes(const std::string& text) {
  std::vector<int32_t> sizes;
  std::istringstream in(text);
  for (std::string size; std::getline(in, size, 'x');) sizes.push_back(std::stoi(size));
  return sizes;
}

// The worked examples of docs/systolic.md were counted by hand; both counts must give the same.
TEST(CycleTime, WorkedExamplesOfTheManual) {
  const auto manual = ReadFile("docs/systolic.md");
  ASSERT_TRUE(manual.ok()) << manual.status();
  std::istringstream lines(*manual);
  const Config config = ConfigOfArray(16, 16);
  int examples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| matrix | ") && !line.starts_with("| depthwise | ")) continue;
    SCOPED_TRACE(line);
    const std::vector<std::string> row = ColumnsOf(line);
    ASSERT_EQ(row.size(), 10u);
    const std::vector<int32_t> input = Sizes(row[1]), tile = Sizes(row[6]);
    ASSERT_EQ(input.size(), 3u);
    ASSERT_EQ(tile.size(), 2u);
    Instruction in = Conv(config, input[0], input[1], input[2], std::stoi(row[2]),
                          std::stoi(row[3]), std::stoi(row[4]));
    if (row[0] == "depthwise") in.opcode = Opcode::kDepthwise;
    in.tiling = TilingFor(tile[0], tile[1]);
    in.tiling.packing = row[5] == "taps" ? Packing::kTaps : Packing::kChannels;
    in.tiling.groups_per_bank = std::stoi(row[7]);
    in.tiling.weight_tiles_per_bank = std::stoi(row[8]);
    EXPECT_EQ(EstimateCycles(in, config), std::stoi(row[9]));
    EXPECT_EQ(EventCycles(config, in), ClosedForm(config, in));
    ++examples;
  }
  EXPECT_EQ(examples, 9);
}

// Units never work and wait for longer than the run lasts, and move no more bytes than their ports
// can.
TEST(CycleTime, TracesFitTheRunAndThePorts) {
  Random random(23);
  for (int i = 0; i < 300; ++i) {
    Config config = RandomConfig(random);
    const auto opcode = static_cast<Opcode>(1 + i % 3);
    if (opcode == Opcode::kDepthwise && config.depthwise_multipliers == 0)
      config.depthwise_multipliers = 2;
    RandomCase c = RandomInstruction(random, config, opcode);
    const auto trace = RunInstructions(config, std::span(&c.instruction, 1), c.memory);
    ASSERT_TRUE(trace.ok()) << trace.status();
    std::vector<int64_t> of_spans(trace->units.size(), 0);
    for (const Span& span : trace->spans) {
      EXPECT_LE(0, span.begin);
      EXPECT_LT(span.begin, span.end);
      EXPECT_LE(span.end, trace->cycles);
      of_spans[static_cast<size_t>(span.unit)] += span.end - span.begin;
    }
    int64_t written = 0;
    for (size_t u = 0; u < trace->units.size(); ++u) {
      const UnitTrace& unit = trace->units[u];
      SCOPED_TRACE(unit.name + "\n" + Print(c.instruction, config));
      EXPECT_EQ(unit.busy_cycles, of_spans[u]);
      int64_t waited = 0;
      for (const auto& [cause, cycles] : unit.stall_cycles) {
        EXPECT_GT(cycles, 0) << cause;
        waited += cycles;
      }
      EXPECT_LE(unit.busy_cycles + waited, trace->cycles);
      const int port = unit.name == "input_fetch"    ? config.input_port_bytes
                       : unit.name == "weight_fetch" ? config.weight_port_bytes
                       : unit.name == "command"      ? kInstructionWordBytes
                                                     : config.operand_port_bytes;
      EXPECT_LE(unit.bytes_read, unit.busy_cycles * port);
      EXPECT_LE(unit.bytes_written, unit.busy_cycles * config.output_port_bytes);
      written += unit.bytes_written;
    }
    // Every element leaves exactly once.
    const VectorProgram& v = c.instruction.vector;
    int64_t elements = v.length;
    for (const int32_t count : v.outer) elements *= count;
    EXPECT_EQ(written, elements * BytesOf(v.output.element, config));
  }
}

// One output pixel: every pass waits for its weights, R cycles a tile through the load path.
TEST(CycleTime, MatrixVectorProductIsBoundByWeights) {
  const Config config = ConfigOfArray(16, 16);
  Instruction in = Conv(config, 1, 1, 256, 1, 1, 256);
  in.tiling = TilingFor(1, 1);
  in.tiling.groups_per_bank = 16;
  in.tiling.weight_tiles_per_bank = 1;
  EXPECT_EQ(EventCycles(config, in), ClosedForm(config, in));
  EXPECT_GE(EstimateCycles(in, config), 256 * 16);
  // Two tiles a bank hide the memory's latency better than one.
  Instruction wide = in;
  wide.tiling.weight_tiles_per_bank = 32;
  EXPECT_EQ(EventCycles(config, wide), ClosedForm(config, wide));
  EXPECT_LT(EstimateCycles(wide, config), EstimateCycles(in, config));
}

TEST(CycleTime, EventDrivenCountEqualsClosedFormOnRandomShapesAndTilings) {
  int checked = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const int sizes[] = {4, 8, 16};
    Config config = ConfigOfArray(sizes[random.Below(3)], sizes[random.Below(3)]);
    config.accumulation_buffer_banks = static_cast<int>(random.Between(1, 2));
    config.memory_latency = static_cast<int>(random.Between(kLeastMemoryLatency, 40));
    config.input_port_bytes = 1 << random.Between(3, 5);
    config.weight_port_bytes = 1 << random.Between(3, 5);
    config.operand_port_bytes = 1 << random.Between(3, 5);
    config.output_port_bytes = 1 << random.Between(3, 5);
    config.weight_rows_per_cycle = 1 << random.Below(3);
    config.depthwise_multipliers = static_cast<int>(random.Between(1, 9));
    const int64_t words = config.input_port_bytes / config.depthwise_word_bytes();
    config.depthwise_words_per_cycle =
        random.Below(2) == 0 || words == 0 ? 1 : static_cast<int>(words);

    const int32_t kernels[] = {1, 1, 2, 3, 3, 5};
    const int32_t kernel = kernels[random.Below(6)];
    const int32_t stride = static_cast<int32_t>(random.Between(1, 3));
    const bool depthwise = random.Below(4) == 0;
    const int32_t channels = static_cast<int32_t>(random.Between(1, 50));
    Instruction in =
        Conv(config, static_cast<int32_t>(random.Between(kernel, 24)),
             static_cast<int32_t>(random.Between(kernel, 24)), channels, kernel, stride,
             depthwise ? channels : static_cast<int32_t>(random.Between(1, 50)));
    if (depthwise) in.opcode = Opcode::kDepthwise;
    in.tiling.packing = !depthwise && random.Below(3) == 0 ? Packing::kTaps : Packing::kChannels;
    in.tiling.order = random.Below(2) == 0 ? Order::kInputOuter : Order::kWeightOuter;
    in.tiling.tile_height = static_cast<int32_t>(random.Between(1, in.convolution.out_height));
    in.tiling.tile_width = static_cast<int32_t>(random.Between(1, in.convolution.out_width));
    in.tiling.columns_per_block = depthwise ? 1 : static_cast<int32_t>(random.Between(1, 4));
    in.tiling.groups_per_bank = static_cast<int32_t>(random.Between(1, 4));
    if (depthwise) {
      const int32_t tiles = GeometryOf(in, config).column_tiles;
      in.tiling.groups_per_bank =
          in.tiling.order == Order::kInputOuter ? std::min(in.tiling.groups_per_bank, tiles) : 1;
    }
    in.tiling.weight_tiles_per_bank = depthwise ? 1 : static_cast<int32_t>(random.Between(1, 60));
    if (random.Below(3) == 0) {  // a residual operand
      VectorProgram& v = in.vector;
      v.operands = {v.output};
      v.operands[0].base = 5 << 20;
      v.operands[0].element_stride = random.Below(4) == 0 ? 0 : 1;
      Stage add;
      add.op = StageOp::kAdd;
      add.a = Argument::kOperand0;
      v.passes[0].stages = {add};
    }
    if (!CheckInstruction(in, config).ok()) continue;  // the tile does not fit the buffers
    ++checked;
    EXPECT_EQ(EventCycles(config, in), ClosedForm(config, in)) << "seed " << seed << "\n"
                                                               << Print(in, config);
  }
  EXPECT_GT(checked, 150);
}

TEST(CycleTime, VectorInstructionTakesItsWordsAndLatencies) {
  const Config config = ConfigOfArray(16, 16);
  Instruction in;
  in.opcode = Opcode::kVector;
  VectorProgram& v = in.vector;
  v.outer = {1, 1, 10, 1};
  v.length = 40;  // two whole words and one of 8 elements
  v.operands = {Stream{}};
  v.operands[0].element_stride = 1;
  v.operands[0].outer_stride = {0, 0, 48, 0};
  v.output = v.operands[0];
  v.output.base = 4096;
  v.passes = {Pass{}};
  v.passes[0].to_memory = true;
  // A cycle to list the first word; its operand's beat and latency, a cycle a word, the pipeline,
  // the last byte's latency.
  const int64_t latencies = 1 + 2 * config.memory_latency + 8;
  EXPECT_EQ(EstimateCycles(in, config), 1 + 10 * 3 + latencies);
  EXPECT_EQ(EventCycles(config, in), ClosedForm(config, in));
  // Rows that begin in the middle of a beat: the words of every other row cross into a second one,
  // but for the last.
  v.operands[0].outer_stride = {0, 0, 40, 0};
  EXPECT_EQ(EstimateCycles(in, config), 2 + 5 * 3 + 5 * (2 + 2 + 1) + latencies);
  EXPECT_EQ(EventCycles(config, in), ClosedForm(config, in));
  // Four bytes an element: the 16-byte port takes four beats for a word of 16, two for the word
  // of 8.
  v.operands[0].element = Element::kFloat32;
  v.operands[0].element_stride = 4;
  v.operands[0].outer_stride = {0, 0, 160, 0};
  // The last word has a slot of two cycles, in the first of which it is written.
  EXPECT_EQ(EstimateCycles(in, config), 4 + 10 * (4 + 4 + 2) + latencies - 1);
  EXPECT_EQ(EventCycles(config, in), ClosedForm(config, in));
}

// Softmax-like: three passes over rows of 40 elements, two of them reduced. Rows go in groups, so
// that a group pays the gaps once.
TEST(CycleTime, RowsOfSeveralPassesShareTheGaps) {
  Config config = ConfigOfArray(16, 16);
  Instruction in;
  in.opcode = Opcode::kVector;
  VectorProgram& v = in.vector;
  v.outer = {1, 1, 10, 1};
  v.length = 40;
  v.operands = {Stream{}};
  v.operands[0].element_stride = 1;
  v.operands[0].outer_stride = {0, 0, 48, 0};
  v.output = v.operands[0];
  v.output.base = 4096;
  v.passes.resize(3);
  v.passes[0].reduce = Reduce::kMax;
  v.passes[0].to_row_buffer = true;
  v.passes[1].source = Source::kRowBuffer;
  v.passes[1].reduce = Reduce::kSum;
  v.passes[1].into = 1;
  v.passes[2].source = Source::kRowBuffer;
  v.passes[2].to_memory = true;
  const int64_t depth = 2 * config.vector_stage_latency, tree = 4 * config.vector_stage_latency;
  const int64_t gaps = 3 * depth + 2 * tree, words = 10 * 3 * 3;
  for (const int rows : {1, 4, 8, 64}) {
    config.vector_rows_in_flight = rows;
    const int64_t groups = (10 + rows - 1) / rows;
    // A cycle to list the first word, and its operand's latency; the last byte has reached memory
    // while the last gap passes.
    const int64_t written = std::max<int64_t>(0, config.memory_latency - depth);
    EXPECT_EQ(EstimateCycles(in, config),
              1 + config.memory_latency + 1 + words + groups * gaps + depth + written)
        << rows;
    EXPECT_EQ(EventCycles(config, in), ClosedForm(config, in)) << rows;
  }
  config.vector_row_buffer_words = 7;  // two rows of three words
  EXPECT_EQ(EstimateCycles(in, config),
            1 + config.memory_latency + 1 + words + 5 * gaps + config.memory_latency);
}

// The next instruction's weights are fetched while this one runs, so two cost less than twice one;
// but not less than the work.
TEST(CycleTime, WeightsOfTheNextInstructionAreFetchedAhead) {
  const Config config = ConfigOfArray(16, 16);
  Instruction in = Conv(config, 16, 16, 32, 3, 1, 32);
  in.tiling = TilingFor(8, 16);
  in.tiling.weight_tiles_per_bank = 18;
  std::vector<uint8_t> memory(kMemoryBytes, 0);
  const std::vector<Instruction> two = {in, in};
  const auto trace = RunInstructions(config, two, memory);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_LE(trace->cycles, 2 * ClosedForm(config, in));
  EXPECT_GE(trace->cycles, 2 * int64_t{16 * 16 * 9 * 2 * 2});
  ASSERT_EQ(trace->kernels.size(), 2u);
  EXPECT_EQ(trace->kernels[0].begin, 0);
  EXPECT_EQ(trace->kernels[0].end, trace->kernels[1].begin);
  EXPECT_EQ(trace->kernels[1].end, trace->cycles);
}

}  // namespace
}  // namespace kiln::systolic
