#include "tests/targets/systolic/random_instruction.h"

#include <gtest/gtest.h>

#include "tests/targets/systolic/naive.h"

namespace kiln::systolic {
namespace {

TEST(RandomInstruction, IsAcceptedStaysInsideItsMemoryAndWritesSomething) {
  Random random(1);
  int changed = 0;
  for (int i = 0; i < 600; ++i) {
    const Config config = RandomConfig(random);
    const auto opcode = static_cast<Opcode>(1 + i % 3);
    RandomCase c = RandomInstruction(random, config, opcode);
    const Status status = CheckInstruction(c.instruction, config);
    ASSERT_TRUE(status.ok()) << MessageOf(status) << "\n" << Print(c.instruction, config);
    const std::vector<uint8_t> before = c.memory;
    RunNaively(c.instruction, config, c.memory);  // throws at an address beyond the memory
    changed += before != c.memory;
  }
  EXPECT_GT(changed, 500);
}

}  // namespace
}  // namespace kiln::systolic
