// Finds the first pixel of a launch whose results differ between the emitted hardware and the cycle
// level, and records the hardware's signals while it is computed. Implements
// Accelerator::RecordDifference for the family.
#ifndef KILN_TARGETS_BINARY_WAVEFORM_H_
#define KILN_TARGETS_BINARY_WAVEFORM_H_

#include <filesystem>

#include "kiln/support/status.h"
#include "kiln/targets/binary/compile/network_program.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln::binary {

// Implements Accelerator::RecordDifference. `timed` says whether cycles are comparable. Records the
// cycles around the first pixel of a stage whose results have other bits or leave the machine in
// another cycle (WindowAround). They begin when the pixel but one before it has left, or with the
// loading of the launch.
StatusOr<Waveform> RecordDifference(const NetworkProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed,
                                    const std::filesystem::path& file);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_WAVEFORM_H_
