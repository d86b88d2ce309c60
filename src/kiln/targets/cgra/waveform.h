// Finds the first run of a launch in which the emitted hardware differs from the cycle level, and
// records the hardware's signals during that run. Implements Accelerator::RecordDifference for the
// family.
#ifndef KILN_TARGETS_CGRA_WAVEFORM_H_
#define KILN_TARGETS_CGRA_WAVEFORM_H_

#include <filesystem>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/compile/network_program.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln::cgra {

// Implements Accelerator::RecordDifference. `timed` says whether cycles are comparable. The
// recorded cycles belong to the first run that gives other results or ends in another cycle: from
// the end of the run before it (with the loading of the program, if it is the first of its stream)
// to a little after its own end at both levels.
StatusOr<Waveform> RecordDifference(const NetworkProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed,
                                    const std::filesystem::path& file);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_WAVEFORM_H_
