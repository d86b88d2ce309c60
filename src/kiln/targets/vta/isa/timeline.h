// A record of when each unit of the machine worked on which instruction. The cycle level fills it
// in; `kiln vta exec --trace` writes it to a file.
#ifndef KILN_TARGETS_VTA_ISA_TIMELINE_H_
#define KILN_TARGETS_VTA_ISA_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/targets/interface/trace.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/instruction.h"

namespace kiln::vta {

// The units of the machine that a timeline distinguishes.
enum class Unit : uint8_t { kFetch, kLoad, kExamination, kGemm, kAlu, kLoader, kStore };
inline constexpr int kUnits = 7;
std::string_view NameOf(Unit unit);

// The timeline of consecutive launches. Cycle 0 is the first cycle (S) of the first launch, and
// each launch begins where the previous one ends.
class Timeline {
 public:
  // Adds the span [begin, end) of a unit in the current launch. `instruction` is the number in the
  // launch, and cycles count from the launch's S. The span covers the cycles in which
  //   fetch          the instruction's request occupies the read port
  //   load, loader   the instruction has requests to make
  //   examination    micro-ops are read to find the instruction's banks
  //   gemm, alu      the instruction's steps run, from c + 1 on
  //   store          the instruction's elements are read and their writes requested
  void Add(Unit unit, size_t instruction, uint64_t begin, uint64_t end);
  // Adds an instruction that was started in cycle `begin`, by its stage or the dispatcher, and gave
  // its tokens in cycle `done`.
  void AddInstruction(size_t instruction, uint64_t begin, uint64_t done);
  // Ends the current launch. `program` holds its instructions, 16 bytes each.
  void EndLaunch(std::span<const uint8_t> program, const RunTime& time);

  // Returns the trace: spans by unit, in which `kernel` is the instruction's number over all
  // launches, and stalls and bytes from the counters.
  Trace ToTrace() const;
  // Returns the instructions of all launches in the order of their numbers, 16 bytes each.
  const std::vector<uint8_t>& program() const { return program_; }

 private:
  size_t instructions() const { return program_.size() / kInstructionBytes; }

  uint64_t cycles_ = 0;  // total of the launches that have ended
  Counters counters_;
  std::vector<Span> spans_;
  std::vector<KernelTrace> kernels_;
  std::vector<uint8_t> program_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_TIMELINE_H_
