// Runs a compiled network image by image on a device of the level that is asked for.
#ifndef KILN_TARGETS_VTA_RUN_NETWORK_H_
#define KILN_TARGETS_VTA_RUN_NETWORK_H_

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/program.h"

namespace kiln::vta {

// Every thread of the simulating machine has a device; constants are written to it once. Errors: inputs that do not fit
// the program (both shapes are named), a level without a device, whatever stops a launch.
StatusOr<RunResult> RunNetwork(const VtaProgram& program, const Batch& batch, const RunOptions& options);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUN_NETWORK_H_
