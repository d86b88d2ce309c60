// Lowering: turns an annotated graph into layers (network.h). Expects a graph that went through the
// standard and layout pipelines (passes/pipeline.h).
//
//   convolution   Conv, MatMul, with constant weights and a chain of constants per channel, Relu and
//                 Clip behind it
//   depthwise     depthwise Conv, AveragePool, products and sums with a constant per channel
//   max_pool      MaxPool; Slice with a step
//   global_sum    GlobalAveragePool, ReduceMean over all pixels
//   affine        Add, Sub of two values
//   table         chains of functions of one value
//   concat, pad, rearrange   Concat of channels, Pad, Resize to nearest by whole factors,
//                 DepthToSpace
//   a view, no layer         Transpose, Reshape, ...
//   the host, with a reason  everything else
//
// Values that the machine reads must be annotated with integers of at most 16 bits and one scale.
// Only results of layers are rounded to their annotation, values inside a layer never are.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_LOWER_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_LOWER_H_

#include "kiln/ir/graph.h"
#include "kiln/targets/dataflow/compile/network.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln::dataflow {

// Lowers a graph. Errors: an unknown shape; if options.host_fallback is false, the first node that
// the host would have to run.
StatusOr<Lowered> Lower(const Graph& graph, const Config& config, const CompileOptions& options);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_LOWER_H_
