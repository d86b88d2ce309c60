// What a configuration computes, without time: which instruction's result each operand is, and how
// many threads earlier.
#ifndef KILN_TARGETS_CGRA_SIMULATE_FUNCTIONAL_PLAN_H_
#define KILN_TARGETS_CGRA_SIMULATE_FUNCTIONAL_PLAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/isa/instruction.h"

namespace kiln::cgra {

// One operand of an instruction.
struct PlanOperand {
  OperandKind kind = OperandKind::kNone;
  int from = -1;     // of a message: the instruction that sends it; -1: none does
  int distance = 0;  // of a message: threads between producer and consumer
};

// One spoke entry that fires.
struct PlanInstruction {
  int tile = 0, slot = 0;
  SpokeEntry spoke;
  InstructionEntry entry;
  int first_period = 0;  // in which thread 0 fires it
  std::array<PlanOperand, 3> in;
};

struct Plan {
  std::vector<PlanInstruction> instructions;
  // Groups of instructions: all instructions of a group are computed, for any number of threads,
  // before the next group. Instructions of one group depend on each other over threads; inside
  // a group they are in the order of one thread.
  std::vector<std::vector<int>> groups;
  // Threads that the results of an instruction are needed for after it, by instruction.
  std::vector<int> history;
};

// By tile and slot: the words of the spoke RAM (one for each slot) and of the instruction RAM.
struct PlanTile {
  std::vector<uint32_t> spokes;
  const std::vector<InstructionWord>* instructions = nullptr;
};

// Follows every message of a configuration to its sender. The words of a tile's spoke RAM are as
// many as the initiation interval has slots. Errors name the tile and slot: a word that Check
// refuses, an operand of a later thread.
StatusOr<Plan> MakePlan(const std::vector<PlanTile>& tiles, const Config& config);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_SIMULATE_FUNCTIONAL_PLAN_H_
