// The names of what can be wrong with a program, which the linter and all simulators share. How a fault is found they
// do not share: fault_rules.h is the functional level's and the linter's; the cycle level has its own (cycle_decode.h,
// cycle_compute.h, cycle_units.h).
#ifndef KILN_TARGETS_VTA_FAULTS_H_
#define KILN_TARGETS_VTA_FAULTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

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
std::string_view NameOf(
    FaultKind kind);  // "sram_range", "dram_range", "bad_opcode", ..., "too_long"
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
std::optional<std::string> FindDifference(const std::optional<Fault>& is,
                                          const std::optional<Fault>& should);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_FAULTS_H_
