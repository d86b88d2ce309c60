// Runs compiled networks image by image: the host keeps the values, the machine runs launches.
#ifndef KILN_TARGETS_CGRA_RUN_NETWORK_H_
#define KILN_TARGETS_CGRA_RUN_NETWORK_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/compile/launch_data.h"
#include "kiln/targets/cgra/compile/network_program.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln::cgra {

// Runs a program at the level of the options. Errors: inputs that do not fit the program; a memory
// in the options, which the machine does not have; failures of the simulation.
StatusOr<RunResult> RunNetwork(const NetworkProgram& program, const Batch& batch,
                               const RunOptions& options);

// Runs one launch on the contents of its kernel's buffers, and adds its time to the trace.
using LaunchRun =
    std::function<Status(const Launch& launch, BufferContents* contents, Trace* trace)>;
// Runs a program with launches run by a function: for tests.
StatusOr<RunResult> RunLaunches(const NetworkProgram& program, const Batch& batch,
                                const LaunchRun& run);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_RUN_NETWORK_H_
