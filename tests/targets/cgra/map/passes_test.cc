// What mappers say of graphs that gain by pass-throughs, against all mappings of small graphs and
// against results by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/problem.h"
#include "kiln/targets/cgra/map/proof.h"
#include "kiln/targets/cgra/map/sat.h"
#include "kiln/targets/cgra/map/variants.h"
#include "tests/targets/cgra/map/brute_force.h"
#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

using testing::HasSubstr;

// The design point se-16.
Config Streaming(int wait_limit = 15) {
  Config config;
  config.wait_limit = wait_limit;
  return config;
}

MapResult ResultOf(const Mapper& mapper, const ComputationGraph& graph, const Config& config,
                   const MapOptions& options = {}) {
  const StatusOr<MapResult> result = mapper.Map(graph, config, options);
  EXPECT_TRUE(result.ok()) << MessageOf(result.status());
  if (!result.ok()) return {};
  if (result->mapping) {
    const Verdict verdict = CheckMapping(graph, config, *result->mapping);
    EXPECT_EQ(PrintVerdict(verdict), "");
    EXPECT_EQ(verdict.latency, result->latency);
    EXPECT_LE(result->interval_bound, result->mapping->initiation_interval);
    EXPECT_LE(result->latency_bound, result->latency);
    EXPECT_NE(result->interval_why, "");
    EXPECT_NE(result->latency_why, "");
  }
  return *result;
}

// A graph by its edges; nodes are named by the user.
class EdgeList {
 public:
  int Node(std::string name, Op op = Op::kAdd) {
    graph_.nodes.push_back(
        {.name = std::move(name), .op = op, .label = "", .literal = std::nullopt});
    return static_cast<int>(graph_.nodes.size()) - 1;
  }
  void Edge(int from, int to, int distance = 0) {
    const auto operand = static_cast<int>(std::ranges::count(graph_.edges, to, &GraphEdge::target));
    graph_.edges.push_back(
        {.source = from, .target = to, .operand = operand, .distance = distance});
  }
  ComputationGraph Take() {
    graph_.name = graph_.source = "test";
    EXPECT_TRUE(VerifyAndSort(&graph_).ok());
    return graph_;
  }

 private:
  ComputationGraph graph_;
};

// A chain of `count` additions, and a use of the first by the last.
ComputationGraph Skip(int count) {
  EdgeList list;
  const int x = list.Node("x", Op::kInput);
  std::vector<int> chain;
  for (int i = 0; i < count; ++i) {
    chain.push_back(list.Node(fmt::format("c{}", i)));
    list.Edge(i == 0 ? x : chain[static_cast<size_t>(i) - 1], chain.back());
  }
  list.Edge(chain.front(), chain.back());
  return list.Take();
}

// A chain of `count` additions; the last also uses the sum of another input, which issues in the
// first period.
ComputationGraph TwoSources(int count) {
  EdgeList list;
  const int x = list.Node("x", Op::kInput), z = list.Node("z", Op::kInput);
  int last = x;
  for (int i = 0; i < count; ++i) {
    const int next = list.Node(fmt::format("c{}", i));
    list.Edge(last, next);
    last = next;
  }
  const int s = list.Node("s");
  list.Edge(z, s);
  list.Edge(s, last);
  return list.Take();
}

// The recurrence u -> a -> b -> u over one thread, and a use of `a` by itself over three.
ComputationGraph Recurrence() {
  EdgeList list;
  const int x = list.Node("x", Op::kInput);
  const int u = list.Node("u"), a = list.Node("a"), b = list.Node("b");
  list.Edge(x, u);
  list.Edge(u, a);
  list.Edge(a, b);
  list.Edge(b, u, 1);
  list.Edge(a, a, 3);
  return list.Take();
}

// An addition that uses its own result of `distance` threads before.
ComputationGraph OwnResult(int distance) {
  EdgeList list;
  const int x = list.Node("x", Op::kInput), sum = list.Node("sum");
  list.Edge(x, sum);
  list.Edge(sum, sum, distance);
  return list.Take();
}

// `count` results, each with two users that read the variable `v`.
ComputationGraph SiblingsOfOneVariable(int count) {
  EdgeList list;
  const int v = list.Node("v", Op::kVariable), x = list.Node("x", Op::kInput);
  for (int i = 0; i < count; ++i) {
    const int u = list.Node(fmt::format("u{}", i));
    const int a = list.Node(fmt::format("a{}", i)), b = list.Node(fmt::format("b{}", i));
    list.Edge(x, u);
    list.Edge(u, a);
    list.Edge(v, a);
    list.Edge(u, b);
    list.Edge(v, b);
  }
  return list.Take();
}

constexpr std::unique_ptr<Mapper> (*kProvers[])() = {&MakeExactMapper, &MakeSatMapper};

TEST(Passes, LiftAWaitLimit) {
  // The result of the first of 8 additions waits for 7 * 3 cycles at least, over a limit of 15 and
  // 2 hops. With an interval of one cycle, each is on a tile of its own: 8 * 3 cycles and 7 hops.
  for (const auto& make : kProvers) {
    const MapResult result = ResultOf(*make(), Skip(8), Streaming(), {.steps = 100'000});
    ASSERT_TRUE(result.mapping);
    EXPECT_EQ(result.mapping->initiation_interval, 1);
    EXPECT_GE(result.latency, 31);
    EXPECT_EQ(result.mapping->passes.size(), 1u);
    EXPECT_TRUE(result.optimal);
    // With eight slots, all are on one tile.
    const MapResult asked =
        ResultOf(*make(), Skip(8), Streaming(), {.initiation_interval = 8, .steps = 100'000});
    ASSERT_TRUE(asked.mapping);
    EXPECT_EQ(asked.latency, 24);
    EXPECT_TRUE(asked.optimal);
  }
}

TEST(Passes, LiftSeveralWaits) {
  // 20 additions: 19 * 3 cycles from the first to the last, of which a dependence takes 3 + 2 + 15
  // at most, so that two pass-throughs are needed.
  const MapResult result = ResultOf(*MakeExactMapper(), Skip(20), Streaming(), {.steps = 300'000});
  ASSERT_TRUE(result.mapping);
  EXPECT_GE(result.mapping->passes.size(), 2u);
  EXPECT_EQ(result.mapping->initiation_interval, 2);  // 20 additions on 16 tiles
  EXPECT_EQ(result.interval_bound, 2);
  EXPECT_EQ(result.interval_why, "20 instructions on 16 tiles");
}

TEST(Passes, LiftTheWaitOfASourceInTheFirstPeriod) {
  // Ten on tiles of their own: 10 * 3 cycles and 9 hops. Eight cycles need no pass-through.
  for (const auto& make : kProvers) {
    const MapResult result = ResultOf(*make(), TwoSources(10), Streaming(), {.steps = 200'000});
    ASSERT_TRUE(result.mapping);
    EXPECT_EQ(result.mapping->initiation_interval, 1);
    EXPECT_EQ(result.latency, 39);
    EXPECT_EQ(result.interval_bound, 1);
  }
}

TEST(Passes, LetSiblingsShareATile) {
  // The recurrence takes 9 cycles on one tile, where `a` and `b`, both users of `a`, may be once
  // `a` gets its own result from a pass-through.
  for (const int wait_limit : {-1, 15}) {
    for (const auto& make : kProvers) {
      const MapResult result =
          ResultOf(*make(), Recurrence(), Streaming(wait_limit), {.steps = 200'000});
      ASSERT_TRUE(result.mapping);
      EXPECT_EQ(result.mapping->initiation_interval, 9);
      EXPECT_EQ(result.interval_bound, 9);
      EXPECT_EQ(result.interval_why,
                "the recurrence u -> a -> b -> u takes 9 cycles over 1 thread");
    }
  }
  // The users of one variable share a tile: two slots. One user is a pass-through behind the
  // producer, which is on another tile: 3 + 3 + 1 + 3 cycles.
  for (const auto& make : kProvers) {
    const MapResult result =
        ResultOf(*make(), SiblingsOfOneVariable(1), Streaming(), {.steps = 200'000});
    ASSERT_TRUE(result.mapping);
    EXPECT_EQ(result.mapping->initiation_interval, 2);
    EXPECT_EQ(result.latency, 10);
    EXPECT_TRUE(result.optimal);
    EXPECT_THAT(result.space, HasSubstr("with at most one additional pass-through"));
  }
  const MapResult several =
      ResultOf(*MakeExactMapper(), SiblingsOfOneVariable(3), Streaming(), {.steps = 200'000});
  ASSERT_TRUE(several.mapping);
  EXPECT_EQ(several.mapping->passes.size(), 3u);
  EXPECT_EQ(several.mapping->initiation_interval, 6);
}

TEST(Passes, LiftTheWaitOfAnOwnResult) {
  // A thread in each cycle: the result of 24 threads before waits for 21 cycles. With one
  // pass-through on a tile h away it issues from cycle 3 + h and from cycle 24 - 3 - h - 15 on.
  for (const auto& make : kProvers) {
    const MapResult result = ResultOf(*make(), OwnResult(24), Streaming(), {.steps = 200'000});
    ASSERT_TRUE(result.mapping);
    EXPECT_EQ(result.mapping->initiation_interval, 1);
    EXPECT_EQ(result.latency, 5 + 3);
    EXPECT_TRUE(result.optimal);
  }
  // 64 threads: three pass-throughs, the last from cycle 64 - 3 - 2 - 15 on.
  const MapResult far =
      ResultOf(*MakeExactMapper(), OwnResult(64), Streaming(), {.steps = 200'000});
  ASSERT_TRUE(far.mapping);
  EXPECT_EQ(far.mapping->initiation_interval, 1);
  EXPECT_EQ(far.mapping->passes.size(), 3u);
  EXPECT_EQ(far.latency, 44 + 3);
  // On two tiles with one slot each there is no cell for them.
  Config small = Streaming();
  small.columns = 2;
  small.spoke_depth = 1;
  const MapResult never = ResultOf(*MakeExactMapper(), OwnResult(64), small);
  EXPECT_TRUE(never.impossible);
  EXPECT_EQ(never.space, "all mappings with at most one additional pass-through");
  EXPECT_THAT(never.interval_why,
              HasSubstr("no issue cycles of sum meet their dependences, first periods and wait "
                        "limits"));
}

TEST(Passes, HeuristicsClaimNothingThatPassThroughsLift) {
  for (const auto& make : {&MakeGreedyMapper, &MakeAnnealingMapper, &MakeRandomMapper}) {
    for (const ComputationGraph& graph :
         {SiblingsOfOneVariable(1), Skip(8), OwnResult(24), Recurrence()}) {
      const MapResult result = ResultOf(*make(), graph, Streaming(), {.steps = 2000});
      EXPECT_FALSE(result.impossible);
      ASSERT_TRUE(result.mapping) << graph.nodes.size();
      EXPECT_EQ(result.mapping->passes.size(), 1u);
      EXPECT_EQ(result.space, kAllMappings);
    }
    // Two users of a variable on a tile of one instruction.
    Config config = Streaming();
    config.instruction_depth = 1;
    const MapResult never = ResultOf(*make(), SiblingsOfOneVariable(1), config, {.steps = 500});
    EXPECT_TRUE(never.impossible);
    EXPECT_EQ(never.space, kAllMappings);
    EXPECT_EQ(never.interval_why,
              "2 instructions share a tile, as all use v, and a tile holds 1 instruction");
    // One tile has no place for a pass-through beside its sibling, which these mappers do not know.
    config = Streaming();
    config.columns = 1;
    const MapResult none = ResultOf(*make(), SiblingsOfOneVariable(1), config, {.steps = 500});
    EXPECT_FALSE(none.impossible);
    EXPECT_EQ(none.none_without_passes,
              "'a0' and 'b0' share a tile, as all users of v do, and may not, as both use the "
              "result of 'u0'");
  }
}

TEST(Passes, AllMappersGiveTheReasonAtTheAskedInterval) {
  for (const auto& make : {&MakeExactMapper, &MakeSatMapper, &MakeGreedyMapper,
                           &MakeAnnealingMapper, &MakeEvolutionaryMapper, &MakeRandomMapper}) {
    // The recurrence takes 9 cycles, and no pass-through shortens it.
    const MapResult never =
        ResultOf(*make(), Recurrence(), Streaming(), {.initiation_interval = 8});
    EXPECT_TRUE(never.impossible);
    EXPECT_EQ(never.space, kAllMappings);
    EXPECT_EQ(never.interval_why, "the recurrence u -> a -> b -> u takes 9 cycles over 1 thread");
    EXPECT_EQ(never.none_without_passes, "");
    // A shared variable puts four instructions on one tile.
    const MapResult group =
        ResultOf(*make(), SiblingsOfOneVariable(2), Streaming(), {.initiation_interval = 3});
    EXPECT_TRUE(group.impossible);
    EXPECT_EQ(group.interval_why, "4 instructions on one tile, as all use v");
  }
}

// What a heuristic mapper calls impossible at an interval has no mapping among all places of small
// graphs, without pass-throughs and with one.
TEST(Passes, HeuristicsCallNothingImpossibleThatTrialFinds) {
  int impossible = 0, mapped = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const Config config = RandomTestConfig(seed, 3);
    const ComputationGraph graph = RandomTestGraph(
        seed, {.least_nodes = 3, .most_nodes = 4, .variables = 1, .loop_share = 0.5});
    const int interval = static_cast<int>(seed % 3) + 1;
    const StatusOr<MapResult> result = MakeGreedyMapper()->Map(
        graph, config, {.initiation_interval = interval, .steps = 100, .fuse = false});
    if (!result.ok()) continue;
    mapped += result->mapping ? 1 : 0;
    if (!result->impossible) continue;
    ++impossible;
    EXPECT_NE(result->interval_why, "");
    for (const int passes : {0, 1}) {
      EXPECT_FALSE(LeastLatencyByTrial(graph, config, interval, passes))
          << "seed " << seed << ", " << passes << " pass-throughs: " << result->interval_why;
    }
  }
  EXPECT_GT(impossible, 20);
  EXPECT_GT(mapped, 20);
}

// Whether BuildProblem inserts pass-throughs by itself.
bool HasForcedPass(const ComputationGraph& graph, const Config& config) {
  const StatusOr<Problem> problem = BuildProblem(graph, config);
  return !problem.ok() || std::ranges::any_of(problem->instructions, &Instruction::is_pass);
}

// The least latency by interval and pass-throughs, where there is a mapping.
using LeastByTrial = std::map<std::pair<int, int>, int>;

LeastByTrial TrialsOf(const ComputationGraph& graph, const Config& config, int most_passes) {
  LeastByTrial least;
  for (int interval = 1; interval <= config.spoke_depth; ++interval) {
    for (int passes = 0; passes <= most_passes; ++passes) {
      const std::optional<int> latency = LeastLatencyByTrial(graph, config, interval, passes);
      if (latency) least[{interval, passes}] = *latency;
    }
  }
  return least;
}

// Returns the least interval and latency with at most `most_passes` pass-throughs, (0, 0)
// if there are none.
std::pair<int, int> LeastWith(const LeastByTrial& trials, int most_passes) {
  std::pair<int, int> least(0, 0);
  for (const auto& [at, latency] : trials) {
    const std::pair<int, int> one(at.first, latency);
    if (at.second <= most_passes && (least.first == 0 || one < least)) least = one;
  }
  return least;
}

// Expects that what a result says of its space is what trials of all mappings say.
void ExpectAsTrialsSay(const MapResult& result, const LeastByTrial& trials, int most_passes) {
  const bool one = result.space.find("at most one additional") != std::string::npos;
  const bool none = result.space.find("without additional pass-throughs") != std::string::npos;
  const std::pair<int, int> least = LeastWith(trials, one ? 1 : none ? 0 : most_passes);
  if (result.impossible) {
    EXPECT_EQ(least.first, 0) << result.space << ": " << result.interval_why;
  }
  if (!result.mapping) return;
  const std::pair<int, int> found(result.mapping->initiation_interval, result.latency);
  if (least.first != 0) {
    EXPECT_LE(result.interval_bound, least.first) << result.space << ": " << result.interval_why;
    if (least.first == found.first) {
      EXPECT_LE(result.latency_bound, least.second) << result.space << ": " << result.latency_why;
    }
  }
  if (!result.optimal) return;
  if (std::ssize(result.mapping->passes) <= (one ? 1 : none ? 0 : most_passes)) {
    EXPECT_EQ(found, least) << result.space;
  } else if (least.first != 0) {
    EXPECT_LE(found, least) << result.space;
  }
}

// What happened in the comparisons with trials.
struct Comparisons {
  int gained = 0, made_possible = 0;  // by one pass-through
  int proved = 0, impossible = 0, open = 0;
};

void CompareWithTrials(const ComputationGraph& graph, const Config& config, int most_passes,
                       Comparisons* count) {
  const LeastByTrial trials = TrialsOf(graph, config, most_passes);
  const std::pair<int, int> without = LeastWith(trials, 0), with = LeastWith(trials, 1);
  count->gained += with != without ? 1 : 0;
  count->made_possible += with.first != 0 && without.first == 0 ? 1 : 0;
  for (const auto& make : kProvers) {
    const MapResult result = ResultOf(*make(), graph, config, {.steps = 100'000, .fuse = false});
    ExpectAsTrialsSay(result, trials, most_passes);
    count->proved += result.optimal ? 1 : 0;
    count->impossible += result.impossible ? 1 : 0;
    count->open += result.optimal || result.impossible ? 0 : 1;
    // What one pass-through gains is found: there are few choices.
    if (with.first != 0) {
      ASSERT_TRUE(result.mapping);
      EXPECT_LE(std::pair(result.mapping->initiation_interval, result.latency), with);
    }
    for (int interval = 1; interval <= config.spoke_depth; ++interval) {
      LeastByTrial at;
      for (const auto& [key, latency] : trials) {
        if (key.first == interval) at[key] = latency;
      }
      const MapOptions options{.initiation_interval = interval, .steps = 100'000, .fuse = false};
      ExpectAsTrialsSay(ResultOf(*make(), graph, config, options), at, most_passes);
    }
  }
}

TEST(Passes, NothingIsBetterThanWhatIsProved) {
  Comparisons count;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Config config = RandomTestConfig(seed, 3);
    const int waits = static_cast<int>(seed * 7 % 6);
    config.wait_limit = waits < 5 ? waits : -1;
    const bool tiny = seed % 4 == 0 || !config.issue_later;  // as trials then take long
    const bool large = seed % 4 == 1 && config.issue_later;
    config.spoke_depth = large ? 2 : 3;
    if (seed % 5 == 0) config.instruction_depth = 2;
    const int nodes = tiny ? 2 : large ? 4 : 3;
    const ComputationGraph graph = RandomTestGraph(seed, {.least_nodes = nodes,
                                                          .most_nodes = nodes,
                                                          .variables = 1,
                                                          .loop_share = 0.6,
                                                          .two_flows = 0.2});
    if (HasForcedPass(graph, config)) continue;
    CompareWithTrials(graph, config, tiny && config.issue_later ? 2 : 1, &count);
  }
  EXPECT_GT(count.gained, 10);
  EXPECT_GT(count.made_possible, 5);
  EXPECT_GT(count.proved, 100);
  EXPECT_GT(count.impossible, 10);
  EXPECT_LT(count.open, 20);
}

// No interval below the proved least has a mapping in the space.
TEST(Passes, NoIntervalBelowTheLeastHasAMapping) {
  int asked = 0, with_pass = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Config config;
    config.columns = 4 + static_cast<int>(seed % 4);
    config.wait_limit = static_cast<int>(seed % 12);
    const ComputationGraph graph = RandomTestGraph(
        seed, {.least_nodes = 5, .most_nodes = 10, .variables = 1, .loop_share = 0.5});
    const MapResult least = ResultOf(*MakeExactMapper(), graph, config, {.steps = 30'000});
    const int below = least.mapping ? least.interval_bound : MostInterval(config) + 1;
    with_pass += least.mapping && !least.mapping->passes.empty() ? 1 : 0;
    if (!least.mapping && !least.impossible) continue;
    for (int interval = std::max(1, below - 3); interval < below; ++interval) {
      for (const auto& make : {&MakeExactMapper, &MakeSatMapper, &MakeAnnealingMapper}) {
        const MapResult result =
            ResultOf(*make(), graph, config, {.initiation_interval = interval, .steps = 5000});
        ++asked;
        if (!result.mapping) continue;
        // Only outside of the space that is named.
        EXPECT_NE(least.space.find("additional"), std::string::npos);
        EXPECT_GT(result.mapping->passes.size(), 1u) << least.space;
      }
    }
  }
  EXPECT_GT(asked, 30);
  EXPECT_GT(with_pass, 3);
}

// Six consumers of a value that reaches five tiles: which of them goes behind the pass-through
// that rule 3 forces depends on the order of edges, and so does the least interval of the
// recurrence. Nothing is called optimal then, and the space says why.
TEST(Heuristics, CallNothingOptimalWhereRule3ForcesPassThroughs) {
  Config grid;  // as cgra-grid-4x4
  grid.rows = grid.columns = 4;
  grid.reach = 1;
  grid.pipeline_latency = 1;
  grid.hop_cycles = 0;
  const auto interval_of = [&](size_t repeated) {
    EdgeList list;
    const int x = list.Node("x", Op::kInput), a = list.Node("a");
    list.Edge(x, a);
    std::vector<int> consumers;
    for (int i = 0; i < 6; ++i) consumers.push_back(list.Node(fmt::format("c{}", i)));
    for (const int c : consumers) {
      list.Edge(a, c);
      list.Edge(x, c);
    }
    list.Edge(consumers[repeated], a, 1);
    const MapResult result = ResultOf(*MakeGreedyMapper(), list.Take(), grid);
    EXPECT_FALSE(result.optimal);
    EXPECT_FALSE(result.impossible);
    EXPECT_THAT(result.space, HasSubstr("; rule 3 forces pass-through 1 of a, whose consumers"));
    return result.mapping ? result.mapping->initiation_interval : 0;
  };
  EXPECT_EQ(interval_of(0), 2);  // a -> c0 -> a
  EXPECT_EQ(interval_of(5), 3);  // a -> pass-through -> c5 -> a
}

}  // namespace
}  // namespace kiln::cgra
