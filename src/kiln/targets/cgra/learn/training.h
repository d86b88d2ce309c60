// What a training is asked for, and its course. The training itself is in learn/train, a program of
// its own, because it alone needs libtorch.
#ifndef KILN_TARGETS_CGRA_LEARN_TRAINING_H_
#define KILN_TARGETS_CGRA_LEARN_TRAINING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/learn/weights.h"

namespace kiln::cgra {

struct PpoOptions {
  double clip = 0.2;            // of the ratio of probabilities
  double entropy = 0.01;        // weight of the entropy over allowed cells
  double value = 0.5;           // weight of the critic's squared error
  double rate = 1e-3;           // of Adam
  double gradient_limit = 0.5;  // norm above which gradients are scaled down
};

struct TrainOptions {
  uint64_t seed = 1;
  int iterations = 200;  // of the whole training; the learning rate falls to 0 towards its end
  int problems = 24;     // of an iteration
  int episodes = 8;      // of each problem
  int epochs = 3;        // how often an iteration uses its steps
  int minibatch = 1024;  // steps
  int most_instructions = 32;
  int most_tiles = 32;
  double discount = 1, gae_lambda = 0.95;
  double lambda = 40;  // the penalty of an episode that cannot go on, in cycles
  // Weights of the two rewards: the specification's, the cycles since the latest predecessor, and
  // the cycles by which the bound of the latency grows, whose sum is the latency less its least.
  double delay_weight = 0.1, bound_weight = 1;
  bool mask = true;        // off: all cells are choices, and a forbidden one ends the episode
  bool look_ahead = true;  // of the mask (EnvironmentOptions)
  PolicyShape shape;
  PpoOptions ppo;
  std::vector<ComputationGraph> graphs;  // beside random ones
  int threads = 1;                       // of libtorch; the result depends on it
};

// A point of the training's curve.
struct CurvePoint {
  int iteration = 0;
  int64_t steps = 0;   // of episodes, so far
  double reward = 0;   // mean of an episode
  double mapped = 0;   // share of episodes that placed all instructions
  double latency = 0;  // of these: geometric mean of latency over its bound
  double entropy = 0, policy_loss = 0, value_loss = 0;
};

// Return a curve as CSV and as a picture of shares of mapped episodes and latencies by steps.
std::string CurveCsv(const std::vector<CurvePoint>& curve);
std::string CurveSvg(const std::vector<CurvePoint>& curve);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_TRAINING_H_
