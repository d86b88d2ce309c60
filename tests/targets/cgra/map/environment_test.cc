#include "kiln/targets/cgra/map/environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "kiln/support/random.h"
#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

// Returns a random problem, or nothing if its instructions read too much.
std::optional<Problem> ProblemOf(uint64_t seed, const RandomShape& shape, const Config& config) {
  StatusOr<Problem> problem = BuildProblem(RandomTestGraph(seed, shape), config);
  if (!problem.ok()) return std::nullopt;
  return *std::move(problem);
}

int LatencyOfPlaces(const Problem& problem, std::span<const Place> places) {
  int latency = 0;
  for (const Place& place : places) {
    latency = std::max(latency, place.issue + problem.config.pipeline_latency);
  }
  return latency;
}

TEST(Environment, RandomEpisodesGiveLegalMappingsOnly) {
  int complete = 0, stuck = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Config config = RandomTestConfig(seed, 6);
    Random random(seed + 1000);
    int interval = static_cast<int>(random.Between(1, 4));
    if (interval == 4 && seed % 3 == 0) config.tile_period = 2;
    const auto problem = ProblemOf(seed, {.most_nodes = 14}, config);
    if (!problem) continue;
    EnvironmentOptions options;
    options.look_ahead = seed % 2 == 0;
    if (seed % 5 == 0) options.order = DepthFirstOrder(*problem);
    Environment environment(*problem, interval, options);
    while (environment.instruction() >= 0) {
      const std::vector<Cell> cells(environment.allowed().begin(), environment.allowed().end());
      ASSERT_FALSE(cells.empty());
      environment.Step(cells[random.Below(cells.size())]);
      ASSERT_EQ(NaiveFault(*problem, interval, environment.places()), "") << "seed " << seed;
    }
    ASSERT_NE(environment.complete(), environment.stuck());
    (environment.complete() ? complete : stuck) += 1;
    if (environment.complete()) {
      for (const Place& place : environment.places()) EXPECT_GE(place.tile, 0);
    }
  }
  EXPECT_GT(complete, 100);
  EXPECT_GT(stuck, 50);
}

// Without look-ahead, the allowed cells are exactly those that the naive rules allow, each at the
// first cycle with its slot.
TEST(Environment, AllowsExactlyWhatTheNaiveRulesAllow) {
  int steps = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Config config = RandomTestConfig(seed + 77, 5);
    const auto problem = ProblemOf(seed + 5, {.most_nodes = 9}, config);
    if (!problem) continue;
    Random random(seed);
    const int interval = static_cast<int>(random.Between(1, 3));
    Environment environment(*problem, interval, {.look_ahead = false, .order = {}});
    while (environment.instruction() >= 0) {
      ++steps;
      std::set<std::tuple<int, int, int>> expected, allowed;
      std::vector<Place> places(environment.places().begin(), environment.places().end());
      Place& place = places[static_cast<size_t>(environment.instruction())];
      const bool links = config.relaxed_distance && !config.shared_links;
      for (int tile = 0; tile < problem->tiles(); ++tile) {
        std::set<int> seen;
        for (int issue = 0; issue < 80; ++issue) {
          place = {tile, issue};
          if (seen.contains(issue % interval)) continue;
          if (!NaiveFault(*problem, interval, places).empty()) continue;
          seen.insert(issue % interval);
          expected.emplace(tile, issue % interval, issue);
        }
      }
      for (const Cell& cell : environment.allowed()) {
        allowed.emplace(cell.tile, cell.slot, cell.issue);
      }
      ASSERT_EQ(allowed, expected) << "seed " << seed << (links ? " links" : "");
      const auto cells = environment.allowed();
      environment.Step(Cell(cells[random.Below(cells.size())]));
    }
  }
  EXPECT_GT(steps, 400);
}

// Visits all episodes; calls `end` at each complete one.
void VisitAll(const Problem& problem, int interval, bool look_ahead,
              const std::function<void(const Environment&)>& end, int* visited) {
  Environment root(problem, interval, {.look_ahead = look_ahead, .order = {}});
  const std::function<void(const Environment&)> visit = [&](const Environment& at) {
    ++*visited;
    if (at.complete()) end(at);
    for (const Cell& cell : at.allowed()) {
      Environment next = at;
      next.Step(cell);
      visit(next);
    }
  };
  visit(root);
}

using Places = std::vector<std::pair<int, int>>;
std::set<Places> CompleteMappings(const Problem& problem, int interval, bool look_ahead,
                                  int* visited) {
  std::set<Places> all;
  VisitAll(
      problem, interval, look_ahead,
      [&](const Environment& at) {
        Places places;
        for (const Place& place : at.places()) places.emplace_back(place.tile, place.issue);
        all.insert(places);
      },
      visited);
  return all;
}

TEST(Environment, LookAheadLosesNoMapping) {
  int some = 0, none = 0, with = 0, without = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Config config = RandomTestConfig(seed + 300, 4);
    const auto problem = ProblemOf(seed + 900, {.most_nodes = 5}, config);
    if (!problem || problem->size() > 5) continue;
    for (int interval = 1; interval <= 2; ++interval) {
      int visited = 0, visited_less = 0;
      const std::set<Places> all = CompleteMappings(*problem, interval, false, &visited);
      const std::set<Places> kept = CompleteMappings(*problem, interval, true, &visited_less);
      ASSERT_EQ(all, kept) << "seed " << seed << " interval " << interval;
      ASSERT_LE(visited_less, visited);
      without += visited;
      with += visited_less;
      (all.empty() ? none : some) += 1;
    }
  }
  EXPECT_GT(some, 20);
  EXPECT_GT(none, 20);
  EXPECT_LT(with, without);
}

// The best episode is as good as the best of all assignments of tiles and cycles.
TEST(Environment, SomeEpisodeIsOptimal) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Config config = RandomTestConfig(seed + 500, 3);
    config.wait_limit = -1;
    config.later_periods = false;
    config.issue_later = true;
    config.pipeline_latency = 1;
    config.hop_cycles = 1;
    const auto problem = ProblemOf(seed + 40, {.most_nodes = 4}, config);
    if (!problem || problem->size() > 4) continue;
    constexpr int kInterval = 2, kLast = 9;
    constexpr int kNone = std::numeric_limits<int>::max();
    int best = kNone;
    std::vector<Place> places(static_cast<size_t>(problem->size()));
    const std::function<void(size_t)> place = [&](size_t i) {
      if (i == places.size()) {
        best = std::min(best, LatencyOfPlaces(*problem, places));
        return;
      }
      for (int tile = 0; tile < problem->tiles(); ++tile) {
        for (int issue = 0; issue <= kLast; ++issue) {
          places[i] = {tile, issue};
          if (NaiveFault(*problem, kInterval, places).empty()) place(i + 1);
        }
      }
      places[i] = {};
    };
    place(0);
    int visited = 0, found = kNone;
    VisitAll(
        *problem, kInterval, true,
        [&](const Environment& at) {
          found = std::min(found, LatencyOfPlaces(*problem, at.places()));
        },
        &visited);
    ASSERT_EQ(found, best) << "seed " << seed;
    compared += best != kNone;
  }
  EXPECT_GT(compared, 10);
}

// The worked example of arXiv 2205.13675, figure 1: a distance without the root.
ComputationGraph Distance() {
  ComputationGraph graph;
  graph.name = graph.source = "distance";
  const Op ops[] = {Op::kSub, Op::kSub, Op::kSub, Op::kMul, Op::kMul, Op::kAdd, Op::kMul, Op::kAdd};
  for (const Op op : ops) {
    graph.nodes.push_back({.name = "n" + std::to_string(graph.nodes.size()),
                           .op = op,
                           .label = "",
                           .literal = std::nullopt});
  }
  const int edges[][3] = {{0, 3, 0}, {1, 4, 0}, {3, 5, 0}, {4, 5, 1},
                          {2, 6, 0}, {6, 7, 0}, {5, 7, 1}};
  for (const auto& edge : edges) {
    graph.edges.push_back({.source = edge[0], .target = edge[1], .operand = edge[2]});
  }
  EXPECT_TRUE(VerifyAndSort(&graph).ok());
  return graph;
}

TEST(Environment, RewardsOfTheWorkedExampleAreThoseByHand) {
  const ComputationGraph graph = Distance();
  Config config;
  const std::vector<Fusion> fusions = Fusions(graph, config);
  ProblemOptions options;
  for (const Fusion& fusion : fusions) {
    if (fusion.multiply == 6) options.fusions.push_back(fusion);
  }
  ASSERT_EQ(options.fusions.size(), 1u);
  const StatusOr<Problem> problem = BuildProblem(graph, config, options);
  ASSERT_TRUE(problem.ok()) << problem.status();
  ASSERT_EQ(problem->size(), 7);
  Environment environment(*problem, 3);
  // Tile, slot, issue and reward as drawn: 0 dx, 1 dy, 2 dz, 3 dx^2, 4 dy^2, 5 sum, 6 dz^2 + sum.
  const std::map<std::string, std::array<int, 4>> drawn = {
      {"n0", {3, 0, 0, 0}},  {"n1", {1, 0, 0, 0}},  {"n2", {1, 1, 1, -1}},    {"n3", {2, 1, 4, -4}},
      {"n4", {0, 1, 4, -4}}, {"n5", {1, 2, 8, -4}}, {"n6+n7", {2, 0, 12, -4}}};
  double total = 0;
  while (environment.instruction() >= 0) {
    const std::string name =
        problem->instructions[static_cast<size_t>(environment.instruction())].name;
    const auto& [tile, slot, issue, reward] = drawn.at(name);
    const Environment::Outcome outcome = environment.Step({tile, slot, issue});
    EXPECT_EQ(outcome.reward, reward) << name;
    total += outcome.reward;
  }
  EXPECT_TRUE(environment.complete());
  EXPECT_EQ(total, -17);
  EXPECT_EQ(environment.LatencyBound(), 15);
  EXPECT_EQ(environment.placement().Latency(), 15);
}

TEST(Environment, EndsWithThePenaltyWhenNoCellIsAllowed) {
  // Two instructions on one tile with one slot.
  ComputationGraph graph;
  graph.name = graph.source = "two";
  graph.nodes = {{.name = "a", .op = Op::kAdd, .label = "", .literal = 1},
                 {.name = "b", .op = Op::kAdd, .label = "", .literal = 1}};
  graph.edges = {{.source = 0, .target = 1}};
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  Config config;
  config.columns = 1;
  const StatusOr<Problem> problem = BuildProblem(graph, config);
  ASSERT_TRUE(problem.ok()) << problem.status();
  Environment environment(*problem, 1, {.look_ahead = false, .lambda = 50, .order = {}});
  ASSERT_EQ(environment.allowed().size(), 1u);
  EXPECT_EQ(environment.Step({0, 0, 0}).reward, -50);
  EXPECT_TRUE(environment.stuck());
  EXPECT_FALSE(environment.complete());
  EXPECT_TRUE(environment.allowed().empty());
  environment.Reset();
  EXPECT_EQ(environment.instruction(), 0);
  EXPECT_EQ(environment.Abandon(), -50);
  EXPECT_TRUE(environment.stuck());
  // With two slots, the second one fits at 3, in slot 1.
  Environment wide(*problem, 2, {.order = {}});
  wide.Step({0, 0, 0});
  ASSERT_EQ(wide.allowed().size(), 1u);
  EXPECT_EQ(wide.allowed()[0], (Cell{0, 1, 3}));
  EXPECT_EQ(wide.Step({0, 1, 3}).reward, -3);
  EXPECT_TRUE(wide.complete());
}

TEST(Environment, DepthFirstOrderIsTopologicalAndKeepsProducersClose) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto problem = ProblemOf(seed, {.most_nodes = 20}, Config{});
    if (!problem) continue;
    const std::vector<int> order = DepthFirstOrder(*problem);
    ASSERT_EQ(std::ssize(order), problem->size());
    std::vector<int> position(order.size(), -1);
    for (size_t i = 0; i < order.size(); ++i) {
      position[static_cast<size_t>(order[i])] = static_cast<int>(i);
    }
    for (const Dependence& d : problem->dependences) {
      ASSERT_GE(position[static_cast<size_t>(d.from)], 0);
      if (d.distance == 0) {
        EXPECT_LT(position[static_cast<size_t>(d.from)], position[static_cast<size_t>(d.to)]);
      }
    }
  }
  // By hand: dx, dx^2 before dy, dy^2, then the sum, then dz and the result.
  const ComputationGraph graph = Distance();
  const StatusOr<Problem> problem = BuildProblem(graph, Config{});
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(DepthFirstOrder(*problem), (std::vector<int>{0, 3, 1, 4, 5, 2, 6, 7}));
}

}  // namespace
}  // namespace kiln::cgra
