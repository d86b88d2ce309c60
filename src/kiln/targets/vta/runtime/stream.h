// The runtime's stream: instructions with the dependencies that its calls request.
//
// The rules are those of the original's runtime. A pop is set on the next instruction of its stage;
// a second pop in the same direction before that instruction makes a no-op. A push is set on the
// last instruction of the stream if that belongs to the giving stage, has no push in that direction
// yet, and is not a no-op of the load or compute stage; otherwise it makes a no-op.
#ifndef KILN_TARGETS_VTA_RUNTIME_STREAM_H_
#define KILN_TARGETS_VTA_RUNTIME_STREAM_H_

#include <array>
#include <vector>

#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// A stream under construction.
class InstructionStream {
 public:
  // Appends an instruction with the pops that are pending for its stage.
  void Append(Instruction instruction);
  // Add a dependency between neighbouring stages. Push makes `from` give a token when its
  // instructions so far are done; Pop makes `to` take one before its next instruction. Return false
  // if the stages are not neighbours.
  bool Push(Stage from, Stage to);
  bool Pop(Stage from, Stage to);
  // Ends the stream with a FINISH that waits for all other instructions. Pending pops get no-ops.
  void Finish();
  // Ends the stream with the dependencies of the original's serial mode: a token between
  // consecutive instructions if their stages are neighbours, and none otherwise (a load next to a
  // store is not ordered). Dependencies set so far are dropped, except the pops of the first
  // instruction.
  void FinishSerial();

  const std::vector<Instruction>& instructions() const { return instructions_; }
  bool empty() const { return instructions_.empty(); }
  void Clear();

 private:
  struct Pending {
    bool previous = false, next = false;
    bool any() const { return previous || next; }
  };
  Pending& PendingOf(Stage stage) { return pending_[static_cast<size_t>(stage)]; }
  // Appends a no-op with the pops that are pending for the stage, if there are any.
  void Commit(Stage stage);

  std::vector<Instruction> instructions_;
  std::array<Pending, kStages> pending_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_STREAM_H_
