// Finds the first difference between the emitted hardware and the cycle level, and records the
// signals around it.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_RTL_WAVEFORM_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_RTL_WAVEFORM_H_

#include <filesystem>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// Implements Accelerator::RecordDifference. `timed` says whether cycles are comparable.
StatusOr<Waveform> RecordDifference(const SystolicProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed,
                                    const std::filesystem::path& file);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_RTL_WAVEFORM_H_
