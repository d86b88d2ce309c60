#include "kiln/targets/vta/simulate/rtl/rtl_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/vta/emit/emit.h"
#include "kiln/targets/vta/runtime/device.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "kiln/targets/vta/simulate/functional/functional.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

using testing::HasSubstr;

Config Small() {
  Config c;
  c.name = "it's small";
  c.block_in = c.block_out = 2;
  c.uop_buffer_bytes = 128;
  c.input_buffer_bytes = 32;
  c.weight_buffer_bytes = 64;
  c.accumulator_buffer_bytes = 128;
  c.memory_latency = 6;
  c.instruction_queue_depth = 4;
  return c;
}

TEST(VtaEmit, TheTopHasTheDesignPointsParameters) {
  const std::string top = hardware::SystemVerilogOf(TopOf(Small()));
  EXPECT_THAT(top, HasSubstr(".BLOCK_OUT(2)"));
  EXPECT_THAT(top, HasSubstr(".ACCUMULATOR_BUFFER_BYTES(128)"));
  EXPECT_THAT(top, HasSubstr(".ACCUMULATOR_BANKS(4)\n"));
  EXPECT_THAT(top, HasSubstr("output logic [63:0] memory_wdata"));
}

TEST(VtaEmit, VectorsBringTheirMemoryAndTheirLaunches) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  ProgramVector vector;
  vector.config = Small();
  vector.base = 4096;
  vector.before = {1, 2, 0, 4};
  vector.launches = {{4096, 3}, {8192, 1}};
  ASSERT_TRUE(EmitVta(vector, folder->path()).ok());
  EXPECT_EQ(*ReadFile(folder->path() / "memory.bin"), std::string("\1\2\0\4", 4));
  EXPECT_THAT(*ReadFile(folder->path() / "design.mk"), HasSubstr("--base 4096"));
  EXPECT_THAT(*ReadFile(folder->path() / "design.mk"),
              HasSubstr("--launch 4096:3 --launch 8192:1"));
  EXPECT_THAT(*ReadFile(folder->path() / "filelist.f"), HasSubstr("rtl/kiln_vta_gemm.sv"));
  EXPECT_TRUE(LoadConfig((folder->path() / "design.yaml").string()).ok());
}

// One simulation is built for all.
TEST(VtaRtlMachine, RunsProgramsInTheBitsAndCyclesOfTheOtherLevels) {
  const Config config = Small();
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Random random(seed);
    const RandomProgram program = MakeRandomProgram(random, config, 20);
    auto machine = RtlMachine::Start(config, RtlDesigns::Shared());
    ASSERT_TRUE(machine.ok()) << machine.status();
    CycleMachine cycle(config);
    DeviceMemory memory(RandomProgram::kBase, program.memory),
        expected(RandomProgram::kBase, program.memory);
    const auto result = machine->Launch(memory, program.address, program.instructions.size());
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_FALSE(result->fault.has_value()) << result->fault->message;
    EXPECT_EQ(result->time,
              cycle.Launch(expected, program.address, program.instructions.size()).time);
    EXPECT_TRUE(std::equal(memory.bytes().begin(), memory.bytes().end(), expected.bytes().begin()));
  }
}

// The folder of the only design under `designs`.
std::filesystem::path FolderIn(const std::filesystem::path& designs) {
  return std::filesystem::directory_iterator(designs)->path();
}

// A link in place of a design's folder leads to somebody's.
TEST(VtaRtlMachine, DesignsAreNotWrittenThroughLinks) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-test");
  const auto outside = folder.path() / "outside", designs = folder.path() / "designs";
  std::filesystem::create_directories(outside);
  std::filesystem::create_directories(designs);
  ASSERT_TRUE(RtlDesigns(folder.path() / "first").SimulationOf(Small()).ok());
  const std::string name = FolderIn(folder.path() / "first").filename();
  std::filesystem::create_directory_symlink(outside, designs / name);
  EXPECT_THAT(MessageOf(RtlDesigns(designs).SimulationOf(Small()).status()),
              HasSubstr(name + ": is a link"));
  EXPECT_TRUE(std::filesystem::is_empty(outside));
}

// The folder of a design stands by itself: `make sim` needs no arguments.
TEST(VtaRtlMachine, DesignsSimulateByThemselves) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-test");
  const auto simulation = RtlDesigns(folder.path() / "designs").SimulationOf(Small());
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  const auto log = folder.path() / "log";
  ASSERT_TRUE(
      RunProgram({"make", "-s", "-C", FolderIn(folder.path() / "designs").string(), "sim"}, log)
          .ok())
      << *ReadFile(log);
  EXPECT_THAT(*ReadFile(log), HasSubstr("cycles"));
}

TEST(VtaRtlMachine, StalledMemoriesChangeCyclesOnly) {
  const Config config = Small();
  Random random(9);
  const RandomProgram program = MakeRandomProgram(random, config, 20);
  RtlOptions stalls;
  stalls.stall_probability = 0.5;
  auto machine = RtlMachine::Start(config, RtlDesigns::Shared(), stalls);
  ASSERT_TRUE(machine.ok()) << machine.status();
  FunctionalMachine functional(config);
  CycleMachine cycle(config);
  DeviceMemory memory(RandomProgram::kBase, program.memory),
      expected(RandomProgram::kBase, program.memory);
  DeviceMemory third(RandomProgram::kBase, program.memory);
  ASSERT_FALSE(
      functional.Launch(expected, program.address, program.instructions.size()).has_value());
  const auto result = machine->Launch(memory, program.address, program.instructions.size());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->time.cycles,
            cycle.Launch(third, program.address, program.instructions.size()).time.cycles);
  EXPECT_TRUE(std::equal(memory.bytes().begin(), memory.bytes().end(), expected.bytes().begin()));
}

TEST(VtaRtlMachine, IsADevice) {
  const Config config = Small();
  auto device = MakeDevice("rtl", config);
  ASSERT_TRUE(device.ok()) << device.status();
  const auto run = [&](std::string_view text, uint64_t wait_cycles) {
    const auto program = Assemble(text, "program", Encoding(config));
    EXPECT_TRUE(program.ok()) << program.status();
    const auto address = (*device)->Allocate(program->size());
    EXPECT_TRUE(address.ok() && (*device)->Write(*address, *program).ok());
    return (*device)->Run(*address, program->size() / kInstructionBytes, wait_cycles);
  };
  EXPECT_TRUE(run("---- FINISH", 0).ok());
  ASSERT_TRUE((*device)->last_run().has_value());
  EXPECT_GT((*device)->last_run()->cycles, 0u);
  EXPECT_TRUE(run("---N NOP stage=load\n---- NOP stage=compute\np--- FINISH", 0).ok());
  EXPECT_THAT(MessageOf(run("p--- FINISH", 0)),
              HasSubstr("deadlock: instruction 0, 'p--- FINISH'"));
  EXPECT_THAT(MessageOf(run("---- LOAD uop sram=0 dram=99999999 y=1 x=1 stride=1 "
                            "pad(y0,y1,x0,x1)=0,0,0,0\n---- FINISH",
                            0)),
              HasSubstr("dram_range: instruction 0"));
  EXPECT_EQ(
      run("---- GEMM uop[0,1) loop 9999x9999 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH", 500).code(),
      absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(run("---- FINISH", 0).ok());
}

}  // namespace
}  // namespace kiln::vta
