// Counts the events of a program from its instructions.

#include "kiln/targets/vta/cost/events.h"

namespace kiln::vta {
namespace {

int64_t Signed(uint64_t n) { return static_cast<int64_t>(n); }

// Counts the elements on chip that a load or store accesses, padding included, and the bytes that
// it reads from or writes to external memory.
void CountTransfer(const Instruction& in, const Config& config, Events* events) {
  if (IsNop(in)) return;
  const int64_t on_chip = Signed(RectangleOf(in));
  const int64_t bytes = int64_t{in.x_size} * in.y_size * ElementBytes(in.memory, config);
  switch (in.memory) {
    case Memory::kUop:
      events->uops_loaded += on_chip;
      events->uop_bytes += bytes;
      break;
    case Memory::kInput:
      events->inputs_loaded += on_chip;
      events->input_bytes += bytes;
      break;
    case Memory::kWeight:
      events->weights_loaded += on_chip;
      events->weight_bytes += bytes;
      break;
    case Memory::kAccumulator:
    case Memory::kAccumulator8:
      events->accumulators_loaded += on_chip;
      events->accumulator_bytes += bytes;
      break;
    case Memory::kOutput:
      events->outputs_stored += on_chip;
      events->output_bytes += bytes;
      break;
  }
}

void CountSteps(const Instruction& in, Events* events) {
  const int64_t steps = Signed(StepsOf(in));
  if (steps == 0) return;
  ++events->instructions_examined;
  events->uops_examined += in.uop_end - in.uop_begin;
  if (in.opcode == Opcode::kGemm) {
    (in.reset ? events->reset_steps : events->gemm_steps) += steps;
    return;
  }
  events->alu_steps[static_cast<size_t>(in.alu)] += steps;
  if (!in.use_immediate) events->second_operands += steps;
}

}  // namespace

void CountEvents(std::span<const Instruction> program, const Config& config, Events* events) {
  for (const Instruction& in : program) {
    ++events->instructions[static_cast<size_t>(StageOf(in))];
    if (in.opcode == Opcode::kLoad || in.opcode == Opcode::kStore)
      CountTransfer(in, config, events);
    if (Computes(in)) CountSteps(in, events);
  }
  events->instruction_bytes += std::ssize(program) * kInstructionBytes;
}

}  // namespace kiln::vta
