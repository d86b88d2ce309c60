#include "kiln/targets/systolic/simulate/functional/functional.h"

#include <gtest/gtest.h>

#include "kiln/support/cpu.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/systolic/config/user_unit.h"
#include "tests/targets/systolic/naive.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

// Runs one instruction at the functional level; the first `constants` bytes of the memory are
// constant.
std::vector<uint8_t> RunOne(const Instruction& instruction, const Config& config,
                            std::vector<uint8_t> memory, size_t constants, bool parallel) {
  const std::vector<uint8_t> image(memory.begin(),
                                   memory.begin() + static_cast<std::ptrdiff_t>(constants));
  auto machine = FunctionalMachine::Create(config, {&instruction, 1}, memory.size(), 0, image);
  EXPECT_TRUE(machine.ok()) << MessageOf(machine.status());
  if (machine.ok()) (*machine)->Run(0, 1, parallel, memory);
  return memory;
}

class Functional : public testing::TestWithParam<CpuLevel> {
 protected:
  void SetUp() override {
    LimitCpuLevel(GetParam());
    if (GetCpuLevel() != GetParam()) GTEST_SKIP() << "this processor has no " << NameOf(GetParam());
  }
  void TearDown() override { LimitCpuLevel(kHighestCpuLevel); }
};

TEST_P(Functional, EqualsTheDefinitionOnRandomInstructions) {
  Random random(2024);
  for (int i = 0; i < 3000; ++i) {
    Config config = RandomConfig(random);
    if (i % 2 == 0) config.user_unit = FindUserUnit("maximum");
    const auto opcode = static_cast<Opcode>(1 + i % 3);
    const RandomCase c = RandomInstruction(random, config, opcode);
    std::vector<uint8_t> expected = c.memory;
    RunNaively(c.instruction, config, expected);
    // Weights as constants, packed beforehand, or as what an earlier instruction left in memory.
    const size_t constants =
        i % 2 == 0 && opcode != Opcode::kVector ? c.instruction.vector.output.base : 0;
    ASSERT_EQ(RunOne(c.instruction, config, c.memory, constants, i % 5 == 0), expected)
        << "case " << i << "\n"
        << Print(c.instruction, config);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Functional, testing::ValuesIn(kCpuLevels),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

TEST(FunctionalThreads, GiveTheSameBitsInAnyNumber) {
  Random random(5);
  for (int i = 0; i < 60; ++i) {
    const Config config = RandomConfig(random);
    const RandomCase c = RandomInstruction(random, config, static_cast<Opcode>(1 + i % 3));
    SetThreadCount(1);
    const std::vector<uint8_t> one = RunOne(c.instruction, config, c.memory, 0, true);
    SetThreadCount(4);
    const std::vector<uint8_t> four = RunOne(c.instruction, config, c.memory, 0, true);
    SetThreadCount(0);
    ASSERT_EQ(one, four) << Print(c.instruction, config);
  }
}

TEST(FunctionalErrors, MemoryThatIsTooSmallIsRefused) {
  Random random(6);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    const Config config = RandomConfig(random);
    const RandomCase c = RandomInstruction(random, config, static_cast<Opcode>(1 + i % 3));
    const auto machine = FunctionalMachine::Create(config, {&c.instruction, 1}, c.memory.size() / 4,
                                                   0, std::vector<uint8_t>{});
    if (machine.ok()) continue;
    ++refused;
    EXPECT_NE(MessageOf(machine.status()).find("instruction 0"), std::string::npos);
  }
  EXPECT_EQ(refused, 60);
}

}  // namespace
}  // namespace kiln::systolic
