// What can be wrong with a program, told alike by the linter and all simulators.
#ifndef KILN_TARGETS_VTA_FAULTS_H_
#define KILN_TARGETS_VTA_FAULTS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/isa.h"

namespace kiln::vta {

enum class FaultKind {
  kSramRange,      // an index or range beyond a buffer
  kDramRange,      // an address where there is no memory
  kBadOpcode,      // a reserved opcode or ALU operation
  kBadMemoryId,    // a memory that the instruction does not reach
  kBadField,       // a store with padding
  kBadDependency,  // a token of a neighbour that the stage does not have
  kDeadlock,       // tokens waited for that nobody gives
  kNoFinish,       // no FINISH, or one that does not wait for everything else
  kTooLong,        // more steps than the machine was told to take
};
std::string_view NameOf(FaultKind kind);  // "sram_range", "dram_range", "bad_opcode", ..., "too_long"
// By that name. Error: there is none.
StatusOr<FaultKind> FindFaultKind(std::string_view name);

struct Fault {
  FaultKind kind;
  size_t instruction;   // index into the program
  std::string message;  // what is wrong, without the instruction's text
};

// How a fault differs from another one that should be the same, in kind or instruction: "deadlock of instruction 3; no
// fault". nullopt: in neither. Launches that are too long are not compared by the instruction, which says nothing
// there.
std::optional<std::string> FindDifference(const std::optional<Fault>& is, const std::optional<Fault>& should);

// What an instruction alone shows. Index ranges of GEMM and ALU depend on micro-ops: FindRangeFault.
std::optional<Fault> FindStaticFault(const Instruction& instruction, size_t index, const Config& config);

// Whether the micro-ops of a GEMM or ALU instruction stand inside their buffer.
std::optional<Fault> FindUopFault(const Instruction& instruction, size_t index, const Config& config);

// The greatest values in a run of micro-ops.
struct UopMaximum {
  uint32_t dst = 0, src = 0, weight = 0;
};
UopMaximum MaximumOf(std::span<const Uop> uops);
// Whether all steps of a GEMM or ALU instruction stay inside the buffers. With `reset` only accumulators are looked at.
std::optional<Fault> FindRangeFault(const Instruction& instruction, size_t index, const UopMaximum& uops,
                                    const Config& config);

// Whether an instruction's steps (CostOf) are more than are left of `most` in its launch.
std::optional<Fault> FindTooLong(const Instruction& instruction, size_t index, uint64_t left, uint64_t most);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_FAULTS_H_
