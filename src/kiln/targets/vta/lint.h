// What a program does that it should not, beyond faults: reads of nothing, accesses that no token orders, and what the
// original's hardware would do otherwise than its functional simulator.
#ifndef KILN_TARGETS_VTA_LINT_H_
#define KILN_TARGETS_VTA_LINT_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/vta/program_vector.h"

namespace kiln::vta {

enum class FindingKind {
  kFault,          // the program is stopped (faults.h)
  kRace,           // two stages access one place, one of them writes, and no chain of tokens says which is first
  kUninitialised,  // an element of a buffer is read that nothing has written since the machine was made
  kOverlap,        // two stores of a launch write one byte
  kStream,         // a store into the instructions of its own launch, which hardware may not have fetched yet
  kTokensLeft,     // a launch ends with tokens that nobody has taken
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
};

// Runs the program, too: what micro-ops say is known only then. A fault ends it, and so does a launch of more than
// `most_steps` (FunctionalMachine). The time it takes grows as n log n with the steps and with the rows of loads and
// stores.
LintResult Lint(const ProgramVector& program, uint64_t most_steps = UINT64_MAX);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_LINT_H_
