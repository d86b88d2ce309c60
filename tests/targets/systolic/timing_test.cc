// Durations of single steps against docs/systolic.md, worked out by hand: the closed form and the event-driven level
// share them, so that comparing the two cannot find a fault in one.
#include "kiln/targets/systolic/timing.h"

#include <gtest/gtest.h>

#include <vector>

namespace kiln::systolic {
namespace {

// Ports of different widths, so that one taken for another shows.
Config Machine() {
  Config config;
  config.array_rows = 16;
  config.array_columns = 8;
  config.weight_rows_per_cycle = 2;
  config.input_port_bytes = 4;
  config.weight_port_bytes = 7;
  config.operand_port_bytes = 16;
  config.output_port_bytes = 2;
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
  return in;
}

TEST(StepTime, PaddingWordsTakeOneCycleAndOthersTheirBytes) {
  const Config config = Machine();
  const Instruction in = Convolution3x3(/*channels=*/26, /*out_channels=*/8);
  const Geometry geometry = GeometryOf(in, config);
  const std::vector<Visit> visits = VisitsOf(in, config);
  ASSERT_EQ(visits.size(), 1u);
  // 8 x 8 words, 6 x 6 of them inside; 16 channels in the first group, 10 in the second, 4 bytes a cycle.
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[0], 0), 28 + 36 * 4);
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[0], 1), 28 + 36 * 3);
}

TEST(StepTime, PackedWordsTakeTheirRunsOfConsecutiveBytes) {
  const Config config = Machine();
  Instruction in = Convolution3x3(/*channels=*/3, /*out_channels=*/8);
  in.tiling.packing = Packing::kTaps;
  const Geometry geometry = GeometryOf(in, config);
  const Visit visit = VisitsOf(in, config)[0];
  // 27 entries in runs of 9 bytes, one a ky: 16 entries are 9 + 7, the other 11 are 2 + 9; 4 bytes a cycle.
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visit, 0), 36 * (3 + 2));
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visit, 1), 36 * (1 + 3));
  // Dilated taps are no neighbours: runs of 3 bytes. 16 entries are five runs and 1 byte, 11 are 2 bytes and three
  // runs.
  in.convolution.dilation_x = 2;
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visit, 0), 36 * 6);
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visit, 1), 36 * 4);
}

TEST(StepTime, WeightTilesComeByRowsOrByColumns) {
  const Config config = Machine();
  Instruction in = Convolution3x3(/*channels=*/26, /*out_channels=*/13);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0), 16 * 2);
  EXPECT_EQ(WeightFetchCycles(in, config, 17, 1), 16 * 2);  // tiles are padded in memory
  EXPECT_EQ(WeightLoadCycles(config), 8);

  in.convolution.weight_layout = WeightLayout::kStrided;
  in.convolution.kernel_y = in.convolution.kernel_x = 1;
  in.convolution.weight_column_stride = 1;
  in.convolution.weight_row_stride = 13;
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0), 16 * 2);
  EXPECT_EQ(WeightFetchCycles(in, config, 1, 1), 10 * 1);
  in.convolution.weight_column_stride = 26;
  in.convolution.weight_row_stride = 1;
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0), 8 * 3);
  EXPECT_EQ(WeightFetchCycles(in, config, 1, 1), 5 * 2);
}

TEST(StepTime, DepthwiseStepsCountTapsAndChannels) {
  const Config config = Machine();
  Instruction in = Convolution3x3(/*channels=*/13, /*out_channels=*/13);
  in.opcode = Opcode::kDepthwise;
  const Geometry geometry = GeometryOf(in, config);
  const std::vector<Visit> visits = VisitsOf(in, config);
  ASSERT_EQ(visits.size(), 2u);
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[0], 0), 28 + 36 * 2);  // 8 channels
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, visits[1], 1), 28 + 36 * 2);  // 5 channels
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0), 9 * 2);
  EXPECT_EQ(DepthwiseCycles(in, config, visits[0]), 36 * 3);
  EXPECT_EQ(SettleCycles(in, config), 8);
  in.opcode = Opcode::kMatrix;
  EXPECT_EQ(SettleCycles(in, config), 24);
}

TEST(StepTime, DrainsAndParametersCountEveryColumnTileOfTheBlock) {
  const Config config = Machine();
  Instruction in = Convolution3x3(/*channels=*/26, /*out_channels=*/13);
  in.tiling.columns_per_block = 2;
  const Visit visit = VisitsOf(in, config)[0];
  ASSERT_EQ(visit.columns, 2);
  EXPECT_EQ(ParameterFetchCycles(config, visit), 2 * 6);       // 8 channels of 12 bytes, 16 a cycle
  EXPECT_EQ(DrainCycles(in, config, visit), 36 * 4 + 36 * 3);  // 8 and 5 bytes, 2 a cycle
  in.vector.operands = {Stream{}};
  in.vector.operands[0].element = Element::kInt8;
  in.vector.operands[0].element_stride = 2;
  in.vector.passes[0].stages = {Stage{.op = StageOp::kAdd, .a = Argument::kOperand0}};
  // Elements apart from each other take one beat each, which is more than the output takes.
  EXPECT_EQ(DrainCycles(in, config, visit), 36 * 8 + 36 * 5 + config.memory_latency);
  in.vector.operands[0].element_stride = 0;
  EXPECT_EQ(DrainCycles(in, config, visit), 36 * 4 + 36 * 3 + config.memory_latency);
}

TEST(StepTime, ReductionsWaitForTheTreeOfTheirLanes) {
  Config config = Machine();
  VectorProgram program;
  program.passes = {Pass{}, Pass{}};
  program.passes[0].stages = {Stage{}, Stage{}, Stage{}};
  program.passes[0].reduce = Reduce::kSum;
  program.passes[0].scalar_stages = {Stage{}};
  EXPECT_EQ(PipelineDepth(program, config), 3 * 4);
  EXPECT_EQ(PassGap(program, config, 0), 3 * 4 + 4 * (3 + 1));  // 8 lanes: 3 levels
  EXPECT_EQ(PassGap(program, config, 1), 3 * 4);
  config.array_columns = 9;
  EXPECT_EQ(PassGap(program, config, 0), 3 * 4 + 4 * (4 + 1));
  program.passes.pop_back();
  EXPECT_EQ(PassGap(program, config, 0), 0);  // one pass streams
}

TEST(StepTime, BeatsOfDenseBroadcastAndScatteredStreams) {
  Stream stream;
  stream.element = Element::kFloat32;
  stream.element_stride = 4;
  EXPECT_EQ(BeatsOf(stream, Config(), 5, 16), 2);
  EXPECT_EQ(BeatsOf(stream, Config(), 4, 16), 1);
  stream.element_stride = 8;
  EXPECT_EQ(BeatsOf(stream, Config(), 5, 16), 5);
  stream.element_stride = 0;
  EXPECT_EQ(BeatsOf(stream, Config(), 5, 16), 1);
}

TEST(StepTime, BlockScalesTravelBesideTheDataOneABeat) {
  Config config = Machine();
  config.array_rows = 2;
  config.weight_port_bytes = 16;
  config.block_size = 2;
  Instruction in = Convolution3x3(/*channels=*/4, /*out_channels=*/8);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0), 2);  // two rows of eight codes
  in.convolution.weight_scales.present = true;
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0), 8);  // eight scales

  Stream stream;
  stream.element = Element::kInput;
  stream.element_stride = 1;
  EXPECT_EQ(BeatsOf(stream, config, 7, 16), 1);
  stream.blocks.present = true;
  EXPECT_EQ(BeatsOf(stream, config, 7, 16), 4);
  EXPECT_EQ(BeatsOf(stream, config, 7, 1), 7);

  // The quantiser holds back four words of eight lanes and finds their greatest in a tree of three levels.
  config.block_size = 32;
  EXPECT_EQ(PipelineDepth(in.vector, config), 4);
  in.vector.output.blocks.present = true;
  EXPECT_EQ(PipelineDepth(in.vector, config), 4 + 4 + 3 * 4);
  EXPECT_EQ(DrainColumns(in.vector, config), 4);
}

TEST(StepTime, CodesOfTwoBytesTakeTwiceTheBeats) {
  Config config = Machine();
  config.input_format = config.weight_format = *FindFormat("int16");
  Instruction in = Convolution3x3(/*channels=*/26, /*out_channels=*/8);
  in.convolution.input_column_stride *= 2;
  in.convolution.input_row_stride *= 2;
  const Geometry geometry = GeometryOf(in, config);
  EXPECT_EQ(GroupFetchCycles(in, config, geometry, VisitsOf(in, config)[0], 0), 28 + 36 * 8);
  EXPECT_EQ(WeightFetchCycles(in, config, 0, 0), 16 * 3);  // sixteen bytes through a port of seven
}

}  // namespace
}  // namespace kiln::systolic
