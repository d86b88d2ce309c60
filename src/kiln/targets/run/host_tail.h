// Compiles and runs networks in which a part has shapes that depend on the data
// (targets/interface/host_tail.h), in the same way for every family.
#ifndef KILN_TARGETS_RUN_HOST_TAIL_H_
#define KILN_TARGETS_RUN_HOST_TAIL_H_

#include <functional>
#include <memory>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/host_tail.h"
#include "kiln/targets/interface/program.h"

namespace kiln {

// Compiles a network with inputs of known shapes. Calls `compile` for the whole network if all
// shapes are known, else for the part whose shapes are known; the rest becomes the program's tail.
//   errors  those of shape inference and of `compile`; a tail while options.host_fallback is false
StatusOr<std::unique_ptr<Program>> CompileWithTail(
    const Graph& graph, const CompileOptions& options,
    const std::function<StatusOr<std::unique_ptr<Program>>(const Graph& known)>& compile);

// Runs the program's tail image by image on `head`, the result of the machine's part, and returns
// the result of the whole network. Cycles and trace are those of the machine. Returns `head` if
// there is no tail, or if there are no images, since the shapes of the tail's results depend on
// them.
//   errors  those of the tail's operators, for the lowest image that fails; results of images
//           that differ in shape
StatusOr<RunResult> RunTail(const Program& program, const Batch& batch, RunResult head);

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_HOST_TAIL_H_
