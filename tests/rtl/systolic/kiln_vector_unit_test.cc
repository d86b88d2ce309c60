// Compares kiln_vector_unit behind AXI memory with the cycle level: random vector instructions and
// random drains, bits always, cycles with an ideal memory.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "Vvector_unit_3.h"
#include "Vvector_unit_4.h"
#include "Vvector_unit_bf16.h"
#include "Vvector_unit_blocks_2x8.h"
#include "Vvector_unit_blocks_4x2.h"
#include "Vvector_unit_blocks_4x4.h"
#include "Vvector_unit_codes.h"
#include "Vvector_unit_formats.h"
#include "Vvector_unit_fp16_blocks.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "kiln/targets/systolic/simulate/cycle/cycle_data.h"
#include "kiln/targets/systolic/simulate/numbers.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/vector_command.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::rtl {
namespace {

using systolic::Config;
using systolic::Instruction;
using systolic::Opcode;
using systolic::RandomCase;
using testbench::AxiMemory;
using testbench::AxiReadPort;
using testbench::AxiTiming;
using testbench::AxiWritePort;

constexpr uint64_t kMemoryBytes = 1 << 18;
constexpr int kLatency = 9;      // memory_latency
constexpr int kPortLatency = 2;  // of it, the port's own
constexpr int kSlots = 16;
constexpr int kScalePort = 8;  // bytes

// The design point of the models in CMakeLists.txt.
Config UnitConfig(int lanes, int stages, int latency, int operand_words = 64) {
  Config c = systolic::Fp32Machine();
  c.name = "vector unit";
  c.array_rows = lanes;
  c.array_columns = lanes;
  c.vector_stages = stages;
  c.vector_stage_latency = latency;
  c.vector_row_buffer_words = 16;
  c.vector_rows_in_flight = 3;
  c.operand_buffer_words = operand_words;
  c.accumulation_buffer_words = 64;
  c.operand_port_bytes = 8;
  c.output_port_bytes = 8;
  c.memory_latency = kLatency;
  c.memory_bytes = kMemoryBytes;
  return c;
}

struct Design4 {
  using Model = Vvector_unit_4;
  static Config config() { return UnitConfig(4, 3, 2, 13); }
};
struct Design3 {
  using Model = Vvector_unit_3;
  static Config config() {
    Config c = UnitConfig(3, 4, 1, 5);
    c.vector_function_stages = 0b0101;
    c.vector_divide_stages = 0b1010;
    return c;
  }
};

// Codes of the array's formats in memory, and float accumulators.
struct DesignFormats {
  using Model = Vvector_unit_formats;
  static Config config() {
    Config c = UnitConfig(2, 2, 1);
    c.input_format = *FindFormat("e4m3");
    c.weight_format = *FindFormat("posit8_1");
    SetDefaultSums(&c);
    return c;
  }
};

// A vector unit in bf16 behind integers.
struct DesignBf16 {
  using Model = Vvector_unit_bf16;
  static Config config() {
    Config c = UnitConfig(2, 3, 3);
    c.vector_format = *FindFormat("bf16.flush");
    c.vector_function_latency = c.vector_convert_latency = 3;
    return c;
  }
};

// The same behind floats, with codes of 8 bits and no integers in memory.
struct DesignCodes {
  using Model = Vvector_unit_codes;
  static Config config() {
    Config c = UnitConfig(2, 3, 3);
    c.input_format = *FindFormat("e4m3");
    c.weight_format = *FindFormat("posit8_1");
    SetDefaultSums(&c);
    c.vector_format = *FindFormat("bf16.flush");
    c.vector_function_latency = c.vector_convert_latency = 3;
    c.integer_elements = false;
    return c;
  }
};

// Block scales: of four words, of one, and two in a word.
Config BlocksConfig(int lanes, int block_size, int latency) {
  Config c = UnitConfig(lanes, 3, latency, 14);
  c.block_size = block_size;
  c.vector_function_stages = 0b001;
  c.vector_divide_stages = 0b100;
  c.weight_format = *FindFormat("e4m3");
  return c;
}
struct DesignBlocks2x8 {
  using Model = Vvector_unit_blocks_2x8;
  static Config config() {
    Config c = BlocksConfig(2, 8, 3);
    c.input_format = *FindFormat("fixed8_6");
    SetDefaultSums(&c);
    return c;
  }
};
struct DesignBlocks4x4 {
  using Model = Vvector_unit_blocks_4x4;
  static Config config() {
    Config c = BlocksConfig(4, 4, 1);
    c.input_format = *FindFormat("fixed8_6");
    SetDefaultSums(&c);
    return c;
  }
};
struct DesignBlocks4x2 {
  using Model = Vvector_unit_blocks_4x2;
  static Config config() {
    Config c = BlocksConfig(4, 2, 2);
    c.array_rows = 2;
    c.input_format = *FindFormat("e5m2");
    c.scale_format = *FindFormat("ue5m3");
    SetDefaultSums(&c);
    return c;
  }
};

// And in fp16, which rounds what has block scales before and behind it.
struct DesignFp16Blocks {
  using Model = Vvector_unit_fp16_blocks;
  static Config config() {
    Config c = UnitConfig(2, 2, 1, 14);
    c.block_size = 4;
    c.input_format = *FindFormat("e5m2");
    c.weight_format = *FindFormat("e4m3");
    SetDefaultSums(&c);
    c.vector_format = *FindFormat("fp16");
    c.vector_function_latency = 4;
    c.vector_convert_latency = 3;
    return c;
  }
};

// A block, as the array and the parameter fetch would leave it.
struct Block {
  systolic::Visit visit;
  systolic::AccumulationBank accumulators;
  systolic::ParameterBank parameters;
};

// Writes the blocks of an instruction into banks and parameter buffer, one word a cycle.
class Loader {
 public:
  Loader(const Instruction& instruction, const Config& config, const std::vector<Block>& blocks)
      : config_(config), blocks_(blocks), tile_width_(instruction.tiling.tile_width) {
    tile_pixels_ = tile_width_ * instruction.tiling.tile_height;
    stride_ = static_cast<size_t>(systolic::ArrayWeights(2, config.array_columns).columns);
  }

  bool block_done = false, parameters_done = false;  // in this cycle
  int64_t released = 0, parameters_released = 0;

  template <typename Model>
  void Drive(Model& model, int bank) {
    block_done = parameters_done = false;
    model.accumulation_write = 0;
    model.parameter_write = 0;
    if (block_ == blocks_.size()) return;
    const Block& block = blocks_[block_];
    const int32_t columns = block.visit.columns;
    if (block.visit.fetch_parameters && parameter_step_ <= 3 * columns) {
      if (parameter_sets_ > parameters_released) return;
      if (parameter_step_ == 3 * columns) {
        parameters_done = true;
        ++parameter_sets_;
      } else {
        WriteParameters(model, block.parameters, parameter_step_ % 3, parameter_step_ / 3);
      }
      ++parameter_step_;
      return;
    }
    if (static_cast<int64_t>(block_) - released >= config_.accumulation_buffer_banks) return;
    if (step_ == columns * block.visit.pixels()) {
      block_done = true;
      ++block_;
      step_ = parameter_step_ = 0;
      return;
    }
    const int32_t column = step_ / block.visit.pixels(), pixel = step_ % block.visit.pixels();
    model.accumulation_write = 1;
    model.accumulation_write_bank =
        (bank + static_cast<int>(block_)) % config_.accumulation_buffer_banks;
    model.accumulation_write_address =
        static_cast<uint8_t>(column * tile_pixels_ + pixel / block.visit.width * tile_width_ +
                             pixel % block.visit.width);
    std::vector<uint8_t> bytes(static_cast<size_t>(4 * config_.array_columns));
    const size_t first = static_cast<size_t>(step_) * stride_;
    const void* from = config_.accumulation_format.is_integer()
                           ? static_cast<const void*>(block.accumulators.sums.data() + first)
                           : static_cast<const void*>(block.accumulators.values.data() + first);
    std::memcpy(bytes.data(), from, bytes.size());
    SetBytes(model.accumulation_write_data, bytes);
    ++step_;
  }

 private:
  template <typename Model>
  void WriteParameters(Model& model, const systolic::ParameterBank& parameters, int array,
                       int column) {
    const size_t lanes = static_cast<size_t>(config_.array_columns);
    std::vector<uint8_t> bytes(4 * lanes);
    const size_t first = static_cast<size_t>(column) * lanes;
    const void* from = array == 0   ? static_cast<const void*>(parameters.offset.data() + first)
                       : array == 1 ? static_cast<const void*>(parameters.scale.data() + first)
                                    : static_cast<const void*>(parameters.bias.data() + first);
    const size_t entries = std::min(lanes, parameters.offset.size() - first);
    std::memcpy(bytes.data(), from, 4 * entries);
    model.parameter_write = 1;
    model.parameter_write_array = static_cast<uint8_t>(array);
    model.parameter_write_column = static_cast<uint8_t>(column);
    SetBytes(model.parameter_write_data, bytes);
  }

  const Config& config_;
  const std::vector<Block>& blocks_;
  int32_t tile_width_, tile_pixels_ = 0;
  size_t stride_ = 0;
  size_t block_ = 0;
  int32_t step_ = 0, parameter_step_ = 0;
  int64_t parameter_sets_ = 0;
};

// A machine that consists of the vector unit.
template <typename Design>
class Machine {
 public:
  Machine(const AxiTiming& timing, uint64_t seed)
      : config_(Design::config()),
        memory_(kMemoryBytes, timing),
        operand_bus_(&memory_, config_.operand_port_bytes, seed),
        output_bus_(&memory_, config_.output_port_bytes, seed + 1),
        operand_scale_bus_(&memory_, kScalePort, seed + 2),
        output_scale_bus_(&memory_, kScalePort, seed + 3),
        unit_(seed) {
    unit_->command_valid = 0;
    unit_->stage_write_valid = 0;
    unit_->array_done = 0;
    unit_->depthwise_done = 0;
    unit_->parameters_ready = 0;
    unit_->accumulation_write = 0;
    unit_->parameter_write = 0;
    unit_->operand_arready = 0;
    unit_->operand_rvalid = 0;
    unit_->output_awready = 0;
    unit_->output_wready = 0;
    unit_->output_bvalid = 0;
    unit_->operand_scale_arready = 0;
    unit_->operand_scale_rvalid = 0;
    unit_->output_scale_awready = 0;
    unit_->output_scale_wready = 0;
    unit_->output_scale_bvalid = 0;
    unit_.Reset();
  }

  AxiMemory& memory() { return memory_; }
  Simulation<typename Design::Model>& unit() { return unit_; }

  // One cycle, to its end. Whether the parameters were released in it.
  bool Cycle() {
    KILN_AXI_DRIVE_READ(*unit_, operand, operand_bus_);
    KILN_AXI_DRIVE_WRITE(*unit_, output, output_bus_);
    KILN_AXI_DRIVE_READ(*unit_, operand_scale, operand_scale_bus_);
    KILN_AXI_DRIVE_WRITE(*unit_, output_scale, output_scale_bus_);
    unit_.Settle();
    KILN_AXI_SAMPLE_READ(*unit_, operand, operand_bus_);
    KILN_AXI_SAMPLE_WRITE(*unit_, output, output_bus_);
    KILN_AXI_SAMPLE_READ(*unit_, operand_scale, operand_scale_bus_);
    KILN_AXI_SAMPLE_WRITE(*unit_, output_scale, output_scale_bus_);
    released_ = unit_->accumulation_released != 0;
    taken_ = unit_->command_valid != 0 && unit_->command_ready != 0;
    const bool parameters_released = unit_->parameters_released != 0;
    unit_.Step();
    return parameters_released;
  }

  // Hands over an instruction and runs until it is finished; cycles from the first in which the
  // command is there to the first in which it counts as finished. -1: never.
  int64_t Run(const Instruction& instruction, int number) {
    Send(instruction, number);
    const uint64_t begin = unit_.Cycle();
    while (!IsFinished(number)) {
      Cycle();
      if (taken_) unit_->command_valid = 0;
      if (unit_.Cycle() - begin > 300000) return -1;
    }
    return static_cast<int64_t>(unit_.Cycle() - begin);
  }

  // Writes stages and offers the command, which stays until it is taken.
  void Send(const Instruction& instruction, int number) {
    const VectorCommand command = MakeVectorCommand(instruction, config_, number, number % kSlots);
    WriteStages(command);
    unit_->command_valid = 1;
    SetBytes(unit_->command, command.command);
    SetBytes(unit_->command_scales, command.scales);
  }
  // Hands over instructions one after the other, each as soon as the one before has been taken.
  // Returns for each the cycle from which on it counts as finished, from the first in which the
  // first command is there; fewer if it got stuck.
  std::vector<int64_t> RunAll(const std::vector<Instruction>& instructions) {
    // All stages beforehand, for which there are slots.
    std::vector<VectorCommand> commands;
    for (size_t i = 0; i < instructions.size(); ++i) {
      commands.push_back(
          MakeVectorCommand(instructions[i], config_, static_cast<int>(i), static_cast<int>(i)));
      WriteStages(commands.back());
    }
    std::vector<int64_t> finished;
    const uint64_t begin = unit_.Cycle();
    size_t next = 0;
    while (finished.size() < instructions.size() && unit_.Cycle() - begin < 300000) {
      unit_->command_valid = next < commands.size();
      if (next < commands.size()) {
        SetBytes(unit_->command, commands[next].command);
        SetBytes(unit_->command_scales, commands[next].scales);
      }
      Cycle();
      if (taken_) ++next;
      while (unit_->finished > finished.size())
        finished.push_back(static_cast<int64_t>(unit_.Cycle() - begin));
    }
    unit_->command_valid = 0;
    return finished;
  }

  // Drains all blocks of a matrix or depthwise instruction, whose accumulators and parameters it
  // writes as an array and a parameter fetch would: banks and parameter buffer are filled again
  // when they have been released. Compares the cycles of every block, from the first in which
  // nothing is missing, if `exact`. Returns whether it came to its end.
  bool Drain(const Instruction& instruction, int number, const std::vector<Block>& blocks,
             bool exact) {
    Send(instruction, number);
    const bool matrix = instruction.opcode == Opcode::kMatrix;
    const uint64_t begin = unit_.Cycle();
    Loader loader(instruction, config_, blocks);
    // When the first word is listed, or the unit has done with the block before.
    int64_t free = static_cast<int64_t>(begin) + systolic::kFirstSlotCycles;
    int64_t finished = 0, parameters_there = 0;
    size_t drained = 0;
    std::deque<int64_t> accumulators_there;  // of blocks not yet drained
    while (!IsFinished(number)) {
      const auto now = static_cast<int64_t>(unit_.Cycle());
      if (now - static_cast<int64_t>(begin) > 300000) return false;
      loader.Drive(*unit_, bank_);
      unit_->array_done = matrix && loader.block_done;
      unit_->depthwise_done = !matrix && loader.block_done;
      unit_->parameters_ready = loader.parameters_done;
      if (loader.block_done) accumulators_there.push_back(now + 1);
      if (loader.parameters_done) parameters_.push_back(now + 1);
      const bool parameters_released = Cycle();
      if (parameters_released) ++loader.parameters_released;
      if (released_) {
        ++loader.released;
        const systolic::Visit& visit = blocks[drained++].visit;
        if (visit.fetch_parameters) {
          parameters_there = parameters_.front();
          parameters_.pop_front();
        }
        const int64_t start = std::max({free, accumulators_there.front(), parameters_there});
        accumulators_there.pop_front();
        const systolic::VectorTime time = systolic::DrainTime(instruction, config_, visit);
        if (exact) {
          EXPECT_EQ(now + 1, start + time.busy) << "block " << drained - 1;
        }
        free = now + 1;
        finished = std::max(finished, start + time.finished);
      }
      if (taken_) unit_->command_valid = 0;
    }
    unit_->array_done = 0;
    unit_->depthwise_done = 0;
    unit_->parameters_ready = 0;
    bank_ += static_cast<int>(blocks.size());
    EXPECT_EQ(drained, blocks.size());
    if (exact) {
      EXPECT_EQ(static_cast<int64_t>(unit_.Cycle()), finished);
    }
    return true;
  }
  bool IsFinished(int number) const { return unit_model()->finished == ((number + 1) & 0xffff); }

 private:
  void WriteStages(const VectorCommand& command) {
    for (const std::vector<uint8_t>& write : command.stage_writes) {
      unit_->stage_write_valid = 1;
      SetBytes(unit_->stage_write, write);
      Cycle();
    }
    unit_->stage_write_valid = 0;
  }
  const typename Design::Model* unit_model() const {
    return &*const_cast<Simulation<typename Design::Model>&>(unit_);
  }

  const Config config_;
  AxiMemory memory_;
  AxiReadPort operand_bus_;
  AxiWritePort output_bus_;
  AxiReadPort operand_scale_bus_;
  AxiWritePort output_scale_bus_;
  Simulation<typename Design::Model> unit_;
  bool released_ = false, taken_ = false;
  int bank_ = 0;  // blocks drained so far
  std::deque<int64_t> parameters_;
};

AxiTiming Ideal() {
  AxiTiming timing;
  timing.latency = kLatency - kPortLatency;
  return timing;
}

// An instruction that this design point accepts.
RandomCase RandomProgram(Random& random, const Config& config, Opcode opcode) {
  while (true) {
    RandomCase c = RandomInstruction(random, config, opcode);
    if (CheckInstruction(c.instruction, config).ok() && c.memory.size() < kMemoryBytes) return c;
  }
}

template <typename Design>
void RunsVectorInstructions(const AxiTiming& timing, bool exact, int programs, uint64_t seed) {
  const Config config = Design::config();
  const systolic::Numbers numbers(config);
  Random random(seed);
  Machine<Design> machine(timing, seed);
  for (int i = 0; i < programs; ++i) {
    RandomCase c = RandomProgram(random, config, Opcode::kVector);
    c.memory.resize(kMemoryBytes);
    machine.memory().bytes() = c.memory;
    const int64_t cycles = machine.Run(c.instruction, i);
    ASSERT_GE(cycles, 0) << "never finished: program " << i << " of seed " << seed << "\n"
                         << Print(c.instruction, config);
    systolic::OuterMemory expected{c.memory};
    systolic::RunVectorRows(c.instruction, numbers, expected);
    ASSERT_TRUE(machine.memory().bytes() == c.memory)
        << "program " << i << " of seed " << seed << "\n"
        << Print(c.instruction, config);
    if (exact) {
      ASSERT_EQ(cycles, systolic::kFirstSlotCycles +
                            systolic::VectorInstructionTime(c.instruction.vector, config).finished)
          << "program " << i << " of seed " << seed << "\n"
          << Print(c.instruction, config);
    }
  }
}

TEST(VectorUnit, RunsVectorInstructionsInTheCyclesOfTheModel) {
  RunsVectorInstructions<Design4>(Ideal(), /*exact=*/true, 300, 1);
  RunsVectorInstructions<Design3>(Ideal(), /*exact=*/true, 300, 2);
}

TEST(VectorUnit, RunsVectorInstructionsUnderStalls) {
  RunsVectorInstructions<Design4>(Ideal().StallAll(0.3), /*exact=*/false, 150, 3);
  RunsVectorInstructions<Design3>(Ideal().StallAll(0.6), /*exact=*/false, 150, 4);
}

// Moves everything that a vector instruction names in memory.
void Move(Instruction* instruction, uint64_t offset) {
  const auto move = [offset](systolic::Stream& stream) {
    stream.base += offset;
    stream.blocks.base += stream.blocks.present ? offset : 0;
  };
  for (systolic::Stream& stream : instruction->vector.operands) move(stream);
  move(instruction->vector.output);
}

// Instructions in succession: the next begins when the one before has been issued to its end, or is
// finished if it waits for that, and words leave in their order whatever the depth.
template <typename Design>
void RunsSequences(const AxiTiming& timing, bool exact, int sequences, uint64_t seed) {
  const Config config = Design::config();
  const systolic::Numbers numbers(config);
  Random random(seed);
  for (int i = 0; i < sequences; ++i) {
    Machine<Design> machine(timing, seed);
    std::vector<Instruction> instructions;
    std::vector<int64_t> finished;
    std::vector<uint8_t> memory;
    int64_t free = 0, left = 0, lanes_left = 0;
    while (instructions.size() < 12) {
      RandomCase c = RandomProgram(random, config, Opcode::kVector);
      if (memory.size() + c.memory.size() > kMemoryBytes) break;
      Move(&c.instruction, memory.size());
      memory.insert(memory.end(), c.memory.begin(), c.memory.end());
      const systolic::VectorTime time = VectorInstructionTime(c.instruction.vector, config);
      const int64_t depth = PipelineDepth(c.instruction.vector, config);
      const int64_t lane_depth = LaneDepth(c.instruction.vector, config);
      int64_t start =
          std::max({free + systolic::kFirstSlotCycles, left - depth, lanes_left - lane_depth});
      const size_t distance = c.instruction.wait_distance;
      if (distance > 0 && distance <= finished.size())
        start = std::max(start, finished[finished.size() - distance]);
      free = start + time.busy;
      left = std::max(left, free + depth);
      lanes_left = std::max(lanes_left, free + lane_depth);
      finished.push_back(std::max(finished.empty() ? 0 : finished.back(), start + time.finished));
      instructions.push_back(c.instruction);
    }
    memory.resize(kMemoryBytes);
    machine.memory().bytes() = memory;
    const std::vector<int64_t> cycles = machine.RunAll(instructions);
    systolic::OuterMemory expected{memory};
    for (const Instruction& instruction : instructions)
      systolic::RunVectorRows(instruction, numbers, expected);
    ASSERT_EQ(cycles.size(), instructions.size())
        << "stuck in sequence " << i << " of seed " << seed;
    ASSERT_TRUE(machine.memory().bytes() == memory) << "sequence " << i << " of seed " << seed;
    if (exact) {
      ASSERT_EQ(cycles, finished) << "sequence " << i << " of seed " << seed;
    }
  }
}

TEST(VectorUnit, RunsSequencesInTheCyclesOfTheModel) {
  RunsSequences<Design4>(Ideal(), /*exact=*/true, 20, 21);
  RunsSequences<Design3>(Ideal(), /*exact=*/true, 20, 22);
}

TEST(VectorUnit, RunsSequencesUnderStalls) {
  RunsSequences<Design4>(Ideal().StallAll(0.4), /*exact=*/false, 8, 23);
  RunsSequences<Design3>(Ideal().StallAll(0.4), /*exact=*/false, 8, 24);
}

template <typename Design>
void DrainsBlocks(const AxiTiming& timing, bool exact, int programs, uint64_t seed) {
  const Config config = Design::config();
  const systolic::Numbers numbers(config);
  Random random(seed);
  Machine<Design> machine(timing, seed);
  for (int i = 0; i < programs; ++i) {
    const Opcode opcode = random.Below(4) == 0 ? Opcode::kDepthwise : Opcode::kMatrix;
    RandomCase c = RandomProgram(random, config, opcode);
    c.memory.resize(kMemoryBytes);
    machine.memory().bytes() = c.memory;
    systolic::OuterMemory expected{c.memory};
    std::vector<Block> blocks;
    for (const systolic::Visit& visit : VisitsOf(c.instruction, config)) {
      Block block;
      block.visit = visit;
      const size_t stride =
          static_cast<size_t>(systolic::ArrayWeights(2, config.array_columns).columns);
      block.accumulators.sums.resize(static_cast<size_t>(visit.columns * visit.pixels()) * stride);
      for (int32_t& sum : block.accumulators.sums) {
        sum = static_cast<int32_t>(random()) >> random.Below(31);
        block.accumulators.values.push_back(static_cast<float>(random.Uniform(-4000, 4000)));
      }
      systolic::FetchParameters(c.instruction, config, visit, expected, block.parameters);
      DrainBlock(c.instruction, numbers, visit, block.accumulators, block.parameters, expected);
      blocks.push_back(std::move(block));
    }
    ASSERT_TRUE(machine.Drain(c.instruction, i, blocks, exact) && !testing::Test::HasFailure())
        << "program " << i << " of seed " << seed << "\n"
        << Print(c.instruction, config);
    ASSERT_TRUE(machine.memory().bytes() == c.memory)
        << "program " << i << " of seed " << seed << "\n"
        << Print(c.instruction, config);
  }
}

TEST(VectorUnit, DrainsBlocksInTheCyclesOfTheModel) {
  DrainsBlocks<Design4>(Ideal(), /*exact=*/true, 200, 11);
  DrainsBlocks<Design3>(Ideal(), /*exact=*/true, 200, 12);
}

TEST(VectorUnit, DrainsBlocksUnderStalls) {
  DrainsBlocks<Design4>(Ideal().StallAll(0.3), /*exact=*/false, 100, 13);
  DrainsBlocks<Design3>(Ideal().StallAll(0.6), /*exact=*/false, 100, 14);
}

TEST(VectorUnit, TakesCodesAndFloatAccumulators) {
  RunsVectorInstructions<DesignFormats>(Ideal(), /*exact=*/true, 300, 5);
  RunsVectorInstructions<DesignFormats>(Ideal().StallAll(0.3), /*exact=*/false, 50, 6);
  DrainsBlocks<DesignFormats>(Ideal(), /*exact=*/true, 150, 15);
}

TEST(VectorUnit, ComputesWithoutIntegers) {
  RunsVectorInstructions<DesignCodes>(Ideal(), /*exact=*/true, 300, 27);
  RunsVectorInstructions<DesignCodes>(Ideal().StallAll(0.3), /*exact=*/false, 100, 28);
  DrainsBlocks<DesignCodes>(Ideal(), /*exact=*/true, 200, 36);
  DrainsBlocks<DesignCodes>(Ideal().StallAll(0.3), /*exact=*/false, 60, 37);
}
TEST(VectorUnit, ComputesInBf16) {
  RunsVectorInstructions<DesignBf16>(Ideal(), /*exact=*/true, 300, 7);
  RunsVectorInstructions<DesignBf16>(Ideal().StallAll(0.3), /*exact=*/false, 100, 8);
  DrainsBlocks<DesignBf16>(Ideal(), /*exact=*/true, 200, 16);
  DrainsBlocks<DesignBf16>(Ideal().StallAll(0.3), /*exact=*/false, 60, 17);
  RunsSequences<DesignBf16>(Ideal(), /*exact=*/true, 10, 25);
}

template <typename Design>
void HandlesBlockScales(uint64_t seed) {
  RunsVectorInstructions<Design>(Ideal(), /*exact=*/true, 300, seed);
  DrainsBlocks<Design>(Ideal(), /*exact=*/true, 200, seed + 1);
  RunsSequences<Design>(Ideal(), /*exact=*/true, 20, seed + 2);
  RunsVectorInstructions<Design>(Ideal().StallAll(0.4), /*exact=*/false, 100, seed + 3);
  DrainsBlocks<Design>(Ideal().StallAll(0.4), /*exact=*/false, 60, seed + 4);
  RunsSequences<Design>(Ideal().StallAll(0.6), /*exact=*/false, 8, seed + 5);
}

TEST(VectorUnit, GathersBlocksOfSeveralWords) { HandlesBlockScales<DesignBlocks2x8>(31); }
TEST(VectorUnit, GathersBlocksOfOneWord) { HandlesBlockScales<DesignBlocks4x4>(41); }
TEST(VectorUnit, GathersBlocksInFp16) { HandlesBlockScales<DesignFp16Blocks>(61); }
TEST(VectorUnit, FindsSeveralScalesInAWord) { HandlesBlockScales<DesignBlocks4x2>(51); }

}  // namespace
}  // namespace kiln::rtl
