// Runs compiled networks at the functional, the cycle and the rtl level: segments on the machine,
// the steps between them on the host.
#ifndef KILN_TARGETS_DATAFLOW_RUN_NETWORK_H_
#define KILN_TARGETS_DATAFLOW_RUN_NETWORK_H_

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/compile/program.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln::dataflow {

// Runs a program without its tail. Errors: those of targets/run/run_program.h; of the rtl level:
// Verilator or clang++-19 is missing, the hardware does not give all words in time.
StatusOr<RunResult> RunNetwork(const DataflowProgram& program, const Batch& batch,
                               const RunOptions& options);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_RUN_NETWORK_H_
