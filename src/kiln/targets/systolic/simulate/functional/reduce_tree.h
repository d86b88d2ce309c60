// The sum or maximum of a word's lanes in the functional level. The cycle level has its own
// implementation (cycle_vector.cc).
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_REDUCE_TREE_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_REDUCE_TREE_H_

#include <cstddef>
#include <span>

#include "kiln/targets/systolic/simulate/arithmetic.h"

namespace kiln::systolic {

// Combines the lane partials as a tree, in place. The length of `lanes` is the number of lanes
// rounded up to a power of two; missing lanes are neutral (-infinity, or the least number if the
// vector format has no infinity). An empty span gives the neutral element.
inline float ReduceTree(const Numbers& numbers, Reduce reduce, std::span<float> lanes) {
  if (lanes.empty()) return NeutralOf(numbers, reduce);
  for (size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = Join(numbers, reduce, lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_REDUCE_TREE_H_
