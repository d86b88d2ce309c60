// Tests the cycle level behind a simulated memory: an ideal one takes the time that the closed
// forms give, and slower memories take longer, without other bits. The RTL tests compare it with
// the hardware.
#include "kiln/targets/systolic/simulate/cycle/cycle_memory.h"

#include <gtest/gtest.h>

#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/units.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "tests/targets/systolic/random_instruction.h"
#include "tests/targets/systolic/random_program.h"

namespace kiln::systolic {
namespace {

// A random design point with a bus for each port and without block scales.
Config ConfigWithSimulatedMemory(Random& random) {
  Config config = RandomConfig(random);
  RandomFormats(random, &config);
  config.block_size = 0;
  config.shared_bus = false;
  return config;
}

void ExpectSameTrace(const Trace& is, const Trace& should) {
  EXPECT_EQ(is.cycles, should.cycles);
  ASSERT_EQ(is.kernels.size(), should.kernels.size());
  for (size_t k = 0; k < is.kernels.size(); ++k) {
    EXPECT_EQ(is.kernels[k].begin, should.kernels[k].begin) << "instruction " << k;
    EXPECT_EQ(is.kernels[k].end, should.kernels[k].end) << "instruction " << k;
  }
  ASSERT_EQ(is.units.size(), should.units.size());
  for (size_t u = 0; u < is.units.size(); ++u) {
    EXPECT_EQ(is.units[u].busy_cycles, should.units[u].busy_cycles) << is.units[u].name;
    EXPECT_EQ(is.units[u].stall_cycles, should.units[u].stall_cycles) << is.units[u].name;
    EXPECT_EQ(is.units[u].bytes_read, should.units[u].bytes_read) << is.units[u].name;
    EXPECT_EQ(is.units[u].bytes_written, should.units[u].bytes_written) << is.units[u].name;
  }
}

TEST(SimulatedMemory, AnIdealOneTakesTheTimeOfTheClosedForms) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const Config config = ConfigWithSimulatedMemory(random);
    ASSERT_TRUE(SimulatesMemory(config));
    const RandomProgramCase program =
        RandomProgram(random, config, static_cast<int>(random.Between(1, 5)));
    hardware::AxiTiming ideal;
    ideal.latency = static_cast<uint64_t>(AnswerCycles(config));
    std::vector<uint8_t> memory = program.memory, expected = program.memory;
    const auto closed = RunInstructions(config, program.instructions, expected);
    const auto simulated =
        RunInstructionsBehind(ideal, config, program.instructions, program.address, memory);
    ASSERT_TRUE(closed.ok() && simulated.ok()) << closed.status() << simulated.status();
    EXPECT_EQ(memory, expected);
    ExpectSameTrace(*simulated, *closed);
    ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << program.Text(config);
  }
}

TEST(SimulatedMemory, ANarrowOneTakesLongerAndNoOtherBits) {
  Random random(8);
  int slower = 0;
  for (int round = 0; round < 100; ++round) {
    const Config config = ConfigWithSimulatedMemory(random);
    const RandomProgramCase program =
        RandomProgram(random, config, static_cast<int>(random.Between(1, 5)));
    RtlOptions dram;
    dram.dram_bytes_per_cycle = 0.5;
    dram.dram_row_miss = 10;
    std::vector<uint8_t> memory = program.memory, expected = program.memory;
    const auto ideal = RunInstructions(config, program.instructions, expected);
    const auto narrow =
        RunInstructions(config, program.instructions, memory, dram, program.address);
    ASSERT_TRUE(ideal.ok() && narrow.ok());
    EXPECT_EQ(memory, expected) << program.Text(config);
    EXPECT_GE(narrow->cycles, ideal->cycles) << program.Text(config);
    int64_t bytes = 0;
    for (const UnitTrace& unit : narrow->units) bytes += unit.bytes_read + unit.bytes_written;
    EXPECT_GE(narrow->cycles, 2 * bytes) << "half a byte a cycle";
    slower += narrow->cycles > 2 * ideal->cycles ? 1 : 0;
    // Waiting for memory is not computing.
    for (size_t k = 0; k < ideal->kernels.size(); ++k) {
      EXPECT_LE(narrow->kernels[k].busy_cycles[kVectorUnit],
                ideal->kernels[k].busy_cycles[kVectorUnit]);
      EXPECT_EQ(narrow->kernels[k].busy_cycles[kArray], ideal->kernels[k].busy_cycles[kArray]);
    }
  }
  EXPECT_GT(slower, 50);
}

}  // namespace
}  // namespace kiln::systolic
