// Where the emitted hardware first does something else than the cycle level says, and its signals around there.
#ifndef KILN_TARGETS_VTA_WAVEFORM_H_
#define KILN_TARGETS_VTA_WAVEFORM_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/counters.h"
#include "kiln/targets/vta/isa.h"
#include "kiln/targets/vta/program.h"

namespace kiln::vta {

// What a launch has come to at one of the levels.
struct LaunchOutcome {
  RunTime time;
  std::array<std::vector<int64_t>, kStages>
      starts;                   // cycles in which each stage has started its instructions
  std::vector<uint8_t> memory;  // afterwards, from `base` of FirstDifference on
};

// The cycles in which a launch of `program` first differs between the levels; nullopt: it does not.
//   bits    around the first store that has left a byte that differs, to the start of the one behind it; the whole
//           launch where no store has
//   cycles  (`timed`) around the first instruction that starts at another time, whichever stage's; to the end of the
//           launch where only that or a counter differs
// Of both the one that begins first.
std::optional<CycleWindow> FirstDifference(std::span<const Instruction> program,
                                           const Config& config, uint64_t base, bool timed,
                                           const LaunchOutcome& expected,
                                           const LaunchOutcome& actual);

// Accelerator::RecordDifference; `timed`: cycles are comparable.
StatusOr<Waveform> RecordDifference(const VtaProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed,
                                    const std::filesystem::path& file);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_WAVEFORM_H_
