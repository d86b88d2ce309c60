// Tests kiln_input_fetch and kiln_weight_fetch over AXI, with instructions back to back. With an
// ideal memory every fill completes in exactly the cycle that docs/systolic.md states; with another
// memory only the times differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <vector>

#include "Vinput_fetch_axi.h"
#include "Vweight_fetch_axi.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/support/random.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/rtl/systolic/fetch_bench.h"
#include "tests/rtl/systolic/input_fills.h"
#include "tests/rtl/systolic/weight_fills.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

using rtl::Tag;

constexpr int64_t kReleaseCycles = 25;  // from a fill's last word to its bank's token

Config DesignPoint() {
  Config config;
  config.array_rows = 4;
  config.array_columns = 4;
  config.input_buffer_words = 100;
  config.depthwise_buffer_words = 77;
  config.depthwise_words_per_cycle = 2;
  config.weight_buffer_words = 20;
  config.accumulation_buffer_words = 40;
  config.depthwise_multipliers = 3;
  config.input_port_bytes = config.weight_port_bytes = 8;
  config.memory_latency = 11;
  return config;
}

// Instructions whose operands lie one behind the other in one memory.
struct Program {
  std::vector<std::vector<uint8_t>> commands;
  std::vector<FetchFill> fills;
  std::vector<size_t> first_fills;  // of each instruction
  std::vector<uint8_t> memory;
};

template <typename FillsOf>
Program RandomProgram(const Config& config, std::initializer_list<rtl::Tag> sections,
                      uint64_t seed) {
  Program program;
  Random random(seed);
  for (uint32_t n = 0; n < 60; ++n) {
    const Opcode opcode = random.Below(4) == 0 ? Opcode::kDepthwise : Opcode::kMatrix;
    RandomCase random_case = RandomInstruction(random, config, opcode);
    Instruction& in = random_case.instruction;
    in.wait_distance = 0;
    std::vector<uint8_t> memory = program.memory;
    const uint64_t base = memory.size();
    memory.insert(memory.end(), random_case.memory.begin(), random_case.memory.end());
    program.memory = memory;
    in.convolution.input_base += base;
    in.convolution.weight_base += base;
    random_case.memory = std::move(memory);
    program.first_fills.push_back(program.fills.size());
    for (FetchFill& fill : FillsOf(random_case, config).List())
      program.fills.push_back(std::move(fill));
    program.commands.push_back(rtl::CommandBytes(Encode(in, config), {n}, sections));
  }
  return program;
}

// The cycles in which `filled` comes, by the rules: a fill begins when the unit is free and a bank
// is, and the first one of an instruction at least `request_cycles` after the unit has it.
std::vector<int64_t> FilledCycles(const Config& config, const Program& program,
                                  int64_t request_cycles) {
  std::vector<int64_t> cycles;
  std::vector<int64_t> of_buffer[2];
  int64_t free = 0, available = 0;
  for (size_t i = 0; i < program.fills.size(); ++i) {
    const FetchFill& fill = program.fills[i];
    if (std::binary_search(program.first_fills.begin(), program.first_fills.end(), i))
      free = std::max(free, available + request_cycles);
    std::vector<int64_t>& before = of_buffer[fill.buffer];
    const int64_t bank = before.size() < 2 ? 0 : before[before.size() - 2] + kReleaseCycles + 1;
    free = std::max(free, bank);
    free += CyclesOf(fill.requests, 8);
    // The unit has the next instruction after the first beat of this one's last request.
    const FetchRequest& last = fill.requests.back();
    available = free - PortCycles(last.address, last.bytes, 8) + 1;
    cycles.push_back(free + config.memory_latency - 1);  // done is the cycle behind
    before.push_back(cycles.back());
  }
  return cycles;
}

template <typename Model>
void RunUnit(const Config& config, const Program& program, const testbench::AxiTiming& timing,
             int64_t request_cycles, uint64_t seed) {
  testbench::AxiMemory memory(program.memory.size() + 256, timing);
  std::copy(program.memory.begin(), program.memory.end(), memory.bytes().begin());
  testbench::AxiReadPort bus(&memory, 8, seed);
  rtl::Simulation<Model> unit(seed);
  unit->command_valid = unit->axi_arready = unit->axi_rvalid = 0;
  unit->array_released = unit->depthwise_released = 0;
  unit->finished = 0;
  unit->port_reset = 1;
  unit.Reset();
  unit->port_reset = 0;
  const bool ideal = timing.stall_r == 0 && timing.bytes_per_cycle == 0;
  const std::vector<int64_t> expected = FilledCycles(config, program, request_cycles);
  std::deque<int64_t> releases[2];
  size_t command = 0, fill = 0;
  for (int64_t cycle = 0; fill < program.fills.size(); ++cycle) {
    ASSERT_LT(cycle, 2000000);
    unit->command_valid = command < program.commands.size();
    if (unit->command_valid) rtl::SetBytes(unit->command, program.commands[command]);
    unit->array_released = !releases[0].empty() && releases[0].front() == cycle;
    unit->depthwise_released = !releases[1].empty() && releases[1].front() == cycle;
    for (std::deque<int64_t>& r : releases) {
      if (!r.empty() && r.front() == cycle) r.pop_front();
    }
    KILN_AXI_DRIVE_READ(*unit, axi, bus);
    unit.Settle();
    KILN_AXI_SAMPLE_READ(*unit, axi, bus);
    if (unit->array_filled || unit->depthwise_filled) {
      ASSERT_EQ(unit->depthwise_filled, program.fills[fill].buffer);
      if (ideal) {
        ASSERT_EQ(cycle, expected[fill]) << "fill " << fill;
      }
      releases[program.fills[fill].buffer].push_back(cycle + kReleaseCycles);
      ++fill;
    }
    if (unit->command_valid && unit->command_ready) ++command;
    unit.Step();
  }
  EXPECT_EQ(command, program.commands.size());
  EXPECT_TRUE(unit->idle);
  EXPECT_FALSE(unit->fault);
}

template <typename Model>
void RunAll(const Config& config, const Program& program, int64_t request_cycles) {
  testbench::AxiTiming timing;
  timing.latency = static_cast<uint64_t>(config.memory_latency - kAxiPortLatency);
  ASSERT_NO_FATAL_FAILURE(RunUnit<Model>(config, program, timing, request_cycles, 1));
  timing.StallAll(0.3);
  ASSERT_NO_FATAL_FAILURE(RunUnit<Model>(config, program, timing, request_cycles, 2));
  testbench::AxiTiming dram;
  dram.latency = 30;
  dram.bytes_per_cycle = 3;
  dram.row_miss = 20;
  ASSERT_NO_FATAL_FAILURE(RunUnit<Model>(config, program, dram, request_cycles, 3));
}

TEST(InputFetchOverAxi, FillsComeWhenTheTimesSay) {
  const Config config = DesignPoint();
  RunAll<Vinput_fetch_axi>(
      config,
      RandomProgram<InputFills>(
          config, {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion, Tag::kInput}, 5),
      /*request_cycles=*/2);
}

TEST(WeightFetchOverAxi, FillsComeWhenTheTimesSay) {
  const Config config = DesignPoint();
  RunAll<Vweight_fetch_axi>(
      config,
      RandomProgram<WeightFills>(config,
                                 {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kWeights}, 6),
      /*request_cycles=*/0);
}

}  // namespace
}  // namespace kiln::systolic
