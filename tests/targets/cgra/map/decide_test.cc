// Deciders, bounds and refutations against all places of small problems.

#include "kiln/targets/cgra/map/decide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/map/branch.h"
#include "kiln/targets/cgra/map/core.h"
#include "kiln/targets/cgra/map/sat.h"
#include "kiln/targets/cgra/map/variants.h"
#include "tests/targets/cgra/map/brute_force.h"
#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

constexpr int64_t kManySteps = 1'000'000;

int LatencyOfPlaces(const Problem& problem, const std::vector<Place>& places) {
  int latency = 0;
  for (const Place& place : places) {
    latency = std::max(latency, place.issue + problem.config.pipeline_latency);
  }
  return latency;
}

// Expects that the mapping obeys the naive rules, and that the checker accepts it.
void ExpectMapping(const ComputationGraph& graph, const Problem& problem, int interval,
                   const std::vector<Place>& places) {
  EXPECT_EQ(NaiveFault(problem, interval, places), "");
  const Mapping mapping = MappingOf(graph, problem, interval, places);
  const Verdict verdict = CheckMapping(graph, problem.config, mapping);
  EXPECT_TRUE(verdict.legal()) << PrintVerdict(verdict);
}

// Expects that a decider finds the least latency and refutes all below, or any.
void ExpectDecides(Decider* decider, const ComputationGraph& graph, const Problem& problem,
                   int interval, std::optional<int> least) {
  StepBudget budget;
  std::vector<Place> places;
  const Answer any = decider->Decide(interval, kAnyLatency, kManySteps, &budget, &places);
  if (!least) {
    EXPECT_EQ(any, Answer::kNone);
    return;
  }
  ASSERT_EQ(any, Answer::kFound);
  ExpectMapping(graph, problem, interval, places);
  ASSERT_EQ(decider->Decide(interval, *least, kManySteps, &budget, &places), Answer::kFound);
  ExpectMapping(graph, problem, interval, places);
  EXPECT_EQ(LatencyOfPlaces(problem, places), *least);
  EXPECT_EQ(decider->Decide(interval, *least - 1, kManySteps, &budget, &places), Answer::kNone);
}

// Returns the problem of a graph if trials of all places can solve it: it has at most `most`
// instructions, and no pass-throughs, which trials do not insert.
std::optional<Problem> ProblemForTrials(const ComputationGraph& graph, const Config& config,
                                        int most) {
  StatusOr<Problem> problem = BuildProblem(graph, config);
  if (!problem.ok() || problem->size() > most) return std::nullopt;
  const auto is_pass = [](const Instruction& instruction) { return instruction.is_pass; };
  if (std::ranges::any_of(problem->instructions, is_pass)) return std::nullopt;
  return *std::move(problem);
}

class Decides : public testing::TestWithParam<int> {};

TEST_P(Decides, AsAllPlacesDo) {
  constexpr int kProblems = 40;
  int solvable = 0, unsolvable = 0;
  for (uint64_t k = 0; k < kProblems; ++k) {
    const uint64_t seed = 1000 * static_cast<uint64_t>(GetParam()) + k;
    Config config = RandomTestConfig(seed, k % 4 == 0 ? 4 : 3);
    const int interval = static_cast<int>(MixBits(seed) % 3) + 1;
    if (interval == 2 && k % 3 == 0) config.tile_period = static_cast<int>(k % 2) + 1;
    if (k % 7 == 0) config.instruction_depth = 2;
    const bool small = config.tiles() > 3 || !config.issue_later;
    const ComputationGraph graph = RandomTestGraph(
        seed, {.least_nodes = 3, .most_nodes = small ? 4 : 5, .variables = 2, .loop_share = 0.5});
    const std::optional<Problem> problem = ProblemForTrials(graph, config, 5);
    if (!problem) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", interval " << interval);
    const std::optional<int> least = LeastLatencyByTrial(graph, config, interval);
    ++(least ? solvable : unsolvable);
    ExpectDecides(MakeBranchSearch(*problem, seed).get(), graph, *problem, interval, least);
    ExpectDecides(MakeSatDecider(*problem, seed).get(), graph, *problem, interval, least);
    if (!least) continue;
    EXPECT_EQ(WhyImpossible(*problem), "");
    EXPECT_LE(LeastInterval(*problem).value, interval);
    EXPECT_LE(LeastLatency(*problem, interval).value, *least);
  }
  EXPECT_GT(solvable, 5);
  EXPECT_GT(unsolvable, 5);
}

INSTANTIATE_TEST_SUITE_P(Random, Decides, testing::Range(1, 9));

// Where instructions issue at the arrival of their last operand, a later issue of one can be what
// puts another into a free slot.
TEST(Decide, InstructionsMayHaveToIssueAPeriodLaterThanTheyCould) {
  ComputationGraph graph;
  graph.name = graph.source = "test";
  const auto add = [&graph](const char* name, Op op, std::vector<int> operands) {
    graph.nodes.push_back({.name = name, .op = op, .label = "", .literal = std::nullopt});
    for (size_t k = 0; k < operands.size(); ++k) {
      graph.edges.push_back({.source = operands[k],
                             .target = static_cast<int>(graph.nodes.size()) - 1,
                             .operand = static_cast<int>(k)});
    }
  };
  add("x", Op::kVariable, {});
  add("y", Op::kVariable, {});
  add("a", Op::kXor, {0});
  add("b", Op::kXor, {1});
  add("c", Op::kXor, {2, 3});
  add("d", Op::kXor, {4});
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  Config config;
  config.columns = 2;
  config.hop_cycles = 2;
  config.issue_later = false;
  config.later_periods = true;
  config.every_source_starts = true;
  config.one_output = true;
  const StatusOr<Problem> problem = BuildProblem(graph, config);
  ASSERT_TRUE(problem.ok()) << problem.status();
  // Tiles 0, 1, 0, 1 and cycles 3, 0, 6, 11 of a, b, c, d.
  const std::optional<int> least = LeastLatencyByTrial(graph, config, 2);
  ASSERT_EQ(least, 14);
  ExpectDecides(MakeBranchSearch(*problem, 1).get(), graph, *problem, 2, least);
  ExpectDecides(MakeSatDecider(*problem, 1).get(), graph, *problem, 2, least);
}

TEST(Decide, DecidersAgreeWithTrialsWhereInstructionsIssueAtOnce) {
  int solvable = 0, unsolvable = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Config config = RandomTestConfig(seed, 2);
    config.issue_later = false;
    config.later_periods = seed % 3 > 0;
    const int interval = static_cast<int>(seed % 2) + 2;
    const ComputationGraph graph = RandomTestGraph(
        seed, {.least_nodes = 3, .most_nodes = 4, .variables = 2, .loop_share = 0.5});
    const std::optional<Problem> problem = ProblemForTrials(graph, config, 4);
    if (!problem) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", interval " << interval);
    const std::optional<int> least = LeastLatencyByTrial(graph, config, interval);
    ++(least ? solvable : unsolvable);
    ExpectDecides(MakeBranchSearch(*problem, seed).get(), graph, *problem, interval, least);
    ExpectDecides(MakeSatDecider(*problem, seed).get(), graph, *problem, interval, least);
  }
  EXPECT_GT(solvable, 5);
  EXPECT_GT(unsolvable, 5);
}

TEST(Decide, DecidersAgreeOnLargerProblems) {
  // How often each decider finds a solution, and refutes all; and how often both answer.
  std::map<Answer, int> by_branch, by_solver;
  int both = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const ComputationGraph graph = RandomTestGraph(
        seed, {.least_nodes = 10, .most_nodes = 14, .variables = 2, .loop_share = 0.3});
    Config config = RandomTestConfig(seed, 6);
    config.copies = true;
    const StatusOr<Problem> problem = BuildProblem(graph, config);
    if (!problem.ok() || !WhyImpossible(*problem).empty()) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto branch = MakeBranchSearch(*problem, seed);
    const auto sat = MakeSatDecider(*problem, seed);
    StepBudget budget;
    for (int interval = LeastInterval(*problem).value; interval < 9; ++interval) {
      for (const int more : {0, 1, 3}) {
        const int latency = LeastLatency(*problem, interval).value + more;
        std::vector<Place> places;
        const Answer own = branch->Decide(interval, latency, 50'000, &budget, &places);
        if (own == Answer::kFound) {
          ExpectMapping(graph, *problem, interval, places);
        }
        const Answer second = sat->Decide(interval, latency, 20'000, &budget, &places);
        if (second == Answer::kFound) {
          ExpectMapping(graph, *problem, interval, places);
        }
        ++by_branch[own];
        ++by_solver[second];
        if (own == Answer::kUnknown || second == Answer::kUnknown) continue;
        ++both;
        EXPECT_EQ(own, second) << interval << " " << latency;
      }
    }
  }
  EXPECT_GT(by_branch[Answer::kFound], 80);
  EXPECT_GT(by_branch[Answer::kNone], 50);
  EXPECT_GT(by_solver[Answer::kFound], 80);
  EXPECT_GT(by_solver[Answer::kNone], 50);
  EXPECT_GT(both, 140);
}

// The solver refutes this question in 277,000 conflicts, about two minutes. The branch and bound
// needs fewer steps because it refutes a mapping at all its places along the row at once.
TEST(Decide, RefutesMappingsOnceForAllTheirPlacesOnARow) {
  constexpr int kInterval = 3, kLatency = 25;
  const ComputationGraph graph = RandomTestGraph(
      190,
      {.least_nodes = 4, .most_nodes = 30, .variables = 0, .loop_share = 0.2, .two_flows = 0.3});
  Config config;
  config.columns = 16;
  const StatusOr<Problem> problem = BuildProblem(graph, config);
  ASSERT_TRUE(problem.ok());
  StepBudget budget;
  std::vector<Place> places;
  EXPECT_EQ(MakeBranchSearch(*problem, 1)->Decide(kInterval, kLatency, 200'000, &budget, &places),
            Answer::kNone);
}

// A random problem on a row, without pass-throughs, and its graph; nothing where there is none.
struct RowProblem {
  ComputationGraph graph;
  Problem problem;
  int interval = 0;
};
std::optional<RowProblem> RandomRowProblem(uint64_t seed, int most_tiles, int most_nodes) {
  Config config = RandomTestConfig(seed, most_tiles);
  config.rows = 1;
  config.columns = 2 + static_cast<int>(seed % static_cast<uint64_t>(most_tiles - 1));
  const int interval = static_cast<int>(MixBits(seed) % 3) + 1;
  if (interval == 2 && seed % 3 == 0) config.tile_period = 1;
  ComputationGraph graph = RandomTestGraph(
      seed, {.least_nodes = 3, .most_nodes = most_nodes, .variables = 1, .loop_share = 0.5});
  StatusOr<Problem> problem = BuildProblem(graph, config);
  if (!problem.ok()) return std::nullopt;
  if (std::ranges::any_of(problem->instructions, &Instruction::is_pass)) return std::nullopt;
  return RowProblem{std::move(graph), *std::move(problem), interval};
}

// What OnCentredRow rests on: a mapping that is moved along a longer row, or mirrored there, obeys
// the same rules.
TEST(Translation, KeepsAllRules) {
  int moves = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const std::optional<RowProblem> row = RandomRowProblem(seed, 6, 9);
    if (!row) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto& [graph, problem, interval] = *row;
    StepBudget budget;
    std::vector<Place> places;
    const Answer answer =
        MakeSatDecider(problem, seed)->Decide(interval, kAnyLatency, kManySteps, &budget, &places);
    if (answer != Answer::kFound) continue;
    ExpectMapping(graph, problem, interval, places);
    const Problem longer = OnCentredRow(problem);
    const int columns = problem.config.columns;
    ASSERT_EQ(longer.config.columns, 2 * columns - 1);
    for (int by = 0; by < columns; ++by) {
      std::vector<Place> moved = places, mirrored = places;
      for (Place& place : moved) place.tile += by;
      for (Place& place : mirrored) place.tile = columns - 1 - place.tile + by;
      ExpectMapping(graph, longer, interval, moved);
      ExpectMapping(graph, longer, interval, mirrored);
      ++moves;
    }
  }
  EXPECT_GT(moves, 200);
}

// A refutation with one instruction in the middle of the longer row is one of all its places on the
// row itself, and a solution there is one on the row: both as trial of all places says, and as the
// search says with that instruction on each tile.
TEST(Translation, RefutesWhatHasNoPlaceAnywhereOnTheRow) {
  int found = 0, refuted = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    const std::optional<RowProblem> row = RandomRowProblem(seed, 4, 4);
    if (!row || row->problem.size() > 5) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto& [graph, problem, interval] = *row;
    const std::optional<int> least = LeastLatencyByTrial(graph, problem.config, interval);
    const Problem longer = OnCentredRow(problem);
    BranchSearch centred(longer, seed, nullptr, problem.config.columns);
    StepBudget budget;
    std::vector<Place> places;
    for (const int latency : {kAnyLatency, least.value_or(9) - 1, least.value_or(9)}) {
      const bool exists = least && (latency == kAnyLatency || latency >= *least);
      const Answer answer = centred.Decide(interval, latency, kManySteps, &budget, &places);
      ASSERT_EQ(answer, exists ? Answer::kFound : Answer::kNone) << latency;
      ++(exists ? found : refuted);
      if (exists) ExpectMapping(graph, problem, interval, places);
      bool anywhere = false;
      for (int tile = 0; tile < problem.tiles(); ++tile) {
        std::vector<int> tiles(problem.instructions.size(), -1);
        tiles[seed % tiles.size()] = tile;
        anywhere = anywhere || BranchSearch(problem, seed)
                                       .Complete(interval, latency, tiles, kManySteps, &budget,
                                                 &places) == Answer::kFound;
      }
      EXPECT_EQ(anywhere, exists) << latency;
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(refuted, 100);
}

// A problem of `count` instructions without dependences on a row of tiles.
Problem Independent(int count, int tiles) {
  Problem problem;
  problem.config.columns = tiles;
  for (int i = 0; i < count; ++i) {
    problem.instructions.push_back({{i}, false, std::string(1, static_cast<char>('a' + i))});
    problem.group.push_back(-1);
    problem.source.push_back(true);
  }
  return problem;
}

TEST(Core, NamesTheSiblingsThatDoNotFit) {
  // On two tiles, three users of a result have no tiles of their own. The rest is beside the point.
  Problem problem = Independent(6, 2);
  problem.dependences = {{0, 1, 0, true}, {0, 2, 0, true}, {0, 3, 0, true}};
  problem.source = {true, false, false, false, true, true};
  problem.siblings = {{1, 2}, {1, 3}, {2, 3}};
  problem.sibling_producer = {0, 0, 0};
  StepBudget budget;
  const Core core = FindCore(problem, 5, kAnyLatency, kManySteps, &budget);
  EXPECT_EQ(core.instructions, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(core.producers, std::vector<int>{0});
  EXPECT_TRUE(core.groups.empty());
  EXPECT_FALSE(core.starts);
  EXPECT_FALSE(core.loops);
  EXPECT_EQ(core.text,
            "at an interval of 5 cycles there are no places for b, c, d, as users of 'a' are on "
            "different tiles");
}

TEST(Core, NamesTheGroupThatIsTooLarge) {
  Problem problem = Independent(6, 4);
  problem.groups = {{0, 3}, {1, 2, 5}};
  problem.group_names = {"x", "y"};
  problem.group = {0, 1, 1, 0, -1, 1};
  StepBudget budget;
  const Core core = FindCore(problem, 2, kAnyLatency, kManySteps, &budget);
  EXPECT_EQ(core.instructions, (std::vector<int>{1, 2, 5}));
  EXPECT_EQ(core.groups, std::vector<int>{1});
  EXPECT_EQ(core.text,
            "at an interval of 2 cycles there are no places for b, c, f, as all that use y share a "
            "tile");
}

TEST(Core, NamesTheRecurrence) {
  Problem problem = Independent(4, 4);
  problem.dependences = {{0, 1, 0, true}, {1, 2, 0, true}, {1, 0, 1, true}};
  problem.source = {true, false, false, true};
  StepBudget budget;
  const Core core = FindCore(problem, 5, kAnyLatency, kManySteps, &budget);
  EXPECT_EQ(core.instructions, (std::vector<int>{0, 1}));
  EXPECT_TRUE(core.loops);
}

// What contains a core has no solution: problems of the same graph with other fusions and with
// pass-throughs are decided by themselves.
TEST(Core, IsInNoProblemWithASolution) {
  int covered = 0, open = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Config config = RandomTestConfig(seed + 40, 5);
    const ComputationGraph graph = RandomTestGraph(
        seed, {.least_nodes = 6, .most_nodes = 9, .variables = 1, .loop_share = 0.5});
    StepBudget budget;
    bool complete = true;
    const StatusOr<VariantSet> set = FusionVariants(graph, config, true, &budget);
    const StatusOr<VariantSet> more =
        PassVariants(graph, config, true, kMostPassChoices, &budget, &complete);
    if (!set.ok() || !more.ok()) continue;
    const Problem& problem = set->variants[0]->problem;
    const int interval = LeastInterval(problem).value;
    const int latency = LeastLatency(problem, interval).value + static_cast<int>(seed % 3);
    std::vector<Place> places;
    const auto decide = [&](const Problem& of) {
      return MakeBranchSearch(of, seed)->Decide(interval, latency, kManySteps, &budget, &places);
    };
    if (decide(problem) != Answer::kNone) continue;
    const Core core = FindCore(problem, interval, latency, kManySteps, &budget);
    const Problem part = ProblemOfCore(problem, core);
    EXPECT_EQ(decide(part), Answer::kNone);
    const bool has_pass = std::ranges::any_of(
        part.instructions, [](const Instruction& instruction) { return instruction.is_pass; });
    EXPECT_EQ(HasAllOf(problem, part), part.config.issue_later && !has_pass);
    for (const VariantSet* variants : {&*set, &*more}) {
      for (const std::unique_ptr<Variant>& variant : variants->variants) {
        const Answer answer = decide(variant->problem);
        open += answer == Answer::kFound ? 1 : 0;
        if (!HasAllOf(variant->problem, part)) continue;
        EXPECT_EQ(answer, Answer::kNone);
        ++covered;
      }
    }
  }
  EXPECT_GT(covered, 100);
  EXPECT_GT(open, 5);
}

TEST(Decide, TheLastIssuesHoldTheLatency) {
  const Problem problem = Independent(2, 4);
  EXPECT_EQ(LastIssues(problem, 4, 5), (std::vector<int>{2, 2}));
  EXPECT_EQ(LastIssues(problem, 2, kAnyLatency), (std::vector<int>{1, 1}));  // the first period
}

TEST(Decide, EndsWithTheBudget) {
  StepBudget steps(10);
  EXPECT_EQ(steps.Left(100), 10);
  EXPECT_TRUE(steps.Spend(9));
  EXPECT_EQ(steps.Left(100), 1);
  EXPECT_FALSE(steps.Spend());
  EXPECT_TRUE(steps.spent());
}

TEST(Decide, UsesAPartOfALargeMachineAndRefutesNothingThere) {
  Problem problem = Independent(3, 80);
  problem.config.rows = 2;
  StepBudget budget;
  std::vector<Place> places;
  const auto decider = MakeBranchSearch(problem, 1);
  ASSERT_EQ(decider->Decide(1, 3, kManySteps, &budget, &places), Answer::kFound);
  EXPECT_EQ(NaiveFault(problem, 1, places), "");
  EXPECT_EQ(decider->Decide(1, 2, kManySteps, &budget, &places), Answer::kUnknown);
}

// A step of the solver takes long, so that it looks at the clock after each.
TEST(StepBudget, EndsWithTheTimeAtTheNextLook) {
  StepBudget budget(0, 1e-9);
  EXPECT_FALSE(budget.Look());
  EXPECT_TRUE(budget.spent());
  StepBudget free(0, 0);
  EXPECT_TRUE(free.Look());
  const ComputationGraph graph = RandomTestGraph(3, {});
  const StatusOr<Problem> problem = BuildProblem(graph, {});
  ASSERT_TRUE(problem.ok());
  StepBudget late(0, 1e-9);
  std::vector<Place> places;
  EXPECT_EQ(MakeSatDecider(*problem, 1)->Decide(4, kAnyLatency, 1000, &late, &places),
            Answer::kUnknown);
  EXPECT_TRUE(late.spent());
}

}  // namespace
}  // namespace kiln::cgra
