// Durations of single steps against docs/systolic.md, worked out by hand: the closed form and the
// event-driven level share them, so that comparing the two cannot find a fault in one.
#include "kiln/targets/systolic/isa/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kiln/support/random.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::systolic {
namespace {

// Ports of different widths, so that one taken for another shows.
Config Machine() {
  Config config = Fp32Machine();
  config.array_rows = 16;
  config.array_columns = 8;
  config.weight_rows_per_cycle = 2;
  config.input_port_bytes = 8;
  config.weight_port_bytes = 32;
  config.operand_port_bytes = 16;
  config.output_port_bytes = 64;
  config.depthwise_multipliers = 4;
  return config;
}

// 3x3, stride 1, padding 1, over a dense 6x6 image.
Instruction Convolution3x3(int32_t channels, int32_t out_channels) {
  Instruction in;
  in.opcode = Opcode::kMatrix;
  Convolution& c = in.convolution;
  c.height = c.width = c.out_height = c.out_width = 6;
  c.channels = channels;
  c.out_channels = out_channels;
  c.kernel_y = c.kernel_x = 3;
  c.pad_top = c.pad_left = 1;
  c.input_column_stride = channels;
  c.input_row_stride = 6 * channels;
  in.tiling.tile_height = in.tiling.tile_width = 6;
  in.vector.length = out_channels;
  in.vector.passes = {Pass{}};
  in.vector.passes[0].source = Source::kAccumulator;
  in.vector.passes[0].to_memory = true;
  in.vector.output.element = Element::kInt8;
  in.vector.output.element_stride = 1;
  in.vector.output.outer_stride = {0, 6 * 64, 64, 0};
  return in;
}

TEST(StepTime, PaddingWordsTakeOneCycleAndOthersTheirBytes) {
  const Config config = Machine();
  Instruction in = Convolution3x3(/*channels=*/26, /*out_channels=*/8);
  const Geometry geometry = GeometryOf(in, config);
  const std::vector<Visit> visits = VisitsOf(in, config);
  ASSERT_EQ(visits.size(), 1u);
  // 8 x 8 words, 6 x 6 of them inside; 16 channels in the first group, 10 in the second, beats of 8
  // bytes. Pixels begin at even places of a beat, each of the four in every fourth pixel: 16 bytes
  // cross into a third beat from three of them, 10 bytes from one.
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[0], 0), 28 + 9 * (2 + 3 + 3 + 3));
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[0], 1), 28 + 9 * (2 + 2 + 2 + 2));
  in.convolution.input_base = 7;
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[0], 1), 28 + 9 * (3 + 2 + 2 + 2));
  // Pixels that begin with a beat.
  in.convolution.input_base = 0;
  in.convolution.input_column_stride = 32;
  in.convolution.input_row_stride = 6 * 32;
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[0], 0), 28 + 36 * 2);
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[0], 1), 28 + 36 * 2);
}

TEST(StepTime, PackedWordsTakeTheirRunsOfConsecutiveBytes) {
  const Config config = Machine();
  Instruction in = Convolution3x3(/*channels=*/3, /*out_channels=*/8);
  in.tiling.packing = Packing::kTaps;
  const Geometry geometry = GeometryOf(in, config);
  const Visit visit = VisitsOf(in, config)[0];
  // 27 entries in runs of 9 bytes, one a ky. The first 16 are the runs of ky 0 and 7 bytes of ky 1,
  // the other 11 two bytes of ky 1 and ky 2. Rows begin at multiples of 18 bytes, that is at even
  // places of a beat.
  const auto beats = [](int64_t first, int64_t last) {
    return last < first ? 1 : last / 8 - first / 8 + 1;
  };
  int64_t first_tile = 0, second_tile = 0;
  for (int64_t y = 0; y < 6; ++y) {
    for (int64_t x = 0; x < 6; ++x) {
      const int64_t left = 18 * y + std::max<int64_t>(0, 3 * x - 3);  // of row y
      const auto last = [&](int64_t row, int64_t entries) {
        return 18 * row + std::min<int64_t>(17, 3 * x - 4 + entries);
      };
      first_tile += (y > 0 ? beats(left - 18, last(y - 1, 9)) : 1) + beats(left, last(y, 7));
      const int64_t third = 18 * y + 3 * x + 4;  // channel 1 of the right neighbour
      second_tile +=
          beats(third, x < 5 ? third + 1 : 0) + (y < 5 ? beats(left + 18, last(y + 1, 9)) : 1);
    }
  }
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visit, 0), first_tile);
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visit, 1), second_tile);
  EXPECT_EQ(LeastPackedWordBeats(in, config, 0), 2);
  // Dilated taps are no neighbours: runs of 3 bytes. 16 entries are five runs and 1 byte.
  in.convolution.dilation_x = 2;
  EXPECT_EQ(LeastPackedWordBeats(in, config, 0), 6);
  EXPECT_EQ(LeastPackedWordBeats(in, config, 1), 4);
  EXPECT_GE(GroupFetchCycles(in, config, geometry, visit, 0), 36 * 6);
}

TEST(StepTime, WeightTilesComeByRowsOrByColumns) {
  const Config config = Machine();
  Instruction in = Convolution3x3(/*channels=*/26, /*out_channels=*/13);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0, 0), 16);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 17, 1), 16);  // tiles are padded in memory
  in.convolution.weight_base = 28;  // rows of 8 codes, every fourth of which crosses a beat
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0, 0), 16 + 4);
  in.convolution.weight_base = 0;
  EXPECT_EQ(WeightLoadCycles(config), 8);

  in.convolution.weight_layout = WeightLayout::kStrided;
  in.convolution.kernel_y = in.convolution.kernel_x = 1;
  in.convolution.weight_column_stride = 1;
  in.convolution.weight_row_stride = 16;
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0, 0), 16);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 1, 1), 10);
  in.convolution.weight_batch_stride =
      18;  // 8 codes from place 18 or 2 of a beat, 5 from place 26 or 10
  EXPECT_EQ(WeightFetchCycles(in, config, 1, 0, 0), 16);
  in.convolution.weight_base = 9;  // 27 or 11: every other row
  EXPECT_EQ(WeightFetchCycles(in, config, 1, 0, 0), 16 + 8);
  in.convolution.weight_base = 0;
  in.convolution.weight_column_stride = 32;
  in.convolution.weight_row_stride = 1;
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0, 0), 8);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 1, 1), 5);
  in.convolution.weight_base = 20;  // 16 codes from place 20, 10 codes from place 4
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0, 0), 8 * 2);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 1, 1), 5);
}

TEST(StepTime, DepthwiseStepsCountTapsAndChannels) {
  const Config config = Machine();
  Instruction in = Convolution3x3(/*channels=*/13, /*out_channels=*/13);
  in.convolution.input_column_stride = 16;
  in.convolution.input_row_stride = 6 * 16;
  in.opcode = Opcode::kDepthwise;
  const Geometry geometry = GeometryOf(in, config);
  const std::vector<Visit> visits = VisitsOf(in, config);
  ASSERT_EQ(visits.size(), 2u);
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[0], 0), 28 + 36);  // 8 channels
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[1], 1), 28 + 36);  // 5 channels
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0, 0), 9);
  EXPECT_EQ(DepthwiseCycles(in, config, visits[0]), 36 * 3);
  EXPECT_EQ(SettleCycles(in, config), 8);
  in.opcode = Opcode::kMatrix;
  EXPECT_EQ(SettleCycles(in, config), 24);
  Config later = config;
  later.array_product_latency = 1;
  later.array_sum_latency = 2;  // once a row
  EXPECT_EQ(SettleCycles(in, later), 1 + 2 * config.array_rows + config.array_columns);
  later.accumulation_latency = 3;
  EXPECT_EQ(SettleCycles(in, later), 3 + 2 * config.array_rows + config.array_columns);
  in.opcode = Opcode::kDepthwise;
  EXPECT_EQ(SettleCycles(in, later), 2 + config.array_columns);
  // Rounded sums: a read, operands and a product, then 4 taps and the total. The second and the
  // third step of a pixel start as late as the sum of the one before can be added to.
  later.psum_format = *FindFormat("bf16");
  EXPECT_EQ(SettleCycles(in, later), 2 + 3 + 4 + 1);
  EXPECT_EQ(DepthwiseCycles(in, later, visits[0]), 36 * 3);
  later.depthwise_sum_latency = 2;
  EXPECT_EQ(SettleCycles(in, later), 2 + 3 + 2 * (4 + 1));
  EXPECT_EQ(DepthwiseCycles(in, later, visits[0]), 36 * (1 + 2 + 2));
}

TEST(StepTime, DrainsAndParametersCountEveryColumnTileOfTheBlock) {
  const Config config = Machine();
  Instruction in = Convolution3x3(/*channels=*/26, /*out_channels=*/13);
  in.tiling.columns_per_block = 2;
  const Visit visit = VisitsOf(in, config)[0];
  ASSERT_EQ(visit.columns, 2);
  // Offsets at 0, 52 and 104: 8 and 5 of 4 bytes through beats of 16.
  EXPECT_EQ(ParameterFetchCycles(in, config, visit), (2 + 3 + 3) + (2 + 2 + 2));
  const int64_t depth = 2 * config.vector_stage_latency, latency = config.memory_latency;
  VectorTime time = DrainTime(in, config, visit);
  EXPECT_EQ(time.busy, 36 + 36);
  EXPECT_EQ(time.finished, 36 + 36 + depth + latency);
  // Outputs that cross a beat: 8 codes from place 60, then 5 codes from place 4.
  in.vector.output.base = 60;
  EXPECT_EQ(DrainTime(in, config, visit).busy, 2 * 36 + 36);
  in.vector.output.base = 0;
  in.vector.operands = {Stream{}};
  in.vector.operands[0].element = Element::kInt8;
  in.vector.operands[0].element_stride = 2;
  in.vector.passes[0].stages = {Stage{.op = StageOp::kAdd, .a = Argument::kOperand0}};
  // Elements apart from each other take one beat each, which is more than the output takes. The
  // first word waits for its own; the last is in memory four cycles before its slot ends.
  time = DrainTime(in, config, visit);
  EXPECT_EQ(time.busy, latency + 8 + 36 * 8 + 36 * 5);
  EXPECT_EQ(time.finished, time.busy - 4 + depth + config.vector_stage_latency + latency);
  in.vector.operands[0].element_stride = 0;
  EXPECT_EQ(DrainTime(in, config, visit).busy, latency + 1 + 36 + 36);
}

// Words wait for the longest way of an operand so far.
TEST(StepTime, WordsEnterBehindTheirOperands) {
  Config config = Machine();
  config.operand_port_bytes = 8;
  VectorProgram program;
  program.outer = {1, 1, 4, 1};
  program.length = 8;
  program.operands = {Stream{}};
  program.operands[0].element_stride = 1;
  program.operands[0].outer_stride = {0, 0, 9, 0};  // the first row is aligned, the others are not
  program.passes = {Pass{}};
  program.passes[0].to_memory = true;
  program.output.element_stride = 1;
  program.output.outer_stride = {0, 0, 64, 0};
  const int64_t depth = 2 * config.vector_stage_latency;
  const VectorTime time = VectorInstructionTime(program, config);
  EXPECT_EQ(time.busy, config.memory_latency + 2 + (1 + 2 + 2 + 2));
  EXPECT_EQ(time.finished, time.busy - 1 + depth + config.memory_latency);
}

// The next slot begins behind the entry of the word operand_buffer_words - 1 before it.
TEST(StepTime, RequestsRunAheadAsFarAsTheOperandBufferGoes) {
  Config config = Machine();
  VectorProgram program;
  program.length = 12 * config.lanes();
  program.operands = {Stream{}};
  program.operands[0].element_stride = 1;
  program.passes = {Pass{}};
  program.passes[0].to_memory = true;
  program.output.element_stride = 1;
  const int64_t latency = config.memory_latency;
  config.operand_buffer_words = static_cast<int>(latency) + 1 + 2;
  EXPECT_EQ(VectorInstructionTime(program, config).busy, latency + 1 + 12);
  config.operand_buffer_words =
      5;  // four words enter, the fifth's slot begins a cycle after the first one's entry
  EXPECT_EQ(VectorInstructionTime(program, config).busy, 3 * (latency + 1) + 2 + 4);
}

TEST(StepTime, ReductionsWaitForTheTreeOfTheirLanes) {
  Config config = Machine();
  VectorProgram program;
  program.passes = {Pass{}, Pass{}};
  program.passes[0].stages = {Stage{}, Stage{}, Stage{}};
  program.passes[0].reduce = Reduce::kSum;
  program.passes[0].scalar_stages = {Stage{}};
  EXPECT_EQ(PipelineDepth(program, config), 5 * 4);
  EXPECT_EQ(PassGap(program, config, 0), 5 * 4 + 4 * (3 + 1));  // 8 lanes: 3 levels
  EXPECT_EQ(PassGap(program, config, 1), 5 * 4);
  config.array_columns = 9;
  EXPECT_EQ(PassGap(program, config, 0), 5 * 4 + 4 * (4 + 1));
  program.passes.pop_back();
  EXPECT_EQ(PassGap(program, config, 0), 0);  // one pass streams
}

TEST(StepTime, BeatsOfDenseBroadcastAndScatteredStreams) {
  Stream stream;
  stream.element = Element::kFloat32;
  stream.element_stride = 4;
  EXPECT_EQ(StreamBeats(stream, Config(), 0, 5, 16), 2);
  EXPECT_EQ(StreamBeats(stream, Config(), 12, 5, 16), 2);
  EXPECT_EQ(StreamBeats(stream, Config(), 0, 4, 16), 1);
  EXPECT_EQ(StreamBeats(stream, Config(), 20, 4, 16), 2);
  stream.element_stride = 8;
  EXPECT_EQ(StreamBeats(stream, Config(), 0, 5, 16), 5);
  EXPECT_EQ(StreamBeats(stream, Config(), 14, 5, 16), 5 + 3);  // every other one crosses
  stream.element_stride = -8;
  EXPECT_EQ(StreamBeats(stream, Config(), 14, 5, 16), 5 + 3);
  stream.element_stride = 0;
  EXPECT_EQ(StreamBeats(stream, Config(), 0, 5, 16), 1);
}

TEST(StepTime, BlockScalesTravelBesideTheDataOneABeat) {
  Config config = Machine();
  config.array_rows = 2;
  config.weight_port_bytes = 16;
  config.block_size = 2;
  Instruction in = Convolution3x3(/*channels=*/4, /*out_channels=*/8);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0, 0), 2);  // two rows of eight codes
  in.convolution.weight_scales.present = true;
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0, 0), 8);  // eight scales

  Stream stream;
  stream.element = Element::kInput;
  stream.element_stride = 1;
  EXPECT_EQ(StreamBeats(stream, config, 0, 7, 16), 1);
  stream.blocks.present = true;
  EXPECT_EQ(StreamBeats(stream, config, 0, 7, 16), 4);
  EXPECT_EQ(StreamBeats(stream, config, 0, 40, 8), 20);

  // The greatest of a word of eight lanes by a tree of three levels, and the scale.
  config.block_size = 32;
  EXPECT_EQ(PipelineDepth(in.vector, config), 8);
  in.vector.output.blocks.present = true;
  EXPECT_EQ(PipelineDepth(in.vector, config), 8 + (3 + 1) * 4);
  EXPECT_EQ(DrainColumns(in.vector, config), 4);
}

// Column tiles of 8 lanes, blocks of four of them.
Instruction BlockOutput(int32_t out_channels, int32_t columns_per_block) {
  Instruction in = Convolution3x3(/*channels=*/26, out_channels);
  in.tiling.columns_per_block = columns_per_block;
  in.vector.output.element = Element::kInput;
  in.vector.output.blocks.present = true;
  return in;
}

TEST(StepTime, BlocksLeaveBehindTheirLastWord) {
  Config config = Machine();
  config.block_size = 32;
  const int64_t depth = 8 + (3 + 1) * 4, latency = config.memory_latency;
  Instruction in = BlockOutput(/*out_channels=*/32, /*columns_per_block=*/4);
  VectorTime time = DrainTime(in, config, VisitsOf(in, config)[0]);
  // The last word enters in cycle 143; the four words of its block follow.
  EXPECT_EQ(time.busy, 143 + 4);
  EXPECT_EQ(time.finished, 143 + 4 + depth + latency);
  // The words of the fifth tile, each a block of its own, come one a cycle and leave behind the
  // others.
  in = BlockOutput(/*out_channels=*/40, /*columns_per_block=*/5);
  time = DrainTime(in, config, VisitsOf(in, config)[0]);
  EXPECT_EQ(time.busy, 143 + 4 + 36);
  // Two beats a word: blocks follow one another without a gap, and again the last waits for its
  // end.
  config.output_port_bytes = 8;
  in = BlockOutput(/*out_channels=*/32, /*columns_per_block=*/4);
  in.vector.output.base = 4;
  time = DrainTime(in, config, VisitsOf(in, config)[0]);
  EXPECT_EQ(time.busy, 143 * 2 + 4 * 2);

  // A row of 11 words in a vector instruction: blocks of four, four and three. The first begins to
  // leave in cycle 3, and each of the others behind the one before.
  config.output_port_bytes = 64;
  VectorProgram program = in.vector;
  program.passes[0].source = Source::kConstant;
  program.output.base = 0;
  program.length = 88;
  EXPECT_EQ(VectorInstructionTime(program, config).busy, 3 + 4 + 4 + 3);
}

// Drains at odd addresses: the sum over periods of beats is that of the words one by one, which is
// taken where the operand buffer could fill up.
TEST(StepTime, DrainsOfBlocksAreTheSumOfTheirWords) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    Config config = Machine();
    config.block_size = 8 << random.Below(3);
    config.output_port_bytes = 8 << random.Below(3);
    Instruction in =
        BlockOutput(static_cast<int32_t>(8 * random.Below(9) + random.Between(5, 8)), 12);
    in.tiling.tile_height = static_cast<int32_t>(random.Between(1, 6));
    in.tiling.tile_width = static_cast<int32_t>(random.Between(1, 6));
    in.vector.output.base = random.Below(64);
    in.vector.output.outer_stride = {0, random.Between(1, 500), random.Between(1, 500), 0};
    in.vector.operands = {Stream{}};
    in.vector.operands[0].element = Element::kFloat32;  // two beats a word
    in.vector.operands[0].element_stride = 4;
    in.vector.operands[0].outer_stride = {0, 256, 64, 0};
    in.vector.passes[0].stages = {Stage{.op = StageOp::kAdd, .a = Argument::kOperand0}};
    for (const Visit& visit : VisitsOf(in, config)) {
      config.operand_buffer_words = 256;
      const VectorTime sum = DrainTime(in, config, visit);
      config.operand_buffer_words = static_cast<int>(config.memory_latency) + 2;
      const VectorTime words = DrainTime(in, config, visit);
      ASSERT_EQ(sum.busy, words.busy) << "case " << i;
      ASSERT_EQ(sum.finished, words.finished) << "case " << i;
    }
  }
}

TEST(StepTime, CodesOfTwoBytesTakeTwiceTheBeats) {
  Config config = Machine();
  config.input_format = config.weight_format = *FindFormat("int16");
  Instruction in = Convolution3x3(/*channels=*/26, /*out_channels=*/8);
  in.convolution.input_column_stride = 64;
  in.convolution.input_row_stride = 6 * 64;
  config.weight_port_bytes = 8;
  const Geometry geometry = GeometryOf(in, config);
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, VisitsOf(in, config)[0], 0), 28 + 36 * 4);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0, 0),
            16 * 2);  // sixteen bytes through a port of eight
}

}  // namespace
}  // namespace kiln::systolic
