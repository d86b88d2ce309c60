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

// Returns a random design point. A third of them share a bus, and others have block scales.
Config ConfigOfRound(Random& random, int round) {
  Config config = RandomConfig(random);
  RandomFormats(random, &config);
  config.shared_bus = round % 3 == 0;
  if (config.shared_bus) {
    config.block_size = 0;
    for (int* bytes :
         {&config.input_port_bytes, &config.weight_port_bytes, &config.operand_port_bytes,
          &config.output_port_bytes, &config.instruction_bytes_per_cycle}) {
      *bytes = 16;
    }
    config.depthwise_words_per_cycle = 1;
    config.memory_latency = std::max(config.memory_latency, kSharedPortLatency + 1);
  }
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
    const Config config = ConfigOfRound(random, round);
    const RandomProgramCase program =
        RandomProgram(random, config, static_cast<int>(random.Between(1, 5)));
    hardware::AxiTiming ideal;
    ideal.latency = static_cast<uint64_t>(AnswerCycles(config));
    std::vector<uint8_t> memory = program.memory, expected = program.memory;
    const auto closed = RunInstructions(config, program.instructions, expected);
    const auto simulated =
        RunInstructionsBehind(ideal, config, program.instructions, program.address, memory);
    ASSERT_TRUE(closed.ok() && simulated.ok())
        << closed.status() << simulated.status() << "round " << round << "\n"
        << program.Text(config);
    EXPECT_EQ(memory, expected);
    ExpectSameTrace(*simulated, *closed);
    ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << program.Text(config);
  }
}

TEST(SimulatedMemory, ANarrowOneTakesLongerAndNoOtherBits) {
  Random random(8);
  int slower = 0;
  for (int round = 0; round < 100; ++round) {
    const Config config = ConfigOfRound(random, round);
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

// Units that wait for each other make no requests and no events, and the simulation ends.
TEST(SimulatedMemory, EndsIfNoUnitCanWork) {
  for (const bool shared : {false, true}) {
    Config config;
    config.shared_bus = shared;
    hardware::Simulator simulator;
    int64_t words = 0;
    hardware::AxiTiming timing;
    timing.bytes_per_cycle = 0.5;
    SimulatedMemory memory(simulator, config, timing, 0,
                           {.arrived = [&](const Arrival&, int64_t) { ++words; },
                            .wants_program = [](int64_t requested) { return requested < 5; },
                            .running = [] { return true; }});
    memory.Start();
    EXPECT_TRUE(simulator.Run(10'000));
    EXPECT_EQ(words, 5);
  }
}

}  // namespace
}  // namespace kiln::systolic
