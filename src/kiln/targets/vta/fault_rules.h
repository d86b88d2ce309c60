// How the functional level, the linter and the runtime find the faults of single instructions. The cycle level and the
// hardware find them on their own.
#ifndef KILN_TARGETS_VTA_FAULT_RULES_H_
#define KILN_TARGETS_VTA_FAULT_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/faults.h"
#include "kiln/targets/vta/isa.h"

namespace kiln::vta {

// What an instruction alone shows. Index ranges of GEMM and ALU depend on micro-ops: FindRangeFault.
std::optional<Fault> FindStaticFault(const Instruction& instruction, size_t index,
                                     const Config& config);

// Whether the micro-ops of a GEMM or ALU instruction stand inside their buffer.
std::optional<Fault> FindUopFault(const Instruction& instruction, size_t index,
                                  const Config& config);

// The greatest values in a run of micro-ops.
struct UopMaximum {
  uint32_t dst = 0, src = 0, weight = 0;
};
UopMaximum MaximumOf(std::span<const Uop> uops);
// Whether all steps of a GEMM or ALU instruction stay inside the buffers. With `reset` only accumulators are looked at.
std::optional<Fault> FindRangeFault(const Instruction& instruction, size_t index,
                                    const UopMaximum& uops, const Config& config);

// Whether an instruction's steps (CostOf) are more than are left of `most` in its launch.
std::optional<Fault> FindTooLong(const Instruction& instruction, size_t index, uint64_t left,
                                 uint64_t most);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_FAULT_RULES_H_
