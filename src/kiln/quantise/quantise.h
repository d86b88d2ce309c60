// Post-training quantisation: from a float graph and calibration data to the same graph with annotations.
#ifndef KILN_QUANTISE_QUANTISE_H_
#define KILN_QUANTISE_QUANTISE_H_

#include "kiln/ir/graph.h"
#include "kiln/quantise/calibration_data.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

// A clone of `graph` whose values carry the codes that hardware shall hold them in (Value::quantisation).
//   activations   fp32 inputs and results, per tensor; which stay fp32 and which share an annotation is told in
//                 shared_values.h
//   weights       constant operands of Conv, ConvTranspose, Gemm and MatMul, along their output channels (weights.h). A
//                 constant that other nodes use in another way, too, is given to the node as one of its own.
//   biases, and constants of other operators, stay fp32.
// Annotations that `graph` carries already stand, whatever the recipe's formats; `own_parameters: replace` drops them
// first.
//   errors  name the value: missing in the calibration data, NaN or infinite; a layer entry that matches no node
StatusOr<Graph> Quantise(const Graph& graph, const Recipe& recipe, const CalibrationData& data);

// How many values carry an annotation, for reports.
struct QuantisedCount {
  int64_t activations = 0;
  int64_t weights = 0;       // constants
  int64_t float_values = 0;  // fp32 inputs and results without
};
QuantisedCount CountQuantised(const Graph& graph);

}  // namespace kiln

#endif  // KILN_QUANTISE_QUANTISE_H_
