// A program in the making: instructions with the dependencies that the runtime's calls ask for.
//
// The rules are the original runtime's. A pop waits for the next instruction of its stage; two in the same direction
// before one comes make a no-op. A push is set on the last instruction of the stream if that is of the giving stage,
// carries no push in that direction yet, and is not one of the load stage's or compute stage's no-ops; else it makes a
// no-op.
#ifndef KILN_TARGETS_VTA_STREAM_H_
#define KILN_TARGETS_VTA_STREAM_H_

#include <array>
#include <vector>

#include "kiln/targets/vta/isa.h"

namespace kiln::vta {

class InstructionStream {
 public:
  // Appends an instruction, which takes the pops that wait for its stage.
  void Append(Instruction instruction);
  // An edge between neighbours: `from` gives a token when what it was told so far is done; `to` takes one before what
  // it is told next. False: load and store are no neighbours.
  bool Push(Stage from, Stage to);
  bool Pop(Stage from, Stage to);
  // Ends the program: FINISH behind everything; pops that wait for an instruction get a no-op.
  void Finish();
  // Ends the program with the dependencies of the original's serial mode: between neighbours in the stream, a token
  // where their stages are neighbours, and none otherwise (a load and a store beside each other are not ordered).
  // Dependencies set so far between neighbours are dropped; pops of the first instruction remain.
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
  // Makes a no-op of the pops that wait for the stage, if there are any.
  void Commit(Stage stage);

  std::vector<Instruction> instructions_;
  std::array<Pending, kStages> pending_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_STREAM_H_
