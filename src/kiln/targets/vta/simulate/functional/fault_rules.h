// The checks with which the functional level, the linter and the runtime find the faults of single
// instructions. The cycle level and the hardware have their own checks.
#ifndef KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_FAULT_RULES_H_
#define KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_FAULT_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// Returns the fault that an instruction shows by itself. The index ranges of GEMM and ALU
// instructions also depend on micro-ops: FindRangeFault. `index` is the instruction's number in the
// program, here and below.
std::optional<Fault> FindStaticFault(const Instruction& instruction, size_t index,
                                     const Config& config);

// Returns a fault if the micro-ops of a GEMM or ALU instruction are not all inside their buffer.
std::optional<Fault> FindUopFault(const Instruction& instruction, size_t index,
                                  const Config& config);

// The greatest index of each kind in a sequence of micro-ops.
struct UopMaximum {
  uint32_t dst = 0, src = 0, weight = 0;
};
// Returns the greatest indices of `uops`; zeros if there are none.
UopMaximum MaximumOf(std::span<const Uop> uops);
// Returns a fault if a step of a GEMM or ALU instruction leaves the buffers. With `reset` only the
// indices of accumulators are checked.
std::optional<Fault> FindRangeFault(const Instruction& instruction, size_t index,
                                    const UopMaximum& uops, const Config& config);

// Returns a fault if an instruction's cost (CostOf) exceeds `left`, the rest of the limit of `most`
// steps of its launch.
std::optional<Fault> FindTooLong(const Instruction& instruction, size_t index, uint64_t left,
                                 uint64_t most);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_FAULT_RULES_H_
