// Operators of Kiln's graphs that opset 21 of ONNX lacks, written out for export.
#ifndef KILN_FRONTEND_ONNX_EXPAND_H_
#define KILN_FRONTEND_ONNX_EXPAND_H_

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// Whether ExpandForOnnx would change the graph.
bool NeedsExpansion(const Graph& graph);

// Replaces every RmsNormalization by x / sqrt(mean(x * x) + epsilon) * scale, which the pass recognise-rms-norm finds
// again. Names and annotations of results stay.
//   errors  an axis that is counted from the front in a tensor of unknown rank
Status ExpandForOnnx(Graph& graph);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_EXPAND_H_
