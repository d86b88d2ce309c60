// From an annotated graph to layers. Expects a graph that went through the standard and layout pipelines
// (passes/pipeline.h).
//
//   Conv, MatMul, average pools, Pad of channels   + constant bias + residual + Relu or Clip   one MatrixLayer
//   Add, Sub, Mul, Max, Min, Div by a number, Relu, Clip, LeakyRelu, Abs, Neg, HardSigmoid,
//   HardSwish, MaxPool, average pools that GEMM has no place for, Pad of pixels                one VectorLayer
//   Concat of channels                                                                         as many as it has
//   operands
//                                                                                              elsewhere, or none
//   Transpose, Reshape, Slice, ...                                                             a view, no layer
//   everything else                                                                            the host, with the
//   reason
//
// What the machine reads is annotated with integers of at most 8 bits and one scale; what it writes without annotation
// are sums of 32 bits. A value inside a layer is never rounded to its annotation: only what leaves a layer is.
#ifndef KILN_TARGETS_VTA_LOWER_H_
#define KILN_TARGETS_VTA_LOWER_H_

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/layers.h"

namespace kiln::vta {

// Nodes in `refusals` go to the host. Errors: a design point for which nothing can be compiled; an unknown shape; with
// options.host_fallback false, the first node that the host would have to run.
StatusOr<Network> Lower(const Graph& graph, const Config& config, const CompileOptions& options,
                        const Refusals& refusals = {});

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_LOWER_H_
