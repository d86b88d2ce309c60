// Runs a compiled network on a device of the level that is asked for: as many images at once as the program says.
#ifndef KILN_TARGETS_VTA_RUN_NETWORK_H_
#define KILN_TARGETS_VTA_RUN_NETWORK_H_

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/network_run.h"
#include "kiln/targets/vta/program.h"

namespace kiln::vta {

// Every thread of the simulating machine has a device; constants are written to it once. Launches of a device come one
// after the other, the host's operators beside them (run_plan.h). Images that are worked on at once have the same
// cycles, those of all of them. Errors: inputs that do not fit the program (both shapes are named), a level without a
// device, whatever stops a launch; of several, that of the first image.
StatusOr<RunResult> RunNetwork(const VtaProgram& program, const Batch& batch,
                               const RunOptions& options, const PieceObserver& observer = {});

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUN_NETWORK_H_
