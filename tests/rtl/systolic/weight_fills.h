// The weight fills of an instruction, spelled out from docs/systolic.md and walk.h. FetchWeightTile
// and FetchDepthwiseWeights (cycle_data.h) define the contents of the bank.
#ifndef KILN_TESTS_RTL_SYSTOLIC_WEIGHT_FILLS_H_
#define KILN_TESTS_RTL_SYSTOLIC_WEIGHT_FILLS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "kiln/targets/systolic/simulate/cycle/cycle_data.h"
#include "kiln/targets/systolic/simulate/numbers.h"
#include "tests/rtl/systolic/fetch_bench.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {

// Scales follow all codes in the bank's contents.
inline constexpr size_t kFirstWeightScale = 2000;

class WeightFills {
 public:
  WeightFills(const RandomCase& random_case, const Config& config)
      : in_(random_case.instruction),
        conv_(in_.convolution),
        config_(config),
        geometry_(GeometryOf(in_, config)),
        numbers_(config),
        bytes_(config.weight_format.bytes()),
        row_bytes_(conv_.weight_bits > 0 ? (config.array_columns * conv_.weight_bits + 7) / 8
                                         : config.array_columns * bytes_),
        bytes_of_memory_(random_case.memory),
        memory_(std::span<uint8_t>(bytes_of_memory_)) {}

  std::vector<FetchFill> List() {
    std::vector<FetchFill> fills;
    for (const Visit& visit : VisitsOf(in_, config_)) {
      if (!visit.fetch_weights) continue;
      if (in_.opcode == Opcode::kDepthwise) {
        fills.push_back(DepthwiseFill(visit));
        continue;
      }
      int32_t tile = config_.weight_buffer_words;  // of the fill; the first one begins a fill
      for (int32_t group = 0; group < geometry_.groups; ++group) {
        for (int32_t column = 0; column < visit.columns; ++column) {
          for (int32_t tap = 0; tap < geometry_.rows_per_group; ++tap, ++tile) {
            if (tile >= in_.tiling.weight_tiles_per_bank) {
              fills.emplace_back();
              tile = 0;
            }
            AddTile(visit, group * geometry_.rows_per_group + tap, visit.first_column + column,
                    tile, fills.back());
          }
        }
      }
    }
    EXPECT_TRUE(memory_.fault().empty()) << memory_.fault();
    return fills;
  }

 private:
  uint64_t Base(const Visit& visit) const {
    return conv_.weight_base + static_cast<uint64_t>(visit.batch * conv_.weight_batch_stride);
  }
  uint32_t Code(const WeightBank& bank, size_t at) const {
    return static_cast<uint32_t>(bank.words[at]) & CodeMask(config_.weight_format);
  }

  FetchFill DepthwiseFill(const Visit& visit) {
    FetchFill fill;
    fill.buffer = 1;
    for (int64_t tap = 0; tap < conv_.taps(); ++tap) {
      const int64_t row = visit.first_column * conv_.taps() + tap;
      fill.requests.push_back({Base(visit) + static_cast<uint64_t>(row * row_bytes_), row_bytes_});
    }
    EXPECT_EQ(CyclesOf(fill.requests, config_.weight_port_bytes),
              WeightFetchCycles(in_, config_, visit.batch, 0, visit.first_column));
    WeightBank bank;
    FetchDepthwiseWeights(in_, config_, numbers_, visit, memory_, bank);
    for (size_t i = 0; i < bank.words.size(); ++i) fill.contents.emplace_back(i, Code(bank, i));
    return fill;
  }

  // Element (row, column) of tile t of a bank is number (t * R + row) * C + column.
  void AddTile(const Visit& visit, int32_t row_tile, int32_t column_tile, int32_t tile,
               FetchFill& fill) {
    const int64_t rows = config_.array_rows, columns = config_.array_columns;
    const bool tiled = conv_.weight_layout == WeightLayout::kTiled;
    const int64_t valid_rows = ValidRows(in_, config_, row_tile),
                  valid_columns = ValidColumns(in_, config_, column_tile);
    const bool by_columns = !tiled && conv_.weight_column_stride != bytes_;
    const size_t before = fill.requests.size();
    fill.tiles.push_back(before);
    if (conv_.weight_scales.present) AddScales(visit, row_tile, column_tile, tile, fill);
    if (tiled) {
      const int64_t first = int64_t{column_tile} * geometry_.row_tiles() + row_tile;
      for (int64_t r = 0; r < rows; ++r) {
        fill.requests.push_back(
            {Base(visit) + static_cast<uint64_t>((first * rows + r) * row_bytes_), row_bytes_});
      }
    } else {
      const uint64_t at =
          Base(visit) + static_cast<uint64_t>(row_tile * rows * conv_.weight_row_stride +
                                              column_tile * columns * conv_.weight_column_stride);
      for (int64_t i = 0; i < (by_columns ? valid_columns : valid_rows); ++i) {
        const int64_t stride = by_columns ? conv_.weight_column_stride : conv_.weight_row_stride;
        fill.requests.push_back({at + static_cast<uint64_t>(i * stride),
                                 (by_columns ? valid_rows : valid_columns) * bytes_});
      }
    }
    // A tile takes as long as its codes or its scales, whichever takes longer.
    const std::vector<FetchRequest> codes(fill.requests.begin() + static_cast<int64_t>(before),
                                          fill.requests.end());
    const int64_t scales =
        conv_.weight_scales.present ? std::ssize(fill.scales.back().requests) : 0;
    EXPECT_EQ(std::max(CyclesOf(codes, config_.weight_port_bytes), scales),
              WeightFetchCycles(in_, config_, visit.batch, row_tile, column_tile));
    WeightBank bank;
    FetchWeightTile(in_, config_, numbers_, geometry_, visit, row_tile, column_tile, memory_, bank);
    if (conv_.weight_scales.present) CheckScales(bank, fill.scales.back());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        // Nothing is written beyond the last line; beyond the codes of a line, 0 is written.
        if (!tiled && (by_columns ? c >= valid_columns : r >= valid_rows)) continue;
        fill.contents.emplace_back((tile * rows + r) * columns + c,
                                   Code(bank, static_cast<size_t>(r * columns + c)));
      }
    }
  }

  // The scale of column c of tile t follows all codes, as element kFirstWeightScale + t * C + c.
  void AddScales(const Visit& visit, int32_t row_tile, int32_t column_tile, int32_t tile,
                 FetchFill& fill) {
    const OperandScales& scales = conv_.weight_scales;
    const int64_t bytes = config_.scale_format.bytes(), columns = config_.array_columns;
    const uint64_t base = scales.base + static_cast<uint64_t>(visit.batch * scales.batch_stride);
    const bool tiled = conv_.weight_layout == WeightLayout::kTiled;
    ScaleRequests& requests = fill.scales.emplace_back();
    requests.beside = fill.requests.size();
    for (int64_t c = 0; c < (tiled ? columns : ValidColumns(in_, config_, column_tile)); ++c) {
      const int64_t in_tiles =
          ((int64_t{column_tile} * geometry_.row_tiles() + row_tile) * columns + c) * bytes;
      const int64_t in_columns =
          (column_tile * columns + c) * scales.column_stride +
          int64_t{row_tile} * config_.array_rows / config_.block_size * bytes;
      const uint64_t at = base + static_cast<uint64_t>(tiled ? in_tiles : in_columns);
      requests.requests.push_back({at, bytes});
      fill.contents.emplace_back(kFirstWeightScale + static_cast<size_t>(tile * columns + c),
                                 LoadBits(bytes_of_memory_.data() + at, static_cast<int>(bytes)));
    }
  }

  void CheckScales(const WeightBank& bank, const ScaleRequests& scales) const {
    for (size_t c = 0; c < scales.requests.size(); ++c) {
      const FetchRequest& r = scales.requests[c];
      const uint32_t code =
          LoadBits(bytes_of_memory_.data() + r.address, static_cast<int>(r.bytes));
      const float decoded = DecodeFloat(config_.scale_format, code);
      ASSERT_TRUE(decoded == bank.scales[c] || (std::isnan(decoded) && std::isnan(bank.scales[c])));
    }
  }

  const Instruction& in_;
  const Convolution& conv_;
  const Config& config_;
  const Geometry geometry_;
  const ArrayNumbers numbers_;
  const int64_t bytes_, row_bytes_;  // of a code, of a row of tiled weights
  std::vector<uint8_t> bytes_of_memory_;
  OuterMemory memory_;
};

}  // namespace kiln::systolic

#endif  // KILN_TESTS_RTL_SYSTOLIC_WEIGHT_FILLS_H_
