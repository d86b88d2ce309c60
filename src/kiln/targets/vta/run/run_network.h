// Runs a compiled network on devices of the requested level, with as many images at once as the
// program states. The accelerator's Run calls it; network_run.h runs one group of images.
#ifndef KILN_TARGETS_VTA_RUN_RUN_NETWORK_H_
#define KILN_TARGETS_VTA_RUN_RUN_NETWORK_H_

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/compile/program.h"
#include "kiln/targets/vta/run/network_run.h"

namespace kiln::vta {

// Runs `batch` and returns outputs, codes and, at levels with time, trace and cycles; the tail of
// the program runs on the host at the end. Each thread of the simulating computer has one device,
// to which constants are written once. The launches of a device run one after the other, in
// parallel with host operators (run_plan.h). Images of one group have the same number of cycles,
// that of the whole group. `observer` may be empty. Errors: inputs that do not fit the program
// (with both shapes), a level without a device, and a launch that fails. If several images fail,
// returns the error of the first one.
StatusOr<RunResult> RunNetwork(const VtaProgram& program, const Batch& batch,
                               const RunOptions& options, const PieceObserver& observer = {});

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUN_RUN_NETWORK_H_
