#include "kiln/targets/vta/stream.h"

#include <cstdlib>
#include <utility>

namespace kiln::vta {
namespace {

bool AreNeighbours(Stage a, Stage b) { return std::abs(static_cast<int>(a) - static_cast<int>(b)) == 1; }

// Lets the last instruction of `program` give, and `next` take, a token; a chain of them through compute between load
// and store.
void Chain(std::vector<Instruction>& program, Instruction next) {
  const Stage from = StageOf(program.back()), to = StageOf(next);
  if (from == to) {
    program.push_back(next);
    return;
  }
  if (!AreNeighbours(from, to)) Chain(program, NopOf(Stage::kCompute));
  const bool forward = StageOf(program.back()) < to;
  (forward ? program.back().push_next : program.back().push_previous) = true;
  (forward ? next.pop_previous : next.pop_next) = true;
  program.push_back(next);
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
  std::vector<Instruction> program;
  for (Instruction in : instructions_) {
    if (IsNop(in)) continue;
    in.pop_previous = in.pop_next = in.push_previous = in.push_next = false;
    if (program.empty()) {
      program.push_back(in);
    } else {
      Chain(program, in);
    }
  }
  // A handshake of load and compute at the end, so that FINISH itself takes no token.
  program.empty() ? program.push_back(NopOf(Stage::kLoad)) : Chain(program, NopOf(Stage::kLoad));
  Chain(program, NopOf(Stage::kCompute));
  program.emplace_back();
  instructions_ = std::move(program);
  pending_ = {};
}

void InstructionStream::Clear() {
  instructions_.clear();
  pending_ = {};
}

}  // namespace kiln::vta
