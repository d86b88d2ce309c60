// Shared by the tests of the whole machine (kiln_systolic): the design points of its models,
// programs in a memory, and the machine with its memory.
#ifndef KILN_TESTS_RTL_SYSTOLIC_MACHINE_H_
#define KILN_TESTS_RTL_SYSTOLIC_MACHINE_H_

#include <gtest/gtest.h>
#include <verilated.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/axi_port.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/config/user_unit.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "rtl/testbench/kiln_systolic_bench.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_program.h"

namespace kiln::rtl {

using systolic::Config;
using systolic::Instruction;
using systolic::Opcode;
using systolic::RandomProgramCase;
using testbench::AxiTiming;

constexpr int64_t kMemoryBytes = int64_t{1} << 20;  // MEMORY_BYTES of the models
// MEMORY_LATENCY of the wide model: the largest latency that it can hide.
constexpr int kWideMemoryLatency = 300;

// The design points of the models, with the parameters of CMakeLists.txt. Functions and dividers
// are most of a vector stage's area, so only the square machine has them in all stages.
inline void SetFunctions(uint32_t functions, uint32_t divides, Config* config) {
  config->vector_function_stages = functions;
  config->vector_divide_stages = divides;
}
inline Config Base() {
  Config c = systolic::Fp32Machine();
  c.name = "model";
  c.input_buffer_words = 256;
  c.weight_buffer_words = 96;
  c.accumulation_buffer_words = 64;
  c.parameter_buffer_words = 32;
  c.depthwise_buffer_words = 256;
  c.vector_row_buffer_words = 16;
  c.vector_stage_latency = 2;
  c.memory_bytes = kMemoryBytes;
  return c;
}
inline Config Square() {
  Config c = Base();
  c.array_rows = c.array_columns = 4;
  c.vector_stages = 4;
  c.vector_rows_in_flight = 4;
  c.input_port_bytes = c.weight_port_bytes = c.operand_port_bytes = c.output_port_bytes = 16;
  c.memory_latency = 16;
  c.depthwise_multipliers = 4;
  c.depthwise_words_per_cycle = 4;
  return c;
}
// The same with a user unit beside the array.
inline Config SquareWithUserUnit() {
  Config c = Square();
  c.user_unit = systolic::FindUserUnit("maximum");
  return c;
}
inline Config Wide() {
  Config c = Base();
  c.array_rows = 4;
  c.array_columns = 8;
  c.weight_rows_per_cycle = 2;
  c.packed_weights = true;
  c.accumulation_buffer_banks = 1;
  c.vector_stages = 3;
  c.vector_stage_latency = 3;
  SetFunctions(0b100, 0b010, &c);
  c.vector_rows_in_flight = 2;
  c.input_port_bytes = 8;
  c.weight_port_bytes = 32;
  c.operand_port_bytes = 8;
  c.operand_buffer_words = 11;
  c.command_queue_depth = 1;
  c.output_port_bytes = 64;
  c.instruction_bytes_per_cycle = 32;
  c.memory_latency = 9;
  c.depthwise_multipliers = 1;
  return c;
}

// The same on one 64-bit bus; a word of the program occupies it for two cycles.
inline Config SharedBus() {
  Config c = Square();
  c.shared_bus = true;
  SetFunctions(0b0010, 0b1000, &c);
  for (int* bytes : {&c.input_port_bytes, &c.weight_port_bytes, &c.operand_port_bytes,
                     &c.output_port_bytes, &c.instruction_bytes_per_cycle}) {
    *bytes = 8;
  }
  c.depthwise_words_per_cycle = 2;
  return c;
}

// Block scales, each of two column tiles; an fp32 vector unit after float sums.
inline Config Blocks() {
  Config c = Square();
  c.array_rows = c.array_columns = 2;
  SetFunctions(0b0100, 0b0010, &c);
  c.input_format = c.weight_format = *FindFormat("fixed8_6");
  c.block_size = 4;
  systolic::SetDefaultSums(&c);
  c.weight_port_bytes = c.output_port_bytes = 8;
  return c;
}
// Two scales per word of the vector unit; formats that do not saturate by default; scales that are
// not powers of two; and a quire, which ends with its row tile in all instructions.
inline Config NarrowBlocks() {
  Config c = Wide();
  c.array_rows = 2;
  c.array_columns = 4;
  c.packed_weights = false;
  c.input_format = *FindFormat("e5m2");
  c.weight_format = *FindFormat("e4m3");
  c.block_size = 2;
  c.scale_format = *FindFormat("ue5m3");
  systolic::SetDefaultSums(&c);
  c.quire = true;
  c.integer_elements = false;
  return c;
}

// 16 bits from operands to results, except for the sums; functions and dividers in different
// stages; the program arrives through a port of half a word.
inline Config Bf16() {
  Config c = Square();
  c.array_rows = c.array_columns = 2;
  c.vector_stages = 3;
  SetFunctions(0b101, 0b010, &c);
  c.operand_port_bytes = c.instruction_bytes_per_cycle = 8;
  c.depthwise_multipliers = 2;
  c.depthwise_words_per_cycle = 2;
  c.depthwise_sum_latency = 2;
  c.input_format = c.weight_format = *FindFormat("bf16");
  c.integer_elements = false;
  c.vector_format = *FindFormat("bf16.flush");
  c.vector_function_latency = 4;
  c.vector_convert_latency = 2;
  c.psum_format = c.accumulation_format = *FindFormat("fp32");
  return c;
}

// An array with three precisions.
inline Config Precisions() {
  Config c = Square();
  c.array_rows = c.array_columns = 2;
  c.vector_stages = 2;
  SetFunctions(0b01, 0b10, &c);
  c.depthwise_multipliers = 2;
  c.weight_format = *FindFormat("int4");
  c.packed_weights = true;
  c.psum_format = c.accumulation_format = *FindFormat("fp32");
  c.other_precisions = {{*FindFormat("e4m3"), *FindFormat("e4m3")},
                        {*FindFormat("posit8_1"), *FindFormat("int8")}};
  return c;
}

inline AxiTiming Ideal(const Config& config) {
  AxiTiming timing;
  timing.latency = static_cast<uint64_t>(config.memory_latency - config.port_latency());
  return timing;
}

// Returns an instruction that writes `length` int8 elements of operand 0 to the address `output`.
inline Instruction Copy(int32_t length, uint64_t output) {
  Instruction in;
  in.opcode = Opcode::kVector;
  in.wait_distance = 0;
  in.vector.length = length;
  in.vector.operands.resize(1);
  in.vector.operands[0].element_stride = 1;
  in.vector.passes.resize(1);
  in.vector.passes[0].to_memory = true;
  in.vector.output.base = output;
  in.vector.output.element_stride = 1;
  return in;
}

inline RandomProgramCase ProgramOf(std::vector<Instruction> instructions, size_t bytes) {
  RandomProgramCase program;
  program.instructions = std::move(instructions);
  for (size_t i = 0; i < bytes; ++i) program.memory.push_back(static_cast<uint8_t>(i * 37 + 11));
  program.address = (bytes + 15) / 16 * 16;
  return program;
}

// A machine with the memory behind its ports. Registers without a reset have random initial values.
template <typename Model>
class Machine {
 public:
  using Bench = testbench::SystolicBench<Model>;
  Machine(const Config& config, const AxiTiming& timing, uint64_t seed) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(seed) + 1);
    context_.fatalOnError(false);
    model_ = std::make_unique<Model>(&context_);
    const auto bytes = [](int32_t port) { return static_cast<unsigned>(port); };
    const testbench::SystolicPorts ports{
        bytes(config.instruction_bytes_per_cycle), bytes(config.input_port_bytes),
        bytes(config.weight_port_bytes), bytes(config.operand_port_bytes),
        bytes(config.output_port_bytes)};
    bench_ = std::make_unique<Bench>(model_.get(), ports, kMemoryBytes, timing, seed);
  }
  // Fails the test if an assertion in the RTL failed, also one of an AXI checker.
  ~Machine() { EXPECT_FALSE(context_.gotError()); }

  // Writes the data, followed by the encoded program; the rest of the memory is unchanged.
  void Load(const RandomProgramCase& program, const std::vector<uint8_t>& bits) {
    std::vector<uint8_t>& memory = bench_->memory().bytes();
    std::copy(program.memory.begin(), program.memory.end(), memory.begin());
    std::copy(bits.begin(), bits.end(),
              memory.begin() + static_cast<std::ptrdiff_t>(program.address));
  }
  Bench& bench() { return *bench_; }
  Model& model() { return *model_; }

 private:
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Bench> bench_;
};

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SYSTOLIC_MACHINE_H_
