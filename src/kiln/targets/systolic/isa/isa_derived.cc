// Computes the derived members of an encoded instruction.
#include "kiln/targets/systolic/isa/isa_derived.h"

#include <algorithm>

#include "kiln/support/integer.h"
#include "kiln/targets/systolic/isa/timing.h"

namespace kiln::systolic {
namespace {

// Returns a product that wraps: addresses are numbers modulo a power of two.
int64_t Times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Returns a difference that wraps.
int64_t Less(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// Returns the size of the last of `count` parts of size `part` that cover `whole`.
int32_t LastPart(int32_t whole, int32_t count, int32_t part) {
  return static_cast<int32_t>(whole - Times(count - 1, part));
}

// Bytes from one row, and from one column, of an image to the next.
struct Strides {
  int64_t row, column;
};

ImageSteps StepsOf(const Convolution& c, const Tiling& t, Strides strides) {
  ImageSteps s;
  s.row_origin = Times(-int64_t{c.pad_top}, strides.row);
  s.column_origin = Times(-int64_t{c.pad_left}, strides.column);
  s.output_row_stride = Times(c.stride_y, strides.row);
  s.output_column_stride = Times(c.stride_x, strides.column);
  s.tile_row_stride = Times(t.tile_height, s.output_row_stride);
  s.tile_column_stride = Times(t.tile_width, s.output_column_stride);
  s.tap_row_stride = Times(c.dilation_y, strides.row);
  s.tap_column_stride = Times(c.dilation_x, strides.column);
  return s;
}

ImageSteps StepsOf(const Window& w, Strides strides) {
  ImageSteps s;
  s.row_origin = Times(-int64_t{w.pad_top}, strides.row);
  s.column_origin = Times(-int64_t{w.pad_left}, strides.column);
  s.output_row_stride = Times(w.stride_y, strides.row);
  s.output_column_stride = Times(w.stride_x, strides.column);
  s.tap_row_stride = Times(w.dilation_y, strides.row);
  s.tap_column_stride = Times(w.dilation_x, strides.column);
  return s;
}

void DeriveTiling(const Instruction& in, const Config& config, Derived* d) {
  const Convolution& c = in.convolution;
  const Tiling& t = in.tiling;
  const Geometry& g = d->geometry;
  d->parameters_by_batch = c.parameter_batch_stride != 0;
  d->last_tile_height = LastPart(c.out_height, g.tiles_y, t.tile_height);
  d->last_tile_width = LastPart(c.out_width, g.tiles_x, t.tile_width);
  d->last_block_columns =
      in.opcode == Opcode::kDepthwise ? 1 : LastPart(g.column_tiles, g.blocks, t.columns_per_block);
  d->last_tile_columns = LastPart(c.out_channels, g.column_tiles, config.array_columns);
  d->tile_pixels = Times(t.tile_height, t.tile_width);
  d->visits = Times(Times(c.batch, g.blocks), Times(g.tiles_y, g.tiles_x));
  if (in.opcode == Opcode::kDepthwise) {
    d->fills = g.tile_fills;
    d->last_fill_groups = LastPart(g.column_tiles, d->fills, t.groups_per_bank);
    return;
  }
  d->fills = g.fills;
  d->last_fill_groups = LastPart(g.groups, d->fills, t.groups_per_bank);
  d->last_group_rows =
      ValidRows(in, config, static_cast<int32_t>(Times(g.groups - 1, g.rows_per_group)));
}

void DeriveRegion(const Instruction& in, const Config& config, Derived* d) {
  const Tiling& t = in.tiling;
  const RegionAxis &y = d->geometry.y, &x = d->geometry.x;
  if (in.opcode == Opcode::kMatrix && t.packing == Packing::kTaps) {
    d->places_y = t.tile_height, d->last_places_y = d->last_tile_height;
    d->places_x = t.tile_width, d->last_places_x = d->last_tile_width;
    d->row_pitch = d->output_row_step = t.tile_width;
  } else {
    d->places_y = y.Places(t.tile_height), d->last_places_y = y.Places(d->last_tile_height);
    d->places_x = x.Places(t.tile_width), d->last_places_x = x.Places(d->last_tile_width);
    d->compact_y = y.compact(), d->compact_x = x.compact();
    // The words of a position: one, or in a depthwise bank one for each column tile.
    const int64_t words = in.opcode == Opcode::kDepthwise ? t.groups_per_bank : 1;
    d->row_pitch = Times(d->places_x, words);
    d->output_row_step = Times(y.Place(1, 0), d->row_pitch);
    d->output_column_step = Times(x.Place(1, 0), words);
    d->tap_column_step = Times(x.Place(0, 1), words);
    d->tap_row_step = Less(Times(y.Place(0, 1), d->row_pitch),
                           Times(in.convolution.kernel_x - 1, d->tap_column_step));
    if (d->geometry.joined_rows) {
      d->places_x = d->row_pitch;
      d->last_places_x = Times(d->last_places_x, words);
    }
  }
  d->group_pitch = Times(d->places_y, d->row_pitch);
  if (in.opcode == Opcode::kDepthwise) {
    d->tap_steps = CeilDivide(in.convolution.taps(), std::max(config.depthwise_multipliers, 1));
  }
}

void DeriveInput(const Instruction& in, const Config& config, Derived* d) {
  const Convolution& c = in.convolution;
  d->input = StepsOf(c, in.tiling, {c.input_row_stride, c.input_column_stride});
  d->input_scales =
      StepsOf(c, in.tiling, {c.input_scales.row_stride, c.input_scales.column_stride});
  d->joined = in.opcode == Opcode::kDepthwise ? d->geometry.joined_rows : TapsAreJoined(c, config);
  d->run_entries = Times(d->joined ? c.kernel_x : 1, c.channels);
  d->row_bytes = Times(c.width, c.input_column_stride);
  d->tile_rows = Times(in.tiling.tile_height, c.stride_y);
  d->tile_columns = Times(in.tiling.tile_width, c.stride_x);
}

void DeriveWeights(const Instruction& in, const Config& config, Derived* d) {
  const Convolution& c = in.convolution;
  const Geometry& g = d->geometry;
  const int64_t code = config.weight_format.bytes(), scale = config.scale_format.bytes();
  if (c.weight_layout == WeightLayout::kStrided) {
    d->by_columns = c.weight_column_stride != code;
    d->weights.group_stride = Times(config.array_rows, c.weight_row_stride);
    d->weights.column_tile_stride = Times(config.array_columns, c.weight_column_stride);
    d->weight_scales.column_tile_stride =
        Times(config.array_columns, c.weight_scales.column_stride);
    return;
  }
  // A row tile is R rows of the array; in the depthwise unit, it is the word of one tap.
  const int64_t row_tile =
      (in.opcode == Opcode::kDepthwise ? 1 : config.array_rows) * WeightRowBytes(c, config);
  const int64_t row_tiles = Times(g.groups, g.rows_per_group);
  d->weights.group_stride = Times(g.rows_per_group, row_tile);
  d->weights.column_tile_stride = Times(row_tiles, row_tile);
  d->weight_scales.group_stride = Times(g.rows_per_group, config.array_columns * scale);
  d->weight_scales.column_tile_stride = Times(row_tiles, config.array_columns * scale);
}

StreamSteps DeriveStream(const Stream& stream, const Config& config, const Window* window) {
  StreamSteps s;
  const int64_t bytes = BytesOf(stream.element, config);
  s.access = stream.element_stride == bytes ? Access::kDense
             : stream.element_stride == 0   ? Access::kBroadcast
                                            : Access::kStrided;
  s.word_stride = Times(config.lanes(), stream.element_stride);
  if (window != nullptr)
    s.scales = StepsOf(*window, {stream.blocks.row_stride, stream.blocks.column_stride});
  return s;
}

void DeriveVector(const VectorProgram& v, const Config& config, Derived* d) {
  d->words = CeilDivide(v.length, config.lanes());
  d->last_lanes = v.length - (d->words - 1) * config.lanes();
  d->rows_in_flight = RowsInFlight(v, config);
  d->depth = PipelineDepth(v, config);
  d->reads_memory = ReadsMemory(v);
  const bool windowed = v.window.combine != Combine::kNone;
  for (size_t i = 0; i < v.operands.size(); ++i) {
    d->operands[i] = DeriveStream(v.operands[i], config, windowed && i == 0 ? &v.window : nullptr);
  }
  d->output = DeriveStream(v.output, config, nullptr);
  if (windowed) {
    d->window = StepsOf(v.window, {v.window.row_stride, v.window.column_stride});
    d->window_factor = 1.0f / static_cast<float>(Times(v.window.window_y, v.window.window_x));
  }
  for (size_t p = 0; p < v.passes.size(); ++p) {
    for (size_t i = 0; i < v.operands.size(); ++i) {
      if (PassReads(v, p, i)) d->passes[p].reads |= static_cast<uint8_t>(1 << i);
    }
    d->passes[p].gap = PassGap(v, config, static_cast<int>(p));
  }
}

}  // namespace

Derived DeriveMembers(const Instruction& instruction, const Config& config) {
  Derived d;
  if (instruction.opcode == Opcode::kEnd) return d;
  if (instruction.opcode != Opcode::kVector) {
    d.geometry = GeometryOf(instruction, config);
    DeriveTiling(instruction, config, &d);
    DeriveRegion(instruction, config, &d);
    DeriveInput(instruction, config, &d);
    DeriveWeights(instruction, config, &d);
  }
  DeriveVector(instruction.vector, config, &d);
  return d;
}

}  // namespace kiln::systolic
