// The sum or maximum of a word's lanes as the functional level finds it. The cycle level has its own (cycle_vector.cc).
#ifndef KILN_TARGETS_SYSTOLIC_REDUCE_TREE_H_
#define KILN_TARGETS_SYSTOLIC_REDUCE_TREE_H_

#include <cstddef>
#include <span>

#include "kiln/targets/systolic/arithmetic.h"

namespace kiln::systolic {

// Combines the lane partials as a tree, in place; `lanes` has the length of lanes rounded up to a power of two, missing
// lanes neutral (-infinity: the least number, where the vector format has no infinity). An empty span gives the neutral
// element.
inline float ReduceTree(const Numbers& numbers, Reduce reduce, std::span<float> lanes) {
  if (lanes.empty()) return NeutralOf(numbers, reduce);
  for (size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = Join(numbers, reduce, lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_REDUCE_TREE_H_
