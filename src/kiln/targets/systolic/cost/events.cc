// Counts events from the visits of matrix and depthwise instructions and the rows of vector
// instructions.
#include "kiln/targets/systolic/cost/events.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kiln/support/integer.h"
#include "kiln/targets/systolic/cost/area_counts.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kParameterBits = 3 * 32;  // of a column: offset, scale, bias

// Returns how many of the coordinates output * stride + offset are in [0, limit), over the outputs
// [first, first + count).
int64_t InsideOutputs(int32_t first, int32_t count, int64_t offset, int32_t stride, int32_t limit) {
  int64_t inside = 0;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t at = (int64_t{first} + i) * stride + offset;
    inside += at >= 0 && at < limit ? 1 : 0;
  }
  return inside;
}

int64_t InsidePlaces(const RegionAxis& axis, int32_t first, int32_t count, int32_t limit) {
  int64_t inside = 0;
  for (int32_t place = 0; place < axis.Places(count); ++place) {
    const int32_t at = axis.Coordinate(first, place);
    inside += at >= 0 && at < limit ? 1 : 0;
  }
  return inside;
}

LaneOperation OperationOf(const Stage& stage) {
  switch (stage.op) {
    case StageOp::kAdd:
    case StageOp::kSubtract:
    case StageOp::kReverseSubtract:
      return LaneOperation::kAdd;
    case StageOp::kMultiply:
    case StageOp::kSquare:
    case StageOp::kSelectNegative:
      return LaneOperation::kMultiply;
    case StageOp::kFma:
      return LaneOperation::kMultiplyAdd;
    case StageOp::kMax:
    case StageOp::kMin:
      return LaneOperation::kCompare;
    case StageOp::kFunction:
    case StageOp::kReciprocal:
    case StageOp::kReciprocalSquareRoot:
      return LaneOperation::kFunction;
    case StageOp::kDivide:
      return LaneOperation::kDivide;
    case StageOp::kAbsolute:
    case StageOp::kSave0:
    case StageOp::kSave1:
      return LaneOperation::kMove;
  }
  return LaneOperation::kMove;
}

bool IsFloat(Element element) {
  return element == Element::kFloat32 || element == Element::kVector;
}

// Adds up the events of instructions.
class Counter {
 public:
  explicit Counter(const Config& config) : config_(config) {}

  void Count(const Instruction& in) {
    events_.program_bytes += static_cast<int64_t>(Encode(in, config_).size());
    if (in.opcode == Opcode::kVector) Rows(in.vector);
    if (in.opcode != Opcode::kMatrix && in.opcode != Opcode::kDepthwise) return;
    const Geometry geometry = GeometryOf(in, config_);
    for (const Visit& visit : VisitsOf(in, config_)) {
      if (in.opcode == Opcode::kMatrix) {
        Matrix(in, geometry, visit);
      } else {
        Depthwise(in, geometry, visit);
      }
      Parameters(in, visit);
      Drain(in, visit);
    }
  }
  const Events& events() const { return events_; }

 private:
  void Operate(LaneOperation operation, int64_t times) {
    events_.lane_operations[static_cast<size_t>(operation)] += times;
  }

  void Matrix(const Instruction& in, const Geometry& geometry, const Visit& visit) {
    const int64_t passes = int64_t{geometry.row_tiles()} * visit.columns, pixels = visit.pixels();
    const int64_t rows = config_.array_rows, columns = config_.array_columns;
    int64_t valid_rows = 0, valid_columns = 0;
    for (int32_t r = 0; r < geometry.row_tiles(); ++r) valid_rows += ValidRows(in, config_, r);
    for (int32_t c = 0; c < visit.columns; ++c)
      valid_columns += ValidColumns(in, config_, visit.first_column + c);
    events_.array_cycles += passes * pixels;
    events_.multiply_accumulates += pixels * valid_rows * valid_columns;
    events_.precision_accumulates[in.precision] += pixels * valid_rows * valid_columns;
    events_.weights_loaded += passes * rows * columns;
    events_.accumulations += passes * pixels * columns;
    events_.input_buffer.read += passes * pixels * rows * config_.input_bits();
    events_.weight_buffer.read += passes * rows * columns * config_.weight_bits();
    // The first row tile overwrites the accumulators.
    const int64_t word = columns * config_.accumulator_bits();
    events_.accumulators.written += passes * pixels * word;
    events_.accumulators.read += (passes - visit.columns) * pixels * word;
    if (visit.fetch_inputs) FetchInputs(in, geometry, visit);
    if (visit.fetch_weights) FetchWeights(in, passes, valid_rows, valid_columns);
  }

  void FetchInputs(const Instruction& in, const Geometry& geometry, const Visit& visit) {
    const Convolution& conv = in.convolution;
    const int64_t words = geometry.groups * GroupWords(in, geometry, visit.height, visit.width);
    events_.input_buffer.written += words * config_.array_rows * config_.input_bits();
    const int64_t pixel_bytes = int64_t{conv.channels} * config_.input_format.bytes();
    if (in.tiling.packing == Packing::kChannels) {
      const int64_t inside = InsidePlaces(geometry.y, visit.y, visit.height, conv.height) *
                             InsidePlaces(geometry.x, visit.x, visit.width, conv.width);
      events_.input_bytes += inside * pixel_bytes;
      if (conv.input_scales.present)
        events_.input_scale_bytes += inside * geometry.groups * config_.scale_format.bytes();
      return;
    }
    // All row tiles together hold every tap of every output once.
    int64_t rows = 0, columns = 0;
    for (int32_t ky = 0; ky < conv.kernel_y; ++ky) {
      rows += InsideOutputs(visit.y, visit.height, int64_t{ky} * conv.dilation_y - conv.pad_top,
                            conv.stride_y, conv.height);
    }
    for (int32_t kx = 0; kx < conv.kernel_x; ++kx) {
      columns += InsideOutputs(visit.x, visit.width, int64_t{kx} * conv.dilation_x - conv.pad_left,
                               conv.stride_x, conv.width);
    }
    events_.input_bytes += rows * columns * pixel_bytes;
  }

  void FetchWeights(const Instruction& in, int64_t tiles, int64_t valid_rows,
                    int64_t valid_columns) {
    const Convolution& conv = in.convolution;
    const int64_t rows = tiles * config_.array_rows;
    const bool tiled = conv.weight_layout == WeightLayout::kTiled;
    events_.weight_buffer.written += rows * config_.array_columns * config_.weight_bits();
    events_.weight_bytes += tiled ? rows * WeightRowBytes(conv, config_)
                                  : valid_rows * valid_columns * config_.weight_format.bytes();
    if (!conv.weight_scales.present) return;
    const int64_t row_tiles = tiled ? tiles * config_.array_columns
                                    : CeilDivide(valid_rows, config_.array_rows) * valid_columns;
    events_.weight_scale_bytes += row_tiles * config_.scale_format.bytes();
  }

  void Depthwise(const Instruction& in, const Geometry& geometry, const Visit& visit) {
    const Convolution& conv = in.convolution;
    const int64_t lanes = config_.array_columns, taps = conv.taps(), pixels = visit.pixels();
    const int64_t channels = ValidColumns(in, config_, visit.first_column);
    const int64_t input_word = lanes * config_.input_format.bits,
                  weight_word = lanes * config_.weight_format.bits;
    events_.depthwise_multiply_accumulates += pixels * taps * channels;
    events_.depthwise_inputs.written +=
        GroupWords(in, geometry, visit.height, visit.width) * input_word;
    events_.depthwise_inputs.read += pixels * taps * input_word;
    events_.depthwise_weights.written += taps * weight_word;
    events_.depthwise_weights.read += pixels * taps * weight_word;
    events_.accumulators.written += pixels * lanes * config_.accumulator_bits();
    events_.input_bytes += InsidePlaces(geometry.y, visit.y, visit.height, conv.height) *
                           InsidePlaces(geometry.x, visit.x, visit.width, conv.width) * channels *
                           config_.input_format.bytes();
    events_.weight_bytes += taps * WeightRowBytes(conv, config_);
  }

  void Parameters(const Instruction& in, const Visit& visit) {
    const int64_t words = int64_t{visit.pixels()} * visit.columns;
    events_.parameters.read += words * config_.array_columns * kParameterBits;
    if (!visit.fetch_parameters) return;
    events_.parameters.written += int64_t{visit.columns} * config_.array_columns * kParameterBits;
    for (int32_t c = 0; c < visit.columns; ++c) {
      events_.parameter_bytes +=
          ValidColumns(in, config_, visit.first_column + c) * kParameterBits / 8;
    }
  }

  // Counts the words of a block.
  void Drain(const Instruction& in, const Visit& visit) {
    const int64_t pixels = visit.pixels(), lanes = config_.array_columns;
    int64_t elements = 0;
    for (int32_t c = 0; c < visit.columns; ++c)
      elements += pixels * ValidColumns(in, config_, visit.first_column + c);
    events_.accumulators.read += pixels * visit.columns * lanes * config_.accumulator_bits();
    Operate(LaneOperation::kMultiplyAdd, elements);
    const VectorProgram& program = in.vector;
    Words(program, 0, pixels * visit.columns, elements);
    if (program.passes[0].to_memory && program.output.blocks.present) {
      // A block of columns consists of whole scale blocks, except for the last one.
      const int64_t blocks = CeilDivide(elements / pixels, config_.block_size);
      events_.output_scale_bytes += pixels * blocks * config_.scale_format.bytes();
    }
  }

  // Counts a vector instruction.
  void Rows(const VectorProgram& program) {
    int64_t rows = 1;
    for (const int32_t count : program.outer) rows *= count;
    const int64_t words = CeilDivide(program.length, config_.lanes());
    for (size_t p = 0; p < program.passes.size(); ++p) {
      const Pass& pass = program.passes[p];
      Words(program, p, rows * words, rows * program.length);
      if (p == 0 && program.window.combine != Combine::kNone) PoolingWindow(program, words);
      if (pass.source == Source::kRowBuffer) events_.row_buffer.read += WordBits(rows * words);
      if (pass.to_memory && program.output.blocks.present) {
        events_.output_scale_bytes +=
            rows * CeilDivide(program.length, config_.block_size) * config_.scale_format.bytes();
      }
      if (pass.reduce == Reduce::kNone) continue;
      const LaneOperation join =
          pass.reduce == Reduce::kSum ? LaneOperation::kAdd : LaneOperation::kCompare;
      Operate(join, rows * program.length + rows * (config_.lanes() - 1));
      for (const Stage& stage : pass.scalar_stages) Operate(OperationOf(stage), rows);
    }
  }

  // Returns the bits of words of the vector unit's numbers.
  int64_t WordBits(int64_t words) const {
    return words * config_.lanes() * static_cast<int64_t>(NumberBits(config_.vector_format));
  }

  // Counts the words of one pass, which have `elements` valid elements.
  void Words(const VectorProgram& program, size_t p, int64_t words, int64_t elements) {
    const Pass& pass = program.passes[p];
    int64_t streams = 1;
    for (size_t i = 0; i < program.operands.size(); ++i) {
      if (!PassReads(program, p, i)) continue;
      const Stream& stream = program.operands[i];
      ++streams;
      events_.operand_buffer.written += WordBits(words);
      events_.operand_buffer.read += WordBits(words);
      if (p == 0 && i == 0 && program.window.combine != Combine::kNone) continue;
      Operand(stream, stream.element_stride == 0 ? words : elements);
    }
    for (const Stage& stage : pass.stages) Operate(OperationOf(stage), elements);
    events_.lane_register_bits += WordBits(words) * streams * PipelineDepth(program, config_);
    if (pass.to_row_buffer) events_.row_buffer.written += WordBits(words);
    if (!pass.to_memory) return;
    // If all elements of a word have the same address, only the last one is written.
    events_.output_bytes += (program.output.element_stride == 0 ? words : elements) *
                            BytesOf(program.output.element, config_);
    if (!IsFloat(program.output.element)) Operate(LaneOperation::kMultiply, elements);
  }

  // Counts `elements` elements of a stream from memory.
  void Operand(const Stream& stream, int64_t elements) {
    events_.operand_bytes += elements * BytesOf(stream.element, config_);
    if (!IsFloat(stream.element)) Operate(LaneOperation::kMultiply, elements);
    if (stream.blocks.present) {
      events_.operand_scale_bytes +=
          CeilDivide(elements, config_.block_size) * config_.scale_format.bytes();
    }
  }

  // Counts operand 0 of the first pass at all positions of its window.
  void PoolingWindow(const VectorProgram& program, int64_t words_of_row) {
    const Window& w = program.window;
    int64_t rows = 0, columns = 0;
    for (int32_t y = 0; y < program.outer[1]; ++y) {
      rows += WindowPlaces(y, w.window_y, w.stride_y, w.dilation_y, w.pad_top, w.height);
    }
    for (int32_t x = 0; x < program.outer[2]; ++x) {
      columns += WindowPlaces(x, w.window_x, w.stride_x, w.dilation_x, w.pad_left, w.width);
    }
    const int64_t places = rows * columns * program.outer[0] * program.outer[3];
    const Stream& stream = program.operands[0];
    Operand(stream, places * (stream.element_stride == 0 ? words_of_row : program.length));
    Operate(w.combine == Combine::kSum ? LaneOperation::kAdd : LaneOperation::kCompare,
            places * program.length);
  }

  const Config& config_;
  Events events_;
};

}  // namespace

Events CountEvents(std::span<const Instruction> instructions, const Config& config) {
  Counter counter(config);
  for (const Instruction& instruction : instructions) counter.Count(instruction);
  return counter.events();
}

Traffic TrafficOf(std::span<const Instruction> instructions, size_t kernels, const Config& config) {
  // A port, and the counts of its bytes. Each kind of data has one port.
  struct Row {
    MemoryPort port;
    std::vector<int64_t Events::*> bytes;
  };
  std::vector<Row> rows;
  if (config.shared_bus) {
    rows = {{{"bus, reads", static_cast<double>(config.input_port_bytes)},
             {&Events::program_bytes, &Events::input_bytes, &Events::weight_bytes,
              &Events::operand_bytes, &Events::parameter_bytes}},
            {{"bus, writes", static_cast<double>(config.output_port_bytes), true},
             {&Events::output_bytes}}};
  } else {
    rows = {{{"program", static_cast<double>(config.instruction_bytes_per_cycle)},
             {&Events::program_bytes}},
            {{"inputs", static_cast<double>(config.input_port_bytes)}, {&Events::input_bytes}},
            {{"weights", static_cast<double>(config.weight_port_bytes)}, {&Events::weight_bytes}},
            {{"operands", static_cast<double>(config.operand_port_bytes)},
             {&Events::operand_bytes, &Events::parameter_bytes}},
            {{"results", static_cast<double>(config.output_port_bytes), true},
             {&Events::output_bytes}}};
  }
  if (config.block_size > 0) {
    // Beside each data port is one that moves a scale per cycle.
    const auto add = [&](const char* name, int64_t Events::* part, bool writes) {
      const auto width = static_cast<double>(config.scale_format.bytes());
      rows.push_back(
          {{.name = name, .bytes_per_cycle = width, .writes = writes, .moves_scales = true},
           {part}});
    };
    add("scales of inputs", &Events::input_scale_bytes, false);
    add("scales of weights", &Events::weight_scale_bytes, false);
    add("scales of operands", &Events::operand_scale_bytes, false);
    add("scales of results", &Events::output_scale_bytes, true);
  }
  std::vector<MemoryPort> ports;
  for (const Row& row : rows) ports.push_back(row.port);
  Traffic traffic = Traffic::For(std::move(ports), kernels);
  for (const Instruction& instruction : instructions) {
    const Events events = CountEvents(std::span(&instruction, 1), config);
    std::vector<int64_t>& bytes = traffic.bytes[instruction.kernel];
    for (size_t p = 0; p < rows.size(); ++p) {
      for (int64_t Events::* const part : rows[p].bytes) bytes[p] += events.*part;
    }
  }
  return traffic;
}

}  // namespace kiln::systolic
