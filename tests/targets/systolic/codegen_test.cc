#include "kiln/targets/systolic/compile/codegen.h"

#include "gtest/gtest.h"
#include "kiln/ir/random_graph.h"
#include "kiln/support/random.h"
#include "tests/targets/inferred_node.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::systolic {
namespace {

bool Overlap(uint64_t a, int64_t a_bytes, uint64_t b, int64_t b_bytes) {
  return a < b + static_cast<uint64_t>(b_bytes) && b < a + static_cast<uint64_t>(a_bytes);
}

TEST(SystolicMemoryPlan, WhatIsAliveAtOnceNeverOverlaps) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lives(random.Below(30));
    int64_t sum = 0;
    for (Lifetime& life : lives) {
      life.first = static_cast<int>(random.Below(20));
      life.last = life.first + static_cast<int>(random.Below(6));
      life.bytes = random.Between(0, 500);
      sum += (std::max<int64_t>(life.bytes, 1) + 63) / 64 * 64;
    }
    const std::vector<uint64_t> places = PlanMemory(lives, 128, 64);
    ASSERT_EQ(places.size(), lives.size());
    for (size_t i = 0; i < lives.size(); ++i) {
      EXPECT_EQ(places[i] % 64, 0u);
      EXPECT_GE(places[i], 128u);
      EXPECT_LE(places[i] + static_cast<uint64_t>(lives[i].bytes),
                128u + static_cast<uint64_t>(sum));
      for (size_t j = 0; j < i; ++j) {
        if (lives[i].first > lives[j].last || lives[j].first > lives[i].last) continue;
        EXPECT_FALSE(Overlap(places[i], lives[i].bytes, places[j], lives[j].bytes));
      }
    }
  }
}

TEST(SystolicMemoryPlan, FreedMemoryIsUsedAgain) {
  const std::vector<uint64_t> places =
      PlanMemory({{100, 0, 1}, {100, 1, 2}, {100, 2, 3}, {64, 2, 3}}, 0, 64);
  EXPECT_EQ(places, (std::vector<uint64_t>{0, 128, 0, 256}));
}

TEST(SystolicWeights, TilesFollowTheOrderOfFetching) {
  Config config = Fp32Machine();
  config.array_rows = config.array_columns = 2;
  WeightCodes weights;
  weights.rows = 2 * 3;  // two taps of three channels
  weights.columns = 3;
  for (int8_t i = 1; i <= 18; ++i) weights.codes.push_back(i);
  Instruction instruction;
  instruction.opcode = Opcode::kMatrix;
  instruction.convolution.kernel_x = 2;
  instruction.convolution.channels = 3;
  instruction.convolution.out_channels = 3;
  instruction.tiling.packing = Packing::kChannels;
  // Row tiles: channels 0-1 at tap 0, at tap 1, channel 2 at tap 0, at tap 1.
  EXPECT_EQ(TileWeights(weights, instruction, config),
            (LargeBytes{1, 2, 4, 5, 10, 11, 13, 14, 7, 8, 0, 0, 16, 17, 0, 0,     // columns 0-1
                        3, 0, 6, 0, 12, 0,  15, 0,  9, 0, 0, 0, 18, 0,  0, 0}));  // column 2
  instruction.tiling.packing = Packing::kTaps;
  EXPECT_EQ(TileWeights(weights, instruction, config),
            (LargeBytes{1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17,
                        3, 0, 6, 0, 9, 0, 12, 0,  15, 0,  18, 0}));
  WeightCodes depthwise;
  depthwise.rows = 2;
  depthwise.columns = 3;
  depthwise.codes = {1, 2, 3, 4, 5, 6};
  instruction.opcode = Opcode::kDepthwise;
  EXPECT_EQ(TileWeights(depthwise, instruction, config), (LargeBytes{1, 2, 4, 5, 3, 0, 6, 0}));
}

// Three codes of three bits take the lowest nine bits of a row of two bytes.
TEST(SystolicWeights, PackedRowsEndWithAByte) {
  Config config = Fp32Machine();
  config.array_rows = 2;
  config.array_columns = 3;
  WeightCodes weights;
  weights.rows = 2;
  weights.columns = 4;
  weights.channels = 2;
  for (const int code : {1, -1, -4, 3, 0, 2, 1, -2})
    weights.codes.push_back(static_cast<uint8_t>(code));
  Instruction instruction;
  instruction.opcode = Opcode::kMatrix;
  instruction.convolution.channels = 2;
  instruction.convolution.out_channels = 4;
  instruction.convolution.weight_bits = 3;
  EXPECT_EQ(TileWeights(weights, instruction, config),
            (LargeBytes{0b00111001, 0b1, 0b01010000, 0b0,     // 1, -1, -4 and 0, 2, 1
                        0b00000011, 0b0, 0b00000110, 0b0}));  // 3 and -2
}

TEST(SystolicWeights, ArePackedWhereARowTakesNoMoreBeats) {
  const auto bits_of = [](int packed_bits, const char* format, int columns, int port) {
    Config config = Fp32Machine();
    config.weight_format = *FindFormat(format);
    config.array_columns = columns;
    config.weight_port_bytes = port;
    WeightCodes weights;
    weights.packed_bits = packed_bits;
    return int{BitsOfPackedWeights(weights, config, 0)};
  };
  EXPECT_EQ(bits_of(0, "int8", 8, 8), 0);
  EXPECT_EQ(bits_of(4, "int8", 8, 8), 4);
  EXPECT_EQ(bits_of(3, "int8", 8, 8), 4);   // rows of three bytes would cross the ends of beats
  EXPECT_EQ(bits_of(5, "int8", 8, 8), 0);   // and so would those of five to seven
  EXPECT_EQ(bits_of(6, "int8", 16, 8), 6);  // 12 bytes: at most two beats, as 16 bytes take
  EXPECT_EQ(bits_of(6, "e3m2", 8, 8), 0);   // a float has all of its bits
  EXPECT_EQ(bits_of(4, "e2m1", 8, 8), 4);
  EXPECT_EQ(bits_of(2, "int8", 8, 64), 2);
}

// Weights that another kernel computes are not there before it has ended, though the product's
// inputs are.
TEST(SystolicCodegen, ProductsWaitForWeightsThatAreComputed) {
  Graph graph("product");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 6, 5}});
  Value* y = graph.AddInput("y", {ElementType::kFloat32, Shape{1, 5, 7}});
  graph.MarkOutput(AddInferred(graph, Op::kMatMul, "product",
                               {x, AddInferred(graph, Op::kSigmoid, "gate", {y})}));
  const std::vector<std::vector<Tensor>> images = {RandomInputs(graph, 3)};
  const auto prepared = Prepare(std::move(graph), images);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto program = CompileFor(*prepared, SquareConfig(8));
  ASSERT_TRUE(program.ok()) << program.status();
  bool computed = false;
  int products = 0;
  for (const Instruction& in : (*program)->instructions()) {
    if (in.opcode == Opcode::kMatrix) {
      EXPECT_TRUE(computed);
      EXPECT_EQ(in.wait_distance, 1);
      ++products;
    }
    computed = true;
  }
  EXPECT_EQ(products, 1) << KernelList(**program);
  for (const KernelInfo& kernel : (*program)->kernels()) {
    EXPECT_EQ(kernel.schedule.starts_with("tiles of 1x"), kernel.unit == "matrix")
        << kernel.schedule;
  }
}

// A product waits for the kernel that computes its weights, not for one behind that which has
// nothing to do with it.
TEST(SystolicCodegen, WaitsReachBackToTheLastWriterOnly) {
  Graph graph("product");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 6, 5}});
  Value* y = graph.AddInput("y", {ElementType::kFloat32, Shape{1, 5, 7}});
  Value* z = graph.AddInput("z", {ElementType::kFloat32, Shape{1, 4, 4}});
  Value* gate = AddInferred(graph, Op::kSigmoid, "gate", {y});
  graph.MarkOutput(AddInferred(graph, Op::kSigmoid, "other", {z}));
  graph.MarkOutput(AddInferred(graph, Op::kMatMul, "product", {x, gate}));
  const std::vector<std::vector<Tensor>> images = {RandomInputs(graph, 3)};
  const auto prepared = Prepare(std::move(graph), images);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto program = CompileFor(*prepared, SquareConfig(8));
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<int> waits;
  for (const Instruction& in : (*program)->instructions()) waits.push_back(in.wait_distance);
  EXPECT_EQ(waits, (std::vector<int>{0, 0, 2})) << KernelList(**program);
}

TEST(SystolicCodegen, ProgramsOfRandomGraphsHoldTogether) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Graph graph = RandomGraph(seed);
    const std::vector<std::vector<Tensor>> images = {RandomInputs(graph, 1)};
    const auto prepared = Prepare(std::move(graph), images);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    const Config config = SquareConfig(8);
    const auto program = CompileFor(*prepared, config);
    ASSERT_TRUE(program.ok()) << "seed " << seed << ": " << program.status();
    const std::vector<Region>& regions = (*program)->regions();
    for (size_t i = 0; i < regions.size(); ++i) {
      EXPECT_LE(regions[i].base + static_cast<uint64_t>(regions[i].bytes),
                (*program)->memory_top());
      for (size_t j = 0; j < i; ++j) {
        const bool together =
            regions[i].constant || regions[j].constant ||
            (regions[i].first <= regions[j].last && regions[j].first <= regions[i].last);
        EXPECT_FALSE(together &&
                     Overlap(regions[i].base, regions[i].bytes, regions[j].base, regions[j].bytes))
            << "seed " << seed << ": " << regions[i].name << " and " << regions[j].name;
      }
    }
    for (const Step& step : (*program)->steps()) {
      if (step.kind != Step::Kind::kInstructions) continue;
      EXPECT_TRUE(Decode((*program)->EncodeStep(step), config).ok());
    }
  }
}

}  // namespace
}  // namespace kiln::systolic
