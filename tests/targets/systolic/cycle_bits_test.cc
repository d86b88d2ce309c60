// The bits of the cycle level against the definition (naive.h), and its time against the closed
// form, on random instructions.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kiln/support/cpu.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "tests/targets/systolic/naive.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

void CheckOne(uint64_t seed, Opcode opcode) {
  Random random(seed);
  Config config = RandomConfig(random);
  if (opcode == Opcode::kDepthwise && config.depthwise_multipliers == 0)
    config.depthwise_multipliers = 3;
  RandomCase c = RandomInstruction(random, config, opcode);
  ASSERT_TRUE(CheckInstruction(c.instruction, config).ok())
      << CheckInstruction(c.instruction, config);

  std::vector<uint8_t> expected = c.memory;
  RunNaively(c.instruction, config, expected);
  std::vector<uint8_t> memory = c.memory;
  const auto trace = RunInstructions(config, std::span(&c.instruction, 1), memory);
  ASSERT_TRUE(trace.ok()) << trace.status() << "\n" << Print(c.instruction, config);
  EXPECT_EQ(memory, expected) << "seed " << seed << "\n" << Print(c.instruction, config);
  EXPECT_EQ(trace->cycles, ProgramCycles(c.instruction, config)) << "seed " << seed << "\n"
                                                                 << Print(c.instruction, config);
}

TEST(CycleBits, MatrixFollowsTheDefinition) {
  for (uint64_t seed = 0; seed < 1500 && !testing::Test::HasFailure(); ++seed)
    CheckOne(seed, Opcode::kMatrix);
}

TEST(CycleBits, DepthwiseFollowsTheDefinition) {
  for (uint64_t seed = 0; seed < 700 && !testing::Test::HasFailure(); ++seed)
    CheckOne(seed, Opcode::kDepthwise);
}

TEST(CycleBits, VectorFollowsTheDefinition) {
  for (uint64_t seed = 0; seed < 1500 && !testing::Test::HasFailure(); ++seed)
    CheckOne(seed, Opcode::kVector);
}

TEST(CycleBits, PortablePassesGiveTheSameBits) {
  LimitCpuLevel(CpuLevel::kPortable);
  for (uint64_t seed = 5000; seed < 5200 && !testing::Test::HasFailure(); ++seed)
    CheckOne(seed, Opcode::kMatrix);
  LimitCpuLevel(kHighestCpuLevel);
}

}  // namespace
}  // namespace kiln::systolic
