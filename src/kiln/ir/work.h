// How much work a node is, and how many parameters a graph has: figures for reports, utilisation and rooflines.
#ifndef KILN_IR_WORK_H_
#define KILN_IR_WORK_H_

#include <cstdint>

#include "kiln/ir/graph.h"

namespace kiln {

// Multiply-accumulates of convolutions and matrix products, padding included: every window position counts, as
// published figures have it (ResNet-20 on 32x32: 40.55 million with its shortcuts of option A). 0 for other operators
// and where the operand shapes are not known or do not fit; an unknown leading (batch) dimension counts as 1. Numbers
// above int64 saturate.
int64_t MacsOf(const Node& node);

// MacsOf where the operator has MACs; else elementary operations: one a result element for element-wise operators, one
// a window position for pools, one an operand element for reductions and normalisations, 0 for moving data.
int64_t OperationsOf(const Node& node);

int64_t MacsOf(const Graph& graph);

// Elements of the constants that nodes compute with: weights, biases, scales; not the lists of axes, shapes and indices
// that only steer an operator. A constant used twice counts once.
int64_t ParametersOf(const Graph& graph);
// The bytes these take in hardware: whole bits of the annotated format, rounded up a constant, or else those of the
// element type. Scales of an annotation are not counted.
int64_t ParameterBytesOf(const Graph& graph);

}  // namespace kiln

#endif  // KILN_IR_WORK_H_
