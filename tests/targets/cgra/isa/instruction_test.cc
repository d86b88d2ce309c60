// Words of a configuration: every field at every value, positions of fields by the table of
// docs/cgra-machine.md, texts, and checks of ranges.

#include "kiln/targets/cgra/isa/instruction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln::cgra {
namespace {

using ::testing::HasSubstr;

// Returns bits high:low of an instruction word, bit by bit.
uint64_t BitsOf(const InstructionWord& word, int high, int low) {
  uint64_t value = 0;
  for (int bit = high; bit >= low; --bit) {
    value = 2 * value + (word[static_cast<size_t>(bit / 64)] >> (bit % 64) & 1);
  }
  return value;
}

// Expects that `entry` has `value` in bits high:low and zeros elsewhere, and that it decodes.
void ExpectField(const InstructionEntry& entry, int high, int low, uint64_t value) {
  const InstructionWord word = Encode(entry);
  EXPECT_EQ(BitsOf(word, high, low), value);
  if (low > 0) {
    EXPECT_EQ(BitsOf(word, std::min(low - 1, 63), 0), 0);
  }
  if (low > 64) {
    EXPECT_EQ(BitsOf(word, low - 1, 64), 0);
  }
  if (high < 127) {
    EXPECT_EQ(BitsOf(word, 127, std::max(high + 1, 64)), 0);
  }
  if (high < 63) {
    EXPECT_EQ(BitsOf(word, 63, high + 1), 0);
  }
  EXPECT_EQ(DecodeInstruction(word), entry);
}

TEST(Instruction, EveryFieldHasItsBits) {
  for (int i = 0; i < 8; ++i) {
    ExpectField({.multiply = static_cast<MultiplyOp>(i)}, 2, 0, static_cast<uint64_t>(i));
  }
  for (int i = 0; i < 32; ++i) {
    ExpectField({.logic = static_cast<LogicOp>(i)}, 7, 3, static_cast<uint64_t>(i));
  }
  ExpectField({.gated = true}, 8, 8, 1);
  for (int operand = 0; operand < 3; ++operand) {
    const int low = std::array{10, 24, 38}[static_cast<size_t>(operand)];
    for (int i = 0; i < 128; ++i) {
      InstructionEntry entry;
      Operand& in = entry.in[static_cast<size_t>(operand)];
      in.delay = i;
      ExpectField(entry, low + 13, low + 7, static_cast<uint64_t>(i));
      in = {.line = i % 16};
      ExpectField(entry, low + 6, low + 3, static_cast<uint64_t>(i % 16));
      in = {.kind = static_cast<OperandKind>(i % 8)};
      ExpectField(entry, low + 2, low, static_cast<uint64_t>(i % 8));
    }
  }
  for (int memory = 0; memory < 2; ++memory) {
    const int low = memory == 0 ? 52 : 65;
    for (int i = 0; i < 4096; ++i) {
      InstructionEntry entry;
      entry.memory[static_cast<size_t>(memory)].base = i;
      ExpectField(entry, low + 11, low, static_cast<uint64_t>(i));
    }
    InstructionEntry entry;
    entry.memory[static_cast<size_t>(memory)].ring = true;
    ExpectField(entry, low + 12, low + 12, 1);
  }
  for (const int32_t literal : {1, -1, 0x12345678, INT32_MIN, INT32_MAX}) {
    ExpectField({.literal = literal}, 127, 96, static_cast<uint32_t>(literal));
  }
}

TEST(Spoke, EveryFieldHasItsBits) {
  // Every word whose bits all belong to fields decodes to what encodes it, where the fields of an
  // entry without a result to an output are 0.
  EXPECT_EQ(Encode(SpokeEntry{.valid = true}), 1U);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(Encode(SpokeEntry{.instruction = i}), static_cast<uint32_t>(i) << 1);
  }
  EXPECT_EQ(Encode(SpokeEntry{.base = true}), 1U << 7);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(Encode(SpokeEntry{.master_line = i}), static_cast<uint32_t>(i) << 8);
  }
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(Encode(SpokeEntry{.master_delay = i}), static_cast<uint32_t>(i) << 12);
  }
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(Encode(SpokeEntry{.links = i}), i << 19);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(Encode(SpokeEntry{.output = i}), 1U << 27 | static_cast<uint32_t>(i) << 28);
  }
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    uint32_t word = static_cast<uint32_t>(random()) & 0x7fffffffU;
    if ((word >> 27 & 1) == 0) word &= ~(7U << 28);
    EXPECT_EQ(Encode(DecodeSpoke(word)), word);
  }
}

TEST(Delivery, EveryFieldHasItsBits) {
  for (int i = 0; i < 256; ++i) EXPECT_EQ(Encode(Delivery{.tile = i}), static_cast<uint32_t>(i));
  for (int i = 0; i < 4096; ++i) {
    EXPECT_EQ(Encode(Delivery{.base = i}), static_cast<uint32_t>(i) << 8);
  }
  EXPECT_EQ(Encode(Delivery{.memory = 1}), 1U << 20);
  EXPECT_EQ(Encode(Delivery{.same_beat = true}), 1U << 21);
  for (uint32_t word = 0; word < 1U << 22; ++word) {
    ASSERT_EQ(Encode(DecodeDelivery(word)), word);
  }
}

TEST(Instruction, TextsAreReadBack) {
  const InstructionEntry entry = {.multiply = MultiplyOp::kMultiply,
                                  .logic = LogicOp::kReverseSubtract,
                                  .gated = true,
                                  .in = {Operand{OperandKind::kMessage, 1, 7},
                                         {OperandKind::kMemory1},
                                         {OperandKind::kLiteral}},
                                  .memory = {MemoryAddress{}, {64, true}},
                                  .literal = -5};
  EXPECT_EQ(Print(entry),
            "mul.rsub in1=line1@7 in2=memory1 in3=literal memory1=64+thread literal=-5 gated");
  EXPECT_EQ(ParseInstruction(Print(entry)).value(), entry);
  const SpokeEntry spoke = {.valid = true,
                            .instruction = 3,
                            .master_line = 4,
                            .master_delay = 2,
                            .links = 0b1001,
                            .output = 1};
  EXPECT_EQ(Print(spoke), "instruction=3 master=line4@2 links=0,3 output=1");
  EXPECT_EQ(ParseSpoke(Print(spoke)).value(), spoke);
  EXPECT_EQ(Print(SpokeEntry{}), "idle");
  EXPECT_EQ(ParseSpoke("idle").value(), SpokeEntry{});
  const Delivery delivery = {.tile = 3, .memory = 1, .base = 64, .same_beat = true};
  EXPECT_EQ(Print(delivery), "tile=3 memory=1 base=64 same");
  EXPECT_EQ(ParseDelivery(Print(delivery)).value(), delivery);

  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    InstructionEntry any;
    any.multiply = static_cast<MultiplyOp>(random.Below(kMultiplyOps));
    any.logic = static_cast<LogicOp>(random.Below(kLogicOps));
    any.gated = random.Below(2) != 0;
    for (Operand& in : any.in) {
      in.kind = static_cast<OperandKind>(random.Below(kOperandKinds));
      if (in.kind != OperandKind::kMessage) continue;
      in.line = static_cast<int>(random.Below(9));
      in.delay = static_cast<int>(random.Below(128));
    }
    for (MemoryAddress& memory : any.memory) {
      memory = {static_cast<int>(random.Below(4096)), random.Below(2) != 0};
    }
    any.literal = static_cast<int32_t>(random());
    ASSERT_EQ(ParseInstruction(Print(any)).value(), any);
    ASSERT_EQ(DecodeInstruction(Encode(any)), any);
  }
}

TEST(Instruction, BadTextsNameTheWord) {
  const auto error = [](const auto& result) { return MessageOf(result.status()); };
  EXPECT_THAT(error(ParseInstruction("mul.foo")), HasSubstr("the operation is 'mul.foo'; one"));
  EXPECT_THAT(error(ParseInstruction("")), HasSubstr("the instruction is empty"));
  EXPECT_THAT(error(ParseInstruction("mul.add in1=line3")), HasSubstr("in1 is 'line3'"));
  EXPECT_THAT(error(ParseInstruction("mul.add memory0=x")), HasSubstr("memory0 is 'x'"));
  EXPECT_THAT(error(ParseInstruction("mul.add literal=1.5")), HasSubstr("literal is '1.5'"));
  EXPECT_THAT(error(ParseInstruction("mul.add in1=none in1=none")),
              HasSubstr("the word 'in1=none' has no meaning here"));
  EXPECT_THAT(error(ParseSpoke("instruction=1")), HasSubstr("master is ''"));
  EXPECT_THAT(error(ParseSpoke("master=base links=9")), HasSubstr("links is '9'"));
  EXPECT_THAT(error(ParseDelivery("tile=x")), HasSubstr("tile is 'x'; an integer"));
}

TEST(Instruction, ChecksNameTheFieldAndItsRange) {
  Config config;
  config.wait_limit = 16;
  const auto error = [&](const auto& entry) { return MessageOf(Check(entry, config, "tile 1")); };
  EXPECT_TRUE(Check(InstructionEntry{}, config, "").ok());
  EXPECT_THAT(error(InstructionEntry{.multiply = static_cast<MultiplyOp>(6)}),
              HasSubstr("tile 1: the multiply/shift operation is 6; 0 to 5"));
  EXPECT_THAT(error(InstructionEntry{.logic = static_cast<LogicOp>(17)}),
              HasSubstr("the arithmetic/logic operation is 17; 0 to 16"));
  EXPECT_THAT(error(InstructionEntry{.logic = LogicOp::kFloatAdd}), HasSubstr("binary32"));
  InstructionEntry entry;
  entry.in[1] = {OperandKind::kMessage, 5, 0};
  EXPECT_THAT(error(entry), HasSubstr("the line of in2 is 5; 0 to 4"));
  entry.in[1] = {OperandKind::kMessage, 4, 17};
  EXPECT_THAT(error(entry), HasSubstr("the delay of in2 is 17; 0 to 16"));
  entry = {};
  entry.in[2].kind = static_cast<OperandKind>(5);
  EXPECT_THAT(error(entry), HasSubstr("the kind of in3 is 5; 0 to 4"));
  entry = {};
  entry.memory[1] = {481, true};
  EXPECT_THAT(error(entry), HasSubstr("the address of memory 1 is 481; 0 to 480"));
  entry.memory[1] = {512, false};
  EXPECT_THAT(error(entry), HasSubstr("the address of memory 1 is 512; 0 to 511"));
  EXPECT_TRUE(Check(SpokeEntry{.instruction = 63}, config, "").ok());  // not valid
  EXPECT_THAT(error(SpokeEntry{.valid = true, .instruction = 16}),
              HasSubstr("the instruction is 16; 0 to 15"));
  EXPECT_THAT(error(SpokeEntry{.valid = true, .master_line = 5}),
              HasSubstr("the line of the master is 5; 0 to 4"));
  EXPECT_THAT(error(SpokeEntry{.valid = true, .base = true, .links = 16}),
              HasSubstr("the set of links is 16; 0 to 15"));
  EXPECT_THAT(error(SpokeEntry{.valid = true, .base = true, .output = 4}),
              HasSubstr("the output is 4; -1 to 3"));
  EXPECT_THAT(error(Delivery{.tile = 16}), HasSubstr("the tile is 16; 0 to 15"));
  EXPECT_THAT(error(Delivery{.base = 481}), HasSubstr("the base address is 481; 0 to 480"));
}

TEST(Lines, FollowTheOrderOfOffsets) {
  for (int reach = 1; reach <= 4; ++reach) {
    Config config;
    config.reach = reach;
    int line = 0;
    for (int offset = -reach; offset <= reach; ++offset) {
      if (offset == 0) continue;
      EXPECT_EQ(OffsetOf(config, line), offset);
      EXPECT_EQ(LineOf(config, offset), line);
      ++line;
    }
    EXPECT_EQ(LinksOf(config), line);
    EXPECT_EQ(OffsetOf(config, line), 0);
    EXPECT_EQ(LineOf(config, 0), line);
    EXPECT_EQ(LinesOf(config), line + 1);
  }
}

}  // namespace
}  // namespace kiln::cgra
