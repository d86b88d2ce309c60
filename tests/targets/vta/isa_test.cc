#include "kiln/targets/vta/isa/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

Config Default() { return *ParseOriginalConfig("{}", "default"); }

Encoding::Bytes FromHex(std::string_view digits) {
  Encoding::Bytes bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(std::stoi(std::string(digits.substr(2 * i, 2)), nullptr, 16));
  }
  return bytes;
}

// Words and their meaning in the original's default configuration.
TEST(VtaIsa, KnownWords) {
  const Encoding encoding(Default());
  const std::pair<std::string_view, std::string_view> words[] = {
      {"0001000c0400000001000c000c000000",
       "---- LOAD inp sram=0 dram=259 y=1 x=12 stride=12 pad(y0,y1,x0,x1)=0,0,0,0"},
      {"c0000048000000000100060006000000",
       "---N LOAD wgt sram=0 dram=18 y=1 x=6 stride=6 pad(y0,y1,x0,x1)=0,0,0,0"},
      {"82000001080002000000000000000000",
       "---- GEMM reset uop[0,8) loop 1x1 dst(0,0) src(0,0) wgt(0,0)"},
      {"4a080002080006000000000002004000",
       "p--N GEMM uop[8,16) loop 1x3 dst(0,0) src(0,1) wgt(0,1)"},
      {"04002000080020000008000002b0f8ff",
       "---- ALU shr imm=-8 uop[0,1) loop 1x16 dst(0,1) src(0,1)"},
      {"29020004060000000400020002000000",
       "p-P- STORE out sram=0 dram=385 y=4 x=2 stride=2 pad(y0,y1,x0,x1)=0,0,0,0"},
      {"18000000000000000000000000000000", "pn-- NOP stage=compute"},
      {"03000000000000000000000000000000", "---- FINISH"},
      {"07000000000000000000000000000000", "raw 07000000000000000000000000000000"}};
  for (const auto& [digits, text] : words) {
    const Encoding::Bytes bytes = FromHex(digits);
    EXPECT_EQ(Disassemble(bytes, encoding), text);
    const auto assembled = AssembleLine(text, encoding);
    ASSERT_TRUE(assembled.ok()) << assembled.status();
    EXPECT_EQ(*assembled, bytes) << text;
  }
}

// Hex of either case, with or without 0x; numbers of lines behind 0x.
TEST(VtaIsa, HexIsReadInAllForms) {
  const Encoding encoding(Default());
  const Encoding::Bytes word = FromHex("0700000000abcdef0000000000000000");
  for (const char* line :
       {"raw 0700000000abcdef0000000000000000", "raw 0700000000ABCDEF0000000000000000",
        "raw 0x0700000000AbCdEf0000000000000000"}) {
    const auto assembled = AssembleLine(line, encoding);
    ASSERT_TRUE(assembled.ok()) << assembled.status();
    EXPECT_EQ(*assembled, word) << line;
  }
  const auto load = [&](const std::string& dram) {
    return AssembleLine(
        "---- LOAD inp sram=0 dram=" + dram + " y=1 x=12 stride=0xC pad(y0,y1,x0,x1)=0,0,0,0",
        encoding);
  };
  EXPECT_EQ(*load("0x103"), FromHex("0001000c0400000001000c000c000000"));
  for (const char* wrong : {"0x", "0x-1", "0x100000000", "0x103g"})
    EXPECT_FALSE(load(wrong).ok()) << wrong;
}

// Where the first half has room, fields of the second slip into it.
TEST(VtaIsa, FieldsMoveWithTheBuffers) {
  Config config = Default();
  config.uop_buffer_bytes = 1 << 12;          // 1,024 micro-ops
  config.accumulator_buffer_bytes = 1 << 13;  // 128 accumulators
  Instruction in;
  in.opcode = Opcode::kGemm;
  in.dst_outer = 0x55;
  in.dst_inner = 0x2a;
  const Encoding::Bytes bytes = Encoding(config).Encode(in);
  EXPECT_EQ(bytes[7], 0x55 << 1);  // bits 63:57
  EXPECT_EQ(bytes[8], 0x2a);       // bits 70:64
}

TEST(VtaIsa, EncodingIsReversible) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const Config config = RandomConfig(random);
    const Encoding encoding(config);
    const Instruction in = RandomFields(random, config);
    const Encoding::Bytes bytes = encoding.Encode(in);
    EXPECT_EQ(encoding.Decode(bytes), in);
    const Uop uop{static_cast<uint32_t>(random.Below(static_cast<uint64_t>(config.accumulators()))),
                  static_cast<uint32_t>(random.Below(static_cast<uint64_t>(config.inputs()))),
                  static_cast<uint32_t>(random.Below(static_cast<uint64_t>(config.weights())))};
    EXPECT_EQ(encoding.DecodeUop(encoding.EncodeUop(uop)), uop);
  }
}

// Any 16 bytes have a text that gives the same bytes.
TEST(VtaIsa, TextIsReversible) {
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    const Config config = RandomConfig(random);
    const Encoding encoding(config);
    Encoding::Bytes bytes = encoding.Encode(RandomFields(random, config));
    if (i % 4 == 0) bytes[random.Below(16)] ^= static_cast<uint8_t>(1u << random.Below(8));
    const std::string text = Disassemble(bytes, encoding);
    const auto assembled = AssembleLine(text, encoding);
    ASSERT_TRUE(assembled.ok()) << text << ": " << assembled.status();
    EXPECT_EQ(*assembled, bytes) << text;
  }
}

TEST(VtaIsa, ErrorsOfTextNameTheLine) {
  const Encoding encoding(Default());
  const auto message = [&](std::string_view text) {
    return MessageOf(Assemble(text, "program.txt", encoding).status());
  };
  EXPECT_THAT(message("# begins\n\n---- FINNISH\n"),
              testing::HasSubstr("program.txt: line 3: 'FINNISH' is no instr"));
  EXPECT_EQ(message("---- " + std::string(1000, 'x')),
            "program.txt: line 1: '" + std::string(60, 'x') +
                "...' is no instruction; LOAD, STORE, GEMM, ALU, NOP, FINISH or raw");
  EXPECT_THAT(message("-p-- FINISH"), testing::HasSubstr("'-p--' are no tokens"));
  EXPECT_THAT(message("---- NOP stage=fetch"), testing::HasSubstr("'fetch' is no stage"));
  EXPECT_THAT(message("---- LOAD inp sram=99999 dram=0 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0"),
              testing::HasSubstr("sram_base is 99999; 0 to 65535"));
  EXPECT_THAT(message("---- ALU add imm=40000 uop[0,1) loop 1x1 dst(0,0) src(0,0)"),
              testing::HasSubstr("immediate is 40000; -32768 to 32767"));
  EXPECT_THAT(message("---- GEMM uop[0,1) loop 1x1 dst(0,0) src(0,0) wgt(0,0) x"),
              testing::HasSubstr("'x' behind"));
  EXPECT_THAT(message("raw 00"), testing::HasSubstr("are not 32 hex digits"));
  EXPECT_THAT(message("---- GEMM uop[-1,1) loop 1x1 dst(0,0) src(0,0) wgt(0,0)"),
              testing::HasSubstr("is no count"));
}

}  // namespace
}  // namespace kiln::vta
