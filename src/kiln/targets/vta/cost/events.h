// The events of a program that consume energy, counted from its instructions. They do not depend on
// time, so the program need not run at any level.
#ifndef KILN_TARGETS_VTA_COST_EVENTS_H_
#define KILN_TARGETS_VTA_COST_EVENTS_H_

#include <array>
#include <cstdint>
#include <span>

#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

inline constexpr size_t kAluOps = 5;

// The numbers of events.
struct Events {
  std::array<int64_t, kStages> instructions{};  // by stage

  // Steps, each of one micro-op: of GEMM instructions, of GEMM instructions with `reset`, which the
  // ALU unit executes, and of ALU instructions by their operation.
  int64_t gemm_steps = 0, reset_steps = 0;
  std::array<int64_t, kAluOps> alu_steps{};
  int64_t second_operands = 0;  // ALU steps that read two accumulators
  int64_t uops_examined = 0;    // micro-ops that the dispatcher reads
  int64_t instructions_examined = 0;

  // Elements written by loads, padding included, and read by stores.
  int64_t uops_loaded = 0, inputs_loaded = 0, weights_loaded = 0, accumulators_loaded = 0;
  int64_t outputs_stored = 0;

  // Bytes read from and written to external memory.
  int64_t instruction_bytes = 0, uop_bytes = 0, input_bytes = 0, weight_bytes = 0,
          accumulator_bytes = 0;
  int64_t output_bytes = 0;

  int64_t all_instructions() const { return instructions[0] + instructions[1] + instructions[2]; }
  int64_t all_alu_steps() const {
    int64_t steps = 0;
    for (const int64_t of_one : alu_steps) steps += of_one;
    return steps;
  }
  // Return the micro-ops read from their buffer, and the accumulators written by GEMM, ALU and
  // loads.
  int64_t uops_read() const { return gemm_steps + reset_steps + all_alu_steps() + uops_examined; }
  int64_t accumulators_written() const {
    return gemm_steps + reset_steps + all_alu_steps() + accumulators_loaded;
  }
  int64_t bytes_read() const {
    return instruction_bytes + uop_bytes + input_bytes + weight_bytes + accumulator_bytes;
  }
  int64_t bytes() const { return bytes_read() + output_bytes; }
};

// Adds the events of a program that runs without a fault.
void CountEvents(std::span<const Instruction> program, const Config& config, Events* events);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COST_EVENTS_H_
