// The kinds of faults of a program, which the linter and all simulators share. The checks that find
// faults are separate: the functional level and the linter use fault_rules.h, the cycle level has
// its own (cycle_decode.h, cycle_compute.h, cycle_units.h).
#ifndef KILN_TARGETS_VTA_ISA_FAULTS_H_
#define KILN_TARGETS_VTA_ISA_FAULTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::vta {

// The order is that of the machine's fault register, whose code is 1 more (register 0x28).
enum class FaultKind {
  kSramRange,      // an index or range beyond a buffer
  kDramRange,      // an address where there is no memory
  kBadOpcode,      // a reserved opcode or ALU operation
  kBadMemoryId,    // a memory that the instruction cannot access
  kBadField,       // a store with padding
  kBadDependency,  // a token to or from a neighbour stage that does not exist
  kDeadlock,       // an instruction waits for a token that no instruction gives
  kNoFinish,       // no FINISH, or one that does not wait for all other instructions
  kTooLong,        // more steps or cycles than the given limit
};
std::string_view NameOf(
    FaultKind kind);  // "sram_range", "dram_range", "bad_opcode", ..., "too_long"
// Returns the kind with that name. Error: there is none.
StatusOr<FaultKind> FindFaultKind(std::string_view name);

// Why a program was stopped.
struct Fault {
  FaultKind kind;
  size_t instruction;   // index into the program
  std::string message;  // what is wrong, without the instruction's text
};

// Compares two faults that should be equal. Returns how kind or instruction differ, for example
// "deadlock of instruction 3; no fault", or nullopt if both agree. For kTooLong the instruction is
// ignored, because it depends on when the run was stopped.
std::optional<std::string> FindDifference(const std::optional<Fault>& is,
                                          const std::optional<Fault>& should);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_FAULTS_H_
