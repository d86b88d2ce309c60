// The rtl level: the emitted hardware, simulated by Verilator.
#ifndef KILN_TARGETS_SYSTOLIC_RTL_H_
#define KILN_TARGETS_SYSTOLIC_RTL_H_

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// Emits the design, builds its simulation, and runs a program on every image of the batch (Accelerator::Run at
// Level::kRtl); options.rtl says where and with which memory. Host steps are the host's, as at the cycle level, and
// take no cycles. The trace has cycles, kernels and what the performance counters say of the units, no spans. Errors:
// whatever EmitDesign says; no Verilator or
// clang++-19; a machine that stops with an error code or does not end.
StatusOr<RunResult> RunRtl(const SystolicProgram& program, const Batch& batch,
                           const RunOptions& options);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_RTL_H_
