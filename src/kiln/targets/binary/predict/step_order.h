// The order of steps with the least expected work, for exact prediction.
#ifndef KILN_TARGETS_BINARY_PREDICT_STEP_ORDER_H_
#define KILN_TARGETS_BINARY_PREDICT_STEP_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/binary/predict/step_sums.h"

namespace kiln::binary {

// The best order, with the size of the search.
struct StepOrder {
  std::vector<Step> order;
  double cost = 0;     // mean cost of an output on the data
  int64_t states = 0;  // sets of steps that were evaluated
  double orders = 0;   // valid orders that the search covers
};

// Returns a valid order (IsValidOrder) with the least mean cost on `sums` of all valid orders.
// Entry i of `costs` belongs to step (i / digits, i % digits); an output pays for a step only while
// it is undecided by `bound`. The bound of the remaining steps depends only on the set of steps
// that are done, and never grows. A shortest path over these sets is therefore optimal. For 16
// planes and 4 digits there are at most 4,845 sets, while the number of valid orders is far larger.
StepOrder BestOrder(const StepSums& sums, Bound bound, std::span<const double> costs);

// Returns the mean cost of an output in a valid order.
double CostOfOrder(const StepSums& sums, Bound bound, std::span<const double> costs,
                   std::span<const Step> order);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_PREDICT_STEP_ORDER_H_
