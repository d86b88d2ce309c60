// Tests of the exact search: published optima, agreement with the enumeration on random problems,
// its certificates, its explanations, and its behaviour when the work budget ends.
#include "kiln/targets/dataflow/fold/exact.h"

#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"
#include "kiln/targets/dataflow/fold/brute_force.h"
#include "kiln/targets/dataflow/fold/plain_model.h"
#include "tests/targets/dataflow/fold/networks.h"
#include "tests/targets/dataflow/fold/optima.h"
#include "tests/targets/dataflow/fold/random_problem.h"
#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;

TEST(SolveExact, FindsThePlainModelsOptima) {
  const std::vector<PlainOptimum> optima = ReadPlainOptima();
  ASSERT_EQ(optima.size(), 48u);
  for (const PlainOptimum& optimum : optima) {
    const FoldProblem problem = PlainChain(optimum.layers, optimum.dsp_limit);
    StatusOr<FoldResult> result = SolveExact(problem, {});
    ASSERT_TRUE(result.ok() && result->fold) << optimum.name;
    EXPECT_TRUE(result->certificate.optimal) << optimum.name;
    EXPECT_EQ(result->metrics.l_max, optimum.l_max) << optimum.name;
    EXPECT_EQ(result->metrics.l_sum, optimum.l_sum) << optimum.name;
    EXPECT_EQ(result->metrics.resources[kDsp], optimum.dsp_used) << optimum.name;
    EXPECT_EQ(result->certificate.cycles_bound, optimum.l_max) << optimum.name;
  }
}

// Compares the search with the enumeration on one random problem.
void ExpectAgreement(uint64_t seed, const RandomOptions& options, int* infeasible) {
  Random random(seed);
  const FoldProblem problem = RandomProblem(seed, options);
  const Objective objective = RandomObjective(random, problem);
  StatusOr<FoldResult> expected = SolveByEnumeration(problem, objective);
  StatusOr<FoldResult> found = SolveExact(problem, objective);
  ASSERT_TRUE(expected.ok() && found.ok());
  ASSERT_EQ(found->fold.has_value(), expected->fold.has_value());
  EXPECT_TRUE(found->certificate.optimal);
  EXPECT_EQ(found->infeasible.empty(), found->fold.has_value()) << found->infeasible;
  if (!found->fold) {
    ++*infeasible;
    return;
  }
  EXPECT_EQ(ScoresOf(objective, problem.limits, found->metrics),
            ScoresOf(objective, problem.limits, expected->metrics));
  EXPECT_THAT(Violations(problem, *found->fold), testing::IsEmpty());
  // No fold within limits and target is faster than the bound.
  EXPECT_LE(found->certificate.cycles_bound, expected->certificate.cycles_bound);
  if (objective.goal == Goal::kThroughput) {
    EXPECT_EQ(found->certificate.cycles_bound, expected->metrics.l_max);
  }
  for (const TermBound& term : found->certificate.terms) EXPECT_EQ(term.value, term.bound);
}

void ExpectAgreementOfAll(uint64_t first_seed, int problems, RandomOptions options) {
  int infeasible = 0;
  for (int i = 0; i < problems; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    options.layers = 2 + i % 5;
    options.fifos = i % 2 == 1;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ExpectAgreement(seed, options, &infeasible);
  }
  // Both outcomes are tested.
  EXPECT_GT(infeasible, problems / 20);
  EXPECT_LT(infeasible, problems * 2 / 3);
}

TEST(SolveExact, AgreesWithTheEnumerationOnChains) {
  ExpectAgreementOfAll(10000, 200, {Shape::kChain, 0, 400, false});
}
TEST(SolveExact, AgreesWithTheEnumerationOnResidualBlocks) {
  ExpectAgreementOfAll(20000, 200, {Shape::kResidual, 0, 400, false});
}
TEST(SolveExact, AgreesWithTheEnumerationOnAnyGraph) {
  ExpectAgreementOfAll(30000, 250, {Shape::kGeneral, 0, 400, false});
}

TEST(SolveExact, ComparesLargeNumbersExactly) {
  // Idle times near 2^40 whose differences are far below the tolerance of the bounds.
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    FoldProblem problem = RandomProblem(seed, {static_cast<Shape>(seed % 3), 4, 300, false});
    Random random(seed);
    for (Layer& layer : problem.layers) {
      for (Candidate& candidate : layer.candidates) {
        candidate.cycles = random.Below(3) == 0 ? candidate.cycles : kMaxCycles - candidate.cycles;
      }
    }
    StatusOr<FoldResult> expected = SolveByEnumeration(problem, {});
    StatusOr<FoldResult> found = SolveExact(problem, {});
    ASSERT_TRUE(expected.ok() && found.ok());
    ASSERT_EQ(found->fold.has_value(), expected->fold.has_value());
    EXPECT_TRUE(found->certificate.optimal);
    if (!found->fold) continue;
    EXPECT_EQ(ScoresOf({}, problem.limits, found->metrics),
              ScoresOf({}, problem.limits, expected->metrics));
  }
}

TEST(SolveExact, TakesALaterStartIntoAccount) {
  // Two inputs of the pipeline. With the slow fold of `late` its output comes with the other's, so
  // that the join needs no FIFO: a shorter latency is not always better.
  FoldProblem problem;
  problem.layers = {
      MakeLayer("late", {MakeCandidate(1, 1, 10, 1, 5), MakeCandidate(1, 1, 10, 1, 30)}),
      MakeLayer("slow", {MakeCandidate(1, 1, 10, 1, 30)}),
      MakeLayer("join", {MakeCandidate(1, 1, 10, 1, 1)})};
  problem.edges = {MakeEdge(0, 2), MakeEdge(1, 2)};
  problem.edges[0].fifo = MakeFifo(100);
  problem.limits = {kUnlimited, 0, kUnlimited, 0};
  StatusOr<FoldResult> result = SolveExact(problem, {});
  ASSERT_TRUE(result.ok() && result->fold);
  EXPECT_THAT(result->fold->choice, ElementsAre(1, 0, 0));
}

TEST(SolveExact, CountsFifosAtTheFoldsOwnPeriod) {
  // At 40 cycles the FIFO of the slow main path holds 125 elements. The fast path would need 200 at
  // its own 10 cycles, although 50 would do at 40.
  FoldProblem problem = ResidualBlock();
  problem.limits = {kUnlimited, 0, kUnlimited, 125};
  StatusOr<FoldResult> result = SolveExact(problem, {});
  ASSERT_TRUE(result.ok() && result->fold);
  EXPECT_TRUE(result->certificate.optimal);
  EXPECT_THAT(result->fold->choice, ElementsAre(0, 1, 0));
  EXPECT_EQ(result->metrics.l_max, 40);
  EXPECT_EQ(result->certificate.cycles_bound, 40);
}

TEST(SolveExact, RefutesPeriodsThatOnlyFasterFoldsMeet) {
  // Within 20 cycles the fast main path fits with the FIFO of 20 cycles, but not with its own, and
  // no layer can take exactly 20: its only such fold is too large.
  FoldProblem problem = ResidualBlock();
  problem.layers[0].candidates.push_back(MakeCandidate(1, 1, 20, 1000, 3));
  problem.limits = {100, 0, kUnlimited, 125};
  StatusOr<FoldResult> result = SolveExact(problem, {});
  ASSERT_TRUE(result.ok() && result->fold);
  EXPECT_EQ(result->metrics.l_max, 40);
  EXPECT_TRUE(result->certificate.optimal);
  EXPECT_EQ(result->certificate.cycles_bound, 40);
}

TEST(SolveExact, ExplainsWhyNothingIsFaster) {
  const auto describe = [](const FoldProblem& problem, const Objective& objective) {
    StatusOr<FoldResult> result = SolveExact(problem, objective);
    return result.ok() ? Describe(problem, result->certificate) : MessageOf(result.status());
  };
  EXPECT_EQ(
      describe(PlainChain(VdsrLayers(20, 200), 1728), {}),
      "optimal among 10^32.7 folds; 10240000 cycles would need 2610 DSP, the device has 1728");
  EXPECT_EQ(describe(PlainChain(VdsrLayers(20, 200), kUnlimited), {}),
            "optimal among 10^32.7 folds; layer conv1 takes 40000 cycles at the fastest fold that "
            "fits");
  FoldProblem problem = ResidualBlock();
  problem.limits[kDsp] = 8;
  EXPECT_EQ(describe(problem, {}),
            "optimal among 10^0.3 folds; 10 cycles would need 9 DSP, the device has 8");
  problem.limits = {kUnlimited, 3, kUnlimited, 130};
  EXPECT_EQ(describe(problem, {}),
            "optimal among 10^0.3 folds; 10 cycles would need 4 RAMB18, the device has 3");
  problem = ResidualBlock();
  problem.layers[1].candidates[0].in_lanes = 2;
  problem.layers[0].candidates[0].out_lanes = 4;
  problem.layers[1].candidates[1].in_lanes = 4;
  problem.edges[2].coupling = Coupling::kNone;
  EXPECT_EQ(describe(problem, {}),
            "optimal among 10^0.3 folds; within 10 cycles no fold gives layer main words that it "
            "can take");
}

TEST(SolveExact, ProvesInfeasibilityInOneLine) {
  const auto explain = [](const FoldProblem& problem, int64_t target = kUnlimited) {
    Objective objective;
    objective.target_cycles = target;
    StatusOr<FoldResult> result = SolveExact(problem, objective);
    if (!result.ok()) return MessageOf(result.status());
    EXPECT_FALSE(result->fold);
    EXPECT_TRUE(result->certificate.optimal);
    return result->infeasible;
  };
  FoldProblem chain;
  chain.limits[kDsp] = 220;
  chain.layers = {MakeLayer("conv1", {MakeCandidate(1, 2, 10, 100), MakeCandidate(1, 1, 20, 50)}),
                  MakeLayer("conv2", {MakeCandidate(2, 2, 30, 100), MakeCandidate(3, 3, 25, 90)}),
                  MakeLayer("conv3", {MakeCandidate(2, 1, 30, 648)})};
  chain.edges = {MakeEdge(0, 1), MakeEdge(1, 2)};
  EXPECT_EQ(explain(chain),
            "layer conv3: even its smallest fold needs 648 DSP, the device has 220");
  chain.layers[2].candidates[0].resources[kDsp] = 90;
  EXPECT_EQ(explain(chain),
            "the layers need at least 240 DSP, the device has 220; layer conv2 needs most, 100");
  chain.limits[kDsp] = 250;
  EXPECT_EQ(explain(chain, 29),
            "layer conv3: even its fastest fold takes 30 cycles, the target is 29");
  EXPECT_EQ(explain(chain, 5),
            "layer conv1: even its fastest fold takes 10 cycles, the target is 5");
  chain.layers[2].candidates[0].in_lanes = 5;
  EXPECT_EQ(explain(chain), "no fold of conv2 gives conv3 a word it can take");
  chain.layers[2].candidates[0] = MakeCandidate(2, 1, 20, 300);
  chain.layers[2].candidates.push_back(MakeCandidate(2, 1, 40, 10));
  EXPECT_EQ(explain(chain, 30),
            "layer conv3: even its smallest fold within 30 cycles needs 300 DSP, the device has "
            "250");
  // Each limit by itself can be met, but not both.
  FoldProblem both;
  both.layers = {MakeLayer("conv1", {MakeCandidate(1, 1, 10, 4), MakeCandidate(1, 1, 10, 1)}),
                 MakeLayer("conv2", {MakeCandidate(1, 1, 10, 4), MakeCandidate(1, 1, 10, 1)})};
  for (Layer& layer : both.layers) layer.candidates[1].resources[kLut] = 5;
  both.edges = {MakeEdge(0, 1)};
  both.limits = {4, kUnlimited, kUnlimited, 9};
  EXPECT_EQ(explain(both),
            "the folds that meet the other limits need at least 5 DSP, the device has 4");
  both.layers.resize(1);
  both.edges.clear();
  both.limits = {3, kUnlimited, kUnlimited, 4};
  EXPECT_EQ(
      explain(both),
      "layer conv1: its folds that meet the other limits need at least 4 DSP, the device has 3");
  // Two inputs of a join that no lanes of the fork suit at the same time.
  FoldProblem join = ResidualBlock();
  join.layers[0].candidates = {MakeCandidate(1, 2, 10, 1), MakeCandidate(1, 3, 10, 1)};
  join.layers[1].candidates = {MakeCandidate(2, 3, 10, 1), MakeCandidate(3, 2, 10, 1)};
  join.layers[2].candidates = {MakeCandidate(2, 1, 10, 1), MakeCandidate(3, 1, 10, 1)};
  for (Edge& edge : join.edges) edge.coupling = Coupling::kEqual;
  EXPECT_EQ(explain(join), "no folds of the layers before join give it words it can take");
  FoldProblem fifo = ResidualBlock();
  fifo.edges[2].fifo->cost = [](int64_t, int) { return std::vector<FifoOption>(); };
  EXPECT_EQ(explain(fifo), "layer join: no memory holds the 50 elements of the FIFO from fork");
}

TEST(SolveExact, PassesOnErrors) {
  EXPECT_EQ(MessageOf(SolveExact({}, {}).status()), "the problem has no layers; give it one");
  EXPECT_EQ(
      MessageOf(
          SolveExact(ResidualBlock(), {Goal::kLatency, -1, ResourceOrder::kDspFirst}).status()),
      "target: is -1 cycles; use 1 or more");
}

TEST(SolveExact, IsDeterministic) {
  StageModel model;
  model.weight_bits = 2;
  const FoldProblem problem = ResNet(18, model, U250());
  StatusOr<FoldResult> first = SolveExact(problem, {}), second = SolveExact(problem, {});
  ASSERT_TRUE(first.ok() && second.ok() && first->fold && second->fold);
  EXPECT_EQ(*first->fold, *second->fold);
  EXPECT_EQ(first->certificate.work, second->certificate.work);
}

TEST(SolveExact, SolvesResNet50WithFifos) {
  StageModel model;
  model.weight_bits = 4;
  model.activation_bits = 4;
  model.products_per_dsp = 2;
  model.memory_kinds = false;
  const FoldProblem problem = ResNet(50, model, U250());
  StatusOr<FoldResult> result = SolveExact(problem, {});
  ASSERT_TRUE(result.ok() && result->fold);
  EXPECT_TRUE(result->certificate.optimal);
  EXPECT_EQ(result->metrics.l_max, 401408);
  EXPECT_EQ(result->metrics.l_sum, 2107392);
  EXPECT_THAT(result->metrics.resources, ElementsAre(5091, 5342, 0, 171024, 0));
}

TEST(SolveExact, BoundsWhatItDoesNotFinish) {
  StageModel model;
  model.weight_bits = 4;
  const FoldProblem problem = MobileNetV2(model, Zcu104());
  Objective objective;
  objective.goal = Goal::kLatency;
  objective.target_cycles = 400000;
  constexpr int64_t kLeastLatency = 83443;
  ExactOptions options;
  StatusOr<FoldResult> proved = SolveExact(problem, objective, options);
  ASSERT_TRUE(proved.ok() && proved->fold);
  EXPECT_TRUE(proved->certificate.optimal);
  EXPECT_EQ(proved->metrics.latency, kLeastLatency);
  for (const int64_t most_work : {5000, 20000}) {
    options.most_work = most_work;
    StatusOr<FoldResult> result = SolveExact(problem, objective, options);
    ASSERT_TRUE(result.ok() && result->fold);
    EXPECT_FALSE(result->certificate.optimal);
    EXPECT_LT(result->certificate.work, 2 * most_work);
    EXPECT_THAT(Violations(problem, *result->fold), testing::IsEmpty());
    const TermBound& latency = result->certificate.terms[0];
    EXPECT_LE(latency.bound, kLeastLatency);
    EXPECT_GT(latency.bound, kLeastLatency * 9 / 10);
    EXPECT_GE(latency.value, kLeastLatency);
    EXPECT_EQ(latency.value, result->metrics.latency);
    EXPECT_THAT(Describe(problem, result->certificate),
                testing::StartsWith("best found among 10^"));
  }
}

TEST(SolveExact, BoundsOfTinyBudgetsAreTrue) {
  // Whatever the budget, the fold is valid and no bound is above the optimum.
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const FoldProblem problem =
        RandomProblem(seed, {static_cast<Shape>(seed % 3), 4, 300, seed % 2 == 0});
    const Objective objective = RandomObjective(random, problem);
    StatusOr<FoldResult> expected = SolveByEnumeration(problem, objective);
    ExactOptions options;
    options.most_work = random.Between(1, 60);
    StatusOr<FoldResult> found = SolveExact(problem, objective, options);
    ASSERT_TRUE(expected.ok() && found.ok());
    SCOPED_TRACE(fmt::format("seed {}", seed));
    if (!found->fold) {
      EXPECT_TRUE(!found->certificate.optimal || !expected->fold);
      continue;
    }
    ASSERT_TRUE(expected->fold);
    EXPECT_THAT(Violations(problem, *found->fold), testing::IsEmpty());
    const auto best = ScoresOf(objective, problem.limits, expected->metrics);
    EXPECT_GE(ScoresOf(objective, problem.limits, found->metrics), best);
    EXPECT_LE(found->certificate.cycles_bound, expected->certificate.cycles_bound);
    EXPECT_LE(found->certificate.terms[0].bound, best[0]);
    if (found->certificate.optimal) {
      EXPECT_EQ(ScoresOf(objective, problem.limits, found->metrics), best);
    }
  }
}

TEST(SolveExact, FallsBackOnHeuristicsIfTheGraphIsTooWide) {
  // Twelve branches between a fork and twelve layers that read all of them. No period excludes any
  // candidate, and narrow words, which couple with most, cost most.
  FoldProblem problem;
  Layer fork = MakeLayer("fork", {MakeCandidate(1, 1, 10, 1)});
  problem.layers.push_back(fork);
  constexpr int kBranches = 12;
  for (int b = 0; b < kBranches; ++b) {
    Layer branch = MakeLayer(fmt::format("branch{}", b), {});
    for (const int lanes : {1, 2, 3, 5, 7, 11}) {
      branch.candidates.push_back(MakeCandidate(1, lanes, 240, 12 - lanes));
    }
    problem.layers.push_back(branch);
    problem.edges.push_back(MakeEdge(0, b + 1));
  }
  for (int join = 0; join < kBranches; ++join) {
    Layer layer = MakeLayer(fmt::format("join{}", join), {});
    for (const int lanes : {1, 2, 3, 5, 7, 11}) {
      layer.candidates.push_back(MakeCandidate(lanes, 1, 240, 1));
    }
    problem.layers.push_back(layer);
    for (int b = 0; b < kBranches; ++b) {
      problem.edges.push_back(MakeEdge(b + 1, kBranches + 1 + join));
    }
  }
  problem.limits[kDsp] = 200;
  StatusOr<FoldResult> result = SolveExact(problem, {});
  ASSERT_TRUE(result.ok() && result->fold);
  EXPECT_FALSE(result->certificate.optimal);
  EXPECT_EQ(result->certificate.source, BoundSource::kExhausted);
  EXPECT_THAT(Violations(problem, *result->fold), testing::IsEmpty());
}

}  // namespace
}  // namespace kiln::dataflow
