// Writes out operators of Kiln's graphs that ONNX's opset 21 lacks, before export.
#ifndef KILN_FRONTEND_ONNX_EXPAND_H_
#define KILN_FRONTEND_ONNX_EXPAND_H_

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// Returns true if ExpandForOnnx would change the graph.
bool NeedsExpansion(const Graph& graph);

// Replaces every RmsNormalization by x / sqrt(mean(x * x) + epsilon) * scale, which the pass
// recognise-rms-norm finds again. Names and annotations of results are kept.
//   errors  an axis counted from the front of a tensor of unknown rank
Status ExpandForOnnx(Graph& graph);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_EXPAND_H_
