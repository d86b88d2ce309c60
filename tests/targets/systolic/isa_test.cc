#include "kiln/targets/systolic/isa/isa.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/targets/systolic/config/user_unit.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

// A 1x1 convolution of 8x8x16 to 32 channels with a quantised output; the default machine accepts
// it.
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

// A design point with formats of any kind, and a depthwise unit.
Config AnyConfig(Random& random) {
  Config config = RandomConfig(random);
  config.depthwise_multipliers = std::max(config.depthwise_multipliers, 1);
  RandomFormats(random, &config);
  return config;
}

std::vector<Instruction> RandomInstructions(Random& random, const Config& config, int length) {
  std::vector<Instruction> program;
  for (int i = 0; i < length; ++i) {
    const auto opcode = static_cast<Opcode>(1 + random.Below(3));
    program.push_back(RandomInstruction(random, config, opcode).instruction);
    program.back().kernel = static_cast<uint32_t>(random());
  }
  program.emplace_back();  // kEnd
  return program;
}

TEST(SystolicIsa, RandomInstructionsSurviveTheirBits) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const Config config = AnyConfig(random);
    const std::vector<Instruction> program =
        RandomInstructions(random, config, static_cast<int>(random.Below(4)));
    const std::vector<uint8_t> bits = Encode(program, config);
    const auto again = Decode(bits, config);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(again->size(), program.size());
    ASSERT_EQ(Encode(*again, config), bits);
    for (size_t i = 0; i < program.size(); ++i) {
      // The text shows every field, so that equal texts are equal instructions.
      EXPECT_EQ(Print((*again)[i], config), Print(program[i], config));
      EXPECT_EQ((*again)[i].kernel, program[i].kernel);
      EXPECT_EQ((*again)[i].wait_distance, program[i].wait_distance);
    }
  }
}

TEST(SystolicIsa, TheDecoderSurvivesAnyBytes) {
  Random random(2);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const Config config = AnyConfig(random);
    std::vector<uint8_t> bits = Encode(RandomInstructions(random, config, 1), config);
    for (uint64_t flips = 1 + random.Below(4); flips > 0; --flips) {
      bits[random.Below(bits.size())] ^= static_cast<uint8_t>(1u << random.Below(8));
    }
    if (random.Below(3) == 0) bits.resize(random.Below(bits.size()));
    const auto decoded = Decode(bits, config);
    // What is accepted says the same again: there is one encoding of every instruction. And it can
    // be run.
    if (decoded.ok()) {
      EXPECT_EQ(Encode(*decoded, config), bits);
      for (const Instruction& instruction : *decoded)
        EXPECT_TRUE(CheckInstruction(instruction, config).ok());
    }
    ++(decoded.ok() ? accepted : refused);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(SystolicIsa, DecodeNamesTheFault) {
  const Config config = Fp32Machine();
  const std::vector<uint8_t> good = Encode(SmallMatrix(), config);
  const auto fault = [&](const std::vector<uint8_t>& bits) {
    const auto decoded = Decode(bits, config);
    return decoded.ok() ? "no error" : MessageOf(decoded.status());
  };
  // Byte i of a word, counted from its most significant one.
  const auto with = [&](size_t word, size_t byte, uint8_t value) {
    std::vector<uint8_t> bits = good;
    bits[16 * word + 15 - byte] = value;
    return bits;
  };
  EXPECT_EQ(fault(good), "no error");
  EXPECT_EQ(fault(with(0, 0, 3)),
            "instruction 0: no header: word 0 has tag 3 and index 0 where 0 and 0 belong");
  EXPECT_EQ(fault(with(0, 2, 9)), "instruction 0: no header: word 0 has an unknown enumerator");
  EXPECT_EQ(fault(with(2, 1, 7)),
            "instruction 0: word 2 has tag 1 and index 7 where 1 and 1 belong");
  // tiles_y: bytes 5 to 7 of word 1.
  EXPECT_EQ(fault(with(1, 7, 2)),
            "instruction 0: word 1 has a derived member that does not follow from the others, or "
            "reserved bits set");
  EXPECT_EQ(fault(with(1, 15, 1)),
            "instruction 0: word 1 has a derived member that does not follow from the others, or "
            "reserved bits set");
  // columns_per_block: bytes 2 to 4 of word 3.
  EXPECT_EQ(fault(with(3, 4, 0)), "instruction 0: columns_per_block is 0, not in [1, 16777215]");
  std::vector<uint8_t> bits = good;
  bits.resize(bits.size() - 16);
  EXPECT_EQ(fault(bits), "instruction 0: the stated length does not fit");
  bits = good;
  bits.resize(8);
  EXPECT_EQ(fault(bits), "instruction 0: the header is cut off");
  // The header of a longer instruction.
  Instruction longer = SmallMatrix();
  longer.vector.passes[0].stages.push_back(longer.vector.passes[0].stages[0]);
  const std::vector<uint8_t> header = Encode(longer, config);
  bits = good;
  std::copy_n(header.begin(), 16, bits.begin());
  bits.resize(bits.size() + 16);
  EXPECT_EQ(fault(bits), "instruction 0: sections do not fill the stated length");
  bits = header;
  std::copy_n(good.begin(), 16, bits.begin());
  EXPECT_EQ(fault(bits), "instruction 0: the stated length is shorter than the sections");
}

TEST(SystolicIsa, TextShowsWhatAnInstructionDoes) {
  EXPECT_EQ(Print(SmallMatrix(), Config()),
            "matrix  kernel 0, after previous\n"
            "  input     @0x1000 1x8x8x16 strides 1024,128,16\n"
            "  kernel    1x1 stride 1x1 -> 8x8x32\n"
            "  weights   @0x2000 tiled, parameters @0x3000\n"
            "  tiling    8x8 pixels (1x1 tiles), channels packed, 1 row tiles, 2 column tiles in "
            "blocks of 2, 1 groups "
            "a bank (inputs stay), 1 weight tiles a bank, input outer\n"
            "  rows      [1,8,8,1] x 32\n"
            "  pass 0    accumulators | max 0 | write\n"
            "  output    i8 @0x4000 strides [2048,256,32,0] x 1 x 1 + 0 in [-128, 127]\n");
}

TEST(SystolicIsa, CheckAcceptsAndRefuses) {
  const Config config = Fp32Machine();
  EXPECT_TRUE(CheckInstruction(SmallMatrix(), config).ok())
      << CheckInstruction(SmallMatrix(), config);
  const auto fault = [&](auto change) {
    Instruction instruction = SmallMatrix();
    change(instruction);
    return MessageOf(CheckInstruction(instruction, config));
  };
  using I = Instruction;
  EXPECT_THAT(fault([](I& i) { i.tiling.columns_per_block = 0; }),
              HasSubstr("columns_per_block is 0"));
  EXPECT_THAT(fault([](I& i) { i.tiling.tile_height = 9; }), HasSubstr("tile's height is 9"));
  EXPECT_THAT(fault([](I& i) { i.tiling.weight_tiles_per_bank = 65; }),
              HasSubstr("65 weight tiles do not fit"));
  EXPECT_THAT(fault([](I& i) { i.convolution.input_base = (1 << 30) - 10; }),
              HasSubstr("the input reaches outside"));
  EXPECT_THAT(fault([](I& i) { i.vector.output.outer_stride[1] = -4096; }),
              HasSubstr("the output reaches outside"));
  EXPECT_THAT(fault([](I& i) { i.vector.length = 31; }), HasSubstr("does not walk"));
  EXPECT_THAT(fault([](I& i) { i.vector.passes[0].to_memory = false; }),
              HasSubstr("0 passes write"));
  EXPECT_THAT(
      fault([](I& i) { i.vector.passes[0].stages.resize(13, i.vector.passes[0].stages[0]); }),
      HasSubstr("13 stages"));
  EXPECT_THAT(fault([](I& i) { i.vector.passes[0].stages[0].a = Argument::kOperand1; }),
              HasSubstr("names operand 1 of 0"));
  EXPECT_THAT(fault([](I& i) { i.vector.quantise.high = 200; }), HasSubstr("outside its element"));
  EXPECT_THAT(fault([](I& i) { i.vector.output.outer_stride[3] = int64_t{1} << 31; }),
              HasSubstr("a stride of the output is 2147483648, not in [-2147483648, 2147483647]"));
  EXPECT_THAT(fault([](I& i) { i.convolution.channels = 1 << 24; }),
              HasSubstr("16777216, not in [1, 16777215]"));
  EXPECT_THAT(fault([](I& i) { i.opcode = Opcode::kDepthwise; }),
              HasSubstr("16 input and 32 output channels"));
  EXPECT_THAT(fault([](I& i) { i.convolution.weight_bits = 4; }),
              HasSubstr("packed weights, which the design point does not have"));
}

TEST(SystolicIsa, PackedWeightsAreTiledAndNarrow) {
  Config config = Fp32Machine();
  config.packed_weights = true;
  const auto fault = [&](int bits, const char* format, WeightLayout layout) {
    config.weight_format = *FindFormat(format);
    config.psum_format = config.accumulation_format = *FindFormat("fp32");
    Instruction instruction = SmallMatrix();
    instruction.convolution.weight_bits = static_cast<uint8_t>(bits);
    instruction.convolution.weight_layout = layout;
    return MessageOf(CheckInstruction(instruction, config));
  };
  EXPECT_EQ(fault(1, "int8", WeightLayout::kTiled), "");
  EXPECT_EQ(fault(7, "int8", WeightLayout::kTiled), "");
  EXPECT_EQ(fault(4, "e2m1", WeightLayout::kTiled), "");
  EXPECT_THAT(fault(5, "int4", WeightLayout::kTiled),
              HasSubstr("5 bits, packed, for codes of int4"));
  EXPECT_THAT(fault(3, "e2m1", WeightLayout::kTiled),
              HasSubstr("3 bits, packed, for codes of e2m1"));
  EXPECT_THAT(fault(4, "int8", WeightLayout::kStrided), HasSubstr("cannot be packed"));
}

// Loops of 2^16 * 2^23 * 2^23 * 4 = 2^64 rows: 64 bits would hold none of them.
TEST(SystolicIsa, RowsAreCountedWithoutOverflow) {
  Instruction copy;
  copy.opcode = Opcode::kVector;
  copy.vector.operands.resize(1);
  copy.vector.passes.resize(1);
  copy.vector.passes[0].to_memory = true;
  copy.vector.outer = {1 << 16, 1 << 23, 1 << 23, 4};
  EXPECT_THAT(MessageOf(CheckInstruction(copy, Config())),
              HasSubstr("the loops make more than 17592186044416 rows"));
  copy.vector.outer = {1, 1, 1, 1};
  EXPECT_THAT(MessageOf(CheckInstruction(copy, Config())), testing::Not(HasSubstr("the loops")));
}

// Only a depthwise instruction has a user unit, only a matrix instruction a precision: the machine
// stops at others.
TEST(SystolicIsa, HeadersOfOtherInstructionsNameNoUnitAndNoPrecision) {
  Config config = Fp32Machine();
  config.user_unit = FindUserUnit("maximum");
  config.psum_format = config.accumulation_format = *FindFormat("fp32");
  config.other_precisions = {{*FindFormat("e4m3"), *FindFormat("e4m3")}};
  Instruction copy;
  copy.opcode = Opcode::kVector;
  copy.vector.operands.resize(1);
  copy.vector.passes.resize(1);
  copy.vector.passes[0].to_memory = true;
  for (const Instruction& good : {Instruction(), copy, SmallMatrix()}) {
    ASSERT_TRUE(CheckInstruction(good, config).ok()) << CheckInstruction(good, config);
    Instruction with_unit = good, with_precision = good;
    with_unit.user_unit = true;
    with_precision.precision = 1;
    EXPECT_THAT(MessageOf(CheckInstruction(with_unit, config)), HasSubstr("has no user unit"));
    if (good.opcode == Opcode::kMatrix) continue;
    EXPECT_THAT(MessageOf(CheckInstruction(with_precision, config)),
                HasSubstr("names a precision"));
    EXPECT_FALSE(Decode(Encode(with_unit, config), config).ok());
    EXPECT_FALSE(Decode(Encode(with_precision, config), config).ok());
  }
}

}  // namespace
}  // namespace kiln::systolic
