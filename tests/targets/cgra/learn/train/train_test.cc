#include "kiln/targets/cgra/learn/train/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/support/parallel.h"
#include "kiln/targets/cgra/learn/ppo_mapper.h"

namespace kiln::cgra {
namespace {

TEST(Advantages, AreThoseByHand) {
  Sample samples[3];
  const double rewards[] = {1, 2, 4}, values[] = {0.5, 1, 2};
  for (int i = 0; i < 3; ++i) {
    samples[i].reward = rewards[i];
    samples[i].value = values[i];
  }
  GeneralisedAdvantages(0.5, 0.5, samples);
  // Surprises 1 + 0.5 * 1 - 0.5 = 1, 2 + 0.5 * 2 - 1 = 2 and 4 - 2 = 2; each later one counts 1/4.
  EXPECT_DOUBLE_EQ(samples[2].advantage, 2);
  EXPECT_DOUBLE_EQ(samples[1].advantage, 2.5);
  EXPECT_DOUBLE_EQ(samples[0].advantage, 1.625);
  EXPECT_DOUBLE_EQ(samples[0].target, 2.125);
  // With both 1, the target is the sum of all rewards from there.
  GeneralisedAdvantages(1, 1, samples);
  EXPECT_DOUBLE_EQ(samples[0].target, 7);
  EXPECT_DOUBLE_EQ(samples[1].target, 6);
}

TrainOptions SmallOptions() {
  TrainOptions options;
  options.seed = 11;
  options.iterations = 2;
  options.problems = 3;
  options.episodes = 2;
  options.epochs = 2;
  options.minibatch = 32;
  options.most_instructions = 8;
  return options;
}

// Episodes of a few random problems under a policy.
struct Played {
  std::vector<TrainingProblem> problems;
  std::vector<Episode> episodes;
  std::vector<const Sample*> samples;
};
Played Play(const Policy& policy, const TrainOptions& options, int most_tiles) {
  Played played;
  for (uint64_t seed = 0; played.problems.size() < 4; ++seed) {
    TrainingProblem problem = DrawTrainingProblem(seed, {}, options.most_instructions);
    if (problem.problem->tiles() <= most_tiles) played.problems.push_back(std::move(problem));
  }
  for (size_t p = 0; p < played.problems.size(); ++p) {
    played.episodes.push_back(PlayEpisode(policy, played.problems[p], p, options));
  }
  for (const Episode& episode : played.episodes) {
    for (const Sample& sample : episode.samples) played.samples.push_back(&sample);
  }
  return played;
}

TEST(Learner, ComputesWhatThePolicyComputes) {
  for (const PolicyShape& shape :
       {PolicyShape{}, PolicyShape{.attention = false},
        PolicyShape{.graph = false, .attention = false}, PolicyShape{.stacked = true}}) {
    for (const bool mask : {true, false}) {
      TrainOptions options = SmallOptions();
      options.mask = mask;
      TrainingState state;
      state.weights = InitialWeights(shape, 3);
      const Policy policy(state.weights);
      const Played played = Play(policy, options, 16);
      ASSERT_GT(played.samples.size(), 4u);
      std::vector<double> log_probabilities, values;
      Learner(state).Losses(played.samples, {}, &log_probabilities, &values);
      for (size_t i = 0; i < played.samples.size(); ++i) {
        EXPECT_NEAR(log_probabilities[i], played.samples[i]->log_probability, 1e-4);
        EXPECT_NEAR(values[i], played.samples[i]->value, 1e-4);
      }
    }
  }
}

// The formulas of arXiv 1707.06347 with the probabilities that the policy gives.
TEST(Learner, LossesAreThoseByHand) {
  TrainOptions options = SmallOptions();
  TrainingState state;
  state.weights = InitialWeights({}, 8);
  const Policy policy(state.weights);
  Played played = Play(policy, options, 16);
  // As if the choices had been made with other probabilities, so that ratios leave the clip.
  double policy_loss = 0, value_loss = 0, entropy = 0, change = 0, count = 0;
  int clipped = 0;
  for (Episode& episode : played.episodes) {
    for (Sample& sample : episode.samples) {
      const double shift = (count - 3) * 0.1;
      const double probability = sample.log_probability;
      sample.log_probability -= shift;
      sample.advantage = std::cos(count);
      const double ratio = std::exp(shift);
      const double limited = std::min(std::max(ratio, 0.8), 1.2);
      policy_loss -= std::min(ratio * sample.advantage, limited * sample.advantage);
      clipped += ratio != limited;
      value_loss += std::pow(sample.value - sample.target, 2);
      change += sample.log_probability - probability;
      const Judgement judgement =
          policy.Judge(*sample.graph, policy.Encode(*sample.graph), sample.step);
      for (const double share : ProbabilitiesOf(judgement.logits)) {
        entropy -= share * std::log(share);
      }
      ++count;
    }
  }
  ASSERT_GT(clipped, 1);
  const PpoLosses losses = Learner(state).Losses(played.samples, {.clip = 0.2});
  EXPECT_NEAR(losses.policy, policy_loss / count, 1e-4);
  EXPECT_NEAR(losses.value, value_loss / count, 1e-4);
  EXPECT_NEAR(losses.entropy, entropy / count, 1e-4);
  EXPECT_NEAR(losses.change, change / count, 1e-4);
}

// Adam moves every weight that has a gradient by the rate in the first step, whatever the gradient.
TEST(Learner, TheFirstStepHasTheSizeOfTheRate) {
  TrainingState state;
  state.weights = InitialWeights({}, 8);
  const Policy policy(state.weights);
  const Played played = Play(policy, SmallOptions(), 16);
  Learner learner(state);
  learner.Update(played.samples, {.rate = 0.01, .gradient_limit = 1e9});
  TrainingState after = state;
  learner.Save(&after);
  EXPECT_EQ(after.numbers["updates"], 1u);
  const std::vector<float>& before_bias = state.weights.at("critic.3.bias").values;
  EXPECT_NEAR(std::abs(after.weights.at("critic.3.bias").values[0] - before_bias[0]), 0.01, 1e-5);
  int moved = 0;
  for (size_t m = 0; m < after.weights.matrices.size(); ++m) {
    for (size_t i = 0; i < after.weights.matrices[m].values.size(); ++i) {
      const float by = after.weights.matrices[m].values[i] - state.weights.matrices[m].values[i];
      EXPECT_LE(std::abs(by), 0.0101F);
      moved += by != 0;
    }
  }
  EXPECT_GT(moved, 5000);
}

TEST(Training, GoesOnAsIfItHadNotBeenInterrupted) {
  const TrainOptions options = SmallOptions();
  TrainingState whole = BeginTraining(options);
  ASSERT_TRUE(Train(options, &whole, {}).ok());
  TrainingState part = BeginTraining(options);
  ASSERT_TRUE(Train(options, &part, [](const CurvePoint&) { return false; }).ok());
  EXPECT_EQ(part.numbers["iteration"], 1u);
  EXPECT_FALSE(part == whole);
  StatusOr<TrainingState> read = ParseTraining(SerializeTraining(part), "p");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(Train(options, &*read, {}).ok());
  EXPECT_EQ(SerializeTraining(*read), SerializeTraining(whole));
}

TEST(Training, DoesNotDependOnTheNumberOfThreads) {
  TrainOptions options = SmallOptions();
  options.iterations = 1;
  TrainingState one = BeginTraining(options), many = one;
  SetThreadCount(1);
  ASSERT_TRUE(Train(options, &one, {}).ok());
  SetThreadCount(3);
  ASSERT_TRUE(Train(options, &many, {}).ok());
  SetThreadCount(0);
  EXPECT_TRUE(one == many);
}

TEST(Training, GoesOnWithTheOptionsThatItBeganWith) {
  const TrainOptions options = SmallOptions();
  TrainingState state = BeginTraining(options);
  ASSERT_TRUE(Train(options, &state, [](const CurvePoint&) { return false; }).ok());
  const TrainingState before = state;
  const auto message = [&](const std::function<void(TrainOptions*)>& change) {
    TrainOptions other = options;
    change(&other);
    const std::string text = MessageOf(Train(other, &state, {}));
    EXPECT_TRUE(state == before);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text;
  };
  using testing::HasSubstr;
  EXPECT_THAT(message([](TrainOptions* o) { o->seed += 1; }), HasSubstr("option 'seed' at "));
  EXPECT_THAT(message([](TrainOptions* o) { o->iterations = 77; }),
              HasSubstr(", not 77; the options that it began with"));
  EXPECT_THAT(message([](TrainOptions* o) { o->ppo.rate = 0.125; }),
              HasSubstr("option 'rate' at 0.001, not 0.125"));
  EXPECT_THAT(message([](TrainOptions* o) { o->mask = false; }),
              HasSubstr("option 'mask' at true, not false"));
  EXPECT_THAT(message([](TrainOptions* o) { o->shape.attention = false; }),
              HasSubstr("option 'attention' at true, not false"));
  EXPECT_THAT(message([](TrainOptions* o) { o->graphs.emplace_back(); }),
              HasSubstr("other graphs"));
  state.numbers.erase("option.discount");
  EXPECT_THAT(MessageOf(Train(options, &state, {})), HasSubstr("option 'discount'"));
  state = before;
  ASSERT_TRUE(Train(options, &state, {}).ok());
  EXPECT_THAT(MessageOf(Train(options, &state, {})), HasSubstr("iterations behind it"));
}

// Four instructions in a row on 8 tiles: staying close gives the best reward.
TEST(Training, LearnsATrivialProblem) {
  ComputationGraph graph;
  graph.name = graph.source = "chain";
  for (int i = 0; i < 4; ++i) {
    graph.nodes.push_back(
        {.name = "n" + std::to_string(i), .op = Op::kAdd, .label = "", .literal = 1});
    if (i > 0) graph.edges.push_back({.source = i - 1, .target = i});
  }
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  Config config;
  config.columns = 8;
  const std::optional<TrainingProblem> problem = MakeTrainingProblem(graph, config, 4, false);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->latency_bound, 12);
  TrainOptions options = SmallOptions();
  TrainingState state = BeginTraining(options);
  Learner learner(state);
  std::vector<double> rewards;
  for (uint64_t round = 0; round < 10; ++round) {
    const Policy policy(state.weights);
    std::vector<Episode> episodes;
    double sum = 0;
    for (uint64_t e = 0; e < 48; ++e) {
      episodes.push_back(PlayEpisode(policy, *problem, round * 100 + e, options));
      for (const Sample& sample : episodes.back().samples) sum += sample.reward;
    }
    rewards.push_back(sum / 48);
    double mean = 0, count = 0;
    std::vector<const Sample*> samples;
    for (Episode& episode : episodes) {
      for (Sample& sample : episode.samples) {
        mean += sample.advantage;
        ++count;
        samples.push_back(&sample);
      }
    }
    for (Episode& episode : episodes) {
      for (Sample& sample : episode.samples) sample.advantage -= mean / count;
    }
    for (int epoch = 0; epoch < 4; ++epoch) learner.Update(samples, {.rate = 5e-3});
    learner.Save(&state);
  }
  // A reward is -1 for 8 cycles. Random choices waste about ten cycles.
  EXPECT_LT(rewards.front(), -0.8);
  EXPECT_GT(rewards.back(), rewards.front() / 2);
}

TEST(Training, WithoutTheMaskAForbiddenCellEndsTheEpisode) {
  TrainOptions options = SmallOptions();
  options.mask = false;
  const Policy policy(InitialWeights({}, 1));
  int ended = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TrainingProblem problem = DrawTrainingProblem(seed, {}, 12);
    const Episode episode = PlayEpisode(policy, problem, seed, options);
    const Sample& last = episode.samples.back();
    EXPECT_EQ(std::ssize(last.step.choices), problem.problem->tiles() * problem.interval);
    if (last.step.is_allowed[static_cast<size_t>(last.choice)]) continue;
    ++ended;
    EXPECT_FALSE(episode.complete);
    EXPECT_DOUBLE_EQ(last.reward, -options.lambda / 8);
  }
  EXPECT_GT(ended, 10);
}

TEST(Curve, IsWrittenAsCsvAndPicture) {
  const std::vector<CurvePoint> curve = {
      {.iteration = 1, .steps = 100, .reward = -2.5, .mapped = 0.5, .latency = 1.5, .entropy = 3},
      {.iteration = 2, .steps = 200, .reward = -1.25, .mapped = 1, .latency = 1.25, .entropy = 2}};
  EXPECT_EQ(CurveCsv(curve),
            "iteration,steps,reward,mapped,latency_over_bound,entropy,policy_loss,value_loss\n"
            "1,100,-2.5000,0.5000,1.5000,3.0000,0.00000,0.00000\n"
            "2,200,-1.2500,1.0000,1.2500,2.0000,0.00000,0.00000\n");
  const std::string svg = CurveSvg(curve);
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  // The second point: the right end, all mapped at the top, half of the greatest latency.
  EXPECT_THAT(svg, testing::HasSubstr("584.0,24.0 \""));
  EXPECT_THAT(svg, testing::HasSubstr("584.0,132.0 \""));
}

}  // namespace
}  // namespace kiln::cgra
