// Compares kiln_vector_sequencer with the list of an instruction's words (word_list.h). The address
// walkers inside it - kiln_vector_address, kiln_scale_address, kiln_window_origin - are compared
// with the same list on their own. Random vector instructions and drains follow each other, with
// random waits before every step.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "Vvector_sequencer.h"
#include "Vvector_sequencer_2x8.h"
#include "Vvector_sequencer_4x2.h"
#include "Vvector_walk.h"
#include "kiln/support/random.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/vector_command.h"
#include "tests/rtl/systolic/word_list.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::rtl {
namespace {

using systolic::Config;
using systolic::Instruction;
using systolic::Opcode;
using systolic::RandomCase;

// A design point around a vector unit of so many lanes; sizes that rows and blocks depend on come
// at random.
Config RandomUnit(Random& random, int lanes, int block_size) {
  Config c = systolic::Fp32Machine();
  c.name = "sequencer";
  c.array_rows = block_size == 0 ? lanes : 2;
  c.array_columns = lanes;
  c.vector_stages = 3;
  c.vector_stage_latency = static_cast<int>(random.Between(1, 3));
  c.vector_row_buffer_words = static_cast<int>(random.Between(2, 16));
  c.vector_rows_in_flight = static_cast<int>(random.Between(1, 5));
  c.accumulation_buffer_words = static_cast<int>(random.Between(8, 64));
  c.operand_buffer_words = 64;
  c.memory_latency = 9;
  c.memory_bytes = 1 << 20;
  if (block_size > 0) {
    c.block_size = block_size;
    c.input_format = *FindFormat("e5m2");
    c.weight_format = *FindFormat("e4m3");
    SetDefaultSums(&c);
  }
  return c;
}

RandomCase RandomProgram(Random& random, const Config& config) {
  const std::array<Opcode, 4> opcodes = {Opcode::kVector, Opcode::kVector, Opcode::kMatrix,
                                         Opcode::kDepthwise};
  while (true) {
    RandomCase c = RandomInstruction(random, config, opcodes[random.Below(4)]);
    if (CheckInstruction(c.instruction, config).ok()) return c;
  }
}

bool Windowed(const Instruction& in) {
  return in.vector.window.combine != systolic::Combine::kNone;
}
const systolic::Stream* StreamOf(const Instruction& in, size_t s) {
  if (s == 3) return &in.vector.output;
  return s < in.vector.operands.size() ? &in.vector.operands[s] : nullptr;
}

template <typename Model>
void CheckWord(const Model& model, const Instruction& in, const Config& config, const ListedWord& w,
               int row_address_bits) {
  const systolic::Pass& pass = in.vector.passes[w.pass];
  uint32_t reads = 0;
  for (size_t i = 0; i < in.vector.operands.size(); ++i) {
    reads |= systolic::PassReads(in.vector, w.pass, i) ? 1u << i : 0;
  }
  EXPECT_EQ(model.word_pass, w.pass);
  EXPECT_EQ(model.word_reads, reads);
  EXPECT_EQ(model.word_to_memory, pass.to_memory);
  EXPECT_EQ(model.word_gap, w.gap);
  EXPECT_EQ(model.word_row, w.row);
  EXPECT_EQ(model.word_lanes, w.lanes);
  EXPECT_EQ(model.word_first_of_row, w.first_of_row);
  EXPECT_EQ(model.word_last_of_row, w.last_of_row);
  EXPECT_EQ(model.word_last_of_block, w.last_of_block);
  EXPECT_EQ(model.word_last_of_instruction, w.last_of_instruction);
  EXPECT_EQ(model.word_row_place, w.row_place % (1 << row_address_bits));
  EXPECT_EQ(model.word_accumulator, w.accumulator);
  EXPECT_EQ(model.word_column, w.column);
  const std::array<uint64_t, 4> address = {model.operand0_address, model.operand1_address,
                                           model.operand2_address, model.target_address};
  const std::array<uint64_t, 4> scale = {model.operand0_scale_address, model.operand1_scale_address,
                                         model.operand2_scale_address, model.target_scale_address};
  for (size_t s = 0; s < 4; ++s) {
    const systolic::Stream* stream = StreamOf(in, s);
    if (stream == nullptr) continue;
    EXPECT_EQ(address[s], w.address[s]) << "stream " << s;
    if (stream->blocks.present) {
      EXPECT_EQ(scale[s], w.scale[s]) << "scales of stream " << s;
    }
  }
  if (in.vector.output.blocks.present) {
    EXPECT_EQ(model.word_last_of_scale, w.last_of_scale);
  }
  if (Windowed(in)) {
    EXPECT_EQ(static_cast<int32_t>(model.window_y), w.window_y);
    EXPECT_EQ(static_cast<int32_t>(model.window_x), w.window_x);
    EXPECT_EQ(model.window_row_offset, w.window_row);
    EXPECT_EQ(model.window_column_offset, w.window_column);
    if (in.vector.operands[0].blocks.present) {
      EXPECT_EQ(model.window_scale_row_offset, w.window_scale_row);
      EXPECT_EQ(model.window_scale_column_offset, w.window_scale_column);
    }
  }
  if (in.opcode != Opcode::kVector) {
    EXPECT_EQ(model.block_takes_parameters, w.takes_parameters);
    EXPECT_EQ(model.block_releases_parameters, w.releases_parameters);
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << Print(in, config);
}

template <typename Model>
void ListsWords(int lanes, int block_size, uint64_t seed, int row_address_bits = 24) {
  Random random(seed);
  Stalls waits(seed + 1, 0.4);
  Simulation<Model> sequencer(seed);
  sequencer->step = 0;
  sequencer.Reset();
  int windows = 0, drains = 0, scales = 0, several_passes = 0;
  for (int i = 0; i < 400; ++i) {
    const Config config = RandomUnit(random, lanes, block_size);
    const Instruction in = RandomProgram(random, config).instruction;
    windows += Windowed(in) ? 1 : 0;
    drains += in.opcode != Opcode::kVector ? 1 : 0;
    scales += in.vector.output.blocks.present ? 1 : 0;
    several_passes += in.vector.passes.size() > 1 ? 1 : 0;
    const VectorCommand command = MakeVectorCommand(in, config, i, 0);
    SetBytes(sequencer->command, command.command);
    SetBytes(sequencer->command_scales, command.scales);
    const WordList list(in, config);
    for (size_t k = 0; k < list.words().size(); ++k) {
      for (bool stands = true; stands;) {
        stands = waits.Next();
        sequencer->step = !stands;
        sequencer.Settle();
        CheckWord(*sequencer, in, config, list.words()[k], row_address_bits);
        ASSERT_FALSE(testing::Test::HasFailure()) << "word " << k << " of instruction " << i;
        sequencer.Step();
      }
    }
    sequencer->step = 0;
  }
  EXPECT_GT(windows, 20);
  EXPECT_GT(drains, 100);
  EXPECT_GT(several_passes, 20);
  EXPECT_GT(scales, block_size > 0 ? 100 : -1);
}

TEST(VectorSequencer, ListsWords) { ListsWords<Vvector_sequencer>(4, 0, 1); }
TEST(VectorSequencer, ListsWordsThatShareScales) { ListsWords<Vvector_sequencer_2x8>(2, 8, 2); }
TEST(VectorSequencer, ListsWordsOfSeveralScales) { ListsWords<Vvector_sequencer_4x2>(4, 2, 3, 3); }

// The walkers by themselves, told the steps of the list: one with and one without column tiles that
// leave together, on each stream in turn, the scales' beside them.
TEST(VectorSequencer, WalkersFollowTheStepsOfTheList) {
  constexpr int kLanes = 2;
  Random random(11);
  Stalls waits(12, 0.3);
  Simulation<Vvector_walk> walk(11);
  int together = 0, scales = 0, windows = 0;
  for (int i = 0; i < 600; ++i) {
    const Config config = RandomUnit(random, kLanes, i % 2 == 0 ? 8 : 0);
    const Instruction in = RandomProgram(random, config).instruction;
    const size_t operands = in.vector.operands.size();
    const size_t s = operands > 0 && i % 4 < 3 ? static_cast<size_t>(random.Below(operands)) : 3;
    const bool gathers = in.opcode != Opcode::kVector && in.vector.output.blocks.present;
    const bool has_scales = StreamOf(in, s)->blocks.present, windowed = s == 0 && Windowed(in);
    together += gathers ? 1 : 0;
    scales += has_scales ? 1 : 0;
    windows += windowed ? 1 : 0;
    const VectorCommand command = MakeVectorCommand(in, config, i, 0);
    SetBytes(walk->command, command.command);
    SetBytes(walk->command_scales, command.scales);
    walk->stream = static_cast<uint8_t>(s);
    walk->windowed = windowed;
    walk->together = gathers;
    const WordList list(in, config);
    bool fresh = true;
    for (const ListedWord& w : list.words()) {
      walk->kind = static_cast<uint8_t>(w.step.kind);
      walk->level = static_cast<uint8_t>(w.step.level);
      walk->keep_tile = w.step.keep_tile;
      walk->keep_row = w.step.keep_row;
      walk->keep_block = w.step.keep_block;
      walk->keep_column = w.step.keep_column;
      walk->same_scale = w.step.same_scale;
      walk->fresh = fresh;
      for (bool stands = true; stands;) {
        stands = waits.Next();
        walk->step = !stands;
        walk.Settle();
        ASSERT_EQ(walk->address_blocks, w.address[s]) << "instruction " << i << "\n"
                                                      << Print(in, config);
        if (!gathers) {
          ASSERT_EQ(walk->address, w.address[s]) << "instruction " << i << "\n"
                                                 << Print(in, config);
        }
        if (has_scales) {
          ASSERT_EQ(walk->scale_address, w.scale[s]) << "instruction " << i << "\n"
                                                     << Print(in, config);
        }
        if (windowed) {
          ASSERT_EQ(static_cast<int32_t>(walk->y), w.window_y);
          ASSERT_EQ(static_cast<int32_t>(walk->x), w.window_x);
          ASSERT_EQ(walk->row_offset, w.window_row);
          ASSERT_EQ(walk->column_offset, w.window_column);
        }
        walk.Step();
      }
      fresh = false;
    }
  }
  EXPECT_GT(together, 30);
  EXPECT_GT(scales, 50);
  EXPECT_GT(windows, 20);
}

}  // namespace
}  // namespace kiln::rtl
