// Simulated quantisation: a float graph that rounds values to codes wherever a quantised graph has
// annotations.
//
// It gives quick estimates of accuracy without an accelerator, for bias correction, the
// mixed-precision search and tests. It is not bit-accurate: sums are taken in fp32, and every
// annotation rounds, even if a family would fuse operators and skip the value between them.
#ifndef KILN_QUANTISE_SIMULATE_H_
#define KILN_QUANTISE_SIMULATE_H_

#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// A value that a simulation rounds.
struct SimulatedRounding {
  const Value* value;    // in the quantised graph
  const Value* rounded;  // in the simulated graph: the value after rounding
};

// Returns whether the value is only used inside a fused kernel: between a multiply-accumulate node
// and the element-wise nodes that follow it (bias, residual, activation). Families run these as one
// kernel, which rounds only its last value.
bool IsInsideKernel(const Graph& graph, const Value& value);

// Returns a clone without annotations that the reference level can run. Annotated constants are
// replaced by the values of their codes. A Quantise node (to the nearest code and back, under any
// format and scheme) follows every other annotated value, unless the value is made from values on
// the same grid by moving elements, or is inside a kernel.
//   roundings  receives the values that get a Quantise node, in the order of Graph::Values
//   errors     an annotation that does not fit its value (VerifyQuantisation)
StatusOr<Graph> SimulateQuantisation(const Graph& quantised,
                                     std::vector<SimulatedRounding>* roundings = nullptr);

}  // namespace kiln

#endif  // KILN_QUANTISE_SIMULATE_H_
