// Compares kiln_input_fetch with the definition of its work (docs/systolic.md, walk.h, FillInputs
// of cycle_data.h): every request, its earliest cycle, the contents of the banks, and the cycle in
// which a fill is complete.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "Vinput_fetch_3x5.h"
#include "Vinput_fetch_4x4.h"
#include "Vinput_fetch_4x4_scales.h"
#include "Vinput_fetch_4x4_wide.h"
#include "Vinput_fetch_8x2_16bit.h"
#include "kiln/support/random.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/rtl/systolic/fetch_bench.h"
#include "tests/rtl/systolic/input_fills.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

using rtl::Tag;
using testing::HasSubstr;

// kScales: the model has a port of block scales.
template <typename M, bool kScales = false>
struct InputFetch {
  using Model = M;
  static constexpr size_t kScaleBytes = kScales ? 1 : 0;
  static int64_t ScaleRequestBytes(const Model& unit) { return unit.scale_request_bytes; }
  static constexpr int kBuffers = 2, kBanks = 2;  // the array's buffer, the depthwise unit's
  static constexpr int64_t kRequestCycles = 2;
  static void SetWait(Model& unit, uint16_t count) { unit.finished = count; }
  static void SetReleased(Model& unit, int buffer, bool on) {
    (buffer == 0 ? unit.array_released : unit.depthwise_released) = on;
  }
  static bool WaitsForCount(const Model& unit) { return unit.stalled_previous; }
  static bool WaitsForBank(const Model& unit) { return unit.stalled_bank; }
  static bool Filled(const Model& unit, int buffer) {
    return buffer == 0 ? unit.array_filled : unit.depthwise_filled;
  }
  template <typename Put>
  void ForWrites(const Model& unit, const Config& config, const Put& put) {
    const auto bits = static_cast<size_t>(config.input_format.bits);
    const auto rows = static_cast<size_t>(config.array_rows),
               columns = static_cast<size_t>(config.array_columns);
    for (size_t i = 0; unit.array_write_enable && i < rows; ++i) {
      put(0, unit.array_write_bank, unit.array_write_address * rows + i,
          LaneOf(unit.array_write_data, i, bits));
    }
    const size_t lanes =
        unit.depthwise_write_enable ? (unit.depthwise_write_words + size_t{1}) * columns : 0;
    for (size_t i = 0; i < lanes; ++i) {
      put(1, unit.depthwise_write_bank, unit.depthwise_write_address * columns + i,
          LaneOf(unit.depthwise_write_data, i, bits));
    }
    if constexpr (kScales) {
      if (unit.scale_write_enable) {
        put(0, unit.scale_write_bank, kFirstScale + unit.scale_write_address,
            unit.scale_write_one ? 127u : unit.scale_write_data);  // e8m0's 1
      }
    }
  }
};

Config ConfigOf(int rows, int columns, const char* input_format, int port_bytes,
                int words_per_cycle = 1) {
  Config config = systolic::Fp32Machine();
  config.array_rows = rows;
  config.array_columns = columns;
  config.input_format = *FindFormat(input_format);
  config.weight_rows_per_cycle = 1;
  config.input_buffer_words = 100;
  config.depthwise_buffer_words = 77;
  config.depthwise_words_per_cycle = words_per_cycle;
  config.weight_buffer_words = 16 * rows;
  config.accumulation_buffer_words = 40;
  config.depthwise_multipliers = 3;
  config.input_port_bytes = port_bytes;
  config.memory_latency = 9;
  return config;
}

// What the random instructions were, so that a test knows what it has seen.
struct Seen {
  int64_t fills = 0, depthwise_fills = 0, packed_fills = 0, null_requests = 0, padding_only = 0,
          cut_runs = 0, scaled_fills = 0, wide_requests = 0;
  void Add(const Instruction& in, const Config& config, const FetchFill& fill) {
    const bool packed = in.tiling.packing == Packing::kTaps;
    ++fills;
    depthwise_fills += fill.buffer;
    packed_fills += packed ? 1 : 0;
    scaled_fills += fill.scales.empty() ? 0 : 1;
    int64_t nulls = 0;
    for (const FetchRequest& r : fill.requests) {
      nulls += r.bytes == 0 ? 1 : 0;
      wide_requests += fill.buffer == 1 && r.bytes > config.depthwise_word_bytes() ? 1 : 0;
      cut_runs +=
          packed && r.bytes % (in.convolution.channels * config.input_format.bytes()) != 0 ? 1 : 0;
    }
    null_requests += nulls;
    padding_only += fill.padding_only ? 1 : 0;
  }
};

// Returns the bytes of the largest word of the two buffers.
size_t WordBytes(const Config& config) {
  return static_cast<size_t>(
      std::max(config.array_rows * int64_t{config.input_format.bytes()},
               config.depthwise_words_per_cycle * config.depthwise_word_bytes()));
}

template <typename Model, bool kScales = false>
void Check(const Config& config, double stalls, int instructions, uint64_t seed) {
  FetchBench<InputFetch<Model, kScales>> bench(config, config.input_port_bytes, WordBytes(config),
                                               stalls, seed);
  Random random(seed);
  Seen seen;
  for (int n = 0; n < instructions; ++n) {
    const Opcode opcode = random.Below(4) == 0 ? Opcode::kDepthwise : Opcode::kMatrix;
    const RandomCase random_case = RandomInstruction(random, config, opcode);
    const Instruction& in = random_case.instruction;
    ASSERT_TRUE(CheckInstruction(in, config).ok());
    const std::vector<FetchFill> fills = InputFills(random_case, config).List();
    const std::vector<uint8_t> command =
        rtl::CommandBytes(Encode(in, config), {static_cast<uint64_t>(n)},
                          {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion, Tag::kInput});
    bench.Run(command, static_cast<uint32_t>(n), in.wait_distance, fills, random_case.memory,
              in.convolution.input_scales.present
                  ? rtl::CommandBytes(Encode(in, config), {}, {Tag::kInputScales})
                  : std::vector<uint8_t>());
    if (testing::Test::HasFatalFailure())
      FAIL() << "instruction " << n << "\n" << Print(in, config);
    for (const FetchFill& fill : fills) seen.Add(in, config, fill);
  }
  EXPECT_GT(seen.fills, 5 * instructions);
  EXPECT_GT(seen.depthwise_fills, instructions / 2);
  EXPECT_GT(seen.packed_fills, instructions / 2);
  EXPECT_EQ(seen.scaled_fills > instructions, kScales);
  EXPECT_EQ(seen.wide_requests > instructions, config.depthwise_words_per_cycle > 1);
  EXPECT_GT(seen.null_requests, instructions);
  EXPECT_GT(seen.cut_runs, instructions);
  EXPECT_GT(seen.padding_only, instructions / 20);
  if (stalls == 0) {
    EXPECT_GT(bench.runs_without_a_gap(), instructions / (kScales ? 25 : 10));
  }
}

TEST(InputFetch, IdealMemoryTakesExactlyTheBeats) {
  Check<Vinput_fetch_4x4>(ConfigOf(4, 4, "int8", 8), 0, 150, 1);
  Check<Vinput_fetch_3x5>(ConfigOf(3, 5, "int8", 8), 0, 150, 2);
  Check<Vinput_fetch_8x2_16bit>(ConfigOf(8, 2, "int16", 8, 2), 0, 150, 3);
  Check<Vinput_fetch_4x4_wide>(ConfigOf(4, 4, "int8", 16, 4), 0, 250, 9);
}

TEST(InputFetch, StallsChangeNothingInTheBanks) {
  Check<Vinput_fetch_4x4>(ConfigOf(4, 4, "int8", 8), 0.3, 100, 4);
  Check<Vinput_fetch_3x5>(ConfigOf(3, 5, "int8", 16), 0.5, 100, 5);
  Check<Vinput_fetch_8x2_16bit>(ConfigOf(8, 2, "int16", 8, 2), 0.2, 100, 6);
  Check<Vinput_fetch_4x4_wide>(ConfigOf(4, 4, "int8", 64, 4), 0.3, 200, 10);
}

// Returns a convolution over a row of two pixels with packed taps, most of whose windows are
// padding to the left and to the right.
Instruction RowInPadding(int32_t stride_x, int32_t out_width, int32_t pad_left, int32_t channels) {
  Instruction in;
  in.opcode = Opcode::kMatrix;
  in.wait_distance = 0;
  Convolution& c = in.convolution;
  c.width = 2;
  c.channels = channels;
  c.kernel_x = 2;
  c.input_column_stride = channels;
  c.input_row_stride = int64_t{2} * channels;
  c.stride_x = stride_x;
  c.out_width = out_width;
  c.pad_left = pad_left;
  c.out_channels = 4;
  c.weight_base = 4096;
  c.parameters.base = 20480;
  in.tiling.packing = Packing::kTaps;
  in.tiling.tile_width = std::min(5, out_width);
  in.vector.outer = {1, 1, out_width, 1};
  in.vector.length = 4;
  in.vector.passes.resize(1);
  in.vector.passes[0].source = Source::kAccumulator;
  in.vector.passes[0].to_memory = true;
  in.vector.output.base = 30000;
  in.vector.output.outer_stride = {0, 0, 4, 0};
  in.vector.output.element_stride = 1;
  return in;
}

// The same in the depthwise unit, whose rows of 152 channels are joined, for one window.
Instruction DepthwiseRowInPadding(int32_t pad_left) {
  Instruction in = RowInPadding(1, 1, pad_left, 152);
  in.opcode = Opcode::kDepthwise;
  in.convolution.out_channels = 152;
  in.tiling.packing = Packing::kChannels;
  in.tiling.groups_per_bank = 38;
  in.vector.length = 152;
  in.vector.output.outer_stride = {0, 0, 152, 0};
  return in;
}

template <typename Model>
void CheckOne(const Config& config, const Instruction& in) {
  ASSERT_TRUE(CheckInstruction(in, config).ok()) << CheckInstruction(in, config);
  RandomCase random_case;
  random_case.instruction = in;
  for (int i = 0; i < 65536; ++i) random_case.memory.push_back(static_cast<uint8_t>(i * 37 + 11));
  FetchBench<InputFetch<Model>> bench(config, config.input_port_bytes, WordBytes(config), 0, 1);
  bench.Run(
      rtl::CommandBytes(Encode(in, config), {0},
                        {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion, Tag::kInput}),
      0, 0, InputFills(random_case, config).List(), random_case.memory, {});
}

// Positions in a row, in bytes, have 31 bits and a sign; an instruction with more is refused.
TEST(InputFetch, RowsAreAsLongAsPositionsReach) {
  const auto fault = [](const Config& config, const Instruction& in) {
    return MessageOf(CheckInstruction(in, config));
  };
  const Config config = ConfigOf(4, 4, "int8", 8);
  EXPECT_THAT(fault(config, RowInPadding(1 << 22, 64, 0, 8)),
              HasSubstr("a row of 268435458 positions of 8 bytes is longer than"));
  EXPECT_THAT(fault(config, RowInPadding(1, 4, 1 << 22, 512)),
              HasSubstr("a row of 4194304 positions of 512 bytes is longer than"));
  CheckOne<Vinput_fetch_4x4>(config, RowInPadding(1 << 22, 63, 0, 8));
  CheckOne<Vinput_fetch_4x4>(config, RowInPadding(1, 4, (1 << 22) - 1, 512));
  const Config wide = ConfigOf(4, 4, "int8", 16, 4);
  EXPECT_THAT(fault(wide, DepthwiseRowInPadding(14'128'182)),
              HasSubstr("a row of 14128182 positions of 152 bytes is longer than"));
  CheckOne<Vinput_fetch_4x4_wide>(wide, DepthwiseRowInPadding(14'128'181));
}

TEST(InputFetch, BlockScalesComeBesideTheirWords) {
  Config config = ConfigOf(4, 4, "int8", 8);
  config.block_size = 8;
  SetDefaultSums(&config);
  Check<Vinput_fetch_4x4_scales, true>(config, 0, 200, 7);
  Check<Vinput_fetch_4x4_scales, true>(config, 0.3, 200, 8);
}

}  // namespace
}  // namespace kiln::systolic
