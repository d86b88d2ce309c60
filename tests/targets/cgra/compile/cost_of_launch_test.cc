// The cycles of launches and their bound: by hand for one instruction, and for random mappings of
// random graphs.

#include "kiln/targets/cgra/compile/cost_of_launch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "tests/targets/cgra/simulate/random_program.h"

namespace kiln::cgra {
namespace {

Launch LaunchOf(const RandomProgram& random, int64_t runs, int64_t threads) {
  auto mapped = std::make_shared<MappedGraph>();
  mapped->graph = random.graph;
  mapped->mapping = random.mapping;
  mapped->program = random.program;
  Launch launch;
  launch.mapped = std::move(mapped);
  launch.runs = runs;
  launch.threads = threads;
  return launch;
}

// Returns the program of x + 3 on the first of four tiles, with the interval 1.
RandomProgram OneSum() {
  RandomProgram sum;
  sum.config.name = "small";
  sum.config.columns = 4;
  sum.config.lanes = 2;
  sum.config.wait_limit = 7;
  sum.graph.name = "sum";
  sum.graph.nodes = {{.name = "x", .op = Op::kInput, .label = "", .literal = {}},
                     {.name = "sum", .op = Op::kAdd, .label = "", .literal = 3},
                     {.name = "out", .op = Op::kOutput, .label = "", .literal = {}}};
  sum.graph.edges = {{.source = 0, .target = 1}, {.source = 1, .target = 2}};
  sum.mapping.initiation_interval = 1;
  sum.mapping.places = {{}, {0, 0}, {}};
  sum.mapping.fused_into.assign(3, -1);
  sum.mapping.provider.assign(2, -1);
  sum.program = *BuildConfiguration(sum.graph, sum.mapping, sum.config);
  return sum;
}

// docs/cgra-machine.md, counted by hand. Loading is a header and a spoke entry for each of the four
// tiles, a header and two beats of one instruction, and a header and a delivery: 13 beats. Dispatch
// takes the header of the run in cycle 14, the parameter beat in 15 and the last of N inputs in 15
// + N, so that the last thread starts in 17 + N. Its result is in its register after 19 + N, leaves
// its queue in 23 + N and is sent in 24 + N.
TEST(CostOfLaunch, IsTheBoundForOneInstruction) {
  const RandomProgram sum = OneSum();
  for (const int64_t threads : {1, 2, 17}) {
    const Launch launch = LaunchOf(sum, 1, threads);
    EXPECT_EQ(CyclesOf(launch), 25 + threads);
    EXPECT_EQ(LeastCycles(launch, sum.config), static_cast<double>(25 + threads));
  }
  // The next header is taken two cycles after the last result has left, 11 + N after the first.
  EXPECT_EQ(CyclesOf(LaunchOf(sum, 3, 5)), 25 + 5 + 2 * (11 + 5));
  EXPECT_EQ(LeastCycles(LaunchOf(sum, 3, 5), sum.config), 25 + 5 + 2 * (11 + 5));
}

// A sum of all threads so far: each thread needs the sum of the one before, 3 cycles after its
// issue, so that the interval is 3. Loading takes 4 * (1 + 3) + 3 + 2 beats, the parameter beat is
// taken in cycle 23, the last thread starts in 26 + 3 (N - 1), and its result is sent 7 later.
TEST(CostOfLaunch, ValuesOfEarlierThreadsProlongTheInterval) {
  RandomProgram sum = OneSum();
  sum.graph.nodes[1].literal = {};
  sum.graph.edges.push_back({.source = 1, .target = 1, .operand = 1, .distance = 1});
  sum.mapping.initiation_interval = 3;
  sum.mapping.provider.push_back(-1);
  sum.program = *BuildConfiguration(sum.graph, sum.mapping, sum.config);
  for (const int64_t threads : {1, 2, 17}) {
    const Launch launch = LaunchOf(sum, 1, threads);
    EXPECT_EQ(CyclesOf(launch), 31 + 3 * threads);
    EXPECT_EQ(LeastCycles(launch, sum.config), static_cast<double>(31 + 3 * threads));
  }
}

// No mapping of a graph, however bad or good, takes fewer cycles than the bound at the cycle level.
TEST(CostOfLaunch, IsNeverBelowTheBound) {
  int programs = 0, close = 0;
  for (uint64_t seed = 1; programs < 300; ++seed) {
    const int threads = 1 + static_cast<int>(seed % 40);
    std::string why;
    const auto random = MakeRandomProgram(seed, threads, &why);
    if (!random) continue;
    ++programs;
    std::vector<uint8_t> stream;
    AppendLoad(random->program, &stream);
    AppendRun(random->program, threads, 0, random->data, &stream);
    const auto run = CycleMachine(random->config).Run(stream);
    ASSERT_TRUE(run.ok()) << run.status();
    const double least = LeastCycles(LaunchOf(*random, 1, threads), random->config);
    const auto cycles = static_cast<double>(run->trace.cycles);
    EXPECT_LE(least, cycles) << "seed " << seed << "\n" << Print(random->program);
    // Several runs, by the closed form.
    const Launch several = LaunchOf(*random, 1 + programs % 5, threads);
    EXPECT_LE(LeastCycles(several, random->config), static_cast<double>(CyclesOf(several)))
        << "seed " << seed;
    EXPECT_GT(least, 0);
    close += 2 * least > cycles ? 1 : 0;
  }
  // Many random mappings are far from the best one; a bound that is always far off is of no use.
  EXPECT_GE(close, 100);
}

}  // namespace
}  // namespace kiln::cgra
