// Trains policies by proximal policy optimisation.
//
// Everything that an iteration does follows from the seed, the number of the iteration, and the
// state before it, so that interrupted training gives the result of uninterrupted training.
#ifndef KILN_TARGETS_CGRA_LEARN_TRAIN_TRAIN_H_
#define KILN_TARGETS_CGRA_LEARN_TRAIN_TRAIN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/learn/policy.h"
#include "kiln/targets/cgra/learn/train/curriculum.h"
#include "kiln/targets/cgra/learn/train/learner.h"
#include "kiln/targets/cgra/learn/training.h"

namespace kiln::cgra {

// Plays one episode; the samples refer to the problem's observer.
struct Episode {
  std::vector<Sample> samples;
  bool complete = false;
  int latency = 0;
};
Episode PlayEpisode(const Policy& policy, const TrainingProblem& problem, uint64_t seed,
                    const TrainOptions& options);

// Returns the state before the first iteration.
TrainingState BeginTraining(const TrainOptions& options);
// Trains from a state to the end of `options.iterations`, or until `go_on`, which is called after
// each iteration, returns false. Errors: a state of a training with other options (CheckResumed),
// or with all its iterations behind it.
Status Train(const TrainOptions& options, TrainingState* state,
             const std::function<bool(const CurvePoint&)>& go_on);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_TRAIN_TRAIN_H_
