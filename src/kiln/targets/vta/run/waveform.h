// Finds where the emitted hardware first differs from the cycle level, and records the hardware's
// signals around that point. Implements Accelerator::RecordDifference for the family.
#ifndef KILN_TARGETS_VTA_RUN_WAVEFORM_H_
#define KILN_TARGETS_VTA_RUN_WAVEFORM_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/vta/compile/program.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// The outcome of a launch at one level.
struct LaunchOutcome {
  RunTime time;
  // The cycles in which each stage started its instructions.
  std::array<std::vector<int64_t>, kStages> starts;
  std::vector<uint8_t> memory;  // after the launch, from FirstDifference's `base` on
};

// Returns the cycles around the first difference of a launch of `program` between the levels
// (FindLevelDifference), or nullopt if there is none. For wrong bits, the window surrounds the
// first store that wrote a differing byte, up to the start of the next store. If `timed`, also
// compares the cycles in which the stages start instructions. `base` is the byte address of the
// outcomes' memories.
std::optional<CycleWindow> FirstDifference(std::span<const Instruction> program,
                                           const Config& config, uint64_t base, bool timed,
                                           const LaunchOutcome& expected,
                                           const LaunchOutcome& actual);

// Implements Accelerator::RecordDifference. `timed` says whether cycles are comparable.
StatusOr<Waveform> RecordDifference(const VtaProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed,
                                    const std::filesystem::path& file);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUN_WAVEFORM_H_
