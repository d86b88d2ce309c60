// Lowering: turns an annotated graph into layers (layers.h). Expects a graph that went through the
// standard and layout pipelines (passes/pipeline.h).
//
//   MatrixLayer   Conv, MatMul, average pools, Pad of channels; with a constant bias, a residual
//                 and Relu or Clip
//   VectorLayer   Add, Sub, Mul, Max, Min, Div by a number, Relu, Clip, LeakyRelu, Abs, Neg,
//                 HardSigmoid, HardSwish, MaxPool, Pad of pixels, and average pools that do not fit
//                 the GEMM unit
//   none to several layers   Concat of channels: one for each operand that is located elsewhere
//   a view, no layer         Transpose, Reshape, Slice, ...
//   the host, with a reason  everything else
//
// Values that the machine reads must be annotated with integers of at most 8 bits and one scale. It
// writes values without annotation as 32-bit sums. Only the results of layers are rounded to their
// annotation, values inside a layer never are.
#ifndef KILN_TARGETS_VTA_COMPILE_LOWER_H_
#define KILN_TARGETS_VTA_COMPILE_LOWER_H_

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/compile/layers.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

// Lowers a graph. Nodes in `refusals` run on the host. Errors: a design point that the compiler
// does not support; an unknown shape; if options.host_fallback is false, the first node that the
// host would have to run.
StatusOr<Network> Lower(const Graph& graph, const Config& config, const CompileOptions& options,
                        const Refusals& refusals = {});

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_LOWER_H_
