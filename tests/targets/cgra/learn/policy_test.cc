#include "kiln/targets/cgra/learn/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "kiln/support/budgets.h"
#include "kiln/support/sha256.h"
#include "kiln/targets/cgra/learn/ppo_mapper.h"
#include "kiln/targets/cgra/map/exact.h"
#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

using testing::HasSubstr;

ComputationGraph Chain(int count) {
  ComputationGraph graph;
  graph.name = graph.source = "chain";
  for (int i = 0; i < count; ++i) {
    graph.nodes.push_back(
        {.name = "n" + std::to_string(i), .op = Op::kAdd, .label = "", .literal = 1});
    if (i > 0) graph.edges.push_back({.source = i - 1, .target = i});
  }
  EXPECT_TRUE(VerifyAndSort(&graph).ok());
  return graph;
}

TEST(Features, AdjacencyOfAChainIsThatByHand) {
  const StatusOr<Problem> two = BuildProblem(Chain(2), {});
  ASSERT_TRUE(two.ok());
  const Observer pair(*two, 2, {});
  // Both have degree 2 with themselves: all four entries are 1/2, and so are those of the square.
  EXPECT_THAT(pair.graph().adjacency, testing::Each(testing::FloatEq(0.5F)));
  const StatusOr<Problem> three = BuildProblem(Chain(3), {});
  ASSERT_TRUE(three.ok());
  const Observer chain(*three, 2, {});
  // Degrees 2, 3, 2. The ends meet in the middle: (1/sqrt(6))^2.
  EXPECT_FLOAT_EQ(chain.graph().adjacency[2], 1.0F / 6);
  EXPECT_FLOAT_EQ(chain.graph().adjacency[0], 0.25F + 1.0F / 6);
  EXPECT_FLOAT_EQ(chain.graph().adjacency[4], 1.0F / 9 + 2.0F / 6);
}

TEST(Policy, ProbabilitiesAreThoseByHand) {
  const std::vector<double> shares = ProbabilitiesOf({0, std::log(3.0), 0});
  EXPECT_NEAR(shares[0], 0.2, 1e-12);
  EXPECT_NEAR(shares[1], 0.6, 1e-12);
  EXPECT_EQ(LikeliestOf({1, 3, 3, 2}), 1);
  // Large logits do not overflow.
  EXPECT_EQ(ProbabilitiesOf({1e6, 0})[0], 1);
}

TEST(Policy, DrawsChoicesAsOftenAsTheirProbabilities) {
  Random random(3);
  int counts[3] = {};
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[DrawnFrom({0, std::log(3.0), 0}, 1, &random)];
  EXPECT_NEAR(counts[1], 0.6 * kDraws, 5 * std::sqrt(0.24 * kDraws));
  EXPECT_NEAR(counts[0], 0.2 * kDraws, 5 * std::sqrt(0.16 * kDraws));
}

// Weights of zero but one: the logit of a cell is then a feature, by hand.
TEST(Policy, ScoresCellsByTheirFeatures) {
  Weights weights = InitialWeights({}, 1);
  for (Matrix& matrix : weights.matrices) std::ranges::fill(matrix.values, 0.0F);
  const auto set = [&](std::string_view name, size_t row, float value) {
    Matrix& matrix = *std::ranges::find(weights.matrices, name, &Matrix::name);
    matrix.values[row * static_cast<size_t>(matrix.columns)] = value;
  };
  set("actor.1", 1, 2);  // the second feature: cycles beyond the latest predecessor, over 8
  set("actor.2", 0, 3);
  set("actor.3", 0, -1);
  const StatusOr<Problem> problem = BuildProblem(Chain(2), {});
  ASSERT_TRUE(problem.ok());
  Environment environment(*problem, 2);
  environment.Step({7, 1, 1});
  const Observer observer(*problem, 2, environment.order());
  const Policy policy(weights);
  const StepFeatures step = observer.Observe(environment);
  const Judgement judgement =
      policy.Judge(observer.graph(), policy.Encode(observer.graph()), step, true);
  ASSERT_EQ(judgement.logits.size(), environment.allowed().size());
  ASSERT_GT(judgement.logits.size(), 5u);
  for (size_t i = 0; i < step.choices.size(); ++i) {
    const double late = (step.choices[i].issue - 1 - 3) / 8.0;
    EXPECT_NEAR(judgement.logits[i], -6 * late, 1e-6);
  }
  EXPECT_EQ(judgement.value, 0);
}

TEST(Policy, ScoresWhatIsNotLinkedAlikeOnAnyNumberOfTiles) {
  const Policy policy(InitialWeights({}, 5));
  for (const int tiles : {2, 8, 64}) {
    Config config;
    config.columns = tiles;
    const StatusOr<Problem> problem = BuildProblem(Chain(4), config);
    ASSERT_TRUE(problem.ok());
    for (const int interval : {2, 7}) {
      Environment environment(*problem, interval);
      const Observer observer(*problem, interval, environment.order());
      const Judgement judgement = policy.Judge(observer.graph(), policy.Encode(observer.graph()),
                                               observer.Observe(environment), true);
      EXPECT_EQ(std::ssize(judgement.logits), tiles * interval);
      for (const double logit : judgement.logits) EXPECT_TRUE(std::isfinite(logit));
    }
  }
}

TEST(Policy, AsASearchOrderGivesItsLogits) {
  const Policy policy(InitialWeights({}, 2));
  const StatusOr<Problem> problem = BuildProblem(Chain(3), {});
  ASSERT_TRUE(problem.ok());
  Environment environment(*problem, 2, {.order = DepthFirstOrder(*problem)});
  environment.Step(environment.allowed()[3]);
  const Observer observer(*problem, 2, environment.order());
  const Judgement judgement = policy.Judge(observer.graph(), policy.Encode(observer.graph()),
                                           observer.Observe(environment));
  std::vector<Place> candidates;
  for (const Cell& cell : environment.allowed()) candidates.push_back({cell.tile, cell.issue});
  std::vector<double> scores(candidates.size());
  OrderOf(policy, *problem, 2)(environment.places(), environment.instruction(), candidates, scores);
  EXPECT_EQ(scores, judgement.logits);
}

TEST(GuidedMapper, ProvesWhatTheExactMapperProves) {
  const auto policy = std::make_shared<const Policy>(InitialWeights({}, 3));
  int proved = 0;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const Config config = RandomTestConfig(seed + 11, 6);
    const ComputationGraph graph = RandomTestGraph(seed, {.most_nodes = 9});
    const MapOptions options{.steps = 5000, .on_better = {}};
    const StatusOr<MapResult> own = MakeExactMapper()->Map(graph, config, options);
    const StatusOr<MapResult> guided = MakeGuidedMapper(policy)->Map(graph, config, options);
    ASSERT_EQ(own.ok(), guided.ok());
    if (!own.ok() || !own->optimal) continue;
    ++proved;
    EXPECT_TRUE(guided->optimal) << seed;
    ASSERT_TRUE(guided->mapping) << seed;
    EXPECT_EQ(own->mapping->initiation_interval, guided->mapping->initiation_interval) << seed;
    EXPECT_EQ(own->latency, guided->latency) << seed;
  }
  EXPECT_GT(proved, 10);
}

TEST(PpoMapper, GivesLegalMappingsAndTheSameForASeed) {
  const std::unique_ptr<Mapper> mapper =
      MakePpoMapper(std::make_shared<const Policy>(InitialWeights({}, 7)));
  int mapped = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Config config = RandomTestConfig(seed + 31, 6);
    const ComputationGraph graph = RandomTestGraph(seed, {.most_nodes = 10});
    const StatusOr<Problem> problem = BuildProblem(graph, config);
    if (!problem.ok()) continue;
    const MapOptions options{.seed = seed, .steps = 40, .fuse = false, .on_better = {}};
    const StatusOr<MapResult> result = mapper->Map(graph, config, options);
    ASSERT_TRUE(result.ok()) << result.status();
    const StatusOr<MapResult> again = mapper->Map(graph, config, options);
    EXPECT_EQ(result->mapping, again->mapping);
    if (!result->mapping || !result->mapping->passes.empty()) continue;
    ++mapped;
    std::vector<Place> places;
    for (const Instruction& instruction : problem->instructions) {
      places.push_back(result->mapping->places[static_cast<size_t>(instruction.nodes.back())]);
      EXPECT_GE(places.back().tile, 0);
    }
    EXPECT_EQ(NaiveFault(*problem, result->mapping->initiation_interval, places), "");
    EXPECT_EQ(result->latency, LatencyOf(config, *result->mapping));
    EXPECT_GE(result->latency, result->latency_bound);
    EXPECT_GE(result->mapping->initiation_interval, result->interval_bound);
  }
  EXPECT_GT(mapped, 10);
}

TrainingState StateOf(const PolicyShape& shape) {
  TrainingState state;
  state.weights = InitialWeights(shape, 4);
  state.first = InitialWeights(shape, 5).matrices;
  state.second = InitialWeights(shape, 6).matrices;
  state.numbers = {{"iteration", 3}, {"steps", uint64_t{1} << 40}};
  return state;
}

TEST(Weights, AreReadAsTheyWereWritten) {
  for (const PolicyShape& shape : {PolicyShape{}, PolicyShape{.graph = false, .attention = false},
                                   PolicyShape{.attention = false}, PolicyShape{.stacked = true}}) {
    const TrainingState state = StateOf(shape);
    const StatusOr<TrainingState> read = ParseTraining(SerializeTraining(state), "p");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == state);
    TrainingState only = state;
    only.first.clear();
    only.second.clear();
    const StatusOr<TrainingState> small = ParseTraining(SerializeTraining(only), "p");
    ASSERT_TRUE(small.ok()) << small.status();
    EXPECT_TRUE(*small == only);
  }
}

TEST(Weights, DependOnTheSeedAlone) {
  EXPECT_TRUE(InitialWeights({}, 1) == InitialWeights({}, 1));
  EXPECT_FALSE(InitialWeights({}, 1) == InitialWeights({}, 2));
}

// Puts the right digest behind changed bytes, as a forger would.
std::string Signed(std::string body) {
  const auto digest =
      Sha256Of(std::span(reinterpret_cast<const uint8_t*>(body.data()), body.size()));
  body.append(digest.begin(), digest.end());
  return body;
}

std::string MessageFor(std::string_view bytes) {
  const StatusOr<TrainingState> read = ParseTraining(bytes, "bad.bin");
  EXPECT_FALSE(read.ok());
  const std::string message = MessageOf(read.status());
  EXPECT_TRUE(message.starts_with("bad.bin: ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  return message;
}

TEST(Weights, RefuseBrokenFilesInOneLine) {
  const TrainingState state = StateOf({});
  const std::string good = SerializeTraining(state);
  const std::string body = good.substr(0, good.size() - kSha256Bytes);
  ASSERT_EQ(Signed(body), good);
  EXPECT_THAT(MessageFor(""), HasSubstr("not a policy"));
  EXPECT_THAT(MessageFor("KILNPOLI"), HasSubstr("cut short"));
  EXPECT_THAT(MessageFor(good.substr(0, good.size() - 1)), HasSubstr("SHA-256"));
  std::string changed = good;
  changed[good.size() / 2] = static_cast<char>(changed[good.size() / 2] ^ 1);
  EXPECT_THAT(MessageFor(changed), HasSubstr("SHA-256"));
  std::string version = body;
  version[8] = 9;
  EXPECT_THAT(MessageFor(Signed(version)), HasSubstr("version 9"));
  std::string shape = body;
  shape[12] = 8;
  EXPECT_THAT(MessageFor(Signed(shape)), HasSubstr("unknown shape 8"));
  shape[12] = 1;  // without attention, whose matrices are there
  EXPECT_THAT(MessageFor(Signed(shape)), HasSubstr("attention.query"));
  std::string sizes = body;
  sizes[16] = 99;
  EXPECT_THAT(MessageFor(Signed(sizes)), HasSubstr("other features"));
  EXPECT_THAT(MessageFor(Signed(body + "x")), HasSubstr("follow"));
  for (const size_t size : {20u, 70u, 90u, 200u, 5000u}) {
    MessageFor(Signed(body.substr(0, size)));
  }
  TrainingState infinite = state;
  infinite.weights.matrices[2].values[1] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(MessageFor(SerializeTraining(infinite)), HasSubstr("not finite"));
  TrainingState named = state;
  named.weights.matrices[0].name = std::string(60, '\n');
  MessageFor(SerializeTraining(named));
}

// Every byte changed to any of a few values, with the right digest: no crash, and a message or the
// same sizes.
TEST(Weights, RefuseOrReadAnyForgedHeader) {
  const std::string good = SerializeTraining(StateOf({.graph = false, .attention = false}));
  const std::string body = good.substr(0, good.size() - kSha256Bytes);
  for (size_t at = 0; at < 220; ++at) {
    for (const int value : {0, 1, 127, 255}) {
      std::string forged = body;
      forged[at] = static_cast<char>(value);
      const StatusOr<TrainingState> read = ParseTraining(Signed(forged), "bad.bin");
      if (!read.ok()) {
        EXPECT_EQ(MessageOf(read.status()).find('\n'), std::string::npos);
      } else {
        EXPECT_EQ(read->weights.matrices.size(), MatricesOf(read->weights.shape).size());
      }
    }
  }
}

TEST(Weights, KeepTheBudget) {
  const auto most = static_cast<size_t>(budgets::kPolicyBytes);
  EXPECT_THAT(MessageFor(std::string(most + 1, 'x')), HasSubstr("more than 16777216"));
  EXPECT_THAT(MessageFor(std::string(most, 'x')), HasSubstr("not a policy"));
}

}  // namespace
}  // namespace kiln::cgra
