// The central step of post-training quantisation: turns a float graph and calibration data into the
// same graph with annotations.
//
// It decides which values are quantised (shared_values.h), which of them are held in blocks
// (block_axes.h) and at which scale (range.h).
#ifndef KILN_QUANTISE_QUANTISE_H_
#define KILN_QUANTISE_QUANTISE_H_

#include "kiln/ir/graph.h"
#include "kiln/quantise/calibration_data.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

// Returns a clone of `graph` whose values are annotated with the codes in which hardware holds them
// (Value::quantisation).
//   activations   fp32 inputs and results, per tensor; shared_values.h says which values stay fp32
//                 and which share an annotation
//   weights       constant operands of Conv, ConvTranspose, Gemm and MatMul, along their output
//                 channels (weights.h). If other nodes use the constant in another way, the node is
//                 given a copy of its own.
//   biases, and constants of other operators, stay fp32 (biases are rounded if the recipe says so).
// Annotations that `graph` carries already are kept, whatever the recipe's formats, unless the
// recipe says `own_parameters: replace`.
//   errors  a value without calibration data; NaN or infinite weights; a layer entry that matches
//           no node. The message names the value or the entry.
StatusOr<Graph> Quantise(const Graph& graph, const Recipe& recipe, const CalibrationData& data);

// The number of values with and without annotation, for reports.
struct QuantisedCount {
  int64_t activations = 0;
  int64_t weights = 0;       // annotated constants
  int64_t float_values = 0;  // fp32 inputs and results without annotation
  bool any() const { return activations + weights > 0; }
};
QuantisedCount CountQuantised(const Graph& graph);

}  // namespace kiln

#endif  // KILN_QUANTISE_QUANTISE_H_
