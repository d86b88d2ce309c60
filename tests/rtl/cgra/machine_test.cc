// Compares whole machines with the functional and the cycle level: streams of random programs. The
// bits are the same, and without stalls the cycles. Random graphs that mappers map are compared
// with the evaluation of the graph, too.
#include "Vcgra_machine.h"
#include "Vcgra_machine_long.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"
#include "tests/rtl/cgra/placed_program.h"
#include "tests/rtl/support.h"
#include "tests/targets/cgra/mapped_program.h"

namespace kiln::rtl {
namespace {

cgra::Config SmallConfig() {
  cgra::Config config;
  config.name = "small";
  config.columns = 4;
  config.lanes = 4;
  config.memory_depth = 32;
  config.ring_entries = 16;
  config.wait_limit = 7;
  return config;
}

// Links of three tiles, no waiting, one output, memories that hold rings alone, floats.
cgra::Config LongConfig() {
  cgra::Config config;
  config.name = "long";
  config.columns = 5;
  config.lanes = 2;
  config.reach = 3;
  config.memory_depth = 16;
  config.ring_entries = 16;
  config.instruction_depth = 8;
  config.spoke_depth = 8;
  config.output_depth = 4;
  config.outputs = 2;
  config.wait_limit = 0;
  config.floats = true;
  config.pipeline_latency = 5;
  return config;
}

struct MachineRun {
  std::vector<uint8_t> out;
  int64_t cycles = 0;  // from the first beat in to the last one out
};

// Sends a stream and receives `beats` beats; fails if more come.
template <typename Model>
MachineRun RunMachine(const std::vector<uint8_t>& stream, size_t beat_bytes, int64_t beats,
                      double stall, uint64_t seed) {
  Simulation<Model> sim(seed);
  Stalls in_stalls(2 * seed, stall, Stalls::Kind::kBursts),
      out_stalls(2 * seed + 1, stall, Stalls::Kind::kBursts);
  MachineRun run;
  sim->in_tvalid = 0;
  sim->out_tready = 0;
  sim.Reset();
  size_t sent = 0;
  bool offered = false;
  int64_t first = -1, last = -1;
  const size_t wanted = static_cast<size_t>(beats) * beat_bytes;
  const int64_t limit = 2000 + 40 * static_cast<int64_t>((stream.size() + wanted) / beat_bytes);
  int quiet = 0;
  for (int64_t cycle = 0; quiet < 20; ++cycle) {
    if (cycle > limit) {
      ADD_FAILURE() << "only " << run.out.size() / beat_bytes << " of " << beats << " beats";
      return run;
    }
    offered = cycle > 0 && sent < stream.size() && (offered || !in_stalls.Next());
    sim->in_tvalid = offered;
    if (offered) std::memcpy(&sim->in_tdata, &stream[sent], beat_bytes);
    sim->out_tready = !out_stalls.Next();
    sim.Settle();
    if (offered && sim->in_tready) {
      if (first < 0) first = cycle;
      sent += beat_bytes;
      offered = false;
    }
    if (sim->out_tvalid && sim->out_tready) {
      const auto* beat = reinterpret_cast<const uint8_t*>(&sim->out_tdata);
      run.out.insert(run.out.end(), beat, beat + beat_bytes);
      last = cycle;
    }
    if (sent == stream.size() && run.out.size() >= wanted) ++quiet;
    sim.Step();
  }
  run.cycles = last - first + 1;
  return run;
}

template <typename Model>
void AgreesWithTheLevels(const cgra::Config& config, int streams, double stall, uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < streams; ++i) {
    std::vector<uint8_t> stream;
    const int64_t beats = cgra::AppendRandomRuns(config, &random, &stream);
    cgra::FunctionalMachine functional(config);
    const auto expected = functional.Run(stream);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const MachineRun run = RunMachine<Model>(stream, 4 * static_cast<size_t>(config.lanes), beats,
                                             stall, seed + static_cast<uint64_t>(i));
    ASSERT_EQ(run.out, *expected) << "stream " << i;
    cgra::CycleMachine cycle(config);
    const auto timed = cycle.Run(stream);
    ASSERT_TRUE(timed.ok()) << timed.status();
    ASSERT_EQ(timed->bytes, *expected) << "stream " << i;
    if (stall == 0) {
      ASSERT_EQ(run.cycles, timed->trace.cycles) << "stream " << i;
    }
  }
}

TEST(CgraMachine, AgreesWithoutStalls) {
  AgreesWithTheLevels<Vcgra_machine>(SmallConfig(), 60, 0, 1);
}
TEST(CgraMachine, AgreesBehindStalls) {
  AgreesWithTheLevels<Vcgra_machine>(SmallConfig(), 40, 0.5, 1000);
}
TEST(CgraMachine, AgreesWithLongLinksAndFloats) {
  AgreesWithTheLevels<Vcgra_machine_long>(LongConfig(), 60, 0, 2000);
  AgreesWithTheLevels<Vcgra_machine_long>(LongConfig(), 30, 0.5, 3000);
}

// Runs mapped graphs until `programs` have run, every third of them behind stalls.
template <typename Model>
void AgreesWithMappedGraphs(const cgra::Config& config, int programs, uint64_t seed,
                            cgra::MappedCounts* counts) {
  for (int ran = 0; ran < programs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto made = cgra::MakeMappedProgram(config, seed, counts);
    ASSERT_TRUE(made.ok()) << made.status();
    if (!made->has_value()) continue;
    const cgra::MappedProgram& program = **made;
    const auto cycles = cgra::CompareLevels(program);
    ASSERT_TRUE(cycles.ok()) << cycles.status() << "\n" << cgra::Print(program.program);
    const double stall = ran++ % 3 == 2 ? 0.5 : 0;
    const MachineRun run = RunMachine<Model>(program.stream, 4 * static_cast<size_t>(config.lanes),
                                             program.beats(), stall, seed);
    ASSERT_EQ(run.out, program.results) << cgra::Print(program.program);
    if (stall == 0) {
      ASSERT_EQ(run.cycles, *cycles) << cgra::Print(program.program);
    }
  }
}

// Each feature of graphs must occur, so that a change of the generator cannot empty the test.
TEST(CgraMachine, AgreesWithMappedGraphs) {
  cgra::MappedCounts counts;
  AgreesWithMappedGraphs<Vcgra_machine>(SmallConfig(), 120, 1, &counts);
  for (const auto& [feature, programs] : counts.features) {
    if (feature == "the same in binary32") continue;
    EXPECT_GT(programs, 0) << feature;
  }
  EXPECT_EQ(counts.mappers.size(), 3U);
}
TEST(CgraMachine, AgreesWithMappedGraphsInBinary32) {
  cgra::MappedCounts counts;
  AgreesWithMappedGraphs<Vcgra_machine_long>(LongConfig(), 40, 1, &counts);
  EXPECT_GT(counts.features["the same in binary32"], 0);
}
TEST(CgraMachine, FlowsAgreeWithGraphsThatHardwareDoesNotRun) {
  int mapped = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto agrees = cgra::CompareFlows(SmallConfig(), seed);
    ASSERT_TRUE(agrees.ok()) << "seed " << seed << ": " << agrees.status();
    mapped += *agrees ? 1 : 0;
  }
  EXPECT_GT(mapped, 30);
}

}  // namespace
}  // namespace kiln::rtl
