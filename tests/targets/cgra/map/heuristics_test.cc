#include "kiln/targets/cgra/map/heuristics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/dot_file.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/placement.h"
#include "kiln/targets/cgra/map/sat.h"
#include "kiln/targets/cgra/map/search.h"
#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

struct NamedMapper {
  const char* name;
  std::unique_ptr<Mapper> (*make)();
};
const NamedMapper kMappers[] = {{"random", &MakeRandomMapper},
                                {"greedy", &MakeGreedyMapper},
                                {"annealing", &MakeAnnealingMapper},
                                {"evolutionary", &MakeEvolutionaryMapper}};

// Returns the places of a problem's instructions in a mapping.
std::vector<Place> PlacesOf(const Problem& problem, const Mapping& mapping) {
  std::vector<Place> places;
  size_t pass = 0;
  for (const Instruction& instruction : problem.instructions) {
    if (instruction.is_pass) {
      places.push_back(mapping.passes[pass++].place);
    } else {
      places.push_back(mapping.places[static_cast<size_t>(instruction.nodes.back())]);
    }
  }
  return places;
}

// Returns the rule that a mapping breaks, as the problem states it with these fusions, or "".
std::string FaultOf(const ComputationGraph& graph, const Config& config, const Mapping& mapping) {
  ProblemOptions options;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (mapping.fused_into[n] < 0) continue;
    options.fusions.push_back({static_cast<int>(n), mapping.fused_into[n]});
  }
  const StatusOr<Problem> problem = BuildProblem(graph, config, options);
  if (!problem.ok()) return MessageOf(problem.status());
  return NaiveFault(*problem, mapping.initiation_interval, PlacesOf(*problem, mapping));
}

// An input that is an output leaves nothing to be issued.
TEST(Heuristics, AndProofsMapGraphsWithoutInstructions) {
  const auto graph = ParseGraphDot("digraph g { x [op=input]; y [op=output]; x -> y; }", "g.dot");
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<NamedMapper> mappers(std::begin(kMappers), std::end(kMappers));
  mappers.push_back({"exact", &MakeExactMapper});
  mappers.push_back({"sat", &MakeSatMapper});
  for (const NamedMapper& named : mappers) {
    SCOPED_TRACE(named.name);
    const StatusOr<MapResult> result = named.make()->Map(*graph, Config(), {.steps = 2000});
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_TRUE(result->mapping.has_value());
    EXPECT_EQ(result->latency, 0);
  }
}

// The least cycle from `from` on at which no rule is broken, tried one by one.
std::optional<int> FirstIssueByTrial(const Problem& problem, int interval,
                                     std::vector<Place> places, int instruction, int tile,
                                     int from) {
  for (int issue = from; issue < 200; ++issue) {
    places[static_cast<size_t>(instruction)] = {tile, issue};
    if (NaiveFault(problem, interval, places).empty()) return issue;
  }
  return std::nullopt;
}

TEST(Placement, FindsTheFirstIssueThatTrialFinds) {
  int found = 0, none = 0;
  for (uint64_t seed = 0; seed < 250; ++seed) {
    Config config = RandomTestConfig(seed, 4);
    if (seed % 3 == 0) config.instruction_depth = 1;  // less than the slots of most intervals
    const ComputationGraph graph = RandomTestGraph(seed, {});
    const StatusOr<Problem> problem = BuildProblem(graph, config);
    if (!problem.ok()) continue;
    Random random(seed);
    const int interval = static_cast<int>(random.Between(1, 3));
    if (config.tile_period > 0 && interval % config.tile_period != 0) continue;
    Placement placement(*problem, interval);
    // Instructions in any order, so that consumers are placed before producers, too. Where operands
    // must not wait, only the topological order tells when a consumer issues.
    std::vector<int> order(static_cast<size_t>(problem->size()));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    for (size_t i = order.size(); config.issue_later && i-- > 1;) {
      std::swap(order[i], order[random.Below(i + 1)]);
    }
    for (const int instruction : order) {
      // Where operands must not wait, nothing is known of consumers of what found no place.
      const bool is_open = std::ranges::any_of(problem->dependences, [&](const Dependence& d) {
        return d.to == instruction && d.from != instruction && !placement.placed(d.from);
      });
      if (!config.issue_later && is_open) continue;
      const auto tile = static_cast<int>(random.Below(static_cast<uint64_t>(problem->tiles())));
      const auto from = static_cast<int>(random.Below(4));
      const std::optional<int> issue = placement.FirstIssue(instruction, tile, from);
      ASSERT_EQ(issue,
                FirstIssueByTrial(*problem, interval, placement.places(), instruction, tile, from))
          << "seed " << seed << ", instruction " << instruction << ", tile " << tile;
      ++(issue ? found : none);
      if (issue) placement.Put(instruction, {tile, *issue});
    }
    // What is taken away leaves its cell free.
    for (const int instruction : order) {
      if (!placement.placed(instruction)) continue;
      const Place place = placement.places()[static_cast<size_t>(instruction)];
      placement.Remove(instruction);
      ASSERT_EQ(placement.FirstIssue(instruction, place.tile, place.issue), place.issue);
      placement.Put(instruction, place);
    }
  }
  EXPECT_GT(found, 500);
  EXPECT_GT(none, 100);
}

TEST(Heuristics, KeepAllRules) {
  for (const NamedMapper& row : kMappers) {
    int mapped = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const Config config = RandomTestConfig(seed, 6);
      const ComputationGraph graph = RandomTestGraph(seed, {.most_nodes = 12});
      const StatusOr<MapResult> result =
          row.make()->Map(graph, config, {.seed = seed, .steps = 150});
      if (!result.ok()) continue;  // an instruction reads too much
      if (!result->mapping) continue;
      ++mapped;
      EXPECT_EQ(PrintVerdict(CheckMapping(graph, config, *result->mapping)), "")
          << row.name << ", seed " << seed;
      if (result->none_without_passes.empty()) {
        EXPECT_EQ(FaultOf(graph, config, *result->mapping), "") << row.name << ", seed " << seed;
      }
      EXPECT_EQ(result->latency, LatencyOf(config, *result->mapping));
      EXPECT_GE(result->latency, result->latency_bound);
      EXPECT_GE(result->mapping->initiation_interval, result->interval_bound);
    }
    EXPECT_GT(mapped, 15) << row.name;
  }
}

TEST(Heuristics, PutNoMoreOnATileThanItHolds) {
  for (const NamedMapper& row : kMappers) {
    int mapped = 0, full = 0;
    for (uint64_t seed = 0; seed < 30; ++seed) {
      Config config = RandomTestConfig(seed, 6);
      config.instruction_depth = 2;
      const ComputationGraph graph = RandomTestGraph(seed, {.most_nodes = 12});
      // At an interval with more slots than a tile holds instructions.
      MapOptions options{.initiation_interval = 4, .seed = seed, .steps = 100};
      if (config.tile_period > 0) options.initiation_interval = 2 * config.tile_period;
      const StatusOr<MapResult> result = row.make()->Map(graph, config, options);
      if (!result.ok() || !result->mapping) continue;
      ++mapped;
      EXPECT_EQ(PrintVerdict(CheckMapping(graph, config, *result->mapping)), "")
          << row.name << ", seed " << seed;
      full += FaultOf(graph, config, *result->mapping).empty() ? 1 : 0;
    }
    EXPECT_GT(mapped, 5) << row.name;
    EXPECT_EQ(full, mapped) << row.name;
  }
}

// Graphs of 35 to 50 instructions for which list schedules and random places come to a value whose
// operands are too far apart, at every interval that the machine has. The learned mapper finds
// mappings of all of them.
TEST(Heuristics, AndProofsMapGraphsThatListSchedulesDoNot) {
  std::vector<NamedMapper> mappers(std::begin(kMappers), std::end(kMappers));
  mappers.push_back({"exact", &MakeExactMapper});
  mappers.push_back({"sat", &MakeSatMapper});
  for (const uint64_t seed : {53, 81, 89, 90, 102, 178, 190}) {
    const ComputationGraph graph = RandomTestGraph(
        seed,
        {.least_nodes = 25, .most_nodes = 50, .variables = 0, .loop_share = 0.2, .two_flows = 0.3});
    for (size_t m = 0; m < mappers.size(); ++m) {
      const NamedMapper& named = mappers[m];
      const bool proves = m >= std::size(kMappers);
      // Proofs of the others begin with the mapping of a list schedule.
      if (proves && seed != 102 && seed != 190) continue;
      const int64_t steps = proves ? 10'000 : 2000;
      SCOPED_TRACE(testing::Message() << named.name << ", seed " << seed);
      const StatusOr<MapResult> result = named.make()->Map(graph, Config(), {.steps = steps});
      ASSERT_TRUE(result.ok()) << result.status();
      ASSERT_TRUE(result->mapping.has_value());
      EXPECT_EQ(PrintVerdict(CheckMapping(graph, Config(), *result->mapping)), "");
      EXPECT_EQ(result->latency, LatencyOf(Config(), *result->mapping));
    }
  }
}

TEST(Heuristics, GiveTheSameResultForTheSameSeed) {
  const ComputationGraph graph = RandomTestGraph(5, {.least_nodes = 8, .most_nodes = 9});
  const Config config;
  for (const NamedMapper& row : kMappers) {
    const auto map = [&](uint64_t seed) {
      return row.make()->Map(graph, config, {.seed = seed, .steps = 300}).value();
    };
    const MapResult first = map(3), again = map(3);
    ASSERT_TRUE(first.mapping.has_value()) << row.name;
    EXPECT_EQ(*first.mapping, *again.mapping) << row.name;
    EXPECT_EQ(first.steps, again.steps);
  }
}

// The first mapping is by branch and bound here.
TEST(Heuristics, GiveTheSameFirstMappingForTheSameSeed) {
  const ComputationGraph graph = RandomTestGraph(
      178,
      {.least_nodes = 25, .most_nodes = 50, .variables = 0, .loop_share = 0.2, .two_flows = 0.3});
  for (const NamedMapper& row : kMappers) {
    const auto map = [&](uint64_t seed) {
      return row.make()->Map(graph, Config(), {.seed = seed, .steps = 2000}).value();
    };
    const MapResult first = map(3), again = map(3);
    ASSERT_TRUE(first.mapping.has_value()) << row.name;
    EXPECT_EQ(*first.mapping, *again.mapping) << row.name;
    EXPECT_EQ(first.steps, again.steps);
    EXPECT_LE(first.steps, 2000);
  }
}

TEST(Heuristics, EndAfterTheirSteps) {
  const ComputationGraph graph = RandomTestGraph(7, {.least_nodes = 14, .most_nodes = 16});
  for (const NamedMapper& row : kMappers) {
    const StatusOr<MapResult> result = row.make()->Map(graph, Config(), {.steps = 37});
    ASSERT_TRUE(result.ok());
    EXPECT_LE(result->steps, 37) << row.name;
  }
}

TEST(Heuristics, FindTheWholeIntervalOnlyWhereItIsAskedFor) {
  const ComputationGraph graph = RandomTestGraph(9, {.least_nodes = 8, .most_nodes = 8});
  for (const NamedMapper& row : kMappers) {
    const StatusOr<MapResult> result =
        row.make()->Map(graph, Config(), {.initiation_interval = 6, .steps = 400});
    ASSERT_TRUE(result.ok() && result->mapping) << row.name;
    EXPECT_EQ(result->mapping->initiation_interval, 6);
  }
}

}  // namespace
}  // namespace kiln::cgra
