// Sets the tokens of a stream's instructions, and appends no-ops where no instruction can carry
// them.

#include "kiln/targets/vta/runtime/stream.h"

#include <cstdlib>
#include <utility>

namespace kiln::vta {
namespace {

bool AreNeighbours(Stage a, Stage b) {
  return std::abs(static_cast<int>(a) - static_cast<int>(b)) == 1;
}

// Makes `next` wait for `last`, the instruction before it in the stream, if their stages are
// neighbours. Clears all other tokens between the two.
void Chain(Instruction& last, Instruction& next) {
  last.push_previous = last.push_next = next.pop_previous = next.pop_next = false;
  const Stage from = StageOf(last), to = StageOf(next);
  if (!AreNeighbours(from, to)) return;
  (from < to ? last.push_next : last.push_previous) = true;
  (from < to ? next.pop_previous : next.pop_next) = true;
}

}  // namespace

void InstructionStream::Append(Instruction in) {
  const Pending pending = std::exchange(PendingOf(StageOf(in)), {});
  in.pop_previous = in.pop_previous || pending.previous;
  in.pop_next = in.pop_next || pending.next;
  instructions_.push_back(in);
}

void InstructionStream::Commit(Stage stage) {
  if (PendingOf(stage).any()) Append(NopOf(stage));
}

bool InstructionStream::Pop(Stage from, Stage to) {
  if (!AreNeighbours(from, to)) return false;
  const auto direction = from < to ? &Pending::previous : &Pending::next;
  if (PendingOf(to).*direction) Commit(to);
  PendingOf(to).*direction = true;
  return true;
}

bool InstructionStream::Push(Stage from, Stage to) {
  if (!AreNeighbours(from, to)) return false;
  Commit(from);
  const auto direction = from < to ? &Instruction::push_next : &Instruction::push_previous;
  if (!instructions_.empty()) {
    Instruction& last = instructions_.back();
    const bool load_nop = last.opcode == Opcode::kLoad && IsNop(last);
    if (StageOf(last) == from && !load_nop && !(last.*direction)) {
      last.*direction = true;
      return true;
    }
  }
  Instruction nop = NopOf(from);
  nop.*direction = true;
  instructions_.push_back(nop);
  return true;
}

void InstructionStream::Finish() {
  Push(Stage::kStore, Stage::kCompute);
  Push(Stage::kLoad, Stage::kCompute);
  Pop(Stage::kStore, Stage::kCompute);
  Pop(Stage::kLoad, Stage::kCompute);
  Commit(Stage::kCompute);
  instructions_.emplace_back();
}

void InstructionStream::FinishSerial() {
  for (size_t i = 1; i < instructions_.size(); ++i) Chain(instructions_[i - 1], instructions_[i]);
  const bool ends_with_store =
      !instructions_.empty() && StageOf(instructions_.back()) == Stage::kStore;
  PendingOf(Stage::kCompute).next = ends_with_store;
  if (ends_with_store) {
    instructions_.back().push_previous = true;
    Commit(Stage::kCompute);
  }
  // End with an exchange of tokens between compute and load, so that FINISH itself takes no token.
  Push(Stage::kCompute, Stage::kLoad);
  Pop(Stage::kLoad, Stage::kCompute);
  PendingOf(Stage::kLoad).next = true;
  Commit(Stage::kLoad);
  Push(Stage::kLoad, Stage::kCompute);
  Commit(Stage::kCompute);
  instructions_.emplace_back();
}

void InstructionStream::Clear() {
  instructions_.clear();
  pending_ = {};
}

}  // namespace kiln::vta
