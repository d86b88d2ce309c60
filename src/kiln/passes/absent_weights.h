// Makes networks without weights usable: shapes, schedules and cycle counts do not depend on the
// weights' values, so models published without them can still be compiled and timed.
#ifndef KILN_PASSES_ABSENT_WEIGHTS_H_
#define KILN_PASSES_ABSENT_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// Binds made-up values to the graph inputs that are weights. An input is a weight if it is fp32,
// has a known shape, is not the first input, and is used (possibly through Identity, Reshape or
// Transpose) only as weight, bias or parameter of convolutions, matrix products and normalisations.
// The values are uniform within +-sqrt(3 / fan-in), scales and variances within [0.5, 1.5); they
// depend only on the input's position and on `seed`. Results computed with them have no meaning.
//   returns   the names of the inputs that became constants, in order
std::vector<std::string> BindAbsentWeights(Graph& graph, uint64_t seed = 1);

}  // namespace kiln

#endif  // KILN_PASSES_ABSENT_WEIGHTS_H_
