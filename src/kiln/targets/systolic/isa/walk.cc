// Enumerates the visits of matrix and depthwise instructions and computes their sizes.
#include "kiln/targets/systolic/isa/walk.h"

#include <algorithm>

#include "kiln/support/integer.h"

namespace kiln::systolic {
namespace {

int32_t TilesOf(int64_t length, int64_t tile) {
  return static_cast<int32_t>(CeilDivide(length, tile));
}

int32_t RowsPerGroup(const Instruction& instruction) {
  const bool packed =
      instruction.opcode == Opcode::kMatrix && instruction.tiling.packing == Packing::kTaps;
  return packed ? 1 : instruction.convolution.taps();
}

int32_t GroupsOf(const Instruction& instruction, const Config& config) {
  const Convolution& conv = instruction.convolution;
  if (instruction.opcode == Opcode::kDepthwise) return 1;
  const bool packed = instruction.tiling.packing == Packing::kTaps;
  return TilesOf(packed ? int64_t{conv.taps()} * conv.channels : conv.channels, config.array_rows);
}

}  // namespace

int32_t RowTilesOf(const Instruction& instruction, const Config& config) {
  return GroupsOf(instruction, config) * RowsPerGroup(instruction);
}

bool TapsAreJoined(const Convolution& convolution, const Config& config) {
  return convolution.dilation_x == 1 &&
         convolution.input_column_stride ==
             int64_t{convolution.channels} * config.input_format.bytes();
}

Geometry GeometryOf(const Instruction& instruction, const Config& config) {
  const Convolution& conv = instruction.convolution;
  const Tiling& tiling = instruction.tiling;
  Geometry g;
  g.y = {conv.kernel_y, conv.stride_y, conv.dilation_y, conv.pad_top};
  g.x = {conv.kernel_x, conv.stride_x, conv.dilation_x, conv.pad_left};
  g.column_tiles = TilesOf(conv.out_channels, config.array_columns);
  g.tiles_y = TilesOf(conv.out_height, tiling.tile_height);
  g.tiles_x = TilesOf(conv.out_width, tiling.tile_width);
  g.rows_per_group = RowsPerGroup(instruction);
  g.groups = GroupsOf(instruction, config);
  if (instruction.opcode == Opcode::kDepthwise) {
    const int64_t bytes = config.input_format.bytes();
    g.blocks = g.column_tiles;
    g.tile_fills = TilesOf(g.column_tiles, tiling.groups_per_bank);
    g.joined_rows = config.depthwise_words_per_cycle > 1 && g.tile_fills == 1 && !g.x.compact() &&
                    conv.channels % config.array_columns == 0 &&
                    conv.input_column_stride == conv.channels * bytes;
    return g;
  }
  g.blocks = TilesOf(g.column_tiles, tiling.columns_per_block);
  g.fills = TilesOf(g.groups, tiling.groups_per_bank);
  g.inputs_resident = tiling.order == Order::kInputOuter && g.fills == 1;
  g.weights_resident =
      tiling.order == Order::kWeightOuter &&
      int64_t{g.row_tiles()} * std::min(tiling.columns_per_block, g.column_tiles) <=
          tiling.weight_tiles_per_bank;
  return g;
}

int64_t CountVisits(const Instruction& instruction, const Config& config) {
  const Geometry g = GeometryOf(instruction, config);
  return int64_t{instruction.convolution.batch} * g.tiles_y * g.tiles_x * g.blocks;
}

std::vector<Visit> VisitsOf(const Instruction& instruction, const Config& config) {
  const Convolution& conv = instruction.convolution;
  const Tiling& tiling = instruction.tiling;
  const Geometry g = GeometryOf(instruction, config);
  const bool depthwise = instruction.opcode == Opcode::kDepthwise;
  const int32_t columns_per_block = depthwise ? 1 : tiling.columns_per_block;
  const int32_t tiles = g.tiles_y * g.tiles_x;
  const bool input_outer = tiling.order == Order::kInputOuter;
  const int32_t outer = input_outer ? tiles : g.blocks;
  const int32_t inner = input_outer ? g.blocks : tiles;
  // The number of consecutive visits that an input fill serves.
  const int32_t served = depthwise ? tiling.groups_per_bank : g.inputs_resident ? inner : 1;

  std::vector<Visit> visits;
  visits.reserve(static_cast<size_t>(conv.batch) * static_cast<size_t>(outer) *
                 static_cast<size_t>(inner));
  for (int32_t batch = 0; batch < conv.batch; ++batch) {
    for (int32_t i = 0; i < outer; ++i) {
      for (int32_t j = 0; j < inner; ++j) {
        const int32_t tile = input_outer ? i : j;
        const int32_t block = input_outer ? j : i;
        Visit v;
        v.batch = batch;
        v.y = tile / g.tiles_x * tiling.tile_height;
        v.x = tile % g.tiles_x * tiling.tile_width;
        v.height = std::min(tiling.tile_height, conv.out_height - v.y);
        v.width = std::min(tiling.tile_width, conv.out_width - v.x);
        v.first_column = block * columns_per_block;
        v.columns = std::min(columns_per_block, g.column_tiles - v.first_column);
        v.fetch_inputs = j % served == 0;
        v.last_of_inputs = (j + 1) % served == 0 || j == inner - 1;
        v.fetch_weights = !g.weights_resident || j == 0;
        v.last_of_weights = !g.weights_resident || j == inner - 1;
        visits.push_back(v);
      }
    }
  }
  // Parameters are kept while the block does not change (and, if batches have their own, the
  // batch).
  for (size_t k = 1; k < visits.size(); ++k) {
    const Visit& before = visits[k - 1];
    const bool same = before.first_column == visits[k].first_column &&
                      (before.batch == visits[k].batch || conv.parameter_batch_stride == 0);
    visits[k].fetch_parameters = !same;
    visits[k - 1].last_of_parameters = !same;
  }
  return visits;
}

int64_t GroupWords(const Instruction& instruction, const Geometry& geometry, int32_t tile_height,
                   int32_t tile_width) {
  if (instruction.opcode == Opcode::kMatrix && instruction.tiling.packing == Packing::kTaps) {
    return int64_t{tile_height} * tile_width;
  }
  return int64_t{geometry.y.Places(tile_height)} * geometry.x.Places(tile_width);
}

int32_t ValidRows(const Instruction& instruction, const Config& config, int32_t row_tile) {
  const Convolution& conv = instruction.convolution;
  const int64_t rows = instruction.tiling.packing == Packing::kTaps
                           ? int64_t{conv.taps()} * conv.channels
                           : conv.channels;
  const int32_t group =
      instruction.tiling.packing == Packing::kTaps ? row_tile : row_tile / conv.taps();
  return static_cast<int32_t>(
      std::min<int64_t>(config.array_rows, rows - int64_t{group} * config.array_rows));
}

int32_t ValidColumns(const Instruction& instruction, const Config& config, int32_t column_tile) {
  return std::min(config.array_columns,
                  instruction.convolution.out_channels - column_tile * config.array_columns);
}

int64_t WeightRowBytes(const Convolution& convolution, const Config& config) {
  const int64_t codes = config.array_columns;
  return convolution.weight_bits == 0 ? codes * config.weight_format.bytes()
                                      : CeilDivide(codes * convolution.weight_bits, 8);
}

int64_t WeightIndex(const Instruction& instruction, const Config& config, int32_t row_tile,
                    int32_t row) {
  const Convolution& conv = instruction.convolution;
  if (row >= ValidRows(instruction, config, row_tile)) return -1;
  if (instruction.tiling.packing == Packing::kTaps)
    return int64_t{row_tile} * config.array_rows + row;
  const int32_t group = row_tile / conv.taps();
  const int32_t tap = row_tile % conv.taps();
  return int64_t{tap} * conv.channels + int64_t{group} * config.array_rows + row;
}

}  // namespace kiln::systolic
