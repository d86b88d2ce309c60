// Where the emitted hardware first does something else than the cycle level says, and its signals around there.
#ifndef KILN_TARGETS_SYSTOLIC_WAVEFORM_H_
#define KILN_TARGETS_SYSTOLIC_WAVEFORM_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// What the first so many instructions of a program have led to.
struct PrefixRun {
  std::vector<int64_t> ends;    // the cycle in which each was finished
  std::vector<uint8_t> memory;  // afterwards
};
// Runs the first `instructions` ones on the same memory every time.
using PrefixRunner = std::function<StatusOr<PrefixRun>(size_t instructions)>;

// The first of `instructions` behind which the memories of two levels differ or, with `timed`, which they do not finish
// in the same cycle; nullopt when the whole program ends alike. The instruction whose bits differ is found by halving
// (log2 of their number runs of a prefix): memory was alike before it and is not behind it, though when a difference
// is written over later there may be an earlier one. Errors: of the runners.
StatusOr<std::optional<size_t>> FirstDifferentInstruction(size_t instructions, bool timed,
                                                          const PrefixRunner& expected,
                                                          const PrefixRunner& actual);

// Accelerator::RecordDifference; `timed`: cycles are comparable.
StatusOr<Waveform> RecordDifference(const SystolicProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed,
                                    const std::filesystem::path& file);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_WAVEFORM_H_
