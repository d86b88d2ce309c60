// The rtl level: the emitted hardware, simulated by Verilator. The entry point that
// SystolicAccelerator::Run calls.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_RTL_RTL_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_RTL_RTL_H_

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// Emits the design, builds its simulation, and runs a program on every image of the batch
// (Accelerator::Run at Level::kRtl); options.rtl gives the folder and the memory. As at the cycle
// level, the host runs host steps, which take no cycles. The trace has cycles, kernels and the
// units' performance counters, but no spans. Errors: those of EmitDesign; Verilator or clang++-19
// is missing; the machine stops with an error code or does not end.
StatusOr<RunResult> RunRtl(const SystolicProgram& program, const Batch& batch,
                           const RunOptions& options);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_RTL_RTL_H_
