// The whole machine against the levels in C++: random programs leave the same bits in memory behind any memory, and
// take the cycle level's cycles behind an ideal one.
#include <gtest/gtest.h>

#include <cstdlib>

#include "Vvta_batch.h"
#include "Vvta_narrow.h"
#include "Vvta_small.h"
#include "Vvta_wide.h"
#include "kiln/targets/vta/counters.h"
#include "kiln/targets/vta/cycle.h"
#include "kiln/targets/vta/functional.h"
#include "tests/rtl/vta/machine.h"

namespace kiln::rtl {
namespace {

using vta::CounterTable;
using vta::CycleMachine;
using vta::DeviceMemory;
using vta::FunctionalMachine;
using vta::MakeRandomProgram;

constexpr int kOperations = 40;  // of a program

// Runs a program twice, for what the first launch leaves in the buffers is the second one's.
template <typename Model>
void RunProgram(const Config& config, const AxiTiming& timing, uint64_t seed) {
  Random random(seed);
  const RandomProgram program = MakeRandomProgram(random, config, kOperations);
  SCOPED_TRACE(testing::Message() << "seed " << seed << '\n' << program.Text(config));
  const bool ideal = timing.stall_ar == 0 && timing.bytes_per_cycle == 0;
  Machine<Model> machine(config, timing, seed);
  machine.Load(program.memory);
  DeviceMemory memory(RandomProgram::kBase, program.memory), cycle_memory(RandomProgram::kBase, program.memory);
  FunctionalMachine functional(config);
  CycleMachine cycle(config);
  for (int launch = 0; launch < 2; ++launch) {
    SCOPED_TRACE(testing::Message() << "launch " << launch);
    const auto fault = functional.Launch(memory, program.address, program.instructions.size());
    ASSERT_TRUE(machine.bench().Launch(program.address, program.instructions.size(), kCycleLimit)) << "no end";
    ASSERT_EQ(machine.bench().fault(), CodeOf(fault)) << "instruction " << machine.bench().fault_instruction();
    // The first is right; micro-ops that it has left where the second one expects zeros may not be.
    if (launch == 1 && fault.has_value()) return;
    ASSERT_FALSE(fault.has_value());
    const std::vector<uint8_t> image = machine.Image(program.memory.size());
    ASSERT_TRUE(std::equal(image.begin(), image.end(), memory.bytes().begin()));
    EXPECT_EQ(machine.bench().cycles(), machine.bench().ran());
    if (!ideal) continue;
    const CycleMachine::Result expected = cycle.Launch(cycle_memory, program.address, program.instructions.size());
    ASSERT_FALSE(expected.fault.has_value());
    ASSERT_EQ(machine.bench().cycles(), expected.time.cycles);
    EXPECT_EQ(machine.bench().ReadRegister(testbench::vta::kAccumulatorWrites),
              expected.time.counters.accumulator_writes());
    const std::vector<uint32_t> counters = machine.bench().counters();
    ASSERT_EQ(counters.size(), vta::kCounters);
    for (size_t i = 0; i < counters.size(); ++i) {
      EXPECT_EQ(counters[i], expected.time.counters.values()[i])
          << CounterTable()[i].unit << '.' << CounterTable()[i].name;
    }
  }
}

// Programs behind each of three memories; KILN_RTL_PROGRAMS in the environment: so many instead.
template <typename Model>
void RunProgramsBehindAllMemories(const Config& config, int programs) {
  if (const char* more = std::getenv("KILN_RTL_PROGRAMS"); more != nullptr) programs = std::atoi(more);
  AxiTiming stalls = Ideal(config);
  stalls.StallAll(0.4);
  AxiTiming dram = Ideal(config);
  dram.bytes_per_cycle = 0.7 * config.memory_port_bytes;
  dram.row_miss = 20;
  for (int i = 0; i < programs && !testing::Test::HasFailure(); ++i) {
    const auto seed = static_cast<uint64_t>(i);
    RunProgram<Model>(config, Ideal(config), seed);
    RunProgram<Model>(config, stalls, 100'000 + seed);
    RunProgram<Model>(config, dram, 200'000 + seed);
  }
}

TEST(KilnVta, RandomProgramsOnASmallMachine) { RunProgramsBehindAllMemories<Vvta_small>(Small(), 150); }
TEST(KilnVta, RandomProgramsWithABatch) { RunProgramsBehindAllMemories<Vvta_batch>(Batch(), 150); }
TEST(KilnVta, RandomProgramsWithWideNumbers) { RunProgramsBehindAllMemories<Vvta_wide>(Wide(), 100); }
TEST(KilnVta, RandomProgramsWithNarrowNumbers) { RunProgramsBehindAllMemories<Vvta_narrow>(Narrow(), 100); }

}  // namespace
}  // namespace kiln::rtl
