// Cycles of the fetch units, the array and the depthwise unit, and the closed form for a single
// instruction. timing_vector.cc has the vector unit.
#include "kiln/targets/systolic/isa/timing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/isa/requests.h"

namespace kiln::systolic {
namespace {

// Returns the cycles of one run over the pixels ox of one output row. The part inside the image is
// fetched; a run entirely outside takes one cycle. `row` is the address of the input row's first
// pixel.
int64_t PackedRunCycles(const Instruction& instruction, const Config& config, const Visit& visit,
                        const PackedRun& run, uint64_t row) {
  const Convolution& conv = instruction.convolution;
  const int64_t bytes = config.input_format.bytes(), port = config.input_port_bytes;
  const int64_t step = conv.stride_x * conv.input_column_stride;
  int64_t cycles = 0;
  for (int32_t x = 0; x < visit.width;) {
    // The run as entries of the input row: [begin, end) of width * channels.
    const int64_t ix =
        int64_t{visit.x + x} * conv.stride_x - conv.pad_left + int64_t{run.tap_x} * conv.dilation_x;
    const int64_t begin = ix * conv.channels + run.channel, end = begin + run.entries;
    const int64_t row_end = int64_t{conv.width} * conv.channels;
    if (begin >= 0 && end <= row_end) {
      // So are the following runs, up to the last one that still ends inside the image.
      const int64_t inside =
          std::min<int64_t>(visit.width - x, (row_end - end) / (conv.stride_x * conv.channels) + 1);
      const uint64_t from = Offset(row, ix * conv.input_column_stride + run.channel * bytes);
      cycles += BeatsOfRun(from, step, inside, run.entries * bytes, port);
      x += static_cast<int32_t>(inside);
      continue;
    }
    const int64_t from = std::max<int64_t>(begin, 0), to = std::min(end, row_end);
    const uint64_t address =
        Offset(row, from / conv.channels * conv.input_column_stride + from % conv.channels * bytes);
    cycles += from < to ? BeatsOf(address, (to - from) * bytes, port) : 1;
    ++x;
  }
  return cycles;
}

int64_t PackedFetchCycles(const Instruction& instruction, const Config& config, const Visit& visit,
                          int32_t row_tile) {
  const Convolution& conv = instruction.convolution;
  const uint64_t image = Offset(conv.input_base, visit.batch * conv.input_batch_stride);
  int64_t cycles = 0;
  for (const PackedRun& run : PackedRuns(instruction, config, row_tile)) {
    for (int32_t y = 0; y < visit.height; ++y) {
      const int64_t iy = int64_t{visit.y + y} * conv.stride_y - conv.pad_top +
                         int64_t{run.tap_y} * conv.dilation_y;
      const bool inside = iy >= 0 && iy < conv.height;
      cycles += inside ? PackedRunCycles(instruction, config, visit, run,
                                         Offset(image, iy * conv.input_row_stride))
                       : visit.width;
    }
  }
  return cycles;
}

// A set of equally spaced positions inside the image, along one axis of a region.
struct PlaceRun {
  int64_t first = 0, step = 1, count = 0;  // input coordinates
};

// Kernels of up to three taps, the usual case, need no heap allocation.
using PlaceRuns = absl::InlinedVector<PlaceRun, 3>;

PlaceRuns PlacesInside(const RegionAxis& axis, int32_t first, int32_t tile, int32_t limit) {
  PlaceRuns runs;
  const auto add = [&](int64_t from, int64_t step, int64_t count) {
    const int64_t skip = from < 0 ? (-from + step - 1) / step : 0;
    const int64_t last =
        limit <= from ? 0 : (limit - 1 - from) / step + 1;  // one past the last inside
    if (std::min(count, last) > skip)
      runs.push_back({from + skip * step, step, std::min(count, last) - skip});
  };
  if (!axis.compact()) {
    add(axis.Coordinate(first, 0), 1, axis.Places(tile));
  } else {
    for (int32_t tap = 0; tap < axis.kernel; ++tap)
      add(axis.Coordinate(first, tap), axis.stride, tile);
  }
  return runs;
}

// Words that are adjacent in memory as in a depthwise bank. Each request fetches at most
// depthwise_words_per_cycle words and does not cross an aligned span of that many words, so that it
// has one beat if words are aligned. Sizes are in bytes.
class WordRun {
 public:
  // `last_word` is the number of valid bytes in the last word.
  WordRun(const Config& config, int64_t words, int64_t last_word)
      : words_(words),
        last_word_(last_word),
        word_(config.depthwise_word_bytes()),
        together_(config.depthwise_words_per_cycle),
        port_(config.input_port_bytes) {}

  int64_t Beats(uint64_t address) const {
    const int64_t first = First(address);
    if (first == words_) return BeatsOf(address, Bytes(words_), port_);
    const int64_t whole =
        (words_ - first - 1) / together_;  // requests between the first and the last
    return BeatsOf(address, first * word_, port_) +
           BeatsOfRun(Offset(address, first * word_), together_ * word_, whole, together_ * word_,
                      port_) +
           LastBeats(address);
  }
  int64_t LastBeats(uint64_t address) const {
    const int64_t first = First(address);
    const int64_t before =
        first == words_ ? 0 : first + (words_ - first - 1) / together_ * together_;
    return BeatsOf(Offset(address, before * word_), Bytes(words_ - before), port_);
  }
  // Returns the requests that the words take as padding.
  int64_t NullRequests() const { return CeilDivide(words_, together_); }

 private:
  // Returns the words of the first request.
  int64_t First(uint64_t address) const {
    if (together_ == 1) return 1;
    const uint64_t place =
        address / static_cast<uint64_t>(word_) % static_cast<uint64_t>(together_);
    return std::min(words_, together_ - static_cast<int64_t>(place));
  }
  // Returns the bytes of the last `words` words.
  int64_t Bytes(int64_t words) const { return (words - 1) * word_ + last_word_; }

  int64_t words_, last_word_, word_, together_, port_;
};

// The positions of one row of a region before, inside and after the image, for an axis that is not
// compact.
struct RowPlaces {
  int64_t before = 0, inside = 0, behind = 0;
  int64_t first = 0;  // input column of the first position inside
};

RowPlaces PlacesOfRow(const RegionAxis& axis, int32_t first, int32_t tile, int32_t limit) {
  const int64_t from = axis.Coordinate(first, 0), end = from + axis.Places(tile);
  RowPlaces row;
  row.first = std::clamp<int64_t>(from, 0, limit);
  row.inside = std::max<int64_t>(std::min<int64_t>(end, limit) - row.first, 0);
  row.before = std::clamp<int64_t>(-from, 0, end - from);
  row.behind = end - from - row.before - row.inside;
  return row;
}

// Returns the cycles of a depthwise fill in which each row is one run (Geometry::joined_rows).
int64_t JoinedFetchCycles(const Instruction& instruction, const Config& config,
                          const Geometry& geometry, const Visit& visit) {
  const Convolution& conv = instruction.convolution;
  const uint64_t image = Offset(conv.input_base, visit.batch * conv.input_batch_stride);
  const RowPlaces places = PlacesOfRow(geometry.x, visit.x, visit.width, conv.width);
  const int64_t word = config.depthwise_word_bytes(), tiles = geometry.column_tiles;
  const auto nulls = [&](int64_t count) {
    return WordRun(config, count * tiles, word).NullRequests();
  };
  const int64_t padding = nulls(places.before) + nulls(places.behind);
  const WordRun run(config, places.inside * tiles, word);
  int64_t cycles = 0, rows_inside = 0;
  for (const PlaceRun& row : PlacesInside(geometry.y, visit.y, visit.height, conv.height)) {
    rows_inside += row.count;
    cycles += row.count * padding;
    if (places.inside == 0) continue;
    const int64_t period =
        std::min(row.count, BeatPeriod(row.step * conv.input_row_stride, config.input_port_bytes));
    for (int64_t i = 0; i < period; ++i) {
      const int64_t at = (row.first + i * row.step) * conv.input_row_stride +
                         places.first * conv.input_column_stride;
      cycles += (row.count - i + period - 1) / period * run.Beats(Offset(image, at));
    }
  }
  return cycles +
         (geometry.y.Places(visit.height) - rows_inside) * nulls(geometry.x.Places(visit.width));
}

// Returns the words of one position: the word of row group `group`, or the words of the depthwise
// fill that begins with that column tile.
WordRun PlaceRunOf(const Instruction& instruction, const Config& config, const Geometry& geometry,
                   int32_t group) {
  const int64_t bytes = config.input_format.bytes();
  if (instruction.opcode == Opcode::kMatrix) {
    const int64_t codes = instruction.convolution.channels - int64_t{group} * config.array_rows;
    return {config, 1, std::min<int64_t>(codes, config.array_rows) * bytes};
  }
  const int32_t end = std::min(group + instruction.tiling.groups_per_bank, geometry.column_tiles);
  return {config, end - group, ValidColumns(instruction, config, end - 1) * bytes};
}

// The weights of one weight tile in memory, in the order of their requests: `count` lines of
// `bytes` bytes, `step` bytes apart.
struct WeightLines {
  uint64_t at;
  int64_t step, count, bytes;
};

// Returns the lines of a weight tile (depthwise: of the taps of one column tile).
WeightLines WeightLinesOf(const Instruction& instruction, const Config& config, int32_t batch,
                          int32_t row_tile, int32_t column_tile) {
  const Convolution& conv = instruction.convolution;
  const int64_t bytes = config.weight_format.bytes(), word = WeightRowBytes(conv, config);
  const uint64_t base = Offset(conv.weight_base, batch * conv.weight_batch_stride);
  if (instruction.opcode == Opcode::kDepthwise)
    return {Offset(base, column_tile * conv.taps() * word), word, conv.taps(), word};
  if (conv.weight_layout == WeightLayout::kTiled) {
    const int64_t tile = int64_t{column_tile} * RowTilesOf(instruction, config) + row_tile;
    return {Offset(base, tile * config.array_rows * word), word, config.array_rows, word};
  }
  const int64_t rows = ValidRows(instruction, config, row_tile);
  const int64_t columns = ValidColumns(instruction, config, column_tile);
  const uint64_t at =
      Offset(base, WeightIndex(instruction, config, row_tile, 0) * conv.weight_row_stride +
                       int64_t{column_tile} * config.array_columns * conv.weight_column_stride);
  if (conv.weight_column_stride == bytes)
    return {at, conv.weight_row_stride, rows, columns * bytes};
  return {at, conv.weight_column_stride, columns, rows * bytes};
}

// Returns the beats of the weights of such a tile.
int64_t WeightBeats(const Instruction& instruction, const Config& config, int32_t batch,
                    int32_t row_tile, int32_t column_tile) {
  const WeightLines lines = WeightLinesOf(instruction, config, batch, row_tile, column_tile);
  return BeatsOfRun(lines.at, lines.step, lines.count, lines.bytes, config.weight_port_bytes);
}

// Returns the beats of the block scales of one weight tile, on a port of their own from the tile's
// first request on: each column has one scale, and one beat brings one scale.
int64_t WeightScaleBeats(const Instruction& instruction, const Config& config,
                         int32_t column_tile) {
  const Convolution& conv = instruction.convolution;
  if (instruction.opcode == Opcode::kDepthwise || !conv.weight_scales.present) return 0;
  return conv.weight_layout == WeightLayout::kTiled
             ? config.array_columns
             : ValidColumns(instruction, config, column_tile);
}

}  // namespace

int64_t GroupFetchCycles(const Instruction& instruction, const Config& config,
                         const Geometry& geometry, const Visit& visit, int32_t group) {
  const Convolution& conv = instruction.convolution;
  if (instruction.opcode == Opcode::kMatrix && instruction.tiling.packing == Packing::kTaps) {
    return PackedFetchCycles(instruction, config, visit, group);
  }
  if (geometry.joined_rows) return JoinedFetchCycles(instruction, config, geometry, visit);
  const WordRun run = PlaceRunOf(instruction, config, geometry, group);
  const int64_t per_word =
      instruction.opcode == Opcode::kDepthwise ? config.array_columns : config.array_rows;
  const int64_t channel = group * per_word, bytes = config.input_format.bytes(),
                port = config.input_port_bytes;
  const uint64_t image =
      Offset(conv.input_base, visit.batch * conv.input_batch_stride + channel * bytes);
  const PlaceRuns rows = PlacesInside(geometry.y, visit.y, visit.height, conv.height);
  const PlaceRuns columns = PlacesInside(geometry.x, visit.x, visit.width, conv.width);
  // Returns the beats of `count` positions.
  const auto beats_of_row = [&](uint64_t address, int64_t step, int64_t count) {
    const int64_t period = std::min(count, BeatPeriod(step, port));
    int64_t beats = 0;
    for (int64_t i = 0; i < period; ++i) {
      beats += (count - i + period - 1) / period * run.Beats(Offset(address, i * step));
    }
    return beats;
  };
  int64_t inside = 0, beats = 0;
  for (const PlaceRun& column : columns) {
    const int64_t step = column.step * conv.input_column_stride;
    for (const PlaceRun& row : rows) {
      inside += row.count * column.count;
      // Rows with the same offset within their beats take the same number of beats.
      const int64_t period =
          std::min(row.count, BeatPeriod(row.step * conv.input_row_stride, port));
      for (int64_t i = 0; i < period; ++i) {
        const int64_t alike = (row.count - i + period - 1) / period;
        const int64_t at = (row.first + i * row.step) * conv.input_row_stride +
                           column.first * conv.input_column_stride;
        beats += alike * beats_of_row(Offset(image, at), step, column.count);
      }
    }
  }
  // Padding takes a cycle for each request. A word is within one scale block, whose scale arrives
  // with the first beat.
  const int64_t padding = GroupWords(instruction, geometry, visit.height, visit.width) - inside;
  return padding * run.NullRequests() + beats;
}

int64_t WeightFetchCycles(const Instruction& instruction, const Config& config, int32_t batch,
                          int32_t row_tile, int32_t column_tile) {
  return std::max(WeightBeats(instruction, config, batch, row_tile, column_tile),
                  WeightScaleBeats(instruction, config, column_tile));
}

int64_t WeightLoadCycles(const Config& config) {
  return config.array_rows / config.weight_rows_per_cycle;
}

int64_t ParameterFetchCycles(const Instruction& instruction, const Config& config,
                             const Visit& visit) {
  const Convolution& conv = instruction.convolution;
  const uint64_t base = Offset(conv.parameters.base, visit.batch * conv.parameter_batch_stride);
  int64_t cycles = 0;
  for (int32_t tile = visit.first_column; tile < visit.first_column + visit.columns; ++tile) {
    const int64_t bytes = int64_t{4} * ValidColumns(instruction, config, tile);
    const uint64_t at = Offset(base, int64_t{4} * tile * config.array_columns);
    cycles += BeatsOfRun(at, int64_t{4} * conv.out_channels, 3, bytes,
                         config.operand_port_bytes);  // three arrays
  }
  return cycles;
}

int64_t LastGroupBeats(const Instruction& instruction, const Config& config,
                       const Geometry& geometry, const Visit& visit, int32_t group) {
  const Convolution& conv = instruction.convolution;
  const uint64_t image = Offset(conv.input_base, visit.batch * conv.input_batch_stride);
  if (instruction.opcode == Opcode::kMatrix && instruction.tiling.packing == Packing::kTaps) {
    // The last run of the last pixel.
    const PackedRun run = PackedRuns(instruction, config, group).back();
    Visit pixel = visit;
    pixel.y += visit.height - 1;
    pixel.x += visit.width - 1;
    pixel.height = pixel.width = 1;
    const int64_t iy =
        int64_t{pixel.y} * conv.stride_y - conv.pad_top + int64_t{run.tap_y} * conv.dilation_y;
    if (iy < 0 || iy >= conv.height) return 1;
    return PackedRunCycles(instruction, config, pixel, run,
                           Offset(image, iy * conv.input_row_stride));
  }
  const int64_t iy = geometry.y.Coordinate(visit.y, geometry.y.Places(visit.height) - 1);
  const int64_t ix = geometry.x.Coordinate(visit.x, geometry.x.Places(visit.width) - 1);
  if (iy < 0 || iy >= conv.height || ix < 0 || ix >= conv.width) return 1;
  if (geometry.joined_rows) {
    const RowPlaces places = PlacesOfRow(geometry.x, visit.x, visit.width, conv.width);
    const WordRun run(config, places.inside * geometry.column_tiles, config.depthwise_word_bytes());
    return run.LastBeats(
        Offset(image, iy * conv.input_row_stride + places.first * conv.input_column_stride));
  }
  const int64_t per_word =
      instruction.opcode == Opcode::kDepthwise ? config.array_columns : config.array_rows;
  const int64_t channel = group * per_word, bytes = config.input_format.bytes();
  const int64_t at = iy * conv.input_row_stride + ix * conv.input_column_stride + channel * bytes;
  return PlaceRunOf(instruction, config, geometry, group).LastBeats(Offset(image, at));
}

int64_t LastWeightBeats(const Instruction& instruction, const Config& config, int32_t batch,
                        int32_t row_tile, int32_t column_tile) {
  const WeightLines lines = WeightLinesOf(instruction, config, batch, row_tile, column_tile);
  return BeatsOf(Offset(lines.at, (lines.count - 1) * lines.step), lines.bytes,
                 config.weight_port_bytes);
}

int64_t CyclesFromLastWeights(const Instruction& instruction, const Config& config, int32_t batch,
                              int32_t row_tile, int32_t column_tile) {
  return LastWeightBeats(instruction, config, batch, row_tile, column_tile) +
         WeightFetchCycles(instruction, config, batch, row_tile, column_tile) -
         WeightBeats(instruction, config, batch, row_tile, column_tile);
}

int64_t LastParameterBeats(const Instruction& instruction, const Config& config,
                           const Visit& visit) {
  const Convolution& conv = instruction.convolution;
  const int32_t tile = visit.first_column + visit.columns - 1;
  const int64_t at =
      int64_t{4} * (2 * int64_t{conv.out_channels} + int64_t{tile} * config.array_columns);
  const uint64_t base = Offset(conv.parameters.base, visit.batch * conv.parameter_batch_stride);
  return BeatsOf(Offset(base, at), int64_t{4} * ValidColumns(instruction, config, tile),
                 config.operand_port_bytes);
}

int64_t DepthwiseCycles(const Instruction& instruction, const Config& config, const Visit& visit) {
  return visit.pixels() * DepthwisePixelCycles(config, instruction.convolution.taps());
}

int64_t DepthwisePixelCycles(const Config& config, int64_t taps) {
  const int64_t steps = CeilDivide(taps, std::max(config.depthwise_multipliers, 1));
  return (steps - 1) * config.depthwise_sum_latency + 1;
}

int64_t DepthwiseLatency(const Config& config) {
  if (!config.rounded_psums()) return config.array_columns;
  return 3 + int64_t{config.depthwise_sum_latency} * (config.depthwise_multipliers + 1);
}

int64_t SettleCycles(const Instruction& instruction, const Config& config) {
  const int64_t accumulation = config.accumulation_latency - 1;
  if (instruction.opcode == Opcode::kDepthwise) return DepthwiseLatency(config) + accumulation;
  return config.array_product_latency + int64_t{config.array_sum_latency} * config.array_rows +
         config.array_columns + accumulation;
}

int64_t LeastPackedWordBeats(const Instruction& instruction, const Config& config,
                             int32_t row_tile) {
  const Convolution& conv = instruction.convolution;
  // At the edges of the image nothing may remain of a run, which still takes a cycle.
  const int64_t needed_y =
      int64_t{conv.out_height - 1} * conv.stride_y + int64_t{conv.kernel_y - 1} * conv.dilation_y;
  const int64_t needed_x =
      int64_t{conv.out_width - 1} * conv.stride_x + int64_t{conv.kernel_x - 1} * conv.dilation_x;
  const bool padded = conv.pad_top > 0 || conv.pad_left > 0 ||
                      needed_y - conv.pad_top >= conv.height ||
                      needed_x - conv.pad_left >= conv.width;
  int64_t beats = 0;
  for (const PackedRun& run : PackedRuns(instruction, config, row_tile)) {
    beats +=
        padded ? 1 : LeastBeats(run.entries * config.input_format.bytes(), config.input_port_bytes);
  }
  return beats;
}

int64_t LeastWeightFetchCycles(const Instruction& instruction, const Config& config,
                               int32_t row_tile, int32_t column_tile) {
  const Convolution& conv = instruction.convolution;
  const int64_t port = config.weight_port_bytes, bytes = config.weight_format.bytes();
  const int64_t word = LeastBeats(WeightRowBytes(conv, config), port);
  if (instruction.opcode == Opcode::kDepthwise) return conv.taps() * word;
  if (conv.weight_layout == WeightLayout::kTiled) return config.array_rows * word;
  const int64_t rows = ValidRows(instruction, config, row_tile),
                columns = ValidColumns(instruction, config, column_tile);
  return conv.weight_column_stride == bytes ? rows * LeastBeats(columns * bytes, port)
                                            : columns * LeastBeats(rows * bytes, port);
}

namespace {

// The cycles at which resources become free. Input fetch begins with its first request, the vector
// unit with its first slot.
struct Clock {
  int64_t input_fetch = kInputRequestCycles;
  int64_t weight_fetch = 0, weight_load = 0, shadow = 0, array = 0, depthwise = 0;
  int64_t parameter_fetch = 0, parameter_buffer = 0, vector = kFirstSlotCycles;
  int64_t finished = 0;
};

// The cycles at which the consumers of the last fills finished with them: fill k may start at
// released[k % 2].
struct Banks {
  std::array<int64_t, 2> released{};
  int64_t next = 0;  // index of the next fill
};

// Computes the cycles of a matrix or depthwise instruction by a recurrence over its steps.
class Estimator {
 public:
  Estimator(const Instruction& instruction, const Config& config)
      : in_(instruction),
        config_(config),
        geometry_(GeometryOf(instruction, config)),
        accumulation_(static_cast<size_t>(config.accumulation_buffer_banks), 0),
        input_cycles_(geometry_.blocks > 1 && !geometry_.inputs_resident
                          ? Tiles() * static_cast<size_t>(Groups())
                          : 0),
        weight_cycles_(Tiles() > 1 && !geometry_.weights_resident
                           ? static_cast<size_t>(geometry_.row_tiles()) *
                                 static_cast<size_t>(geometry_.column_tiles)
                           : 0),
        equal_weight_tiles_(in_.opcode == Opcode::kMatrix &&
                            in_.convolution.weight_layout == WeightLayout::kTiled &&
                            TileBytes() % config.weight_port_bytes == 0) {}

  // Returns the cycles of the whole instruction. If it takes at least `enough` cycles, the result
  // may be any number of at least `enough`.
  int64_t Run(int64_t enough) {
    int64_t index = 0;
    for (const Visit& visit : VisitsOf(in_, config_)) {
      if (clock_.finished >= enough) break;
      if (visit.batch != batch_) {
        batch_ = visit.batch;
        std::fill(input_cycles_.begin(), input_cycles_.end(), 0);
        std::fill(weight_cycles_.begin(), weight_cycles_.end(), 0);
        tile_cycles_ = 0;
      }
      const int64_t last =
          in_.opcode == Opcode::kMatrix ? MatrixBlock(visit, index) : DepthwiseBlock(visit, index);
      Drain(visit, last + SettleCycles(in_, config_), index);
      ++index;
    }
    return clock_.finished;
  }

 private:
  int64_t& AccumulationBank(int64_t visit) {
    return accumulation_[static_cast<size_t>(visit) % accumulation_.size()];
  }

  int32_t Groups() const {
    return in_.opcode == Opcode::kDepthwise ? geometry_.column_tiles : geometry_.groups;
  }

  size_t Tiles() const {
    return static_cast<size_t>(geometry_.tiles_y) * static_cast<size_t>(geometry_.tiles_x);
  }

  // Returns the bytes of a weight tile of the tiled layout.
  int64_t TileBytes() const {
    return config_.array_rows * WeightRowBytes(in_.convolution, config_);
  }

  // Return GroupFetchCycles and WeightFetchCycles. What the instruction fetches several times for
  // an image, from the same addresses each time, is computed once.
  int64_t InputCycles(const Visit& visit, int32_t group) {
    if (input_cycles_.empty()) return GroupFetchCycles(in_, config_, geometry_, visit, group);
    const int64_t tile = int64_t{visit.y / in_.tiling.tile_height} * geometry_.tiles_x +
                         visit.x / in_.tiling.tile_width;
    int64_t& cycles = input_cycles_[static_cast<size_t>(tile * Groups() + group)];
    if (cycles == 0) cycles = GroupFetchCycles(in_, config_, geometry_, visit, group);
    return cycles;
  }
  int64_t WeightCycles(int32_t row_tile, int32_t column_tile) {
    if (weight_cycles_.empty())
      return WeightFetchCycles(in_, config_, batch_, row_tile, column_tile);
    int64_t& cycles = weight_cycles_[static_cast<size_t>(
        int64_t{row_tile} * geometry_.column_tiles + column_tile)];
    if (cycles == 0) cycles = WeightFetchCycles(in_, config_, batch_, row_tile, column_tile);
    return cycles;
  }

  // Fetches inputs for `cycles` cycles into the next bank; returns the cycle in which they are
  // available.
  int64_t FillInputs(int64_t cycles) {
    const int64_t start =
        std::max(clock_.input_fetch, inputs_.released[static_cast<size_t>(inputs_.next++ & 1)]);
    clock_.input_fetch = start + cycles;
    return clock_.input_fetch + config_.memory_latency;
  }
  int64_t FillWeights(int64_t cycles) {
    const int64_t start =
        std::max(clock_.weight_fetch, weights_.released[static_cast<size_t>(weights_.next++ & 1)]);
    clock_.weight_fetch = start + cycles;
    return clock_.weight_fetch + config_.memory_latency;
  }

  // Runs all passes of one block; returns the cycle in which the last one ends. A step is a run of
  // passes in which no fill begins.
  int64_t MatrixBlock(const Visit& visit, int64_t index) {
    const Tiling& tiling = in_.tiling;
    const int64_t per_group = int64_t{visit.columns} * geometry_.rows_per_group;
    const int64_t tiles_of_block = geometry_.groups * per_group;
    int64_t tile = 0, end_of_weights = 0;
    for (int32_t fill = 0; fill < geometry_.fills; ++fill) {
      const int32_t first_group = fill * tiling.groups_per_bank;
      const int32_t end_group = std::min(geometry_.groups, first_group + tiling.groups_per_bank);
      if (visit.fetch_inputs) {
        int64_t cycles = 0;
        for (int32_t g = first_group; g < end_group; ++g) cycles += InputCycles(visit, g);
        inputs_ready_ = FillInputs(cycles);
      }
      for (const int64_t end_of_inputs = end_group * per_group; tile < end_of_inputs;) {
        if (tile == end_of_weights) {
          end_of_weights = std::min(tiles_of_block, tile + tiling.weight_tiles_per_bank);
          if (visit.fetch_weights)
            weights_ready_ = FillWeights(WeightFillCycles(visit, tile, end_of_weights));
        }
        const int64_t end = std::min(end_of_inputs, end_of_weights);
        RunPasses(end - tile, visit.pixels(), tile == 0 ? AccumulationBank(index) : 0);
        tile = end;
        if (tile == end_of_weights && visit.last_of_weights) {
          weights_.released[static_cast<size_t>((weights_.next - 1) & 1)] = clock_.weight_load;
        }
      }
      if (visit.last_of_inputs)
        inputs_.released[static_cast<size_t>((inputs_.next - 1) & 1)] = clock_.array;
    }
    return clock_.array;
  }

  // Runs `count` passes of `pixels` cycles whose inputs and weights are in the banks. The first
  // starts in cycle `earliest` or later. A load waits for the start of the pass before, which frees
  // the shadow registers, so that passes after the first start at equal distances.
  void RunPasses(int64_t count, int64_t pixels, int64_t earliest) {
    const int64_t load_cycles = WeightLoadCycles(config_);
    const int64_t load = std::max({clock_.weight_load, clock_.shadow, weights_ready_});
    clock_.weight_load = load + load_cycles;
    int64_t start = std::max({clock_.array, clock_.weight_load, inputs_ready_, earliest});
    if (count > 1) {
      const int64_t distance = std::max(pixels, load_cycles);
      start += (count - 1) * distance;
      clock_.weight_load = start - distance + load_cycles;
    }
    clock_.shadow = start;
    clock_.array = start + pixels;
  }

  // Returns the fetch cycles of the weight fill of tiles `first` to `end` - 1 of a block, in the
  // order of passes.
  int64_t WeightFillCycles(const Visit& visit, int64_t first, int64_t end) {
    if (equal_weight_tiles_) {
      if (tile_cycles_ == 0) tile_cycles_ = WeightCycles(0, 0);
      return (end - first) * tile_cycles_;
    }
    const int64_t per_group = int64_t{visit.columns} * geometry_.rows_per_group;
    int64_t cycles = 0;
    for (int64_t t = first; t < end; ++t) {
      const int32_t group = static_cast<int32_t>(t / per_group);
      const int32_t column = static_cast<int32_t>(t % per_group / geometry_.rows_per_group);
      const int32_t row = static_cast<int32_t>(t % geometry_.rows_per_group);
      cycles += WeightCycles(group * geometry_.rows_per_group + row, visit.first_column + column);
    }
    return cycles;
  }

  int64_t DepthwiseBlock(const Visit& visit, int64_t index) {
    if (visit.fetch_inputs) {
      inputs_ready_ = FillInputs(InputCycles(visit, visit.first_column));
    }
    const int64_t weights = FillWeights(WeightCycles(0, visit.first_column));
    const int64_t start =
        std::max({clock_.depthwise, inputs_ready_, weights, AccumulationBank(index)});
    clock_.depthwise = start + DepthwiseCycles(in_, config_, visit);
    if (visit.last_of_inputs)
      inputs_.released[static_cast<size_t>((inputs_.next - 1) & 1)] = clock_.depthwise;
    weights_.released[static_cast<size_t>((weights_.next - 1) & 1)] = clock_.depthwise;
    return clock_.depthwise;
  }

  void Drain(const Visit& visit, int64_t ready, int64_t index) {
    if (visit.fetch_parameters) {
      const int64_t start = std::max(clock_.parameter_fetch, clock_.parameter_buffer);
      clock_.parameter_fetch = start + ParameterFetchCycles(in_, config_, visit);
      parameters_ready_ = clock_.parameter_fetch + config_.memory_latency;
    }
    const int64_t start = std::max({clock_.vector, ready, parameters_ready_});
    const VectorTime drain = DrainTime(in_, config_, visit);
    clock_.vector = start + drain.busy;
    if (visit.last_of_parameters) clock_.parameter_buffer = clock_.vector;
    AccumulationBank(index) = clock_.vector;
    clock_.finished = start + drain.finished;
  }

  const Instruction& in_;
  const Config& config_;
  const Geometry geometry_;
  Clock clock_;
  Banks inputs_, weights_;
  std::vector<int64_t> accumulation_;  // the cycle in which each accumulation bank is free
  int64_t inputs_ready_ = 0, weights_ready_ = 0, parameters_ready_ = 0;
  int32_t batch_ = 0;                                  // the image to which the cycles below belong
  std::vector<int64_t> input_cycles_, weight_cycles_;  // 0: not computed yet
  const bool equal_weight_tiles_;  // all weight tiles of an image take the same cycles to fetch
  int64_t tile_cycles_ = 0;        // these cycles; 0: not computed yet
};

}  // namespace

int64_t EstimateCycles(const Instruction& instruction, const Config& config, int64_t enough) {
  switch (instruction.opcode) {
    case Opcode::kEnd:
      return 0;
    case Opcode::kVector:
      return kFirstSlotCycles + VectorInstructionTime(instruction.vector, config).finished;
    case Opcode::kMatrix:
    case Opcode::kDepthwise:
      return Estimator(instruction, config).Run(enough);
  }
  KILN_CHECK(false);
  return 0;
}

int64_t WordCycles(const Config& config) {
  return std::max(1, kInstructionWordBytes / config.instruction_bytes_per_cycle);
}

int64_t DispatchCycles(const Config& config, int64_t encoded_bytes) {
  return encoded_bytes / kInstructionWordBytes * WordCycles(config) + 1;
}

int64_t ProgramCycles(const Instruction& instruction, const Config& config) {
  // The first bytes of the program take the memory latency, like any others.
  return config.memory_latency + DispatchCycles(config, std::ssize(Encode(instruction, config))) +
         EstimateCycles(instruction, config);
}

}  // namespace kiln::systolic
