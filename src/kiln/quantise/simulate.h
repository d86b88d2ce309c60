// Simulated quantisation: a float graph that rounds values to codes wherever a quantised graph is annotated.
//
// For quick estimates of accuracy without an accelerator, and for tests. It is not bit-accurate: sums are taken in
// fp32, and every annotation rounds, also where a family would fuse operators and skip the value between them.
#ifndef KILN_QUANTISE_SIMULATE_H_
#define KILN_QUANTISE_SIMULATE_H_

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// A clone without annotations that the reference level runs. Annotated constants hold the values of their codes; behind
// every other annotated value stands a Quantise node (to the nearest code and back, under any format and scheme),
// except where a value is made of values on the same grid by moving them.
//   errors  an annotation that does not fit its value (VerifyQuantisation)
StatusOr<Graph> SimulateQuantisation(const Graph& quantised);

}  // namespace kiln

#endif  // KILN_QUANTISE_SIMULATE_H_
