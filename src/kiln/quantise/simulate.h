// Simulated quantisation: a float graph that rounds values to codes wherever a quantised graph has
// annotations.
//
// It gives quick estimates of accuracy without an accelerator, for bias correction, the
// mixed-precision search and tests. It is not bit-accurate: sums are taken in fp32, and every
// annotation rounds, even if a family would fuse operators and skip the value between them.
#ifndef KILN_QUANTISE_SIMULATE_H_
#define KILN_QUANTISE_SIMULATE_H_

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// Returns a clone without annotations that the reference level can run. Annotated constants are
// replaced by the values of their codes. A Quantise node (to the nearest code and back, under any
// format and scheme) follows every other annotated value, unless the value is made from values on
// the same grid by moving elements.
//   errors  an annotation that does not fit its value (VerifyQuantisation)
StatusOr<Graph> SimulateQuantisation(const Graph& quantised);

}  // namespace kiln

#endif  // KILN_QUANTISE_SIMULATE_H_
