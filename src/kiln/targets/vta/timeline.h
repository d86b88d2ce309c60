// When each unit of the machine worked on which instruction.
#ifndef KILN_TARGETS_VTA_TIMELINE_H_
#define KILN_TARGETS_VTA_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/targets/interface/trace.h"
#include "kiln/targets/vta/counters.h"
#include "kiln/targets/vta/instruction.h"

namespace kiln::vta {

enum class Unit : uint8_t { kFetch, kLoad, kExamination, kGemm, kAlu, kLoader, kStore };
inline constexpr int kUnits = 7;
std::string_view NameOf(Unit unit);

// Launches one behind the other: cycle 0 is the first one's S, and the next begins where one ends.
class Timeline {
 public:
  // Of the launch under way; `instruction` counts in it, cycles from its S. Half-open.
  //   fetch          its request keeps the read port
  //   load, loader   it has requests to make
  //   examination    micro-ops are read to find its banks
  //   gemm, alu      its steps, from c + 1 on
  //   store          its elements are read and asked to be written
  void Add(Unit unit, size_t instruction, uint64_t begin, uint64_t end);
  // A stage, unit or the dispatcher has started it; it has given its tokens in `done`.
  void AddInstruction(size_t instruction, uint64_t begin, uint64_t done);
  // The launch has ended; `program` holds its instructions, 16 bytes each.
  void EndLaunch(std::span<const uint8_t> program, const RunTime& time);

  // Spans by unit, `kernel` being the instruction's number over all launches; stalls and bytes from the counters.
  Trace ToTrace() const;
  // The instructions of all launches in the order of their numbers, 16 bytes each.
  const std::vector<uint8_t>& program() const { return program_; }

 private:
  size_t instructions() const { return program_.size() / kInstructionBytes; }

  uint64_t cycles_ = 0;  // of launches that have ended
  Counters counters_;
  std::vector<Span> spans_;
  std::vector<KernelTrace> kernels_;
  std::vector<uint8_t> program_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_TIMELINE_H_
