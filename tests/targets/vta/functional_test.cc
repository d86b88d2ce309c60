#include "kiln/targets/vta/simulate/functional/functional.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/cpu.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "tests/targets/vta/naive.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

constexpr uint64_t kBase = RandomProgram::kBase;

std::vector<uint8_t> MemoryBehind(const Config& config, const RandomProgram& program,
                                  uint64_t order) {
  DeviceMemory memory(kBase, program.memory);
  FunctionalMachine machine(config);
  const auto fault =
      machine.Launch(memory, program.address, program.instructions.size(), StageOrder(order));
  EXPECT_FALSE(fault.has_value()) << fault->instruction << ": " << fault->message;
  return {memory.bytes().begin(), memory.bytes().end()};
}

TEST(VtaFunctional, RandomProgramsDoWhatTheDefinitionSays) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const Config config = RandomConfig(random);
    const RandomProgram program = MakeRandomProgram(random, config, 40);
    std::vector<uint8_t> expected = program.memory;
    RunNaive(config, program.instructions, kBase, expected);
    ASSERT_EQ(MemoryBehind(config, program, 0), expected) << "seed " << seed << '\n'
                                                          << program.Text(config);
  }
}

TEST(VtaFunctional, TheOrderOfStagesDoesNotMatter) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(1000 + seed);
    const Config config = RandomConfig(random);
    const RandomProgram program = MakeRandomProgram(random, config, 60);
    const std::vector<uint8_t> expected = MemoryBehind(config, program, 0);
    for (uint64_t order = 1; order < 12; ++order) {
      ASSERT_EQ(MemoryBehind(config, program, order), expected)
          << "seed " << seed << ", order " << order;
    }
  }
}

TEST(VtaFunctional, EveryProcessorLevelGivesTheSameBits) {
  Config config = *ParseOriginalConfig("{}", "default");
  for (const int batch : {1, 2}) {
    config.batch = batch;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Random random(2000 + seed);
      const RandomProgram program = MakeRandomProgram(random, config, 60);
      LimitCpuLevel(CpuLevel::kPortable);
      const std::vector<uint8_t> expected = MemoryBehind(config, program, 0);
      for (const CpuLevel level : {CpuLevel::kAvx2, CpuLevel::kAvx512Vnni}) {
        LimitCpuLevel(level);
        EXPECT_EQ(MemoryBehind(config, program, 0), expected) << NameOf(level) << ", seed " << seed;
      }
      LimitCpuLevel(kHighestCpuLevel);
    }
  }
}

// A machine of the default configuration, and programs as text in a memory of one page.
class VtaFaults : public testing::Test {
 protected:
  // What a program is stopped with: "kind @instruction", or "" where it is not. The same in all
  // orders of the stages.
  std::string FaultOf(std::string_view text) {
    const auto program = Assemble(text, "program", Encoding(config_));
    EXPECT_TRUE(program.ok()) << program.status();
    std::string first;
    for (uint64_t order = 0; order < 10; ++order) {
      std::vector<uint8_t> image(DeviceMemory::kPageBytes, 0);
      std::copy(program->begin(), program->end(), image.begin());
      DeviceMemory memory(kBase, image);
      FunctionalMachine machine(config_);
      const auto fault =
          machine.Launch(memory, kBase, program->size() / kInstructionBytes, StageOrder(order));
      const std::string found = fault.has_value() ? std::string(NameOf(fault->kind)) + " @" +
                                                        std::to_string(fault->instruction)
                                                  : "";
      if (order == 0) first = found;
      EXPECT_EQ(found, first) << "order " << order;
      EXPECT_EQ(CycleFaultOf(image, program->size() / kInstructionBytes), first) << "cycle level";
    }
    return first;
  }

  std::string CycleFaultOf(const std::vector<uint8_t>& image, size_t count) const {
    DeviceMemory memory(kBase, image);
    CycleMachine machine(config_);
    const auto fault = machine.Launch(memory, kBase, count).fault;
    return fault.has_value()
               ? std::string(NameOf(fault->kind)) + " @" + std::to_string(fault->instruction)
               : "";
  }

  const Config config_ = *ParseOriginalConfig("{}", "default");
};

TEST_F(VtaFaults, EveryKind) {
  const std::string end = "\n---- FINISH";
  EXPECT_EQ(FaultOf("---- FINISH"), "");
  EXPECT_EQ(FaultOf("raw 05000000000000000000000000000000" + end), "bad_opcode @0");
  EXPECT_EQ(FaultOf("raw 0000000000000000000000000000000"
                    "0" +
                    end),
            "");  // a no-op
  EXPECT_EQ(FaultOf("raw 04000000000000000000000000500000" + end), "bad_opcode @0");
  EXPECT_EQ(
      FaultOf("---- LOAD out sram=0 dram=256 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0" + end),
      "bad_memory_id @0");
  EXPECT_EQ(
      FaultOf("---- STORE acc sram=0 dram=256 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0" + end),
      "bad_memory_id @0");
  EXPECT_EQ(
      FaultOf("---- STORE out sram=0 dram=256 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,1,0" + end),
      "bad_field @0");
  EXPECT_EQ(FaultOf("p--- NOP stage=load" + end), "bad_dependency @0");
  EXPECT_EQ(FaultOf("---N NOP stage=store" + end), "bad_dependency @0");
  EXPECT_EQ(
      FaultOf("---- LOAD inp sram=2047 dram=256 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,1" + end),
      "sram_range @0");
  EXPECT_EQ(
      FaultOf("---- STORE out sram=2047 dram=256 y=2 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0" + end),
      "sram_range @0");
  EXPECT_EQ(FaultOf("---- GEMM uop[0,1) loop 1x3 dst(0,1024) src(0,0) wgt(0,0)" + end),
            "sram_range @0");
  EXPECT_EQ(FaultOf("---- GEMM uop[0,1) loop 1x3 dst(0,0) src(0,1024) wgt(0,0)" + end),
            "sram_range @0");
  EXPECT_EQ(FaultOf("---- GEMM uop[0,1) loop 1x3 dst(0,0) src(0,0) wgt(0,512)" + end),
            "sram_range @0");
  EXPECT_EQ(FaultOf("---- ALU add imm=1 uop[0,1) loop 1x3 dst(0,0) src(0,1024)" + end),
            "sram_range @0");
  EXPECT_EQ(FaultOf("---- GEMM uop[8191,8193) loop 1x1 dst(0,0) src(0,0) wgt(0,0)" + end),
            "sram_range @0");
  EXPECT_EQ(FaultOf("---- LOAD inp sram=0 dram=0 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0\n---N "
                    "NOP stage=load\n"
                    "p--- FINISH"),
            "dram_range @0");
  EXPECT_EQ(
      FaultOf("---- ALU add imm=1 uop[0,1) loop 1x1 dst(0,0) src(0,0)\n---N NOP stage=compute\n"
              "p--- STORE out sram=0 dram=512 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0\n--P- NOP "
              "stage=store\n"
              "-n-- FINISH"),
      "dram_range @2");
  EXPECT_EQ(FaultOf("p--- FINISH"), "deadlock @0");
  EXPECT_EQ(FaultOf("-n-- NOP stage=load\n-n-- FINISH"), "deadlock @0");
  EXPECT_EQ(FaultOf("---- NOP stage=compute"), "no_finish @0");
  EXPECT_EQ(FaultOf("---- FINISH\n---- NOP stage=compute"), "no_finish @1");
  EXPECT_EQ(FaultOf("---- FINISH\n---- FINISH"), "no_finish @1");  // the first ends the launch
  EXPECT_EQ(FaultOf("---- NOP stage=load\n---- FINISH"),
            "no_finish @1");  // nothing says that load was done
  EXPECT_EQ(FaultOf("---N NOP stage=load\np--- FINISH"), "");
}

TEST_F(VtaFaults, StreamsOutsideTheMemory) {
  DeviceMemory memory(kBase, std::vector<uint8_t>(DeviceMemory::kPageBytes));
  FunctionalMachine machine(config_);
  EXPECT_EQ(machine.Launch(memory, 0, 1)->kind, FaultKind::kDramRange);
  EXPECT_EQ(machine.Launch(memory, kBase, 257)->kind, FaultKind::kDramRange);
  EXPECT_EQ(machine.Launch(memory, kBase, SIZE_MAX)->kind, FaultKind::kDramRange);
  EXPECT_EQ(machine.Launch(memory, kBase, 0)->kind, FaultKind::kNoFinish);
  CycleMachine cycle(config_);
  EXPECT_EQ(cycle.Launch(memory, 0, 1).fault->kind, FaultKind::kDramRange);
  EXPECT_EQ(cycle.Launch(memory, kBase, 257).fault->kind, FaultKind::kDramRange);
  EXPECT_EQ(cycle.Launch(memory, kBase, SIZE_MAX).fault->kind, FaultKind::kDramRange);
  EXPECT_EQ(cycle.Launch(memory, kBase, 0).fault->kind, FaultKind::kNoFinish);
}

// Tokens that one launch leaves are there for the next, once.
TEST_F(VtaFaults, TokensStay) {
  std::vector<uint8_t> image = *Assemble(
      "---N NOP stage=load\np--N FINISH\n"    // leaves a token for store
      "p-P- NOP stage=store\n-n-- FINISH\n"   // which takes it
      "p-P- NOP stage=store\n-n-- FINISH\n",  // and finds no other
      "program", Encoding(config_));
  image.resize(DeviceMemory::kPageBytes);
  DeviceMemory memory(kBase, image);
  FunctionalMachine machine(config_);
  EXPECT_FALSE(machine.Launch(memory, kBase, 2).has_value());
  EXPECT_FALSE(machine.Launch(memory, kBase + 32, 2).has_value());
  EXPECT_EQ(machine.Launch(memory, kBase + 64, 2)->kind, FaultKind::kDeadlock);
  CycleMachine cycle(config_);
  EXPECT_FALSE(cycle.Launch(memory, kBase, 2).fault.has_value());
  EXPECT_FALSE(cycle.Launch(memory, kBase + 32, 2).fault.has_value());
  EXPECT_EQ(cycle.Launch(memory, kBase + 64, 2).fault->kind, FaultKind::kDeadlock);
}

TEST(VtaMemory, PagesComeAndGo) {
  DeviceMemory memory;
  EXPECT_EQ(memory.At(0, 1), nullptr);
  memory.Map(8192, 4096);
  EXPECT_EQ(memory.At(4096, 1), nullptr);
  ASSERT_NE(memory.At(8192, 4096), nullptr);
  EXPECT_EQ(memory.At(8192, 4097), nullptr);
  memory.Map(4096, 4096);
  EXPECT_NE(memory.At(4096, 8192), nullptr);  // across two of them
  *memory.At(8200, 1) = 7;
  memory.Unmap(8192, 4096);
  EXPECT_EQ(memory.At(8200, 1), nullptr);
  memory.Map(8192, 4096);
  EXPECT_EQ(*memory.At(8200, 1), 7);
  EXPECT_EQ(memory.At(UINT64_MAX, 2), nullptr);
}

}  // namespace
}  // namespace kiln::vta
