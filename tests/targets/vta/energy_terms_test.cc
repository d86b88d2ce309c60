// Every term of a program's energy against counts by hand, and the on-chip memories of every unit.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kiln/hardware/energy.h"
#include "kiln/targets/vta/cost/cost.h"

namespace kiln::vta {
namespace {

// Two inputs by two outputs in int8, sums of int32.
Config EnergyConfig() {
  Config c;
  c.name = "small";
  c.block_in = c.block_out = 2;
  c.uop_buffer_bytes = 128;           // 32 micro-ops
  c.input_buffer_bytes = 1024;        // 512 elements of 2 bytes
  c.weight_buffer_bytes = 64;         // 16 elements of 4 bytes
  c.accumulator_buffer_bytes = 1024;  // 128 elements of 8 bytes
  c.accumulator_banks = 4;
  c.instruction_queue_depth = 64;
  return c;
}
// Indices of accumulators (7 bits), inputs or accumulators (9), weights (4).
constexpr int64_t kUopBits = 7 + 9 + 4;

using Counts = std::map<std::string, int64_t>;
Counts CountsOf(const std::vector<Instruction>& program, const Config& config) {
  Events events;
  CountEvents(program, config, &events);
  const auto energy = EnergyOf(events, config, 45);
  EXPECT_TRUE(energy.ok()) << energy.status();
  Counts counts;
  for (const EnergyPart& part : energy->parts) counts[part.unit + ": " + part.event] = part.count;
  return counts;
}

// Two instructions of the ALU: 2 micro-ops 3 times with an immediate, 1 micro-op 4 times with a
// second accumulator.
TEST(VtaEnergyTerms, OfTheAlu) {
  const Config config = EnergyConfig();
  Instruction shift{.opcode = Opcode::kAlu, .uop_begin = 0, .uop_end = 2, .outer = 3, .inner = 1};
  shift.alu = AluOp::kShiftRight;
  shift.use_immediate = true;
  Instruction add{.opcode = Opcode::kAlu, .uop_begin = 5, .uop_end = 6, .outer = 2, .inner = 2};
  add.alu = AluOp::kAdd;
  constexpr int64_t kShifts = 6, kAdds = 4, kElement = 2 * 32;
  EXPECT_EQ(
      CountsOf({shift, add}, config),
      (Counts{
          {"ALU: shifts", kShifts * 2},
          {"ALU: additions", kAdds * 2},
          // The result passes three registers, and of two operands the one that is read first waits
          // in one.
          {"ALU: register bits", (3 * (kShifts + kAdds) + kAdds) * kElement},
          // One accumulator read a step, two where there is a second operand, and one written.
          {"accumulators: bits read and written", (2 * (kShifts + kAdds) + kAdds) * kElement},
          // Every result goes into the output buffer, too.
          {"output buffer: bits read and written", (kShifts + kAdds) * 16},
          // A micro-op a step, and all of an instruction by the dispatcher, which examines them.
          {"micro-op buffer: bits read and written", (kShifts + kAdds + 3) * kUopBits},
          {"memory port: register bits", 2 * 128},
          {"fetch and queues: register bits", 2 * 128},
          {"fetch and queues: bits of the compute queue read and written", 2 * 2 * (128 + 32 + 4)},
          {"outer memory: bytes", 32},
      }));
}

TEST(VtaEnergyTerms, OfAGemmAndAReset) {
  const Config config = EnergyConfig();
  const Instruction gemm{
      .opcode = Opcode::kGemm, .uop_begin = 0, .uop_end = 1, .outer = 5, .inner = 1};
  Instruction reset = gemm;
  reset.reset = true;
  reset.outer = 3;
  constexpr int64_t kSteps = 5, kResets = 3, kElement = 2 * 32;
  EXPECT_EQ(
      CountsOf({gemm, reset}, config),
      (Counts{
          {"GEMM unit: multiplications", kSteps * 4},
          {"GEMM unit: additions of products", kSteps * 2},  // of two products each
          {"GEMM unit: accumulations", kSteps * 2},
          // Four products of 16 bits, two sums of 17, and the result in two places.
          {"GEMM unit: register bits", kSteps * (4 * 16 + 2 * 17 + 2 * kElement)},
          {"ALU: register bits", 3 * kResets * kElement},  // which executes resets
          // A step reads and writes; so does a reset, which the ALU executes.
          {"accumulators: bits read and written", 2 * (kSteps + kResets) * kElement},
          {"output buffer: bits read and written", (kSteps + kResets) * 16},
          {"input buffer: bits read and written", kSteps * 16},
          {"weight buffer: bits read and written", kSteps * 32},
          {"micro-op buffer: bits read and written", (kSteps + kResets + 2) * kUopBits},
          {"memory port: register bits", 2 * 128},
          {"fetch and queues: register bits", 2 * 128},
          {"fetch and queues: bits of the compute queue read and written", 2 * 2 * (128 + 32 + 4)},
          {"outer memory: bytes", 32},
      }));
}

// Loads write each element once, micro-ops into three copies of their buffer; a store reads the
// output buffer.
TEST(VtaEnergyTerms, OfLoadsAndStores) {
  const Config config = EnergyConfig();
  const auto move = [](Opcode opcode, Memory memory, uint32_t elements) {
    Instruction in{
        .opcode = opcode, .memory = memory, .y_size = 1, .x_size = elements, .x_stride = elements};
    return in;
  };
  Instruction padded = move(Opcode::kLoad, Memory::kInput, 3);
  padded.x_pad_before = 2;
  EXPECT_EQ(
      CountsOf(
          {move(Opcode::kLoad, Memory::kUop, 7), padded, move(Opcode::kLoad, Memory::kWeight, 2),
           move(Opcode::kLoad, Memory::kAccumulator, 4), move(Opcode::kStore, Memory::kOutput, 6)},
          config),
      (Counts{
          {"accumulators: bits read and written", 4 * 64},
          {"output buffer: bits read and written", (4 + 6) * 16},  // what is loaded stands in both
          {"input buffer: bits read and written", (3 + 2) * 16},
          {"weight buffer: bits read and written", 2 * 32},
          {"micro-op buffer: bits read and written", 3 * 7 * kUopBits},
          {"memory port: register bits", 8 * (5 * 16 + 7 * 4 + 3 * 2 + 2 * 4 + 4 * 8 + 6 * 2)},
          {"fetch and queues: register bits", 5 * 128},
          {"fetch and queues: bits of the load queue read and written", 2 * 2 * (128 + 32)},
          {"fetch and queues: bits of the compute queue read and written", 2 * 2 * (128 + 32 + 4)},
          {"fetch and queues: bits of the store queue read and written", 2 * (128 + 32)},
          {"outer memory: bytes", 5 * 16 + 7 * 4 + 3 * 2 + 2 * 4 + 4 * 8 + 6 * 2},
      }));
}

// Picojoules of one event at 45 nm, from the formulas of hardware/energy.h and the sizes of the
// memories.
TEST(VtaEnergyTerms, OfSingleEvents) {
  const Config config = EnergyConfig();
  const auto cost = CostOf(config, 45);
  ASSERT_TRUE(cost.ok());
  std::map<std::string, double> each;
  for (const EventEnergy& event : cost->events) each[event.event] = event.picojoules;
  const Format int8 = *FindFormat("int8"), int32 = *FindFormat("int32"),
               int17 = *FindFormat("int17");
  const auto memory = [](int64_t bits) { return hardware::MemoryEnergyPerBit(bits); };
  const double add = hardware::AddEnergy(int32);
  const std::map<std::string, double> expected = {
      {"multiplication int8 x int8", hardware::MultiplyEnergy(int8, int8)},
      {"addition of products, 17 bits", hardware::AddEnergy(int17)},
      {"accumulation int32", add},
      {"ALU minimum int32", add},
      {"ALU maximum int32", add},
      {"ALU addition int32", add},
      {"ALU shift int32", add},
      {"ALU multiplication int32", hardware::MultiplyEnergy(int32, int32)},
      {"register bit", hardware::RegisterEnergyPerBit()},
      {"micro-op buffer bit", memory(32 * kUopBits)},
      {"input buffer bit", memory(512 * 16)},
      {"weight buffer bit", memory(16 * 32)},
      {"accumulator bit", memory(128 / 4 * 64)},  // of one bank
      {"output buffer bit", memory(128 / 4 * 16)},
      {"instruction queue bit", memory(64 * (128 + 32 + 4))},
      {"outer memory byte", 162.5},
  };
  ASSERT_EQ(each.size(), expected.size());
  for (const auto& [event, picojoules] : expected)
    EXPECT_DOUBLE_EQ(each[event], picojoules) << event;
}

TEST(VtaAreaTerms, MemoriesOfEveryUnit) {
  const auto cost = CostOf(EnergyConfig(), 45);
  ASSERT_TRUE(cost.ok());
  std::map<std::string, int64_t> bits;
  for (const UnitArea& unit : cost->units) {
    if (unit.memory_bits > 0) bits[unit.unit] = unit.memory_bits;
  }
  EXPECT_EQ(bits, (std::map<std::string, int64_t>{
                      {"accumulators", 128 * 64},
                      {"output buffer", 128 * 16},
                      {"input buffer", 512 * 16},
                      {"weight buffer", 16 * 32},
                      {"micro-op buffer", 3 * 32 * kUopBits},
                      {"fetch and queues", 64 * (160 + 164 + 160)},
                  }));
}

}  // namespace
}  // namespace kiln::vta
