// The problems that a policy is trained on.
#ifndef KILN_TARGETS_CGRA_LEARN_TRAIN_CURRICULUM_H_
#define KILN_TARGETS_CGRA_LEARN_TRAIN_CURRICULUM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/learn/features.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// A problem at an interval, with what all of its episodes share.
struct TrainingProblem {
  std::unique_ptr<const Problem> problem;
  int interval = 0;
  std::vector<int> order;
  std::unique_ptr<const Observer> observer;
  int latency_bound = 0;  // LeastLatency
};

// Returns a problem for training; nothing if it has no mapping for a reason that is known before.
std::optional<TrainingProblem> MakeTrainingProblem(const ComputationGraph& graph,
                                                   const Config& config, int interval, bool fuse);

// Returns a random graph of 4 to `most` instructions, a function of the seed: chains, trees and
// meshes of integer operators in one or two flows, with shared variables and values for later
// threads in some.
ComputationGraph RandomLearningGraph(uint64_t seed, int most);

// Returns the next problem of a seed: a random graph or, one in four times, one of `graphs`, on a
// row of 8, 16 or 32 tiles, at most `most_tiles`, at the least interval or one or two cycles above.
TrainingProblem DrawTrainingProblem(uint64_t seed, std::span<const ComputationGraph> graphs,
                                    int most_instructions, int most_tiles = 32);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_TRAIN_CURRICULUM_H_
