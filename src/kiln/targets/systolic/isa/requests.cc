// Enumerates the memory requests of the fetch units and of the vector unit (docs/systolic.md,
// "Requests of the fetch units").
#include "kiln/targets/systolic/isa/requests.h"

#include <algorithm>

#include "kiln/hardware/axi_port.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/timing.h"

namespace kiln::systolic {
namespace {

// Appends a request of `bytes` bytes.
void Ask(uint64_t address, int64_t bytes, int64_t port_bytes, Requests* requests) {
  requests->push_back({address, static_cast<int32_t>(bytes),
                       static_cast<int32_t>(BeatsOf(address, bytes, port_bytes))});
}

// Appends one request of `bytes` bytes for each of `count` lines.
void AskLines(uint64_t address, int64_t stride, int64_t count, int64_t bytes, int64_t port_bytes,
              Requests* requests) {
  for (int64_t i = 0; i < count; ++i) Ask(Offset(address, i * stride), bytes, port_bytes, requests);
}

// Appends the requests of a row group: one word for each position.
void AskGroup(const Instruction& instruction, const Config& config, const Geometry& geometry,
              const Visit& visit, int32_t group, Requests* requests) {
  const Convolution& conv = instruction.convolution;
  const int64_t lanes = config.array_rows, channel = group * lanes,
                bytes = config.input_format.bytes();
  const int64_t word = std::min(lanes, conv.channels - channel) * bytes;
  const uint64_t image =
      Offset(conv.input_base, visit.batch * conv.input_batch_stride + channel * bytes);
  for (int32_t py = 0; py < geometry.y.Places(visit.height); ++py) {
    const int32_t iy = geometry.y.Coordinate(visit.y, py);
    for (int32_t px = 0; px < geometry.x.Places(visit.width); ++px) {
      const int32_t ix = geometry.x.Coordinate(visit.x, px);
      const bool inside = iy >= 0 && iy < conv.height && ix >= 0 && ix < conv.width;
      const int64_t at = iy * conv.input_row_stride + ix * conv.input_column_stride;
      Ask(Offset(image, at), inside ? word : 0, config.input_port_bytes, requests);
      if (!conv.input_scales.present) continue;
      const OperandScales& scales = conv.input_scales;
      const int32_t scale = config.scale_format.bytes();
      requests->back().scales = {
          Offset(scales.base, visit.batch * scales.batch_stride + iy * scales.row_stride +
                                  ix * scales.column_stride + channel / config.block_size * scale),
          0, 1, inside ? scale : 0};
    }
  }
}

// Joins adjacent words of a depthwise fill into requests. A word of `bytes` bytes at `address`, or
// of padding, is added to the current request unless that is of the other kind, already has
// depthwise_words_per_cycle words, or would cross an aligned span of that many words.
struct WordJoiner {
  const Config& config;
  uint64_t address = 0;  // of the current request
  int64_t words = 0, bytes = 0;
  bool inside = false;

  void Add(uint64_t at, bool word_inside, int64_t word_bytes, Requests* requests) {
    const int64_t together = config.depthwise_words_per_cycle, word = config.depthwise_word_bytes();
    const bool boundary =
        word_inside && at / static_cast<uint64_t>(word) % static_cast<uint64_t>(together) == 0;
    if (words > 0 && (word_inside != inside || words == together || boundary)) Finish(requests);
    if (words == 0) address = at;
    inside = word_inside;
    bytes += word_inside ? word_bytes : 0;
    ++words;
  }
  void Finish(Requests* requests) {
    Ask(address, bytes, config.input_port_bytes, requests);
    words = bytes = 0;
  }
};

// Appends the requests of a depthwise fill, position by position and column tile by column tile.
void AskDepthwise(const Instruction& instruction, const Config& config, const Geometry& geometry,
                  const Visit& visit, int32_t first, Requests* requests) {
  const Convolution& conv = instruction.convolution;
  const int64_t word = config.depthwise_word_bytes(), bytes = config.input_format.bytes();
  const uint64_t image = Offset(conv.input_base, visit.batch * conv.input_batch_stride);
  const int32_t end = std::min(first + instruction.tiling.groups_per_bank, geometry.column_tiles);
  WordJoiner joiner{config};
  for (int32_t py = 0; py < geometry.y.Places(visit.height); ++py) {
    const int32_t iy = geometry.y.Coordinate(visit.y, py);
    const bool row_inside = iy >= 0 && iy < conv.height;
    for (int32_t px = 0; px < geometry.x.Places(visit.width); ++px) {
      const int32_t ix = geometry.x.Coordinate(visit.x, px);
      const int64_t at = iy * conv.input_row_stride + ix * conv.input_column_stride;
      for (int32_t tile = first; tile < end; ++tile) {
        joiner.Add(Offset(image, at + tile * word), row_inside && ix >= 0 && ix < conv.width,
                   ValidColumns(instruction, config, tile) * bytes, requests);
      }
      if (!geometry.joined_rows) joiner.Finish(requests);
    }
    if (geometry.joined_rows) joiner.Finish(requests);
  }
}

// Appends one request for each run, cut to the part inside the image.
void AskPackedGroup(const Instruction& instruction, const Config& config, const Visit& visit,
                    int32_t row_tile, Requests* requests) {
  const Convolution& conv = instruction.convolution;
  const int64_t bytes = config.input_format.bytes(), row_end = int64_t{conv.width} * conv.channels;
  const uint64_t image = Offset(conv.input_base, visit.batch * conv.input_batch_stride);
  const std::vector<PackedRun> runs = PackedRuns(instruction, config, row_tile);
  for (int32_t y = 0; y < visit.height; ++y) {
    for (int32_t x = 0; x < visit.width; ++x) {
      for (const PackedRun& run : runs) {
        const int64_t iy = int64_t{visit.y + y} * conv.stride_y - conv.pad_top +
                           int64_t{run.tap_y} * conv.dilation_y;
        const int64_t ix = int64_t{visit.x + x} * conv.stride_x - conv.pad_left +
                           int64_t{run.tap_x} * conv.dilation_x;
        // The run as entries of the input row.
        const int64_t begin = std::max<int64_t>(ix * conv.channels + run.channel, 0);
        const int64_t end = std::min(ix * conv.channels + run.channel + run.entries, row_end);
        const bool inside = iy >= 0 && iy < conv.height && begin < end;
        const int64_t at = iy * conv.input_row_stride +
                           begin / conv.channels * conv.input_column_stride +
                           begin % conv.channels * bytes;
        Ask(Offset(image, at), inside ? (end - begin) * bytes : 0, config.input_port_bytes,
            requests);
      }
    }
  }
}

// Appends a stream's requests for a word to a port.
void AskStream(const Stream& stream, const Config& config, uint64_t address, int64_t elements,
               int64_t port, Requests* requests) {
  const int64_t bytes = BytesOf(stream.element, config);
  if (stream.element_stride == bytes) return Ask(address, elements * bytes, port, requests);
  AskLines(address, stream.element_stride, stream.element_stride == 0 ? 1 : elements, bytes, port,
           requests);
}

// Returns the scales of a word of a stream with block scales, given the address of its row's first
// scale.
ScaleRequests ScalesOfWord(const Config& config, uint64_t row, int64_t element, int64_t elements) {
  const int32_t bytes = config.scale_format.bytes();
  return {Offset(row, element / config.block_size * bytes), bytes,
          static_cast<int32_t>(CeilDivide(elements, config.block_size)), bytes};
}

// Returns the address of a row's first scale. Under a window, the strides of axes 1 and 2 are left
// out.
uint64_t ScaleRow(const Stream& stream, const OuterIndex& outer, bool windowed) {
  int64_t offset = 0;
  for (size_t i = 0; i < kOuterLoops; ++i) {
    if (!windowed || i == 0 || i == 3) offset += outer[i] * stream.blocks.outer_stride[i];
  }
  return Offset(stream.blocks.base, offset);
}

// Returns the cycles in which the operand fetch searches along one axis of a dilated window for its
// first position inside the image.
int64_t PlacesBefore(int64_t first, int32_t window, int32_t dilation) {
  return dilation == 1 || first >= 0
             ? 0
             : std::min<int64_t>(window, (-first + dilation - 1) / dilation);
}

// Appends the requests of operand 0 under the window.
void AskWindow(const VectorProgram& program, const Config& config, const OuterIndex& outer,
               int64_t element, int64_t elements, VectorWord* word) {
  const Window& w = program.window;
  const Stream& stream = program.operands[0];
  const int64_t first_y = outer[1] * w.stride_y - w.pad_top,
                first_x = outer[2] * w.stride_x - w.pad_left;
  const uint64_t base =
      Offset(stream.base, outer[0] * stream.outer_stride[0] + outer[3] * stream.outer_stride[3] +
                              element * stream.element_stride);
  for (int32_t ky = 0; ky < w.window_y; ++ky) {
    const int64_t y = first_y + int64_t{ky} * w.dilation_y;
    if (y < 0 || y >= w.height) continue;
    for (int32_t kx = 0; kx < w.window_x; ++kx) {
      const int64_t x = first_x + int64_t{kx} * w.dilation_x;
      if (x < 0 || x >= w.width) continue;
      AskStream(stream, config, Offset(base, y * w.row_stride + x * w.column_stride), elements,
                config.operand_port_bytes, &word->operands);
      if (!stream.blocks.present) continue;
      const int64_t place = y * stream.blocks.row_stride + x * stream.blocks.column_stride;
      word->operands.back().scales =
          ScalesOfWord(config, Offset(ScaleRow(stream, outer, true), place), element, elements);
    }
  }
  // Both axes are searched at once. It takes a cycle to find that no position is inside the image.
  word->search = std::max(PlacesBefore(first_y, w.window_y, w.dilation_y),
                          PlacesBefore(first_x, w.window_x, w.dilation_x)) +
                 (word->operands.empty() ? 1 : 0);
}

}  // namespace

std::vector<PackedRun> PackedRuns(const Instruction& instruction, const Config& config,
                                  int32_t row_tile) {
  const Convolution& conv = instruction.convolution;
  const int64_t run = int64_t{TapsAreJoined(conv, config) ? conv.kernel_x : 1} * conv.channels;
  const int64_t first = int64_t{row_tile} * config.array_rows;
  const int64_t end = first + ValidRows(instruction, config, row_tile);
  std::vector<PackedRun> runs;
  for (int64_t at = first; at < end;) {
    const int64_t next = std::min(end, (at / run + 1) * run);
    const int32_t tap = static_cast<int32_t>(at / conv.channels);
    runs.push_back({tap / conv.kernel_x, tap % conv.kernel_x,
                    static_cast<int32_t>(at % conv.channels), next - at});
    at = next;
  }
  return runs;
}

Requests InputFillRequests(const Instruction& instruction, const Config& config,
                           const Geometry& geometry, const Visit& visit, int32_t first,
                           int32_t end) {
  const bool packed =
      instruction.opcode == Opcode::kMatrix && instruction.tiling.packing == Packing::kTaps;
  Requests requests;
  if (instruction.opcode == Opcode::kDepthwise) {
    AskDepthwise(instruction, config, geometry, visit, first, &requests);
    end = first;
  }
  for (int32_t group = first; group < end; ++group) {
    if (packed) {
      AskPackedGroup(instruction, config, visit, group, &requests);
    } else {
      AskGroup(instruction, config, geometry, visit, group, &requests);
    }
  }
  // A fill that consists of padding only reads one byte instead of its last word.
  if (std::ranges::all_of(requests, [](const Request& r) { return r.beats == 0; })) {
    Request& last = requests.back();
    last = {instruction.convolution.input_base, 1, 1, last.scales};
  }
  return requests;
}

Requests WeightTileRequests(const Instruction& instruction, const Config& config, int32_t batch,
                            int32_t row_tile, int32_t column_tile) {
  const Convolution& conv = instruction.convolution;
  const int64_t port = config.weight_port_bytes;
  const int64_t bytes = config.weight_format.bytes(), word = WeightRowBytes(conv, config);
  const uint64_t base = Offset(conv.weight_base, batch * conv.weight_batch_stride);
  const OperandScales& scales = conv.weight_scales;
  const uint64_t scale_base = Offset(scales.base, batch * scales.batch_stride);
  const int32_t scale = config.scale_format.bytes();
  Requests requests;
  if (instruction.opcode == Opcode::kDepthwise) {
    AskLines(Offset(base, column_tile * conv.taps() * word), word, conv.taps(), word, port,
             &requests);
    return requests;
  }
  if (conv.weight_layout == WeightLayout::kTiled) {
    const int64_t tile = int64_t{column_tile} * RowTilesOf(instruction, config) + row_tile;
    AskLines(Offset(base, tile * config.array_rows * word), word, config.array_rows, word, port,
             &requests);
    if (scales.present) {
      requests.front().scales = {Offset(scale_base, tile * config.array_columns * scale), scale,
                                 config.array_columns, scale};
    }
    return requests;
  }
  const int64_t rows = ValidRows(instruction, config, row_tile);
  const int64_t columns = ValidColumns(instruction, config, column_tile);
  const int64_t row = WeightIndex(instruction, config, row_tile, 0);
  const int64_t column = int64_t{column_tile} * config.array_columns;
  const uint64_t at =
      Offset(base, row * conv.weight_row_stride + column * conv.weight_column_stride);
  if (conv.weight_column_stride == bytes) {
    AskLines(at, conv.weight_row_stride, rows, columns * bytes, port, &requests);
  } else {
    AskLines(at, conv.weight_column_stride, columns, rows * bytes, port, &requests);
  }
  if (scales.present) {
    requests.front().scales = {
        Offset(scale_base, column * scales.column_stride + row / config.block_size * scale),
        scales.column_stride, static_cast<int32_t>(columns), scale};
  }
  return requests;
}

Requests ParameterRequests(const Instruction& instruction, const Config& config,
                           const Visit& visit) {
  const Convolution& conv = instruction.convolution;
  const uint64_t base = Offset(conv.parameters.base, visit.batch * conv.parameter_batch_stride);
  Requests requests;
  for (int32_t tile = visit.first_column; tile < visit.first_column + visit.columns; ++tile) {
    AskLines(Offset(base, int64_t{4} * tile * config.array_columns), int64_t{4} * conv.out_channels,
             3, int64_t{4} * ValidColumns(instruction, config, tile), config.operand_port_bytes,
             &requests);
  }
  return requests;
}

VectorWords::VectorWords(const Instruction& instruction, const Config& config, const Visit& visit)
    : instruction_(instruction),
      program_(instruction.vector),
      config_(config),
      visit_(&visit),
      words_of_scale_block_(DrainColumns(program_, config)),
      first_tile_(visit.first_column),
      tile_(visit.first_column) {}

VectorWords::VectorWords(const Instruction& instruction, const Config& config)
    : instruction_(instruction),
      program_(instruction.vector),
      config_(config),
      visit_(nullptr),
      words_of_scale_block_(DrainColumns(program_, config)) {
  rows_ = 1;
  for (const int32_t count : program_.outer) rows_ *= count;
  if (program_.passes.size() > 1) together_ = RowsInFlight(program_, config);
}

bool VectorWords::Next(VectorWord* word) {
  *word = {};
  return visit_ != nullptr ? NextOfDrain(word) : NextOfRows(word);
}

void VectorWords::Fill(size_t pass, const OuterIndex& outer, int64_t element, int64_t elements,
                       VectorWord* word) const {
  for (size_t i = 0; i < program_.operands.size(); ++i) {
    if (!PassReads(program_, pass, i)) continue;
    if (pass == 0 && i == 0 && program_.window.combine != Combine::kNone) {
      AskWindow(program_, config_, outer, element, elements, word);
    } else {
      const Stream& stream = program_.operands[i];
      AskStream(stream, config_, AddressOf(stream, outer, element), elements,
                config_.operand_port_bytes, &word->operands);
      if (stream.blocks.present) {
        word->operands.back().scales =
            ScalesOfWord(config_, ScaleRow(stream, outer, false), element, elements);
      }
    }
  }
  word->elements = elements;
  word->to_memory = program_.passes[pass].to_memory;
  if (!word->to_memory) return;
  const Stream& output = program_.output;
  word->output_address = AddressOf(output, outer, element);
  word->output =
      StreamBeats(output, config_, word->output_address, elements, config_.output_port_bytes);
  if (output.blocks.present) {
    word->output_scales = ScalesOfWord(config_, ScaleRow(output, outer, false), element, elements);
  }
}

Requests VectorWords::WritesOf(const VectorWord& word) const {
  Requests requests;
  if (word.to_memory) {
    AskStream(program_.output, config_, word.output_address, word.elements,
              config_.output_port_bytes, &requests);
  }
  return requests;
}

Requests VectorWords::ScaleWritesOf(const VectorWord& word) {
  const ScaleRequests& scales = word.output_scales;
  Requests requests;
  if (scales.count > 0) {
    AskLines(scales.address, scales.stride, scales.count, scales.bytes, kScalePortBytes, &requests);
  }
  return requests;
}

// Order: column tile by column tile, row by row. The column tiles of a scale block of the output
// follow each other for each pixel.
bool VectorWords::NextOfDrain(VectorWord* word) {
  if (tile_ == visit_->first_column + visit_->columns) return false;
  Fill(0, {visit_->batch, visit_->y + y_, visit_->x + x_, 0},
       int64_t{tile_} * config_.array_columns, ValidColumns(instruction_, config_, tile_), word);
  const int32_t past =
      std::min(first_tile_ + words_of_scale_block_, visit_->first_column + visit_->columns);
  if (++tile_ < past) return true;
  word->last_of_scale_block = true;
  tile_ = first_tile_;
  if (++x_ < visit_->width) return true;
  x_ = 0;
  if (++y_ < visit_->height) return true;
  y_ = 0;
  tile_ = first_tile_ = past;
  return true;
}

// Order: set of rows by set, pass by pass, row by row.
bool VectorWords::NextOfRows(VectorWord* word) {
  if (first_row_ == rows_) return false;
  OuterIndex outer{};
  int64_t rest = row_;
  for (size_t i = kOuterLoops; i-- > 0; rest /= program_.outer[i])
    outer[i] = rest % program_.outer[i];
  const int64_t elements = std::min<int64_t>(config_.lanes(), program_.length - at_);
  Fill(pass_, outer, at_, elements, word);
  at_ += elements;
  word->last_of_scale_block =
      at_ == program_.length || at_ % (config_.lanes() * words_of_scale_block_) == 0;
  if (at_ < program_.length) return true;
  at_ = 0;
  const int64_t end = std::min(first_row_ + together_, rows_);
  if (++row_ < end) return true;
  word->gap = PassGap(program_, config_, static_cast<int>(pass_));
  row_ = first_row_;
  if (++pass_ < program_.passes.size()) return true;
  pass_ = 0;
  first_row_ = row_ = end;
  return true;
}

}  // namespace kiln::systolic
