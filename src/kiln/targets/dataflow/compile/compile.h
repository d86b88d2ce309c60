// Compiles a network: lowers it, folds its layers, assembles the pipelines of its segments and sets
// the depths of their channels.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_COMPILE_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_COMPILE_H_

#include <memory>

#include "kiln/ir/graph.h"
#include "kiln/targets/dataflow/compile/program.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln::dataflow {

// Compiles a network of known shapes. Errors: the errors of Lower, FoldNetwork and SetDepths.
// Deterministic: equal networks and design points give equal programs.
StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& network, const Config& config,
                                                  const CompileOptions& options);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_COMPILE_H_
