// Networks without their weights: shapes, schedules and cycle counts need none.
#ifndef KILN_PASSES_ABSENT_WEIGHTS_H_
#define KILN_PASSES_ABSENT_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// Gives made-up values to the inputs of a graph that stand where weights belong: of known shape, fp32, not the first
// input, and used (perhaps through Identity, Reshape or Transpose) as nothing but weights, biases and parameters of
// convolutions, matrix products and normalisations. The values are uniform within +-sqrt(3 / fan-in), scales and
// variances within [0.5, 1.5), a pure function of the input's position and `seed`; what is computed with them means
// nothing.
//   returns   the names of the inputs that became constants, in order
std::vector<std::string> BindAbsentWeights(Graph& graph, uint64_t seed = 1);

}  // namespace kiln

#endif  // KILN_PASSES_ABSENT_WEIGHTS_H_
