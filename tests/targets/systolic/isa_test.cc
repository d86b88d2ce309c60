#include "kiln/targets/systolic/isa.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

// A 1x1 convolution of 8x8x16 to 32 channels with a quantised output; the default machine accepts it.
Instruction SmallMatrix() {
  Instruction i;
  i.opcode = Opcode::kMatrix;
  Convolution& c = i.convolution;
  c.input_base = 0x1000;
  c.input_batch_stride = 1024;
  c.input_row_stride = 128;
  c.input_column_stride = 16;
  c.height = c.width = c.out_height = c.out_width = 8;
  c.channels = 16;
  c.out_channels = 32;
  c.weight_base = 0x2000;
  c.parameters.base = 0x3000;
  i.tiling.tile_height = i.tiling.tile_width = 8;
  i.tiling.columns_per_block = 2;
  VectorProgram& v = i.vector;
  v.outer = {1, 8, 8, 1};
  v.length = 32;
  v.output.base = 0x4000;
  v.output.outer_stride = {2048, 256, 32, 0};
  v.output.element_stride = 1;
  Pass pass;
  pass.source = Source::kAccumulator;
  Stage relu;
  relu.op = StageOp::kMax;
  relu.a = Argument::kImmediate;
  pass.stages = {relu};
  pass.to_memory = true;
  v.passes = {pass};
  return i;
}

std::vector<Instruction> RandomProgram(Random& random, int length) {
  std::vector<Instruction> program;
  for (int i = 0; i < length; ++i) {
    Config config = RandomConfig(random);
    config.depthwise_multipliers = std::max(config.depthwise_multipliers, 1);
    const auto opcode = static_cast<Opcode>(1 + random.Below(3));
    program.push_back(RandomInstruction(random, config, opcode).instruction);
    program.back().kernel = static_cast<uint32_t>(random());
  }
  program.emplace_back();  // kEnd
  return program;
}

TEST(SystolicIsa, RandomInstructionsSurviveTheirBits) {
  Random random(1);
  const Config config;
  for (int round = 0; round < 200; ++round) {
    const std::vector<Instruction> program = RandomProgram(random, static_cast<int>(random.Below(4)));
    const std::vector<uint8_t> bits = Encode(program);
    const auto again = Decode(bits);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(again->size(), program.size());
    ASSERT_EQ(Encode(*again), bits);
    for (size_t i = 0; i < program.size(); ++i) {
      // The text shows every field, so that equal texts are equal instructions.
      EXPECT_EQ(Print((*again)[i], config), Print(program[i], config));
      EXPECT_EQ((*again)[i].kernel, program[i].kernel);
      EXPECT_EQ((*again)[i].after_previous, program[i].after_previous);
    }
  }
}

TEST(SystolicIsa, TheDecoderSurvivesAnyBytes) {
  Random random(2);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bits = Encode(RandomProgram(random, 1));
    for (uint64_t flips = 1 + random.Below(4); flips > 0; --flips) {
      bits[random.Below(bits.size())] ^= static_cast<uint8_t>(1u << random.Below(8));
    }
    if (random.Below(3) == 0) bits.resize(random.Below(bits.size()));
    const auto decoded = Decode(bits);
    // What is accepted says the same again: there is one encoding of every instruction.
    if (decoded.ok()) {
      EXPECT_EQ(Encode(*decoded), bits);
      for (const Instruction& instruction : *decoded) CheckInstruction(instruction, Config()).IgnoreError();
    }
    ++(decoded.ok() ? accepted : refused);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(SystolicIsa, DecodeNamesTheFault) {
  const std::vector<uint8_t> good = Encode({SmallMatrix()});
  const auto fault = [](const std::vector<uint8_t>& bits) {
    const auto decoded = Decode(bits);
    return decoded.ok() ? "no error" : MessageOf(decoded.status());
  };
  EXPECT_EQ(fault(good), "no error");
  std::vector<uint8_t> bits = good;
  bits[0] = 9;
  EXPECT_EQ(fault(bits), "instruction 0: unknown opcode");
  bits = good;
  bits.resize(bits.size() - 16);
  EXPECT_EQ(fault(bits), "instruction 0: the stated length does not fit");
  bits = good;
  bits.resize(8);
  EXPECT_EQ(fault(bits), "instruction 0: the header is cut off");
  bits = good;
  bits.insert(bits.end(), 16, 0);
  bits[4] = static_cast<uint8_t>(bits[4] + 1);
  EXPECT_EQ(fault(bits), "instruction 0: sections do not fill the stated length");
}

TEST(SystolicIsa, TextShowsWhatAnInstructionDoes) {
  EXPECT_EQ(Print(SmallMatrix(), Config()),
            "matrix  kernel 0, after previous\n"
            "  input     @0x1000 1x8x8x16 strides 1024,128,16\n"
            "  kernel    1x1 stride 1x1 -> 8x8x32\n"
            "  weights   @0x2000 tiled, parameters @0x3000\n"
            "  tiling    8x8 pixels (1x1 tiles), channels packed, 1 row tiles, 2 column tiles in blocks of 2, 1 groups "
            "a bank (inputs stay), 1 weight tiles a bank, input outer\n"
            "  rows      [1,8,8,1] x 32\n"
            "  pass 0    accumulators | max 0 | write\n"
            "  output    i8 @0x4000 strides [2048,256,32,0] x 1 x 1 + 0 in [-128, 127]\n");
}

TEST(SystolicIsa, CheckAcceptsAndRefuses) {
  const Config config;
  EXPECT_TRUE(CheckInstruction(SmallMatrix(), config).ok()) << CheckInstruction(SmallMatrix(), config);
  const auto fault = [&](auto change) {
    Instruction instruction = SmallMatrix();
    change(instruction);
    return MessageOf(CheckInstruction(instruction, config));
  };
  using I = Instruction;
  EXPECT_THAT(fault([](I& i) { i.tiling.columns_per_block = 0; }), HasSubstr("columns_per_block is 0"));
  EXPECT_THAT(fault([](I& i) { i.tiling.tile_height = 9; }), HasSubstr("tile's height is 9"));
  EXPECT_THAT(fault([](I& i) { i.tiling.weight_tiles_per_bank = 65; }), HasSubstr("65 weight tiles do not fit"));
  EXPECT_THAT(fault([](I& i) { i.convolution.input_base = (1 << 30) - 10; }), HasSubstr("the input reaches outside"));
  EXPECT_THAT(fault([](I& i) { i.vector.output.outer_stride[1] = -4096; }), HasSubstr("the output reaches outside"));
  EXPECT_THAT(fault([](I& i) { i.vector.length = 31; }), HasSubstr("does not walk"));
  EXPECT_THAT(fault([](I& i) { i.vector.passes[0].to_memory = false; }), HasSubstr("0 passes write"));
  EXPECT_THAT(fault([](I& i) { i.vector.passes[0].stages.resize(13, i.vector.passes[0].stages[0]); }),
              HasSubstr("13 stages"));
  EXPECT_THAT(fault([](I& i) { i.vector.passes[0].stages[0].a = Argument::kOperand1; }),
              HasSubstr("names operand 1 of 0"));
  EXPECT_THAT(fault([](I& i) { i.vector.quantise.high = 200; }), HasSubstr("outside its element"));
  EXPECT_THAT(fault([](I& i) { i.opcode = Opcode::kDepthwise; }), HasSubstr("16 input and 32 output channels"));
}

}  // namespace
}  // namespace kiln::systolic
