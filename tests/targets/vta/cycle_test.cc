#include "kiln/targets/vta/cycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kiln/targets/vta/device.h"
#include "tests/targets/vta/agreement.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

TEST(VtaCycle, RandomProgramsHaveTheBitsOfTheFunctionalLevel) {
  LaunchTotals totals;
  for (uint64_t seed = 0; seed < 800; ++seed) {
    Random random(5000 + seed);
    const Config config = RandomConfig(random);
    const RandomProgram program = MakeRandomProgram(random, config, 40);
    const auto difference = FindDisagreement(config, program, &totals);
    ASSERT_FALSE(difference.has_value()) << *difference << "\nseed " << seed << '\n' << program.Text(config);
  }
  EXPECT_GT(totals.faults, 0u);
  EXPECT_GT(totals.launches, 800u);
}

// One dependency too few or too many: both levels stop at the same instruction, or neither does.
TEST(VtaCycle, SpoiltDependenciesAreFaultsAlike) {
  int stopped = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Random random(9000 + seed);
    Config config = RandomConfig(random);
    config.instruction_queue_depth = 512;
    RandomProgram program = MakeRandomProgram(random, config, 30);
    Instruction& in = program.instructions[random.Below(program.instructions.size())];
    bool Instruction::* const bits[] = {&Instruction::pop_previous, &Instruction::pop_next, &Instruction::push_previous,
                                        &Instruction::push_next};
    bool& bit = in.*bits[random.Below(4)];
    bit = !bit;
    const Encoding encoding(config);
    const auto at = static_cast<size_t>(program.address - RandomProgram::kBase);
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      const Encoding::Bytes bytes = encoding.Encode(program.instructions[i]);
      std::copy(bytes.begin(), bytes.end(),
                program.memory.begin() + static_cast<std::ptrdiff_t>(at + i * bytes.size()));
    }
    DeviceMemory functional_memory(RandomProgram::kBase, program.memory), memory(RandomProgram::kBase, program.memory);
    const size_t count = program.instructions.size();
    const auto expected = FunctionalMachine(config).Launch(functional_memory, program.address, count);
    const auto fault = CycleMachine(config).Launch(memory, program.address, count).fault;
    ASSERT_EQ(fault.has_value(), expected.has_value()) << "seed " << seed << '\n' << program.Text(config);
    if (!fault.has_value()) continue;
    ++stopped;
    EXPECT_EQ(NameOf(fault->kind), NameOf(expected->kind)) << "seed " << seed << '\n' << program.Text(config);
    EXPECT_EQ(fault->instruction, expected->instruction) << "seed " << seed << '\n' << program.Text(config);
  }
  EXPECT_GT(stopped, 100);
}

// A device in this process with a program in its memory.
class VtaCycleDevice : public testing::Test {
 protected:
  void SetUp() override { address_ = *device_->Allocate(DeviceMemory::kPageBytes); }
  Status Run(std::string_view text, uint64_t most_cycles = 0) {
    const auto program = Assemble(text, "program", Encoding(device_->config()));
    EXPECT_TRUE(program.ok()) << program.status();
    EXPECT_TRUE(device_->Write(address_, *program).ok());
    return device_->Run(address_, program->size() / kInstructionBytes, most_cycles);
  }

  const std::unique_ptr<Device> device_ = *MakeDevice("cycle", *ParseOriginalConfig("{}", "default"));
  uint64_t address_ = 0;
};

TEST_F(VtaCycleDevice, TellsItsLastRun) {
  EXPECT_EQ(device_->last_run(), std::nullopt);
  ASSERT_TRUE(Run("---- FINISH").ok());
  ASSERT_TRUE(device_->last_run().has_value());
  EXPECT_EQ(device_->last_run()->cycles, 37);
  EXPECT_FALSE(Run("p--- FINISH").ok());
  EXPECT_EQ(device_->last_run(), std::nullopt);
  // Each run is counted by itself.
  ASSERT_TRUE(Run("---- FINISH").ok());
  ASSERT_TRUE(Run("---- NOP stage=compute\n---- FINISH").ok());
  EXPECT_EQ(device_->last_run()->cycles, 39);
  EXPECT_EQ(device_->last_run()->counters[Counter::kComputeInstructions], 2);
  EXPECT_EQ((*MakeDevice("functional", device_->config()))->last_run(), std::nullopt);
}

TEST_F(VtaCycleDevice, EndsInBoundedTime) {
  // A loop of 2^28 steps is not gone through.
  const std::string endless = "---- GEMM uop[0,1) loop 16383x16383 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH";
  const Status stopped = Run(endless, 1000000);
  EXPECT_EQ(stopped.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(MessageOf(stopped), testing::HasSubstr("too_long: instruction 0, '---- GEMM"));
  EXPECT_EQ(Run("---- FINISH", 36).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Run("---- FINISH", 37).ok());
  const Status waiting = Run("p--- NOP stage=compute\n---- FINISH");
  EXPECT_THAT(MessageOf(waiting), testing::HasSubstr("deadlock: instruction 0, 'p--- NOP stage=compute'"));
}

// What fits no queue waits for ever, where the functional level has room.
TEST(VtaCycle, QueuesThatAreTooShort) {
  Config config = *ParseOriginalConfig("{}", "default");
  const std::string text =
      "-n-- NOP stage=load\n---- NOP stage=load\n---- NOP stage=load\n---- NOP stage=load\n"
      "--P- NOP stage=compute\n---N NOP stage=load\np--- FINISH";
  std::vector<uint8_t> image = *Assemble(text, "program", Encoding(config));
  const size_t count = image.size() / kInstructionBytes;
  image.resize(DeviceMemory::kPageBytes);
  DeviceMemory memory(RandomProgram::kBase, image);
  for (const int depth : {2, 3, 4}) {
    config.instruction_queue_depth = depth;
    const auto fault = CycleMachine(config).Launch(memory, RandomProgram::kBase, count).fault;
    ASSERT_EQ(fault.has_value(), depth < 4) << depth;
    if (!fault.has_value()) continue;
    EXPECT_EQ(fault->kind, FaultKind::kDeadlock);
    EXPECT_EQ(fault->instruction, 0u);
  }
}

}  // namespace
}  // namespace kiln::vta
