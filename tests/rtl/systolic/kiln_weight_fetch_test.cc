// Compares kiln_weight_fetch with the definition of its work (docs/systolic.md, walk.h,
// FetchWeightTile and FetchDepthwiseWeights of cycle_data.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "Vweight_fetch_4x2_packed.h"
#include "Vweight_fetch_4x4.h"
#include "Vweight_fetch_4x8_4bit.h"
#include "Vweight_fetch_4x8_packed.h"
#include "Vweight_fetch_4x8_scales.h"
#include "Vweight_fetch_8x2_16bit.h"
#include "Vweight_fetch_8x2_scales.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/rtl/systolic/fetch_bench.h"
#include "tests/rtl/systolic/weight_fills.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

using rtl::Tag;

// kScales: the model has a port of block scales.
template <typename M, bool kScales = false>
struct WeightFetch {
  using Model = M;
  static constexpr size_t kScaleBytes = kScales ? 1 : 0;
  static int64_t ScaleRequestBytes(const Model& /*unit*/) { return kScaleBytes; }
  static constexpr int kBuffers = 2, kBanks = 2;  // the array's buffer, the depthwise unit's
  static constexpr int64_t kRequestCycles = 0;
  static void SetWait(Model& unit, uint16_t count) { unit.finished = count; }
  static void SetReleased(Model& unit, int buffer, bool on) {
    (buffer == 0 ? unit.array_released : unit.depthwise_released) = on;
  }
  static bool WaitsForCount(const Model& unit) { return unit.stalled_previous; }
  static bool WaitsForBank(const Model& unit) { return unit.stalled_bank; }
  static bool Filled(const Model& unit, int buffer) {
    return buffer == 0 ? unit.array_filled : unit.depthwise_filled;
  }
  // The depthwise unit's buffer counts the taps itself.
  template <typename Put>
  void ForWrites(const Model& unit, const Config& config, const Put& put) {
    const auto bits = static_cast<size_t>(config.weight_format.bits);
    const auto rows = static_cast<size_t>(config.array_rows),
               columns = static_cast<size_t>(config.array_columns);
    if (unit.array_write_enable) {
      const bool transposed = unit.array_write_transposed;
      for (size_t i = 0; i < (transposed ? rows : columns); ++i) {
        const size_t row = unit.array_write_tile * rows + (transposed ? i : unit.array_write_index);
        const size_t column = transposed ? unit.array_write_index : i;
        put(0, unit.array_write_bank, row * columns + column,
            LaneOf(unit.array_write_data, i, bits));
      }
    }
    if (unit.depthwise_write_enable) {
      tap_ = unit.depthwise_write_first ? 0 : tap_ + 1;
      for (size_t i = 0; i < columns; ++i) {
        put(1, unit.depthwise_write_bank, tap_ * columns + i,
            LaneOf(unit.depthwise_write_data, i, bits));
      }
    }
    if constexpr (kScales) {
      if (unit.scale_write_enable) {
        put(0, unit.scale_write_bank,
            kFirstWeightScale + unit.scale_write_tile * columns + unit.scale_write_column,
            unit.scale_write_data);
      }
    }
  }

 private:
  size_t tap_ = 0;
};

Config ConfigOf(int rows, int columns, const char* weight_format, int port_bytes) {
  Config config;
  config.array_rows = rows;
  config.array_columns = columns;
  config.weight_format = *FindFormat(weight_format);
  config.input_buffer_words = 100;
  config.depthwise_buffer_words = 77;
  config.weight_buffer_words = 5 * rows;  // at least 16: a depthwise kernel fits
  config.accumulation_buffer_words = 40;
  config.depthwise_multipliers = 3;
  config.weight_port_bytes = port_bytes;
  config.memory_latency = 7;
  return config;
}

template <typename Model, bool kScales = false>
void Check(const Config& config, double stalls, int instructions, uint64_t seed) {
  const int64_t word_bytes =
      std::max(config.array_rows, config.array_columns) * config.weight_format.bytes();
  FetchBench<WeightFetch<Model, kScales>> bench(config, config.weight_port_bytes,
                                                static_cast<size_t>(word_bytes), stalls, seed);
  Random random(seed);
  int64_t fills_seen = 0, depthwise = 0, by_rows = 0, by_columns = 0, resident = 0, scaled = 0;
  int64_t packed = 0;
  for (int n = 0; n < instructions; ++n) {
    const Opcode opcode = random.Below(5) == 0 ? Opcode::kDepthwise : Opcode::kMatrix;
    const RandomCase random_case = RandomInstruction(random, config, opcode);
    const Instruction& in = random_case.instruction;
    ASSERT_TRUE(CheckInstruction(in, config).ok());
    const std::vector<FetchFill> fills = WeightFills(random_case, config).List();
    const bool strided = in.convolution.weight_layout == WeightLayout::kStrided;
    bench.Run(rtl::CommandBytes(Encode(in, config), {static_cast<uint64_t>(n)},
                                {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kWeights}),
              static_cast<uint32_t>(n), strided ? in.wait_distance : 0U, fills, random_case.memory,
              in.convolution.weight_scales.present
                  ? rtl::CommandBytes(Encode(in, config), {}, {Tag::kWeightScales})
                  : std::vector<uint8_t>());
    if (testing::Test::HasFatalFailure())
      FAIL() << "instruction " << n << "\n" << Print(in, config);
    fills_seen += std::ssize(fills);
    depthwise += opcode == Opcode::kDepthwise ? 1 : 0;
    const bool columns = in.convolution.weight_column_stride != config.weight_format.bytes();
    by_columns += strided && columns ? 1 : 0;
    by_rows += strided && !columns ? 1 : 0;
    scaled += in.convolution.weight_scales.present ? 1 : 0;
    packed += in.convolution.weight_bits > 0 ? 1 : 0;
    resident += GeometryOf(in, config).weights_resident ? 1 : 0;
  }
  EXPECT_GT(fills_seen, 5 * instructions);
  EXPECT_GT(depthwise, instructions / 10);
  if (!kScales) {  // with scales strided weights are dense along the reduction
    EXPECT_GT(by_rows, instructions / 75);
  }
  EXPECT_GT(by_columns, instructions / 75);
  EXPECT_GT(resident, instructions / 75);
  EXPECT_EQ(scaled > instructions / 5, kScales);
  EXPECT_EQ(packed > instructions / 5, config.packed_weights);
  if (stalls == 0) {
    EXPECT_GT(bench.runs_without_a_gap(), instructions / 40);
  }
}

TEST(WeightFetch, IdealMemoryTakesExactlyTheBeats) {
  Check<Vweight_fetch_4x4>(ConfigOf(4, 4, "int8", 8), 0, 150, 1);
  Check<Vweight_fetch_4x8_4bit>(ConfigOf(4, 8, "int4", 8), 0, 150, 2);
  Check<Vweight_fetch_8x2_16bit>(ConfigOf(8, 2, "int16", 8), 0, 150, 3);
}

TEST(WeightFetch, StallsChangeNothingInTheBanks) {
  Check<Vweight_fetch_4x4>(ConfigOf(4, 4, "int8", 16), 0.3, 150, 4);
  Check<Vweight_fetch_4x8_4bit>(ConfigOf(4, 8, "int4", 8), 0.5, 150, 5);
  Check<Vweight_fetch_8x2_16bit>(ConfigOf(8, 2, "int16", 8), 0.2, 150, 6);
}

TEST(WeightFetch, PackedWeightsAreExtendedByTheirSigns) {
  Config config = ConfigOf(4, 8, "int8", 8);
  config.packed_weights = true;
  Check<Vweight_fetch_4x8_packed>(config, 0, 200, 10);
  Check<Vweight_fetch_4x8_packed>(config, 0.3, 200, 11);
  Config scaled = ConfigOf(4, 2, "int6", 8);  // rows of 2 to 12 bits
  scaled.packed_weights = true;
  scaled.block_size = 8;
  SetDefaultSums(&scaled);
  Check<Vweight_fetch_4x2_packed, true>(scaled, 0, 200, 14);
  Check<Vweight_fetch_4x2_packed, true>(scaled, 0.3, 200, 13);
}

TEST(WeightFetch, BlockScalesComeBesideTheirTiles) {
  Config wide = ConfigOf(4, 8, "int4", 8);  // a tile has more scales than rows
  wide.block_size = 8;
  SetDefaultSums(&wide);
  Check<Vweight_fetch_4x8_scales, true>(wide, 0, 200, 7);
  Check<Vweight_fetch_4x8_scales, true>(wide, 0.3, 200, 8);
  Config tall = ConfigOf(8, 2, "int8", 8);
  tall.block_size = 8;
  SetDefaultSums(&tall);
  Check<Vweight_fetch_8x2_scales, true>(tall, 0, 200, 9);
}

}  // namespace
}  // namespace kiln::systolic
