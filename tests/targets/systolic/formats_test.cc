// Random instructions on design points of every number format: functional and cycle level give the
// bits of the definition (naive.h, and numerics/mac.h under it), and the closed form the cycles of
// the event-driven count.
#include <gtest/gtest.h>

#include <string>

#include "kiln/support/cpu.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/naive.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

std::string Formats(const Config& c) {
  return c.input_format.name + " x " + c.weight_format.name +
         (c.product_rounded ? " rounded" : "") + (c.quire ? " quire" : "") + " psum " +
         c.psum_format.name + " accumulation " + c.accumulation_format.name + " vector " +
         c.vector_format.name + " blocks of " + std::to_string(c.block_size) + " " +
         c.scale_format.name;
}

void CheckFormats(uint64_t seed, Opcode opcode) {
  Random random(seed);
  Config config = RandomConfig(random);
  RandomFormats(random, &config);
  ASSERT_FALSE(FindFormatFault(config).has_value())
      << Formats(config) << ": " << FindFormatFault(config)->fault;
  const RandomCase c = RandomInstruction(random, config, opcode);
  const std::string what =
      "seed " + std::to_string(seed) + ": " + Formats(config) + "\n" + Print(c.instruction, config);
  const Status status = CheckInstruction(c.instruction, config);
  ASSERT_TRUE(status.ok()) << MessageOf(status) << "\n" << what;

  std::vector<uint8_t> expected = c.memory;
  RunNaively(c.instruction, config, expected);

  // Weights as constants, packed beforehand, or as what an earlier instruction left in memory.
  const size_t constants =
      seed % 2 == 0 && opcode != Opcode::kVector ? c.instruction.vector.output.base : 0;
  const std::vector<uint8_t> image(c.memory.begin(),
                                   c.memory.begin() + static_cast<std::ptrdiff_t>(constants));
  const auto machine =
      FunctionalMachine::Create(config, {&c.instruction, 1}, c.memory.size(), 0, image);
  ASSERT_TRUE(machine.ok()) << machine.status() << "\n" << what;
  std::vector<uint8_t> memory = c.memory;
  (*machine)->Run(0, 1, seed % 5 == 0, memory);
  EXPECT_EQ(memory, expected) << "functional, " << what;

  memory = c.memory;
  const auto trace = RunInstructions(config, std::span(&c.instruction, 1), memory);
  ASSERT_TRUE(trace.ok()) << trace.status() << "\n" << what;
  EXPECT_EQ(memory, expected) << "cycle, " << what;
  EXPECT_EQ(trace->cycles, ProgramCycles(c.instruction, config)) << what;

  const auto again = Decode(Encode(c.instruction, config), config);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << what;
  EXPECT_EQ(Print(again->at(0), config), Print(c.instruction, config));
}

class SystolicFormats : public testing::TestWithParam<CpuLevel> {
 protected:
  void SetUp() override {
    LimitCpuLevel(GetParam());
    if (GetCpuLevel() != GetParam()) GTEST_SKIP() << "this processor has no " << NameOf(GetParam());
  }
  void TearDown() override { LimitCpuLevel(kHighestCpuLevel); }
  uint64_t first() const { return 1000 * static_cast<uint64_t>(GetParam()); }
};

TEST_P(SystolicFormats, MatrixFollowsTheDefinition) {
  for (uint64_t i = 0; i < 250 && !HasFailure(); ++i) CheckFormats(first() + i, Opcode::kMatrix);
}

TEST_P(SystolicFormats, DepthwiseFollowsTheDefinition) {
  for (uint64_t i = 0; i < 150 && !HasFailure(); ++i) CheckFormats(first() + i, Opcode::kDepthwise);
}

TEST_P(SystolicFormats, VectorFollowsTheDefinition) {
  for (uint64_t i = 0; i < 250 && !HasFailure(); ++i) CheckFormats(first() + i, Opcode::kVector);
}

INSTANTIATE_TEST_SUITE_P(Levels, SystolicFormats, testing::ValuesIn(kCpuLevels),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

}  // namespace
}  // namespace kiln::systolic
