// The whole machine against the levels in C++: random programs leave the bits of the functional level behind any
// memory.
#include <gtest/gtest.h>

#include "Vvta_small.h"
#include "kiln/targets/vta/functional.h"
#include "tests/rtl/vta/machine.h"

namespace kiln::rtl {
namespace {

using vta::DeviceMemory;
using vta::FunctionalMachine;
using vta::MakeRandomProgram;

// Runs random programs, each twice, for what the first launch leaves in the buffers is the second one's.
template <typename Model>
void RunRandomPrograms(const Config& config, const AxiTiming& timing, uint64_t seed, int programs) {
  for (int i = 0; i < programs; ++i) {
    Random random(seed + static_cast<uint64_t>(i));
    const RandomProgram program = MakeRandomProgram(random, config, 40);
    SCOPED_TRACE(testing::Message() << "seed " << seed + static_cast<uint64_t>(i) << '\n' << program.Text(config));
    Machine<Model> machine(config, timing, seed);
    machine.Load(program.memory);
    DeviceMemory memory(RandomProgram::kBase, program.memory);
    FunctionalMachine expected(config);
    for (int launch = 0; launch < 2; ++launch) {
      ASSERT_FALSE(expected.Launch(memory, program.address, program.instructions.size()).has_value());
      ASSERT_TRUE(machine.bench().Launch(program.address, program.instructions.size(), kCycleLimit)) << "no end";
      ASSERT_EQ(machine.bench().fault(), 0u) << "instruction " << machine.bench().fault_instruction();
      EXPECT_EQ(machine.bench().cycles(), machine.bench().ran());
      const std::vector<uint8_t> image = machine.Image(program.memory.size());
      ASSERT_TRUE(std::equal(image.begin(), image.end(), memory.bytes().begin())) << "launch " << launch;
    }
  }
}

TEST(KilnVta, RandomProgramsLeaveTheBitsOfTheFunctionalLevel) {
  RunRandomPrograms<Vvta_small>(Small(), Ideal(Small()), 1, 50);
}

TEST(KilnVta, AlsoBehindAMemoryThatStalls) {
  AxiTiming timing = Ideal(Small());
  timing.StallAll(0.4);
  RunRandomPrograms<Vvta_small>(Small(), timing, 1000, 30);
}

}  // namespace
}  // namespace kiln::rtl
