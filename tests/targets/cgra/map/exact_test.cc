// The mappers that prove their results.

#include "kiln/targets/cgra/map/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "kiln/targets/cgra/map/branch.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/problem.h"
#include "kiln/targets/cgra/map/proof.h"
#include "kiln/targets/cgra/map/sat.h"
#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

MapResult MapBy(const Mapper& mapper, const ComputationGraph& graph, const Config& config,
                const MapOptions& options = {}) {
  const StatusOr<MapResult> result = mapper.Map(graph, config, options);
  EXPECT_TRUE(result.ok()) << MessageOf(result.status());
  return result.ok() ? *result : MapResult{};
}

void ExpectLegal(const ComputationGraph& graph, const Config& config, const MapResult& result) {
  if (!result.mapping) return;
  const Verdict verdict = CheckMapping(graph, config, *result.mapping);
  EXPECT_EQ(PrintVerdict(verdict), "");
  EXPECT_EQ(verdict.latency, result.latency);
  EXPECT_LE(result.interval_bound, result.mapping->initiation_interval);
  EXPECT_LE(result.latency_bound, result.latency);
}

// Builds graphs by hand. Nodes are named a, b, c, ...
class TestGraph {
 public:
  int Add(Op op, std::vector<int> operands) {
    const int node = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back({.name = std::string(1, static_cast<char>('a' + node)),
                            .op = op,
                            .label = "",
                            .literal = std::nullopt});
    for (size_t k = 0; k < operands.size(); ++k) {
      graph_.edges.push_back(
          {.source = operands[k], .target = node, .operand = static_cast<int>(k)});
    }
    return node;
  }
  ComputationGraph Take() {
    graph_.name = graph_.source = "test";
    EXPECT_TRUE(VerifyAndSort(&graph_).ok());
    return graph_;
  }

 private:
  ComputationGraph graph_;
};

TEST(Exact, ProvesThatTheWorkedExampleIsOptimal) {
  // arXiv 2205.13675, Fig. 1: the result at cycle 15, with an interval of 3. A tile holds one
  // instruction in each slot, so that neither the squares nor the sum can follow at once where
  // their operands are: issues in the cycles 0, 4, 8 and 12 are the least.
  const StatusOr<ComputationGraph> graph = MakeNamedGraph("distance");
  ASSERT_TRUE(graph.ok());
  for (const auto& make : {&MakeExactMapper, &MakeSatMapper}) {
    const MapResult result = MapBy(*make(), *graph, Config(), {.initiation_interval = 3});
    ASSERT_TRUE(result.mapping);
    EXPECT_EQ(result.mapping->initiation_interval, 3);
    EXPECT_EQ(result.latency, 15);
    EXPECT_EQ(result.latency_bound, 15);
    EXPECT_TRUE(result.optimal);
    ExpectLegal(*graph, Config(), result);
  }
}

TEST(Exact, AgreesWithTheSolverAndTheChecker) {
  int mapped = 0, impossible = 0, passes = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const ComputationGraph graph =
        RandomTestGraph(seed, {.least_nodes = 4, .most_nodes = 9, .variables = 2});
    Config config = RandomTestConfig(seed, 6);
    config.spoke_depth = 8;  // many of these have no mapping: intervals are few
    const MapOptions options{.steps = 20'000};
    const MapResult own = MapBy(*MakeExactMapper(), graph, config, options);
    const MapResult second = MapBy(*MakeSatMapper(), graph, config, options);
    ExpectLegal(graph, config, own);
    ExpectLegal(graph, config, second);
    if (own.mapping && !own.mapping->passes.empty()) ++passes;
    if (own.impossible || second.impossible) {
      EXPECT_FALSE(own.mapping.has_value());
      EXPECT_FALSE(second.mapping.has_value());
      EXPECT_NE(own.interval_why, "");
      ++impossible;
    }
    if (!own.optimal || !second.optimal) continue;
    EXPECT_EQ(own.mapping->initiation_interval, second.mapping->initiation_interval);
    EXPECT_EQ(own.latency, second.latency);
    ++mapped;
  }
  EXPECT_GT(mapped, 10);
  EXPECT_GT(impossible, 1);
  EXPECT_GT(passes, 1);
}

// The solver beside the branch and bound changes nothing that is proved, and a limit of steps gives
// the same result each time.
TEST(Exact, TheSolverProvesTheSameBesideTheBranchAndBound) {
  constexpr int64_t kEffort = 100;  // small enough for the solver to be asked
  int proved = 0, other_steps = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const ComputationGraph graph =
        RandomTestGraph(seed, {.least_nodes = 6, .most_nodes = 14, .variables = 2});
    Config config = RandomTestConfig(seed, 6);
    config.spoke_depth = 8;
    const MapOptions options{.steps = 20'000};
    const auto race = [&] {
      const auto result =
          MapWithProof(graph, config, options, {.make = MakeRace(nullptr, kEffort)});
      EXPECT_TRUE(result.ok()) << MessageOf(result.status());
      return result.ok() ? *result : MapResult{};
    };
    const MapResult own = MapBy(*MakeExactMapper(), graph, config, options);
    const MapResult both = race(), again = race();
    // The same search without the solver.
    const auto alone =
        MapWithProof(graph, config, options, {.make = MakeBranchSearchInOrder(nullptr)});
    ASSERT_TRUE(alone.ok()) << MessageOf(alone.status());
    other_steps += both.steps != alone->steps ? 1 : 0;
    ExpectLegal(graph, config, both);
    EXPECT_EQ(both.steps, again.steps);
    EXPECT_EQ(both.latency_bound, again.latency_bound);
    ASSERT_EQ(both.mapping.has_value(), again.mapping.has_value());
    if (both.mapping) {
      EXPECT_EQ(both.mapping->places, again.mapping->places);
    }
    if (own.impossible || both.impossible) {
      EXPECT_FALSE(own.mapping.has_value());
      EXPECT_FALSE(both.mapping.has_value());
    }
    if (!own.optimal || !both.optimal || own.space != both.space) continue;
    EXPECT_EQ(own.mapping->initiation_interval, both.mapping->initiation_interval);
    EXPECT_EQ(own.latency, both.latency);
    ++proved;
  }
  EXPECT_GT(proved, 10);
  EXPECT_GT(other_steps, 0);
}

// A question that the branch and bound leaves open with as many steps as the race may take.
TEST(Exact, TheRaceAnswersByTheSolver) {
  constexpr int64_t kSteps = 2000;
  int by_solver = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const ComputationGraph graph =
        RandomTestGraph(seed, {.least_nodes = 10, .most_nodes = 16, .variables = 2});
    Config config = RandomTestConfig(seed, 6);
    config.spoke_depth = 8;
    const auto decide = [&](const MakeDecider& make, int interval, int64_t steps) {
      const StatusOr<Problem> problem = BuildProblem(graph, config);
      EXPECT_TRUE(problem.ok()) << MessageOf(problem.status());
      if (!problem.ok()) return Answer::kUnknown;
      StepBudget budget;
      std::vector<Place> places;
      return make(*problem, 1)->Decide(interval, kAnyLatency, steps, &budget, &places);
    };
    for (int interval = 1; interval <= 4; ++interval) {
      if (decide(MakeBranchSearchInOrder(nullptr), interval, kSteps) != Answer::kUnknown) continue;
      const Answer race = decide(MakeRace(nullptr, kSteps), interval, kSteps);
      if (race == Answer::kUnknown) continue;
      // The solver alone, with many steps, gives the same answer.
      EXPECT_EQ(decide(MakeSatDecider, interval, 100'000), race);
      ++by_solver;
    }
  }
  EXPECT_GT(by_solver, 0);
}

// No search order changes what is proved.
TEST(Exact, ProvesTheSameInAnyOrder) {
  int proved = 0, impossible = 0, other_steps = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const ComputationGraph graph =
        RandomTestGraph(seed, {.least_nodes = 4, .most_nodes = 10, .variables = 2});
    Config config = RandomTestConfig(seed, 6);
    config.spoke_depth = 8;
    if (seed % 4 == 0) config.instruction_depth = 2;
    const MakeSearchOrder last_first = [](const Problem&, int) -> SearchOrder {
      return [](std::span<const Place> places, int instruction, std::span<const Place> candidates,
                std::span<double> scores) {
        EXPECT_EQ(places[static_cast<size_t>(instruction)].tile, -1);
        ASSERT_EQ(candidates.size(), scores.size());
        for (size_t i = 0; i < candidates.size(); ++i) {
          scores[i] = 100.0 * candidates[i].issue + candidates[i].tile;
        }
      };
    };
    const MapOptions options{.steps = 50'000};
    const MapResult own = MapBy(*MakeExactMapper(), graph, config, options);
    const MapResult ordered = MapBy(*MakeExactMapperInOrder(last_first), graph, config, options);
    ExpectLegal(graph, config, ordered);
    if (!own.optimal && !own.impossible) continue;
    EXPECT_EQ(own.impossible, ordered.impossible);
    EXPECT_EQ(own.optimal, ordered.optimal);
    EXPECT_EQ(own.interval_bound, ordered.interval_bound);
    EXPECT_EQ(own.latency_bound, ordered.latency_bound);
    EXPECT_EQ(own.latency, ordered.latency);
    other_steps += own.steps != ordered.steps ? 1 : 0;
    ++(own.impossible ? impossible : proved);
    if (!own.mapping || !ordered.mapping) continue;
    EXPECT_EQ(own.mapping->initiation_interval, ordered.mapping->initiation_interval);
  }
  EXPECT_GT(proved, 20);
  EXPECT_GT(impossible, 1);
  EXPECT_GT(other_steps, 5);
}

TEST(Exact, IsNeverWorseOnMoreTiles) {
  constexpr int kTiles[] = {3, 4, 6, 8, 16};
  int proved = 0, better = 0;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    const ComputationGraph graph = RandomTestGraph(
        seed, {.least_nodes = 6, .most_nodes = 14, .variables = 1, .loop_share = 0.3});
    std::pair<int, int> before(1 << 20, 0);
    for (const int tiles : kTiles) {
      Config config;
      config.columns = tiles;
      const MapResult result = MapBy(*MakeExactMapper(), graph, config, {.steps = 50'000});
      ExpectLegal(graph, config, result);
      if (!result.mapping || !result.optimal) continue;
      const std::pair now(result.mapping->initiation_interval, result.latency);
      EXPECT_LE(now, before) << "seed " << seed << " on " << tiles;
      better += now < before && before.first < 1 << 20 ? 1 : 0;
      before = now;
      ++proved;
    }
  }
  EXPECT_GT(proved, 60);
  EXPECT_GT(better, 10);
}

// With short wait limits many graphs need several pass-throughs, and the proof covers one at most.
// The exact mapper maps every graph that list scheduling maps, at no longer an interval.
TEST(Exact, MapsWhatListSchedulingMaps) {
  int mapped = 0, several = 0;
  for (uint64_t seed = 1; seed <= 90; ++seed) {
    SCOPED_TRACE(seed);
    const ComputationGraph graph = RandomTestGraph(
        seed, {.least_nodes = 8, .most_nodes = 20, .variables = 1, .loop_share = 0.3});
    Config config;
    config.columns = 8;
    config.wait_limit = 2;
    const StatusOr<MapResult> quick = MakeGreedyMapper()->Map(graph, config, {.steps = 1000});
    ASSERT_TRUE(quick.ok()) << quick.status();
    if (!quick->mapping) continue;
    ++mapped;
    const MapResult exact = MapBy(*MakeExactMapper(), graph, config, {.steps = 30'000});
    ExpectLegal(graph, config, exact);
    ASSERT_TRUE(exact.mapping) << exact.interval_why;
    EXPECT_FALSE(exact.impossible);
    EXPECT_LE(exact.mapping->initiation_interval, quick->mapping->initiation_interval);
    several += exact.mapping->passes.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(mapped, 20);
  EXPECT_GT(several, 10);
}

TEST(Exact, SeedsChangeNothingThatIsProved) {
  const StatusOr<ComputationGraph> graph = MakeNamedGraph("fft-2");
  ASSERT_TRUE(graph.ok());
  const MapResult first = MapBy(*MakeExactMapper(), *graph, Config());
  const MapResult again = MapBy(*MakeExactMapper(), *graph, Config());
  const MapResult other = MapBy(*MakeExactMapper(), *graph, Config(), {.seed = 7});
  ASSERT_TRUE(first.mapping && again.mapping && other.mapping);
  EXPECT_TRUE(first.optimal && other.optimal);
  EXPECT_EQ(*first.mapping, *again.mapping);
  EXPECT_EQ(first.steps, again.steps);
  EXPECT_EQ(first.mapping->initiation_interval, other.mapping->initiation_interval);
  EXPECT_EQ(first.latency, other.latency);
}

TEST(Exact, MirroredMappingsAreLegal) {
  const StatusOr<ComputationGraph> graph = MakeNamedGraph("ifft");
  ASSERT_TRUE(graph.ok());
  MapResult result = MapBy(*MakeExactMapper(), *graph, Config());
  ASSERT_TRUE(result.mapping);
  for (Place& place : result.mapping->places) {
    if (place.tile >= 0) place.tile = Config().tiles() - 1 - place.tile;
  }
  ExpectLegal(*graph, Config(), result);
}

TEST(Exact, EndsWithTheBestAndItsBounds) {
  const StatusOr<ComputationGraph> graph = MakeNamedGraph("fft-4");
  ASSERT_TRUE(graph.ok());
  const MapResult all = MapBy(*MakeExactMapper(), *graph, Config(), {.steps = 100'000});
  int found = 0, last_latency = 1 << 20;
  for (const int64_t steps : {1, 100, 1000, 10'000}) {
    int calls = 0;
    MapOptions options{.steps = steps};
    options.on_better = [&calls](const Mapping& /*better*/, double /*seconds*/) { ++calls; };
    const MapResult result = MapBy(*MakeExactMapper(), *graph, Config(), options);
    ExpectLegal(*graph, Config(), result);
    EXPECT_LE(result.steps, steps + 1);
    EXPECT_EQ(std::ssize(result.progress), calls);
    EXPECT_FALSE(result.impossible);
    if (!result.mapping) continue;
    ++found;
    ASSERT_TRUE(all.mapping);
    EXPECT_LE(result.interval_bound, all.mapping->initiation_interval);
    if (result.mapping->initiation_interval != all.mapping->initiation_interval) continue;
    EXPECT_LE(result.latency_bound, all.latency);
    EXPECT_LE(result.latency, last_latency);
    last_latency = result.latency;
  }
  EXPECT_GT(found, 1);
}

TEST(Exact, LeavesAProductAloneWhereFusionBreaksARule) {
  // c * v and d + v read the variable v, and share a tile. Fused with the product, the sum
  // e = c * v + a would share it with d, its sibling, both being users of a.
  TestGraph test;
  const int v = test.Add(Op::kVariable, {});
  const int x = test.Add(Op::kInput, {});
  const int first = test.Add(Op::kPass, {x});
  const int product = test.Add(Op::kMul, {x, v});
  test.Add(Op::kAdd, {first, v});
  const int sum = test.Add(Op::kAdd, {product, first});
  const ComputationGraph graph = test.Take();
  ASSERT_EQ(Fusions(graph, Config()).size(), 1u);
  const MapResult result = MapBy(*MakeExactMapper(), graph, Config());
  ASSERT_TRUE(result.mapping);
  EXPECT_EQ(result.mapping->fused_into[static_cast<size_t>(product)], -1);
  EXPECT_TRUE(result.optimal);
  ExpectLegal(graph, Config(), result);
  // Without the other user of `v` the two are fused.
  TestGraph simple;
  const int y = simple.Add(Op::kInput, {});
  const int z = simple.Add(Op::kPass, {y});
  const int square = simple.Add(Op::kMul, {y, y});
  simple.Add(Op::kAdd, {square, z});
  const MapResult fused = MapBy(*MakeExactMapper(), simple.Take(), Config());
  ASSERT_TRUE(fused.mapping);
  EXPECT_EQ(fused.mapping->fused_into[static_cast<size_t>(square)], 3);
  const MapResult apart = MapBy(*MakeExactMapper(), simple.Take(), Config(), {.fuse = false});
  ASSERT_TRUE(apart.mapping);
  EXPECT_EQ(apart.mapping->fused_into[static_cast<size_t>(square)], -1);
  EXPECT_EQ(sum, 5);
}

TEST(Exact, InsertsAPassThroughWhereItMust) {
  // a -> b -> c and a -> c, on links to the next tile alone: no three tiles are neighbours in
  // pairs.
  Config config;
  config.columns = 4;
  config.reach = 1;
  config.feedback = false;
  TestGraph test;
  const int x = test.Add(Op::kInput, {});
  const int a = test.Add(Op::kPass, {x});
  const int b = test.Add(Op::kPass, {a});
  test.Add(Op::kAdd, {a, b});
  const ComputationGraph graph = test.Take();
  const MapResult result = MapBy(*MakeExactMapper(), graph, config);
  ASSERT_TRUE(result.mapping);
  EXPECT_EQ(result.mapping->passes.size(), 1u);
  ExpectLegal(graph, config, result);
  EXPECT_NE(result.space.find("one additional pass-through"), std::string::npos);
  const MapResult solved = MapBy(*MakeSatMapper(), graph, config);
  ASSERT_TRUE(solved.mapping);
  EXPECT_EQ(solved.mapping->passes.size(), 1u);
  EXPECT_EQ(solved.latency, result.latency);
  EXPECT_EQ(solved.mapping->initiation_interval, result.mapping->initiation_interval);
  ExpectLegal(graph, config, solved);
}

TEST(Exact, NamesWhatIsImpossible) {
  // Two users of `v` use the result of one instruction.
  TestGraph test;
  const int v = test.Add(Op::kVariable, {});
  const int x = test.Add(Op::kInput, {});
  const int from = test.Add(Op::kPass, {x});
  test.Add(Op::kAdd, {from, v});
  test.Add(Op::kSub, {from, v});
  const ComputationGraph graph = test.Take();
  // On one tile there is no place for a pass-through either.
  Config config;
  config.columns = 1;
  const StatusOr<MapResult> without =
      MapWithProof(graph, config, {}, {.make = MakeSatDecider, .passes = false});
  ASSERT_TRUE(without.ok());
  EXPECT_TRUE(without->impossible);
  EXPECT_EQ(without->space, "all mappings without additional pass-throughs");
  const std::string why =
      "'d' and 'e' share a tile, as all users of a do, and may not, as both use the result of 'c'";
  EXPECT_EQ(without->interval_why, why);
  const MapResult one = MapBy(*MakeExactMapper(), graph, config);
  EXPECT_TRUE(one.impossible);
  EXPECT_EQ(one.space, "all mappings with at most one additional pass-through");
  EXPECT_EQ(one.interval_why,
            why + "; a search with one additional pass-through finds none either");
}

TEST(Exact, RefusesIntervalsThatTheMachineCannotHave) {
  const StatusOr<ComputationGraph> graph = MakeNamedGraph("vector-add");
  ASSERT_TRUE(graph.ok());
  const auto error = [&](int interval, const Config& config) {
    return MessageOf(
        MakeExactMapper()->Map(*graph, config, {.initiation_interval = interval}).status());
  };
  EXPECT_NE(error(17, Config()).find("1 to 16 cycles"), std::string::npos);
  EXPECT_NE(error(-1, Config()).find("1 to 16 cycles"), std::string::npos);
  Config config;
  config.tile_period = 2;
  EXPECT_NE(error(3, config).find("a multiple of the tiles' period of 2 cycles"),
            std::string::npos);
  EXPECT_EQ(error(4, config), "");
}

// Under a wait limit on a machine with relaxed distances, the branch and bound alone leaves some
// problems with a pass-through open for millions of steps, which the solver decides at once.
TEST(Exact, AsksTheSolverWhereItsFormulaIsSmall) {
  Config config;
  config.columns = 4;
  config.wait_limit = 4;
  config.relaxed_distance = true;
  const ComputationGraph graph = RandomTestGraph(
      15,
      {.least_nodes = 16, .most_nodes = 28, .variables = 0, .loop_share = 0.3, .two_flows = 0.3});
  const MapOptions options{.steps = 200'000};
  const StatusOr<MapResult> own = MakeExactMapper()->Map(graph, config, options);
  const StatusOr<MapResult> second = MakeSatMapper()->Map(graph, config, options);
  ASSERT_TRUE(own.ok() && second.ok());
  ASSERT_TRUE(own->mapping && second->mapping);
  EXPECT_TRUE(own->optimal);
  EXPECT_TRUE(second->optimal);
  EXPECT_EQ(own->mapping->initiation_interval, second->mapping->initiation_interval);
  EXPECT_EQ(own->latency, second->latency);
  EXPECT_EQ(PrintVerdict(CheckMapping(graph, config, *own->mapping)), "");
}

}  // namespace
}  // namespace kiln::cgra
