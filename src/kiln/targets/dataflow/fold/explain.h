// Why no fold is faster, or none fits at all, in terms of layers and limits.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_EXPLAIN_H_
#define KILN_TARGETS_DATAFLOW_FOLD_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "kiln/targets/dataflow/fold/exact_oracle.h"
#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

// The first reason found, in the order of BoundSource, why no fold within a period is valid.
struct Obstacle {
  BoundSource source = BoundSource::kCombination;
  int layer = -1, resource = -1;
  int64_t needs = 0, limit = 0;
  std::string text;  // one line that names the layer and the limit
};

// Explains why no fold takes at most `period` cycles, which must be proved already.
//   named_period  the text says "within .. cycles"; otherwise the period does not limit any layer
Obstacle FindObstacle(const FoldModel& model, ExactOracle& oracle, int64_t period,
                      bool named_period);

// Returns the least amount of a resource among the folds within a period that meet all other
// limits; absent if there is no such fold or the work budget ended.
std::optional<int64_t> LeastAmount(ExactOracle& oracle, int64_t period, int kind);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_EXPLAIN_H_
