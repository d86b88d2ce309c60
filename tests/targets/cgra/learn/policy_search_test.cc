// Repairs and compaction of mappings, against the rules by exhaustive reading.

#include "kiln/targets/cgra/learn/policy_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "kiln/targets/cgra/learn/ppo_mapper.h"
#include "kiln/targets/cgra/map/environment.h"
#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

// Returns a random mapping of a problem, or nothing if chance finds none.
std::vector<Place> RandomPlaces(const Problem& problem, int interval, uint64_t seed) {
  Random random(seed);
  Environment environment(problem, interval);
  for (int attempt = 0; attempt < 20; ++attempt) {
    environment.Reset();
    while (environment.instruction() >= 0) {
      const std::span<const Cell> cells = environment.allowed();
      environment.Step(Cell(cells[random.Below(cells.size())]));
    }
    if (!environment.complete()) continue;
    return {environment.places().begin(), environment.places().end()};
  }
  return {};
}

TEST(Compact, LetsNoSingleInstructionIssueEarlier) {
  int moved = 0, mappings = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Config config = RandomTestConfig(seed + 500, 6);
    const ComputationGraph graph =
        RandomTestGraph(seed, {.least_nodes = 4, .most_nodes = 10, .loop_share = 0.4});
    const StatusOr<Problem> problem = BuildProblem(graph, config);
    if (!problem.ok() || !WhyImpossible(*problem).empty()) continue;
    const int interval = LeastInterval(*problem).value + static_cast<int>(seed % 3);
    const std::vector<Place> before = RandomPlaces(*problem, interval, seed);
    if (before.empty()) continue;
    ++mappings;
    std::vector<Place> after = before;
    Compact(*problem, interval, &after);
    ASSERT_EQ(NaiveFault(*problem, interval, after), "") << "seed " << seed;
    for (size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i].tile, before[i].tile);
      EXPECT_LE(after[i].issue, before[i].issue);
      moved += after[i].issue < before[i].issue ? 1 : 0;
      std::vector<Place> earlier = after;
      while (earlier[i].issue-- > 0) {
        EXPECT_NE(NaiveFault(*problem, interval, earlier), "") << "seed " << seed << ", " << i;
      }
    }
  }
  EXPECT_GT(mappings, 50);
  EXPECT_GT(moved, 50);
}

// What a search finds with some tiles given has these tiles, and keeps all rules; the tiles of a
// mapping are never refuted.
TEST(BranchSearch, CompletesMappingsOnGivenTiles) {
  int found = 0, refuted = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Config config = RandomTestConfig(seed + 900, 6);
    const ComputationGraph graph = RandomTestGraph(seed, {.least_nodes = 4, .most_nodes = 10});
    const StatusOr<Problem> problem = BuildProblem(graph, config);
    if (!problem.ok() || !WhyImpossible(*problem).empty()) continue;
    const int interval = LeastInterval(*problem).value + static_cast<int>(seed % 2);
    const std::vector<Place> known = RandomPlaces(*problem, interval, seed);
    if (known.empty()) continue;
    int latency = 0;
    for (const Place& place : known) latency = std::max(latency, place.issue);
    latency += config.pipeline_latency;
    BranchSearch search(*problem, seed);
    Random random(seed);
    for (int part = 0; part < 6; ++part) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", part " << part);
      std::vector<int> tiles;
      for (const Place& place : known) {
        tiles.push_back(part == 0 || random.Below(2) == 0 ? place.tile : -1);
      }
      for (const int less : {0, 1}) {
        StepBudget budget(5000);
        std::vector<Place> places;
        const Answer answer =
            search.Complete(interval, latency - less, tiles, 5000, &budget, &places);
        if (less == 0) {
          EXPECT_NE(answer, Answer::kNone);
        }
        refuted += answer == Answer::kNone ? 1 : 0;
        if (answer != Answer::kFound) continue;
        ++found;
        EXPECT_EQ(NaiveFault(*problem, interval, places), "");
        for (size_t i = 0; i < tiles.size(); ++i) {
          if (tiles[i] >= 0) {
            EXPECT_EQ(places[i].tile, tiles[i]);
          }
          EXPECT_LE(places[i].issue + config.pipeline_latency, latency - less);
        }
      }
    }
  }
  EXPECT_GT(found, 200);
  EXPECT_GT(refuted, 20);
}

// The first steps are the same whatever the limit, so that more of them are never worse, and the
// limit holds.
TEST(PpoMapper, IsNeverWorseWithMoreSteps) {
  const std::unique_ptr<Mapper> mapper =
      MakePpoMapper(std::make_shared<const Policy>(InitialWeights({}, 3)));
  int mapped = 0, improved = 0;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const Config config = RandomTestConfig(seed + 70, 6);
    const ComputationGraph graph = RandomTestGraph(seed, {.least_nodes = 8, .most_nodes = 14});
    if (!BuildProblem(graph, config).ok()) continue;
    std::pair<int, int> before(1 << 20, 0);
    for (const int64_t steps : {1, 7, 30, 120}) {
      const StatusOr<MapResult> result =
          mapper->Map(graph, config, {.seed = seed, .steps = steps, .on_better = {}});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_LE(result->steps, steps);
      std::pair<int, int> now(1 << 20, 0);
      if (result->mapping) now = {result->mapping->initiation_interval, result->latency};
      EXPECT_LE(now, before) << "seed " << seed << ", steps " << steps;
      improved += before.first < 1 << 20 && now < before ? 1 : 0;
      before = now;
    }
    mapped += before.first < 1 << 20 ? 1 : 0;
  }
  EXPECT_GT(mapped, 10);
  EXPECT_GT(improved, 5);
}

// A repair keeps the rules, and is not worse.
TEST(PolicySearch, RepairsAreNeverWorse) {
  const Policy policy(InitialWeights({}, 5));
  int repaired = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Config config = RandomTestConfig(seed + 300, 8);
    const ComputationGraph graph = RandomTestGraph(seed, {.least_nodes = 8, .most_nodes = 16});
    const StatusOr<Problem> problem = BuildProblem(graph, config);
    if (!problem.ok() || !WhyImpossible(*problem).empty()) continue;
    const int interval = LeastInterval(*problem).value + 1;
    const MapOptions options{.steps = 400, .on_better = {}};
    SearchState state(graph, options);
    PolicySearch search(policy, *problem, seed);
    for (int episode = 0; episode < 10; ++episode) search.Play(interval, &state);
    if (!search.Has(interval)) search.Search(interval, 20, &state);
    if (!search.Has(interval)) continue;
    int latency = search.latency();
    for (int repair = 0; repair < 40; ++repair) {
      search.Repair(interval, &state);
      EXPECT_LE(search.latency(), latency);
      repaired += search.latency() < latency ? 1 : 0;
      latency = search.latency();
      ASSERT_EQ(NaiveFault(*problem, interval, search.places()), "");
    }
    EXPECT_EQ(state.latency(), latency);
    EXPECT_GE(latency, LeastLatency(*problem, interval).value);
  }
  EXPECT_GT(repaired, 5);
}

// On a machine with more tiles than searches handle, the policy uses a part of them.
TEST(PolicySearch, UsesAPartOfALargeMachine) {
  Config config;
  config.rows = 16;
  config.columns = 64;
  const StatusOr<ComputationGraph> graph = MakeNamedGraph("fft-2");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto mapper = MakePpoMapper(std::make_shared<Policy>(InitialWeights({}, 5)));
  const StatusOr<MapResult> result = mapper->Map(*graph, config, {.steps = 40, .on_better = {}});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->mapping.has_value());
  const Verdict verdict = CheckMapping(*graph, config, *result->mapping);
  EXPECT_EQ(PrintVerdict(verdict), "");
  EXPECT_EQ(verdict.latency, result->latency);
  std::set<int> rows;
  for (const Place& place : result->mapping->places) {
    if (place.tile >= 0) rows.insert(place.tile / config.columns);
  }
  EXPECT_GT(rows.size(), 1U);
}

}  // namespace
}  // namespace kiln::cgra
