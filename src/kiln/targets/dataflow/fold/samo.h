// The three searches of SAMO, as baselines.
//
// Source: A. Montgomerie-Corcoran, Z. Yu, C.-S. Bouganis, "SAMO: Optimised Mapping of Convolutional
// Neural Networks to Streaming Architectures", FPL 2022, and its public description. A search works
// on one device (SAMO can also reconfigure it between parts of the network; see split.h). When the
// fold of a layer changes, its neighbours follow so that the lanes couple.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_SAMO_H_
#define KILN_TARGETS_DATAFLOW_FOLD_SAMO_H_

#include <cstdint>

#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

struct SamoOptions {
  int64_t most_folds = 1000000;  // of the brute force
  uint64_t seed = 1;             // of the annealing
  // Annealing: the temperature falls from `hottest` to `coldest` by `cooling` each step; it is
  // relative to the cost, L_max or the first term of the objective. Each step makes `changes`
  // changes of random layers before the fold is judged.
  double hottest = 1.0, coldest = 1e-4, cooling = 0.999;
  int changes = 1;
};

// Each finds a fold by its rule, from the smallest fold that couples. Without a fold in the result
// it found none, which proves nothing. Deterministic.
// Errors: CheckProblem's and CheckObjective's; temperatures that do not fall.

// Enumerates folds, the first layer's slowest changing, until the number of folds is exhausted.
StatusOr<FoldResult> SolveSamoBruteForce(const FoldProblem& problem, const Objective& objective,
                                         const SamoOptions& options = {});

// Simulated annealing: random changes, accepted if they improve the cost, or by chance.
StatusOr<FoldResult> SolveSamoAnnealing(const FoldProblem& problem, const Objective& objective,
                                        const SamoOptions& options = {});

// Unfolds the slowest layer again and again: of the folds with the two next smaller numbers of
// cycles, the one that leaves the least of the device in use; until none fits or the target is met.
StatusOr<FoldResult> SolveSamoRule(const FoldProblem& problem, const Objective& objective,
                                   const SamoOptions& options = {});

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_SAMO_H_
