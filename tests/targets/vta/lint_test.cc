#include "kiln/targets/vta/lint/lint.h"
#include "kiln/targets/vta/isa/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fmt/format.h"
#include "kiln/targets/vta/isa/memory.h"
#include "tests/targets/vta/default_config.h"
#include "tests/targets/vta/random_program.h"
#include "tests/test_data.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// Text as a program in a memory of 16 pages; micro-ops of zeros stand at its end.
ProgramVector VectorOf(std::string_view text, const Config& config = kConfig) {
  const auto program = Assemble(text, "program", Encoding(config));
  EXPECT_TRUE(program.ok()) << program.status();
  ProgramVector vector;
  vector.config = config;
  vector.base = DeviceMemory::kPageBytes;
  vector.before.resize(16 * DeviceMemory::kPageBytes);
  std::copy(program->begin(), program->end(), vector.before.begin());
  vector.launches.push_back({vector.base, program->size() / kInstructionBytes});
  return vector;
}

// "kind @instruction" of all findings.
std::vector<std::string> FindingsOf(std::string_view text) {
  std::vector<std::string> found;
  for (const Finding& finding : Lint(VectorOf(text)).findings) {
    found.push_back(std::string(NameOf(finding.kind)) + " @" + std::to_string(finding.instruction));
  }
  return found;
}

constexpr std::string_view kUop =
    "---- LOAD uop sram=0 dram=16000 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0\n";
constexpr std::string_view kAcc =
    "---- LOAD acc sram=0 dram=512 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0\n";
const std::string kOperands =
    "---- LOAD inp sram=0 dram=512 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0\n"
    "---- LOAD wgt sram=0 dram=32 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0\n"
    "---N NOP stage=load\n";
constexpr std::string_view kGemm = "p--- GEMM uop[0,1) loop 1x4 dst(0,1) src(0,1) wgt(0,1)\n";

TEST(VtaLint, AProgramWithoutFindings) {
  EXPECT_THAT(FindingsOf(std::string(kUop) + std::string(kAcc) + kOperands + std::string(kGemm) +
                         R"(---N NOP stage=compute
p-P- STORE out sram=0 dram=2048 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0
-n-- FINISH)"),
              IsEmpty());
}

TEST(VtaLint, RacesOnChip) {
  const std::string begin = std::string(kUop) + std::string(kAcc) + kOperands;
  // The GEMM reads what load has written, without waiting.
  EXPECT_THAT(
      FindingsOf(begin + "---- GEMM uop[0,1) loop 1x4 dst(0,1) src(0,1) wgt(0,1)\np--- FINISH"),
      ElementsAre("race @5"));
  // Load writes again what the GEMM may not have read yet.
  EXPECT_THAT(FindingsOf(begin + std::string(kGemm) +
                         R"(---N LOAD inp sram=3 dram=512 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0
p--- FINISH)"),
              ElementsAre("race @5"));  // that load runs before the GEMM does
  // Compute writes again what store may not have read yet.
  EXPECT_THAT(FindingsOf(begin + std::string(kGemm) + R"(---N NOP stage=compute
p-P- STORE out sram=0 dram=2048 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0
---- ALU add imm=1 uop[0,1) loop 1x1 dst(0,0) src(0,0)
-n-- FINISH)"),
              Contains("race @7"));
}

TEST(VtaLint, RacesInMemory) {
  const std::string store = std::string(kUop) + std::string(kAcc) +
                            R"(---N ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)
p-P- STORE out sram=0 dram=2048 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0
)";
  const std::string load = " LOAD inp sram=0 dram=2051 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0\n";
  EXPECT_THAT(FindingsOf(store + "---N" + load + "pn-- FINISH"), ElementsAre("race @3"));
  EXPECT_THAT(FindingsOf(store + "-nP- NOP stage=compute\n-n-N" + load + "p--- FINISH"), IsEmpty());
}

TEST(VtaLint, ReadsOfNothing) {
  EXPECT_THAT(FindingsOf("---- ALU add imm=1 uop[0,1) loop 1x1 dst(0,0) src(0,0)\n---- FINISH"),
              ElementsAre("uninitialised @0"));
  EXPECT_THAT(FindingsOf(std::string(kUop) +
                         "---- GEMM reset uop[0,1) loop 1x1 dst(0,0) src(0,0) wgt(0,0)\n"
                         "---- ALU add imm=1 uop[0,1) loop 1x2 dst(0,1) src(0,1)\n---- FINISH"),
              ElementsAre("uninitialised @2"));
}

TEST(VtaLint, OverlapsFaultsAndTokens) {
  EXPECT_THAT(FindingsOf(std::string(kUop) + std::string(kAcc) +
                         R"(---N ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)
p--- STORE out sram=0 dram=2048 y=1 x=2 stride=2 pad(y0,y1,x0,x1)=0,0,0,0
---- STORE out sram=0 dram=2052 y=1 x=2 stride=2 pad(y0,y1,x0,x1)=0,0,0,0
--P- STORE out sram=0 dram=2049 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0
-n-- FINISH)"),
              ElementsAre("overlap @5"));
  EXPECT_THAT(FindingsOf("p--- FINISH"), ElementsAre("fault @0"));
  EXPECT_THAT(FindingsOf("---N FINISH"), ElementsAre("tokens-left @0"));
}

// The stream of these programs stands at byte 4096: output element 256 is its first 16 bytes.
TEST(VtaLint, StoresIntoTheStream) {
  const auto found = [](std::string_view place) {
    return FindingsOf(std::string(kUop) + std::string(kAcc) +
                      "---N ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)\n" +
                      "p-P- STORE out sram=0 dram=" + std::string(place) +
                      " y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0\n-n-- FINISH");
  };
  EXPECT_THAT(found("260"), ElementsAre("stream @3"));  // over FINISH
  EXPECT_THAT(found("261"), IsEmpty());
}

TEST(VtaLint, EndsAtTheLimitOfSteps) {
  const ProgramVector vector =
      VectorOf("---- ALU add imm=1 uop[0,8192) loop 16383x16383 dst(0,0) src(0,0)\n---- FINISH");
  const LintResult lint = Lint(vector, 1'000'000);
  ASSERT_EQ(lint.findings.size(), 1u);
  EXPECT_EQ(lint.findings[0].message,
            "too_long: 2198754828288 steps more, and 1000000 of 1000000 are left");
}

// Loops around nothing take no time, however long they are: these would take minutes.
TEST(VtaLint, LoopsAroundNothing) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += "---- GEMM uop[1,1) loop 16383x16383 dst(0,0) src(0,0) wgt(0,0)\n";
  const LintResult lint = Lint(VectorOf(text + "---- FINISH"));
  EXPECT_THAT(lint.findings, IsEmpty());
  EXPECT_THAT(lint.hls, ElementsAre("loops or micro-ops of none"));
}

// 131,000 rows, none of which a token orders: looked at one by one against each other they would
// take minutes.
TEST(VtaLint, ManyRowsTakeLittleTime) {
  ProgramVector vector = VectorOf("");
  const Encoding encoding(kConfig);
  vector.before.resize(64 * DeviceMemory::kPageBytes);
  size_t count = 0;
  for (int i = 0; i < 64; ++i) {
    for (const char* line :
         {"---- LOAD inp sram=0 dram=12000 y=1024 x=2 stride=1 pad(y0,y1,x0,x1)=0,0,0,0",
          "---- STORE out sram=0 dram=14000 y=1024 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0"}) {
      const auto word = AssembleLine(line, encoding);
      ASSERT_TRUE(word.ok());
      std::copy(word->begin(), word->end(),
                vector.before.begin() + static_cast<std::ptrdiff_t>(count++ * kInstructionBytes));
    }
  }
  vector.launches[0].instructions = count;
  const LintResult lint = Lint(vector);
  // Nothing of both is one place; all stores but the first write again what others wrote, and
  // nothing waits for them.
  int races = 0, overlaps = 0;
  for (const Finding& finding : lint.findings) {
    races += finding.kind == FindingKind::kRace ? 1 : 0;
    overlaps += finding.kind == FindingKind::kOverlap ? 1 : 0;
  }
  EXPECT_EQ(races, 0);
  EXPECT_EQ(overlaps, 63);
}

TEST(VtaLint, WhatHardwareDoesOtherwise) {
  const auto lint = [](std::string_view line) {
    return Lint(
        VectorOf(std::string(kUop) + std::string(kAcc) + std::string(line) + "\n---- FINISH"));
  };
  const auto right = lint("---- ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)");
  EXPECT_THAT(right.hls, IsEmpty());
  EXPECT_THAT(right.chisel, IsEmpty());
  EXPECT_TRUE(right.hazard_free);
  EXPECT_THAT(lint("---- ALU mul imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)").hls,
              ElementsAre("mul"));
  EXPECT_THAT(lint("---- ALU shr imm=16 uop[0,1) loop 1x4 dst(0,1) src(0,1)").hls,
              ElementsAre("shift outside [-16,15]"));
  EXPECT_THAT(lint("---- ALU shr imm=16 uop[0,1) loop 1x4 dst(0,1) src(0,1)").chisel, IsEmpty());
  EXPECT_THAT(lint("---- ALU add imm=1 uop[0,1) loop 1x2 dst(0,1) src(0,2)").chisel,
              ElementsAre("immediate ALU with src other than dst"));
  EXPECT_THAT(lint("---- ALU add imm=1 uop[0,1) loop 0x2 dst(0,1) src(0,1)").hls,
              ElementsAre("loops or micro-ops of none"));
  EXPECT_THAT(lint("---- GEMM reset uop[0,1) loop 1x2 dst(0,1) src(0,2047) wgt(0,1023)").chisel,
              IsEmpty());
  EXPECT_THAT(lint("---- GEMM reset uop[0,1) loop 1x3 dst(0,1) src(0,1024) wgt(0,0)").hls,
              ElementsAre("a reset with operands out of range"));
  EXPECT_FALSE(lint("---- ALU add imm=1 uop[0,1) loop 1x2 dst(0,0) src(0,0)").hazard_free);
  EXPECT_FALSE(lint("---- ALU add uop[0,1) loop 1x3 dst(0,1) src(0,0)").hazard_free);
}

// ----- instructions without their memory

LintResult LintText(std::string_view text, const Config& config = kConfig) {
  const auto program = Assemble(text, "program", Encoding(config));
  EXPECT_TRUE(program.ok()) << program.status();
  return LintInstructions(*program, config, 1'000'000);
}
std::vector<std::string> FindingsAlone(std::string_view text) {
  std::vector<std::string> found;
  for (const Finding& finding : LintText(text).findings) {
    found.push_back(fmt::format("{} @{}", NameOf(finding.kind), finding.instruction));
  }
  return found;
}

constexpr std::string_view kNoPads = " pad(y0,y1,x0,x1)=0,0,0,0\n";

TEST(VtaLintAlone, FaultsOfInstructionsAreAllTold) {
  const auto text = fmt::format(
      "p--- LOAD inp sram=0 dram=512 y=1 x=1 stride=1{0}---- LOAD acc sram=2047 dram=512 y=1 x=2 "
      "stride=2{0}"
      "---- LOAD out sram=0 dram=512 y=1 x=2 stride=2{0}raw 05000000000000000000000000000000\n---- "
      "FINISH",
      kNoPads);
  const LintResult lint = LintText(text);
  EXPECT_THAT(FindingsAlone(text), ElementsAre("fault @0", "fault @1", "fault @2", "fault @3"));
  EXPECT_FALSE(lint.judged);
  EXPECT_EQ(lint.not_checked, "what instructions do together, as not all can be executed");
}

TEST(VtaLintAlone, TokensAreKnown) {
  EXPECT_THAT(FindingsAlone("---- NOP stage=load\np--- FINISH"),
              ElementsAre("fault @1"));                                        // deadlock
  EXPECT_THAT(FindingsAlone("---- NOP stage=load"), ElementsAre("fault @0"));  // no FINISH
  EXPECT_THAT(FindingsAlone(""), ElementsAre("fault @0"));
  EXPECT_THAT(FindingsAlone("---N FINISH"), ElementsAre("tokens-left @0"));
  EXPECT_EQ(LintText("---N NOP stage=load\np--- FINISH").not_checked, "");
}

// Where memory can be at all: from its second page to the end of 32 bits.
TEST(VtaLintAlone, AddressesThatNoMemoryHas) {
  const auto found = [](std::string_view rows) {
    return FindingsAlone(fmt::format("---N LOAD inp sram=0 {}{}p--- FINISH", rows, kNoPads));
  };
  EXPECT_THAT(found("dram=255 y=1 x=1 stride=1"), ElementsAre("fault @0"));
  EXPECT_THAT(found("dram=256 y=1 x=1 stride=1"), IsEmpty());
  EXPECT_THAT(found("dram=0xfffffff y=1 x=1 stride=1"), IsEmpty());
  EXPECT_THAT(found("dram=0xfffffff y=1 x=2 stride=2"), ElementsAre("fault @0"));
  EXPECT_THAT(found("dram=0xffffffe y=2 x=1 stride=2"),
              ElementsAre("fault @0"));  // its second row wraps to 0
}

TEST(VtaLintAlone, AccessesOfLoadsAndStoresAreKnown) {
  const auto acc = fmt::format("---N LOAD acc sram=0 dram=512 y=1 x=2 stride=2{}", kNoPads);
  const auto store = [](std::string_view begin) {
    return fmt::format("{} y=1 x=2 stride=2{}", begin, kNoPads);
  };
  EXPECT_THAT(FindingsAlone(acc + store("p-P- STORE out sram=0 dram=2048") + "-n-- FINISH"),
              IsEmpty());
  EXPECT_THAT(FindingsAlone(acc + store("p-P- STORE out sram=1 dram=2048") + "-n-- FINISH"),
              ElementsAre("uninitialised @1"));
  EXPECT_THAT(FindingsAlone(acc + store("---- STORE out sram=0 dram=2048") +
                            store("p-P- STORE out sram=0 dram=2049") + "-n-- FINISH"),
              ElementsAre("race @1", "overlap @2"));
}

// Micro-ops that nothing or only padding has written are zeros; those of memory can be any, and
// only what holds for all of them is a finding.
TEST(VtaLintAlone, MicroOpsThatAreKnown) {
  const std::string padding =
      "---- LOAD uop sram=0 dram=1024 y=0 x=2 stride=0 pad(y0,y1,x0,x1)=1,0,0,0\n";
  const auto memory = fmt::format("---- LOAD uop sram=0 dram=1024 y=1 x=1 stride=1{}", kNoPads);
  const std::string reset = "---- GEMM reset uop[0,1) loop 1x2 dst(0,1) src(0,0) wgt(0,0)\n";
  const std::string add = "---- ALU add uop[0,1) loop 1x2 dst(0,1) src(0,2)\n---- FINISH";
  EXPECT_THAT(FindingsAlone(add),
              ElementsAre("uninitialised @0"));  // its micro-op; of a kind the first is told
  EXPECT_THAT(FindingsAlone(padding + reset + add),
              ElementsAre("uninitialised @2"));  // accumulator 2
  const LintResult known = LintText(
      padding + reset + "---- ALU mul imm=2 uop[0,1) loop 1x2 dst(0,1) src(0,1)\n---- FINISH");
  EXPECT_THAT(known.findings, IsEmpty());
  EXPECT_THAT(known.chisel, Contains("mul"));
  EXPECT_FALSE(known.micro_ops_unknown);
  EXPECT_EQ(known.not_checked, "whether there is memory where loads and stores reach");

  const LintResult unknown = LintText(memory + reset + add);
  EXPECT_THAT(unknown.findings, IsEmpty());
  EXPECT_TRUE(unknown.micro_ops_unknown);
  EXPECT_THAT(
      unknown.not_checked,
      testing::StartsWith(
          "ranges, races, reads of nothing and hazards of the GEMM and ALU instructions whose "
          "micro-ops come from memory (2 of 2); "));
  // The second micro-op is not loaded.
  EXPECT_THAT(
      FindingsAlone(memory + "---- ALU add imm=1 uop[0,2) loop 1x1 dst(0,0) src(0,0)\n---- FINISH"),
      ElementsAre("uninitialised @1"));
  for (const char* instruction :
       {"GEMM uop[0,1) loop 1x3 dst(0,1024) src(0,0) wgt(0,0)",
        "GEMM uop[8190,8193) loop 1x1 dst(0,0) src(0,0) wgt(0,0)",
        "GEMM uop[0,1) loop 1024x1024 dst(0,0) src(0,0) wgt(0,0)"}) {  // the last: too_long
    EXPECT_THAT(FindingsAlone(fmt::format("{}---- {}\n---- FINISH", memory, instruction)),
                ElementsAre("fault @1"));
  }
}

// Random programs from which some waiting is taken away: whatever is found without their memory is
// found with it, and much of that is.
TEST(VtaLintAlone, FindsNothingThatMemoryDisproves) {
  size_t found = 0, all = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ProgramVector vector;
    vector.config = RandomConfig(random);
    RandomProgram program = MakeRandomProgram(random, vector.config, 30);
    const Encoding encoding(vector.config);
    std::vector<uint8_t> bytes;
    for (Instruction& in : program.instructions) {
      if (random.Below(4) == 0) in.pop_previous = in.pop_next = false;
      const Encoding::Bytes word = encoding.Encode(in);
      bytes.insert(bytes.end(), word.begin(), word.end());
    }
    std::copy(bytes.begin(), bytes.end(),
              program.memory.begin() +
                  static_cast<std::ptrdiff_t>(program.address - RandomProgram::kBase));
    vector.base = RandomProgram::kBase;
    vector.before = program.memory;
    vector.launches.push_back({program.address, program.instructions.size()});
    const LintResult with = Lint(vector), alone = LintInstructions(bytes, vector.config);
    EXPECT_TRUE(alone.judged || !with.judged);
    if (!with.judged) continue;
    const auto in_memory = [&](const Finding& one) {
      return std::ranges::any_of(with.findings, [&](const Finding& other) {
        return one.kind == other.kind && one.instruction == other.instruction;
      });
    };
    for (const Finding& finding : alone.findings) {
      EXPECT_TRUE(in_memory(finding))
          << NameOf(finding.kind) << " @" << finding.instruction << ": " << finding.message << "\n"
          << program.Text(vector.config);
    }
    EXPECT_TRUE(std::ranges::includes(with.hls, alone.hls));
    EXPECT_TRUE(std::ranges::includes(with.chisel, alone.chisel));
    EXPECT_TRUE(alone.hazard_free || !with.hazard_free);
    found += alone.findings.size();
    all += with.findings.size();
  }
  EXPECT_GT(found, all / 10) << all;
}

// The original's programs say of themselves whether hardware would do the same.
TEST(VtaLint, PortabilityOfTheOriginalsPrograms) {
  const fs::path folder = TestData("vta");
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto json = nlohmann::json::parse(std::ifstream(entry.path()));
    const LintResult lint = Lint(*ReadProgramVector(entry.path()));
    EXPECT_EQ(lint.hls.empty(), json["portable_hls"]) << entry.path();
    EXPECT_EQ(lint.chisel.empty(), json["portable_chisel"]) << entry.path();
    EXPECT_EQ(lint.hazard_free, json["hazard_free"]) << entry.path();
    for (const Finding& finding : lint.findings) {
      EXPECT_NE(finding.kind, FindingKind::kFault) << entry.path() << ": " << finding.message;
      EXPECT_NE(finding.kind, FindingKind::kRace) << entry.path() << ": " << finding.message;
    }
    ++count;
  }
  EXPECT_GE(count, 10);
}

// Programs whose accesses are all ordered have no race.
TEST(VtaLint, RandomProgramsHaveNoRaces) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    ProgramVector vector;
    vector.config = RandomConfig(random);
    const RandomProgram program = MakeRandomProgram(random, vector.config, 40);
    vector.base = RandomProgram::kBase;
    vector.before = program.memory;
    vector.launches.push_back({program.address, program.instructions.size()});
    for (const Finding& finding : Lint(vector).findings) {
      EXPECT_NE(finding.kind, FindingKind::kFault) << "seed " << seed << ": " << finding.message;
      EXPECT_NE(finding.kind, FindingKind::kRace) << "seed " << seed << ": " << finding.message;
      EXPECT_NE(finding.kind, FindingKind::kTokensLeft) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kiln::vta
