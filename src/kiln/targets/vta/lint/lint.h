// The linter: finds errors of programs beyond faults (docs/vta-faults.md): reads of data that
// nothing wrote, accesses that no token orders, and differences between the original's hardware and
// its functional simulator.
#ifndef KILN_TARGETS_VTA_LINT_LINT_H_
#define KILN_TARGETS_VTA_LINT_LINT_H_

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/vta/isa/program_vector.h"

namespace kiln::vta {

enum class FindingKind {
  kFault,  // the program is stopped (faults.h)
  kRace,   // two stages access one location, one of them writes, and no chain of tokens orders them
  kUninitialised,  // an element of a buffer is read that nothing has written since the machine was
                   // made
  kOverlap,        // two stores of a launch write the same byte
  kStream,      // a store writes to the instructions of its own launch, which hardware may not have
                // fetched yet
  kTokensLeft,  // a launch ends with tokens that no instruction has taken
};
// Returns "fault", "race", "uninitialised", "overlap", "stream" or "tokens-left".
std::string_view NameOf(FindingKind kind);

struct Finding {
  FindingKind kind;
  size_t launch, instruction;
  std::string message;
};

// The result of the linter.
struct LintResult {
  // At most one finding of each kind per instruction, in the order of StageOrder(0): an instruction
  // of an earlier stage first, if several can run.
  std::vector<Finding> findings;
  // Whether the program ended without a fault. If not, the following members have no meaning.
  bool judged = true;
  // The reasons why the original's machines in Vivado HLS ("hls") and Chisel ("chisel") might give
  // other results. If empty, they give the same results, provided that `hazard_free` is true.
  std::set<std::string> hls, chisel;
  // Whether no accumulator is written twice within three steps, and none is read by a tensor
  // operand within two steps after its write.
  bool hazard_free = true;
  // What has not been checked of a program without its memory; empty if everything has been. The
  // reasons above are then those that are certain. If `micro_ops_unknown`, there may be more.
  std::string not_checked;
  bool micro_ops_unknown = false;
};

// Lints a program. Executes the program as well, because micro-op contents are known only at run
// time. A fault or a launch of more than `most_steps` steps (FunctionalMachine) ends it. The run
// time grows as n log n with the number of steps and of rows of loads and stores.
LintResult Lint(const ProgramVector& program, uint64_t most_steps = UINT64_MAX);

// Lints the instructions of one launch (16 bytes each) on a new machine, without the memory that
// they are stored in or access. Reports what is true for every content of the memory, and all
// static faults at once. Micro-ops that the program loads from memory can have any value; those
// that it never loads, or loads as padding, are zeros. Accesses of GEMM and ALU instructions with
// unknown micro-ops are not checked, except that loop factors alone may lead out of a buffer.
LintResult LintInstructions(std::span<const uint8_t> instructions, const Config& config,
                            uint64_t most_steps = UINT64_MAX);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_LINT_LINT_H_
