// Prediction of maximum pooling: after some steps, candidates of a pool that lie far behind the
// best one are not refined any further.
#ifndef KILN_TARGETS_BINARY_PREDICT_POOLING_H_
#define KILN_TARGETS_BINARY_PREDICT_POOLING_H_

#include <cstdint>
#include <span>

#include "kiln/targets/binary/predict/step_sums.h"

namespace kiln::binary {

// Square pools without padding; candidates that no pool covers are left out.
struct PoolShape {
  int64_t size = 2;
  int64_t stride = 2;
};

struct PoolReport {
  int64_t pools = 0;
  int64_t candidates = 0;  // of all pools
  int64_t skipped = 0;     // candidates that are not refined
  int64_t wrong = 0;       // pools whose greatest candidate was skipped and whose value changed
  double lost = 0;         // by how much these are too low, in units of S
  int64_t steps_done = 0;  // of all candidates
  int64_t steps_total = 0;
  bool exact = false;  // the lead is at least ExactLead

  double saved() const {
    return 1 - static_cast<double>(steps_done) / static_cast<double>(steps_total);
  }
};

// Returns the least lead for which no maximum can change: the most by which the steps from
// `decision` on can bring a candidate closer to another one, in units of StepSums. With one plane
// and two digits this is 15 times the weights of a window, or 15/16 of that in units of H.
int64_t ExactLead(const StepSums& sums, std::span<const Step> order, int decision);

// Computes `decision` steps of all candidates, and the others only of candidates that are at most
// `lead` below the best of their pool. A candidate counts once for each pool that it is in.
PoolReport PredictMaximum(const StepSums& sums, std::span<const Step> order, int decision,
                          int64_t lead, const PoolShape& pool);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_PREDICT_POOLING_H_
