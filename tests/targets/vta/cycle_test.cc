#include "kiln/targets/vta/cycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/targets/vta/device.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

struct Behind {  // what is left of a program
  std::vector<uint8_t> memory;
  RunTime time;
  Profile profile;
};

Behind RunCycle(const Config& config, const RandomProgram& program, bool skips) {
  DeviceMemory memory(RandomProgram::kBase, program.memory);
  CycleMachine machine(config);
  machine.set_skips(skips);
  const auto result = machine.Launch(memory, program.address, program.instructions.size());
  EXPECT_FALSE(result.fault.has_value()) << result.fault->instruction << ": " << result.fault->message;
  return {{memory.bytes().begin(), memory.bytes().end()}, result.time, machine.profile()};
}

Behind RunFunctional(const Config& config, const RandomProgram& program) {
  DeviceMemory memory(RandomProgram::kBase, program.memory);
  FunctionalMachine machine(config);
  const auto fault = machine.Launch(memory, program.address, program.instructions.size());
  EXPECT_FALSE(fault.has_value()) << fault->instruction << ": " << fault->message;
  return {{memory.bytes().begin(), memory.bytes().end()}, {}, machine.profile()};
}

TEST(VtaCycle, RandomProgramsHaveTheBitsOfTheFunctionalLevel) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Random random(5000 + seed);
    const Config config = RandomConfig(random);
    const RandomProgram program = MakeRandomProgram(random, config, 40);
    const Behind functional = RunFunctional(config, program), cycle = RunCycle(config, program, true);
    ASSERT_EQ(cycle.memory, functional.memory) << "seed " << seed << '\n' << program.Text(config);
    ASSERT_EQ(cycle.profile, functional.profile) << "seed " << seed << '\n' << program.Text(config);
  }
}

TEST(VtaCycle, SkippedCyclesAreLikeThoseThatAreNot) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(6000 + seed);
    const Config config = RandomConfig(random);
    const RandomProgram program = MakeRandomProgram(random, config, 60);
    const Behind fast = RunCycle(config, program, true), slow = RunCycle(config, program, false);
    ASSERT_EQ(fast.time.cycles, slow.time.cycles) << "seed " << seed << '\n' << program.Text(config);
    for (size_t i = 0; i < kCounters; ++i) {
      ASSERT_EQ(fast.time.counters.values()[i], slow.time.counters.values()[i])
          << CounterTable()[i].unit << ' ' << CounterTable()[i].name << ", seed " << seed << '\n'
          << program.Text(config);
    }
    ASSERT_EQ(fast.memory, slow.memory);
  }
}

}  // namespace
}  // namespace kiln::vta
