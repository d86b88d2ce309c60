// The work of nodes and the number of parameters of graphs, for reports, utilisation and rooflines.
//
// All counts follow from shapes alone, before any accelerator is chosen.
#ifndef KILN_IR_WORK_H_
#define KILN_IR_WORK_H_

#include <cstdint>

#include "kiln/ir/graph.h"

namespace kiln {

// Returns the multiply-accumulates of a node:
//   convolutions      batch * output positions * kernel positions * in_channels / groups *
//                     out_channels
//   ConvTranspose     the same with input positions
//   matrix products   result elements * length of the inner axis
//   RNN, GRU, LSTM    steps * batch * (elements of W + elements of R)
//   Einsum            combinations of labels * (operands - 1)
//   other operators   0
// Padding is included: every window position counts, as in published figures (ResNet-20 on 32x32:
// 40.55 million with shortcuts of option A). Returns 0 if operand shapes are unknown or do not fit.
// An unknown first (batch) dimension counts as 1. Saturates at the limits of int64_t.
int64_t MacsOf(const Node& node);

// Returns MacsOf for operators with MACs, otherwise the number of elementary operations: one per
// result element of element-wise operators, one per window position of pools, one per operand
// element of reductions and normalisations, 0 for data movement.
int64_t OperationsOf(const Node& node);

// Returns the sum over all nodes.
int64_t MacsOf(const Graph& graph);

// Returns the number of elements in constants that nodes compute with: weights, biases, scales, but
// not lists of axes, shapes and indices, nor scales and zero points of quantisers. A constant with
// several uses counts once.
int64_t ParametersOf(const Graph& graph);
// Returns the bytes of those constants in hardware: the bits of the annotated format, rounded up to
// bytes per constant, or the element type's bytes without an annotation. Excludes the scales of
// annotations and of quantisers.
int64_t ParameterBytesOf(const Graph& graph);

}  // namespace kiln

#endif  // KILN_IR_WORK_H_
