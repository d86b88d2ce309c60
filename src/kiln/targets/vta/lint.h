// What a program does that it should not, beyond faults: reads of nothing, accesses that no token orders, and what the
// original's hardware would do otherwise than its functional simulator.
#ifndef KILN_TARGETS_VTA_LINT_H_
#define KILN_TARGETS_VTA_LINT_H_

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/vta/program_vector.h"

namespace kiln::vta {

enum class FindingKind {
  kFault,  // the program is stopped (faults.h)
  kRace,  // two stages access one place, one of them writes, and no chain of tokens says which is first
  kUninitialised,  // an element of a buffer is read that nothing has written since the machine was made
  kOverlap,        // two stores of a launch write one byte
  kStream,  // a store into the instructions of its own launch, which hardware may not have fetched yet
  kTokensLeft,  // a launch ends with tokens that nobody has taken
};
// "fault", "race", "uninitialised", "overlap", "stream", "tokens-left"
std::string_view NameOf(FindingKind kind);

struct Finding {
  FindingKind kind;
  size_t launch, instruction;
  std::string message;
};

struct LintResult {
  // At most one of a kind for an instruction, in the order in which instructions run one stage after the other.
  std::vector<Finding> findings;
  // Whether the program came to its end, so that the rest is of all of it; else it means nothing.
  bool judged = true;
  // Why the original's machines in Vivado HLS ("hls") and Chisel ("chisel") might not do the same; empty: they do, if
  // `hazard_free`.
  std::set<std::string> hls, chisel;
  // No accumulator is written twice within three steps, and none that a tensor operand reads within two of its write.
  bool hazard_free = true;
  // What has not been looked at, of a program without its memory; empty: nothing. The reasons above are then those that
  // are certain, and where `micro_ops_unknown`, other instructions may have more.
  std::string not_checked;
  bool micro_ops_unknown = false;
};

// Runs the program, too: what micro-ops say is known only then. A fault ends it, and so does a launch of more than
// `most_steps` (FunctionalMachine). The time it takes grows as n log n with the steps and with the rows of loads and
// stores.
LintResult Lint(const ProgramVector& program, uint64_t most_steps = UINT64_MAX);

// Of the instructions of one launch on a new machine, 16 bytes each, without the memory that they stand in and reach:
// what follows from them whatever is there, and all static faults at once. Micro-ops that the program loads from memory
// can be any; those that it never loads, or as padding, are zeros. What GEMM and ALU instructions of unknown micro-ops
// access is no finding, but that loop factors alone lead out of a buffer is one.
LintResult LintInstructions(std::span<const uint8_t> instructions, const Config& config,
                            uint64_t most_steps = UINT64_MAX);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_LINT_H_
