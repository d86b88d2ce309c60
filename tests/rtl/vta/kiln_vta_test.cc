// Compares the whole machine with the levels in C++: random programs must leave the same bits in
// memory behind any memory, and take the cycle level's cycles behind any memory that does not stall
// at random.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "Vvta_batch.h"
#include "Vvta_narrow.h"
#include "Vvta_small.h"
#include "Vvta_wide.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/memory.h"
#include "tests/rtl/vta/machine.h"
#include "tests/targets/vta/agreement.h"

namespace kiln::rtl {
namespace {

using vta::DeviceMemory;
using vta::HardwareOutcome;
using vta::MakeRandomProgram;

constexpr int kOperations = 40;  // of a program

// FindDisagreement of a program, with the simulated machine as its hardware.
template <typename Model>
void RunProgram(const Config& config, const AxiTiming& timing, uint64_t seed) {
  Random random(seed);
  const RandomProgram program = MakeRandomProgram(random, config, kOperations);
  Machine<Model> machine(config, timing, seed);
  machine.Load(program.memory);
  auto& bench = machine.bench();
  vta::Hardware hardware;
  hardware.timed = timing.stall_ar == 0;
  hardware.launch = [&](DeviceMemory& memory, uint64_t address,
                        size_t count) -> StatusOr<HardwareOutcome> {
    if (!bench.Launch(address, count, kCycleLimit))
      return absl::InternalError("the hardware does not end");
    const std::vector<uint8_t> image = machine.Image(program.memory.size());
    std::copy(image.begin(), image.end(), memory.At(RandomProgram::kBase, image.size()));
    HardwareOutcome outcome;
    if (const uint32_t code = bench.fault(); code != 0) {
      outcome.fault =
          vta::Fault{static_cast<vta::FaultKind>(code - 1), bench.fault_instruction(), ""};
    }
    outcome.time.cycles = bench.cycles();
    const std::vector<uint32_t> counters = bench.counters();
    for (size_t i = 0; i < vta::kCounters; ++i)
      outcome.time.counters[static_cast<vta::Counter>(i)] = counters[i];
    if (!outcome.fault.has_value()) {
      EXPECT_EQ(bench.cycles(), bench.ran());
      EXPECT_EQ(bench.ReadRegister(testbench::vta::kAccumulatorWrites),
                outcome.time.counters.accumulator_writes());
    }
    return outcome;
  };
  std::optional<AxiTiming> simulated;
  if (timing.bytes_per_cycle > 0 || timing.latency > Ideal(config).latency) simulated = timing;
  vta::LaunchTotals totals;
  const auto difference = FindDisagreement(config, program, &totals, &hardware, simulated);
  EXPECT_FALSE(difference.has_value()) << *difference << "\nseed " << seed << '\n'
                                       << program.Text(config);
}

// Programs behind each of several memories: ideal, stalling, and DRAMs that are slower than the
// port, far away, or both, with row misses. KILN_RTL_PROGRAMS in the environment sets their number.
template <typename Model>
void RunProgramsBehindAllMemories(const Config& config, int programs) {
  if (const char* more = std::getenv("KILN_RTL_PROGRAMS"); more != nullptr)
    programs = std::atoi(more);
  AxiTiming stalls = Ideal(config);
  stalls.StallAll(0.4);
  AxiTiming dram = Ideal(config), slow = Ideal(config), far = Ideal(config), fast = Ideal(config);
  dram.bytes_per_cycle = 0.7 * config.memory_port_bytes;
  dram.row_miss = 20;
  slow.bytes_per_cycle = 0.9;
  slow.latency += 5;
  far.latency += 70;  // for which the ports cannot keep enough requests in flight
  fast.bytes_per_cycle = 3.3 * config.memory_port_bytes;
  fast.latency = 40;
  fast.row_miss = 7;
  fast.row_bytes = 256;
  fast.banks = 2;
  for (int i = 0; i < programs && !testing::Test::HasFailure(); ++i) {
    const auto seed = static_cast<uint64_t>(i);
    RunProgram<Model>(config, Ideal(config), seed);
    RunProgram<Model>(config, stalls, 100'000 + seed);
    const AxiTiming* const drams[] = {&dram, &slow, &far, &fast};
    RunProgram<Model>(config, *drams[i % 4], 200'000 + seed);
  }
}

TEST(KilnVta, RandomProgramsOnASmallMachine) {
  RunProgramsBehindAllMemories<Vvta_small>(Small(), 150);
}
TEST(KilnVta, RandomProgramsWithABatch) { RunProgramsBehindAllMemories<Vvta_batch>(Batch(), 150); }
TEST(KilnVta, RandomProgramsWithWideNumbers) {
  RunProgramsBehindAllMemories<Vvta_wide>(Wide(), 100);
}
TEST(KilnVta, RandomProgramsWithNarrowNumbers) {
  RunProgramsBehindAllMemories<Vvta_narrow>(Narrow(), 100);
}

}  // namespace
}  // namespace kiln::rtl
