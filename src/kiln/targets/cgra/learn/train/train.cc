// The loop of training: episodes, advantages, updates.

#include "kiln/targets/cgra/learn/train/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/learn/ppo_mapper.h"
#include "kiln/targets/cgra/learn/protocol.h"

namespace kiln::cgra {
namespace {

constexpr double kRewardCycles = 8;  // cycles that count as a reward of -1

// Makes the advantages of all steps have mean 0 and variance 1.
void NormaliseAdvantages(std::vector<Episode>* episodes) {
  double sum = 0, squares = 0, count = 0;
  for (const Episode& episode : *episodes) {
    for (const Sample& sample : episode.samples) {
      sum += sample.advantage;
      squares += sample.advantage * sample.advantage;
      ++count;
    }
  }
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(squares / count - mean * mean, 0.0)) + 1e-8;
  for (Episode& episode : *episodes) {
    for (Sample& sample : episode.samples) {
      sample.advantage = (sample.advantage - mean) / deviation;
    }
  }
}

// Updates the learner with all steps, in a random order, several times.
PpoLosses Learn(const TrainOptions& options, const PpoOptions& ppo, uint64_t seed,
                const std::vector<Episode>& episodes, Learner* learner) {
  std::vector<const Sample*> samples;
  for (const Episode& episode : episodes) {
    for (const Sample& sample : episode.samples) samples.push_back(&sample);
  }
  Random random(seed);
  const auto size = static_cast<size_t>(options.minibatch);
  const size_t batches = std::max<size_t>(1, (samples.size() + size / 2) / size);
  PpoLosses mean;
  int updates = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    for (size_t i = samples.size(); i > 1; --i) std::swap(samples[i - 1], samples[random.Below(i)]);
    for (size_t batch = 0; batch < batches; ++batch) {
      const size_t begin = samples.size() * batch / batches;
      const size_t end = samples.size() * (batch + 1) / batches;
      const PpoLosses losses = learner->Update(std::span(samples).subspan(begin, end - begin), ppo);
      mean.policy += losses.policy;
      mean.value += losses.value;
      mean.entropy += losses.entropy;
      ++updates;
    }
  }
  mean.policy /= updates;
  mean.value /= updates;
  mean.entropy /= updates;
  return mean;
}

// Episodes of one problem are consecutive, `per_problem` each.
CurvePoint PointOf(const std::vector<Episode>& episodes,
                   const std::vector<TrainingProblem>& problems, int per_problem) {
  CurvePoint point;
  double logs = 0;
  int mapped = 0;
  for (size_t e = 0; e < episodes.size(); ++e) {
    const Episode& episode = episodes[e];
    for (const Sample& sample : episode.samples) point.reward += sample.reward;
    if (!episode.complete) continue;
    ++mapped;
    const int bound = problems[e / static_cast<size_t>(per_problem)].latency_bound;
    logs += std::log(static_cast<double>(episode.latency) / std::max(bound, 1));
  }
  const auto count = static_cast<double>(episodes.size());
  point.reward /= count;
  point.mapped = mapped / count;
  point.latency = mapped > 0 ? std::exp(logs / mapped) : 0;
  return point;
}

}  // namespace

Episode PlayEpisode(const Policy& policy, const TrainingProblem& problem, uint64_t seed,
                    const TrainOptions& options) {
  Random random(seed);
  Environment environment(*problem.problem, problem.interval,
                          {.look_ahead = options.look_ahead && options.mask,
                           .lambda = options.lambda,
                           .order = problem.order});
  const GraphFeatures& graph = problem.observer->graph();
  const Encoding encoding = policy.Encode(graph);
  Episode episode;
  while (environment.instruction() >= 0) {
    Sample sample;
    sample.graph = &graph;
    const bool source = problem.problem->source[static_cast<size_t>(environment.instruction())];
    sample.step = problem.observer->Observe(environment, !options.mask);
    const Judgement judgement = policy.Judge(graph, encoding, sample.step, true);
    sample.choice = DrawnFrom(judgement.logits, 1, &random);
    const auto choice = static_cast<size_t>(sample.choice);
    sample.value = judgement.value;
    sample.log_probability = std::log(ProbabilitiesOf(judgement.logits)[choice]);
    double cycles = 0;
    if (sample.step.is_allowed[choice]) {
      const Environment::Outcome outcome = environment.Step(sample.step.choices[choice]);
      // What no choice can avoid is left out.
      const int least = source ? 0 : problem.problem->config.pipeline_latency;
      cycles = -options.delay_weight * (outcome.delay - least) -
               options.bound_weight * outcome.lengthened;
      if (environment.stuck()) cycles -= options.lambda;
    } else {
      cycles = environment.Abandon();
    }
    sample.reward = cycles / kRewardCycles;
    episode.samples.push_back(std::move(sample));
  }
  episode.complete = environment.complete();
  if (episode.complete) episode.latency = environment.placement().Latency();
  GeneralisedAdvantages(options.discount, options.gae_lambda, episode.samples);
  return episode;
}

TrainingState BeginTraining(const TrainOptions& options) {
  TrainingState state;
  state.weights = InitialWeights(options.shape, options.seed);
  state.numbers = {{"iteration", 0}, {"seed", options.seed}, {"steps", 0}, {"updates", 0}};
  RecordOptions(options, &state);
  return state;
}

// One iteration: draw the problems, play the episodes in parallel with the weights of the last
// iteration, normalise the advantages, update. Every problem and episode has a seed of its own made
// from the iteration's, so the number of threads of this loop does not change the result.
Status Train(const TrainOptions& options, TrainingState* state,
             const std::function<bool(const CurvePoint&)>& go_on) {
  KILN_RETURN_IF_ERROR(CheckResumed(options, *state, ""));
  Learner learner(*state, options.threads);
  while (state->numbers["iteration"] < static_cast<uint64_t>(options.iterations)) {
    const uint64_t iteration = state->numbers["iteration"];
    const uint64_t seed = MixBits(MixBits(options.seed) + iteration);
    const Policy policy(state->weights);
    const auto count = static_cast<size_t>(options.problems);
    std::vector<TrainingProblem> problems(count);
    std::vector<Episode> episodes(count * static_cast<size_t>(options.episodes));
    ParallelFor(options.problems, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        problems[static_cast<size_t>(p)] =
            DrawTrainingProblem(MixBits(seed + static_cast<uint64_t>(p)), options.graphs,
                                options.most_instructions, options.most_tiles);
      }
    });
    ParallelFor(std::ssize(episodes), 1, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        episodes[static_cast<size_t>(e)] =
            PlayEpisode(policy, problems[static_cast<size_t>(e / options.episodes)],
                        MixBits(~seed + static_cast<uint64_t>(e)), options);
      }
    });
    CurvePoint point = PointOf(episodes, problems, options.episodes);
    NormaliseAdvantages(&episodes);
    PpoOptions ppo = options.ppo;
    ppo.rate *= 1 - static_cast<double>(iteration) / options.iterations;
    const PpoLosses losses = Learn(options, ppo, seed, episodes, &learner);
    learner.Save(state);
    for (const Episode& episode : episodes) state->numbers["steps"] += episode.samples.size();
    state->numbers["iteration"] = iteration + 1;
    point.iteration = static_cast<int>(iteration) + 1;
    point.steps = static_cast<int64_t>(state->numbers["steps"]);
    point.entropy = losses.entropy;
    point.policy_loss = losses.policy;
    point.value_loss = losses.value;
    if (go_on && !go_on(point)) break;
  }
  return OkStatus();
}

}  // namespace kiln::cgra
