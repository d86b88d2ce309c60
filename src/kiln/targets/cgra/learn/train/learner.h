// One update of proximal policy optimisation (J. Schulman et al., "Proximal Policy Optimization
// Algorithms", arXiv 1707.06347) on the policy network of learn/policy.h. Gradients come from
// libtorch, which only learner.cc includes.
#ifndef KILN_TARGETS_CGRA_LEARN_TRAIN_LEARNER_H_
#define KILN_TARGETS_CGRA_LEARN_TRAIN_LEARNER_H_

#include <memory>
#include <span>
#include <vector>

#include "kiln/targets/cgra/learn/features.h"
#include "kiln/targets/cgra/learn/training.h"
#include "kiln/targets/cgra/learn/weights.h"

namespace kiln::cgra {

// A step of an episode with what was done and what came of it.
struct Sample {
  const GraphFeatures* graph = nullptr;
  StepFeatures step;
  int choice = 0;              // index into step.choices
  double log_probability = 0;  // of the choice, when it was made
  double value = 0;            // what the critic said then
  double reward = 0;
  double advantage = 0;  // of GeneralisedAdvantages
  double target = 0;     // of the critic: advantage + value
};

// Fills in advantages and targets of the steps of one episode, which ends after the last one
// (J. Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage
// Estimation", arXiv 1506.02438).
void GeneralisedAdvantages(double discount, double lambda, std::span<Sample> episode);

struct PpoLosses {
  double policy = 0;   // mean of -min(ratio * advantage, clipped ratio * advantage)
  double value = 0;    // mean squared error of the critic
  double entropy = 0;  // mean, over the choices of each step
  double change = 0;   // mean of log_probability - new log probability
};

class Learner {
 public:
  // Begins with a state; moments may be empty. `threads` is what libtorch may use; the result
  // depends on it.
  explicit Learner(const TrainingState& state, int threads = 1);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // Returns the losses of samples, and log probabilities and values under the present weights.
  PpoLosses Losses(std::span<const Sample* const> samples, const PpoOptions& options,
                   std::vector<double>* log_probabilities = nullptr,
                   std::vector<double>* values = nullptr) const;
  // Takes one step of Adam down the gradient of
  //   policy + options.value * value - options.entropy * entropy.
  PpoLosses Update(std::span<const Sample* const> samples, const PpoOptions& options);

  // Writes weights and moments into a state.
  void Save(TrainingState* state) const;

 private:
  struct Network;
  std::unique_ptr<Network> network_;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_TRAIN_LEARNER_H_
