// Graphs with loads, stores and several flows: threads in flight give what the graph's evaluation
// gives, and late values hold back what needs them.

#include "kiln/targets/cgra/simulate/cycle/flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "tests/targets/cgra/simulate/random_program.h"

namespace kiln::cgra {
namespace {

// Maps a graph at random, at the first interval that works out.
Mapping MapAtRandom(const ComputationGraph& graph, const Config& config, bool fuse,
                    Random* random) {
  ProblemOptions options;
  std::set<int> fused;
  for (const Fusion& fusion : fuse ? Fusions(graph, config) : std::vector<Fusion>{}) {
    if (fused.contains(fusion.multiply) || fused.contains(fusion.logic)) continue;
    fused.insert({fusion.multiply, fusion.logic});
    options.fusions.push_back(fusion);
  }
  const StatusOr<Problem> problem = BuildProblem(graph, config, options);
  EXPECT_TRUE(problem.ok()) << problem.status();
  const int least = problem.ok() ? problem->size() / config.tiles() + 2 : 64;
  for (int interval = least; interval < 64; interval += 2) {
    const auto places = RandomPlaces(*problem, interval, random);
    if (places) return MappingOf(graph, *problem, interval, *places);
  }
  return {};
}

void ExpectSameAsEvaluation(const ComputationGraph& graph, const Config& config,
                            const Mapping& mapping, Random* random, FlowResult* result) {
  constexpr int kThreads = 40, kLanes = 4;
  std::vector<std::vector<std::vector<int32_t>>> inputs(kThreads);
  for (auto& thread : inputs) {
    thread.resize(InputsOf(graph).size(), std::vector<int32_t>(kLanes));
    for (auto& lanes : thread) {
      for (int32_t& lane : lanes) lane = static_cast<int32_t>((*random)());
    }
  }
  const Evaluation expected = Evaluate(graph, inputs, {.threads = kThreads, .lanes = kLanes});
  const auto run = RunFlows(graph, mapping, config, inputs,
                            {.threads = kThreads, .lanes = kLanes, .memory = MixedMemory});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->outputs, expected.outputs);
  ASSERT_EQ(run->stores.size(), expected.stores.size());
  for (size_t i = 0; i < run->stores.size(); ++i) {
    EXPECT_EQ(run->stores[i].node, expected.stores[i].node);
    EXPECT_EQ(run->stores[i].thread, expected.stores[i].thread);
    EXPECT_EQ(run->stores[i].address, expected.stores[i].address);
    EXPECT_EQ(run->stores[i].value, expected.stores[i].value);
    EXPECT_EQ(run->stores[i].stored, expected.stores[i].stored);
  }
  *result = *run;
}

TEST(Flows, KernelsGiveTheirValues) {
  Random random(3);
  for (const char* name :
       {"array_add", "atax", "bicg", "dct4", "doitgen", "fft", "fir", "gray", "sum", "vadd"}) {
    SCOPED_TRACE(name);
    const auto graph = ReadGraph(std::string("tests/data/cgra/") + name + ".json");
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const bool fuse : {false, true}) {
      Config config;
      config.copies = true;
      const Mapping mapping = MapAtRandom(*graph, config, fuse, &random);
      ASSERT_GT(mapping.initiation_interval, 0);
      int64_t before = 0;
      for (const int latency : {0, 5, 40}) {
        config.async_latency = latency;
        FlowResult result;
        ExpectSameAsEvaluation(*graph, config, mapping, &random, &result);
        EXPECT_GE(result.cycles, before);
        EXPECT_GE(result.threads_in_flight, 1);
        before = result.cycles;
      }
    }
  }
}

// One load whose value is added to: the addition waits in whole periods for the value.
TEST(Flows, LateValuesHoldBackByPeriods) {
  ComputationGraph graph;
  graph.nodes = {{.name = "x", .op = Op::kInput, .label = "", .literal = {}},
                 {.name = "load", .op = Op::kLoad, .label = "", .literal = {}},
                 {.name = "add", .op = Op::kAdd, .label = "", .literal = 1},
                 {.name = "out", .op = Op::kOutput, .label = "", .literal = {}}};
  graph.edges = {
      {.source = 0, .target = 1}, {.source = 1, .target = 2}, {.source = 2, .target = 3}};
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  Mapping mapping;
  mapping.initiation_interval = 4;
  mapping.places = {{}, {0, 1}, {1, 2}, {}};
  mapping.fused_into.assign(4, -1);
  mapping.provider.assign(3, -1);
  Config config;
  Random random(1);
  // The load issues in 1, its value is there in 1 + 3 + latency; the addition's cycles are 2, 6,
  // 10, ...; 40 threads start 4 cycles apart.
  for (const auto& [latency, held] : {std::pair{0, 4}, {2, 4}, {3, 8}, {30, 32}}) {
    config.async_latency = latency;
    FlowResult result;
    ExpectSameAsEvaluation(graph, config, mapping, &random, &result);
    EXPECT_EQ(result.held_cycles, (std::vector<int64_t>{0, 0, 40 * held, 0})) << latency;
    EXPECT_EQ(result.cycles, 39 * 4 + 2 + held + 3) << latency;
  }
  EXPECT_EQ(RunFlows(graph, mapping, config, std::vector(3, std::vector(1, std::vector(2, 5))),
                     {.threads = 3, .lanes = 2, .memory = MixedMemory})
                ->threads_in_flight,
            3);
  mapping.places.pop_back();
  EXPECT_THAT(MessageOf(RunFlows(graph, mapping, config, {}, {.memory = MixedMemory}).status()),
              testing::HasSubstr("mapping: it is not one of this graph on this machine"));
}

}  // namespace
}  // namespace kiln::cgra
