#include "kiln/targets/systolic/timing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "kiln/support/check.h"

namespace kiln::systolic {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

constexpr int64_t kParameterBytes = 12;  // int32 offset, fp32 scale, fp32 bias

// Beats of one packed word of row tile `row_tile`: one request for each stretch of consecutive bytes.
int64_t PackedWordBeats(const Instruction& instruction, const Config& config, int32_t row_tile) {
  const Convolution& conv = instruction.convolution;
  // Columns of one ky are neighbours in memory only when taps and pixels both follow each other without a gap.
  const bool joined = conv.dilation_x == 1 && conv.input_column_stride == conv.channels * config.input_format.bytes();
  const int64_t run = int64_t{joined ? conv.kernel_x : 1} * conv.channels;
  const int64_t first = int64_t{row_tile} * config.array_rows;
  const int64_t end = first + ValidRows(instruction, config, row_tile);
  int64_t beats = 0;
  for (int64_t at = first; at < end;) {
    const int64_t next = std::min(end, (at / run + 1) * run);
    beats += CeilDivide((next - at) * config.input_format.bytes(), config.input_port_bytes);
    at = next;
  }
  return std::max<int64_t>(beats, 1);
}

// Places of one axis of a region that lie inside the image.
int64_t PlacesInside(const RegionAxis& axis, int32_t first, int32_t tile, int32_t limit) {
  int64_t inside = 0;
  for (int32_t place = 0, n = axis.Places(tile); place < n; ++place) {
    const int32_t at = axis.Coordinate(first, place);
    inside += at >= 0 && at < limit ? 1 : 0;
  }
  return inside;
}

bool Uses(const std::vector<Stage>& stages, Argument argument) {
  return std::any_of(stages.begin(), stages.end(),
                     [&](const Stage& s) { return s.a == argument || (s.op == StageOp::kFma && s.b == argument); });
}

}  // namespace

bool PassReads(const VectorProgram& program, size_t pass, size_t operand) {
  const Pass& p = program.passes[pass];
  if (operand == 0 && p.source == Source::kOperand0) return true;
  return Uses(p.stages, static_cast<Argument>(static_cast<int>(Argument::kOperand0) + static_cast<int>(operand)));
}

int64_t BeatsOf(const Stream& stream, const Config& config, int64_t elements, int64_t port_bytes) {
  const int64_t bytes = BytesOf(stream.element, config);
  if (stream.blocks.present) {
    return std::max(CeilDivide(elements * bytes, port_bytes), CeilDivide(elements, config.block_size));
  }
  if (stream.element_stride == bytes) return CeilDivide(elements * bytes, port_bytes);
  return (stream.element_stride == 0 ? 1 : elements) * CeilDivide(bytes, port_bytes);
}

int32_t DrainColumns(const VectorProgram& program, const Config& config) {
  return program.output.blocks.present ? std::max(1, config.block_size / config.array_columns) : 1;
}

int64_t GroupFetchCycles(const Instruction& instruction, const Config& config, const Geometry& geometry,
                         const Visit& visit, int32_t group) {
  const Convolution& conv = instruction.convolution;
  if (instruction.opcode == Opcode::kMatrix && instruction.tiling.packing == Packing::kTaps) {
    return int64_t{visit.pixels()} * PackedWordBeats(instruction, config, group);
  }
  const int64_t words = GroupWords(instruction, geometry, visit.height, visit.width);
  const int64_t inside = PlacesInside(geometry.y, visit.y, visit.height, conv.height) *
                         PlacesInside(geometry.x, visit.x, visit.width, conv.width);
  const int64_t per_word = instruction.opcode == Opcode::kDepthwise ? config.array_columns : config.array_rows;
  const int64_t bytes = std::min<int64_t>(per_word, conv.channels - group * per_word) * config.input_format.bytes();
  // A word lies inside one block, whose scale comes beside the first beat.
  return (words - inside) + inside * std::max<int64_t>(1, CeilDivide(bytes, config.input_port_bytes));
}

int64_t WeightFetchCycles(const Instruction& instruction, const Config& config, int32_t row_tile, int32_t column_tile) {
  const Convolution& conv = instruction.convolution;
  const int64_t port = config.weight_port_bytes;
  const int64_t bytes = config.weight_format.bytes();
  if (instruction.opcode == Opcode::kDepthwise) return conv.taps() * CeilDivide(config.array_columns * bytes, port);
  // One scale a column, one scale a beat.
  const auto with_scales = [&](int64_t beats, int64_t columns) {
    return conv.weight_scales.present ? std::max(beats, columns) : beats;
  };
  if (conv.weight_layout == WeightLayout::kTiled) {
    return with_scales(config.array_rows * CeilDivide(config.array_columns * bytes, port), config.array_columns);
  }
  const int64_t rows = ValidRows(instruction, config, row_tile);
  const int64_t columns = ValidColumns(instruction, config, column_tile);
  return with_scales(conv.weight_column_stride == bytes ? rows * CeilDivide(columns * bytes, port)
                                                        : columns * CeilDivide(rows * bytes, port),
                     columns);
}

int64_t WeightLoadCycles(const Config& config) { return config.array_rows / config.weight_rows_per_cycle; }

int64_t ParameterFetchCycles(const Config& config, const Visit& visit) {
  return visit.columns * CeilDivide(kParameterBytes * config.array_columns, config.operand_port_bytes);
}

int64_t DepthwiseCycles(const Instruction& instruction, const Config& config, const Visit& visit) {
  return visit.pixels() * CeilDivide(instruction.convolution.taps(), std::max(config.depthwise_multipliers, 1));
}

int64_t SettleCycles(const Instruction& instruction, const Config& config) {
  return instruction.opcode == Opcode::kDepthwise ? config.array_columns : config.array_rows + config.array_columns;
}

int64_t PipelineDepth(const VectorProgram& program, const Config& config) {
  size_t stages = 1;
  for (const Pass& pass : program.passes) stages = std::max(stages, pass.stages.size());
  const int64_t depth = static_cast<int64_t>(stages) * config.vector_stage_latency;
  if (!program.output.blocks.present) return depth;
  // The quantiser holds back the words of a block while it finds their greatest magnitude: a tree over the lanes.
  const int64_t levels = std::bit_width(static_cast<uint64_t>(config.lanes() - 1));
  return depth + CeilDivide(config.block_size, config.lanes()) + config.vector_stage_latency * levels;
}

bool ReadsMemory(const VectorProgram& program) {
  for (size_t p = 0; p < program.passes.size(); ++p) {
    for (size_t i = 0; i < program.operands.size(); ++i) {
      if (PassReads(program, p, i)) return true;
    }
  }
  return false;
}

int64_t WordCycles(const VectorProgram& program, const Config& config, int pass, int64_t elements,
                   int64_t window_places) {
  const size_t p = static_cast<size_t>(pass);
  int64_t operand_beats = 0;
  for (size_t i = 0; i < program.operands.size(); ++i) {
    if (!PassReads(program, p, i)) continue;
    const int64_t beats = BeatsOf(program.operands[i], config, elements, config.operand_port_bytes);
    operand_beats += i == 0 && program.passes[p].source == Source::kOperand0 ? beats * window_places : beats;
  }
  const int64_t output_beats =
      program.passes[p].to_memory ? BeatsOf(program.output, config, elements, config.output_port_bytes) : 0;
  return std::max({int64_t{1}, operand_beats, output_beats});
}

int64_t WindowPlaces(int64_t output, int32_t window, int32_t stride, int32_t dilation, int32_t pad, int32_t limit) {
  int64_t inside = 0;
  for (int32_t k = 0; k < window; ++k) {
    const int64_t at = output * stride - pad + int64_t{k} * dilation;
    inside += at >= 0 && at < limit ? 1 : 0;
  }
  return inside;
}

int64_t RowCycles(const VectorProgram& program, const Config& config, int pass, int64_t oy, int64_t ox) {
  const Window& w = program.window;
  int64_t places = 1;
  if (w.combine != Combine::kNone && pass == 0) {
    places = WindowPlaces(oy, w.window_y, w.stride_y, w.dilation_y, w.pad_top, w.height) *
             WindowPlaces(ox, w.window_x, w.stride_x, w.dilation_x, w.pad_left, w.width);
  }
  const int64_t lanes = config.lanes();
  const int64_t whole = program.length / lanes;
  const int64_t rest = program.length % lanes;
  int64_t cycles = whole * WordCycles(program, config, pass, lanes, places);
  if (rest > 0) cycles += WordCycles(program, config, pass, rest, places);
  return cycles;
}

int64_t PassGap(const VectorProgram& program, const Config& config, int pass) {
  if (program.passes.size() < 2) return 0;
  const Pass& p = program.passes[static_cast<size_t>(pass)];
  int64_t gap = PipelineDepth(program, config);
  if (p.reduce != Reduce::kNone) {
    const int64_t levels = std::bit_width(static_cast<uint64_t>(config.lanes() - 1));  // ceil(log2(lanes))
    gap += config.vector_stage_latency * (levels + static_cast<int64_t>(p.scalar_stages.size()));
  }
  return gap;
}

int64_t DrainCycles(const Instruction& instruction, const Config& config, const Visit& visit) {
  int64_t cycles = 0;
  for (int32_t c = 0; c < visit.columns; ++c) {
    const int64_t elements = ValidColumns(instruction, config, visit.first_column + c);
    cycles += visit.pixels() * WordCycles(instruction.vector, config, 0, elements, 1);
  }
  return cycles + (ReadsMemory(instruction.vector) ? config.memory_latency : 0);
}

int64_t RowsInFlight(const VectorProgram& program, const Config& config) {
  const int64_t words = CeilDivide(program.length, config.lanes());
  return std::clamp<int64_t>(config.vector_row_buffer_words / words, 1, config.vector_rows_in_flight);
}

int64_t VectorCycles(const VectorProgram& program, const Config& config) {
  const auto& outer = program.outer;
  const int passes = static_cast<int>(program.passes.size());
  const auto row_cycles = [&](int64_t oy, int64_t ox) {
    int64_t cycles = 0;
    for (int p = 0; p < passes; ++p) cycles += RowCycles(program, config, p, oy, ox);
    return cycles;
  };
  const int64_t rows = int64_t{outer[0]} * outer[1] * outer[2] * outer[3];
  int64_t cycles = 0;
  if (program.window.combine == Combine::kNone) {
    cycles = rows * row_cycles(0, 0);
  } else {
    for (int64_t oy = 0; oy < outer[1]; ++oy) {
      for (int64_t ox = 0; ox < outer[2]; ++ox) cycles += row_cycles(oy, ox) * outer[0] * outer[3];
    }
  }
  int64_t gaps = 0;
  for (int p = 0; p < passes; ++p) gaps += PassGap(program, config, p);
  cycles += CeilDivide(rows, RowsInFlight(program, config)) * gaps;
  return cycles + (ReadsMemory(program) ? config.memory_latency : 0);
}

namespace {

// The moments at which resources come free; everything starts at 0.
struct Clock {
  int64_t input_fetch = 0, weight_fetch = 0, weight_load = 0, shadow = 0, array = 0, depthwise = 0;
  int64_t parameter_fetch = 0, parameter_buffer = 0, vector = 0;
  int64_t finished = 0;
};

// The moments at which the users of the last fills were done with them: fill k may start at released[k % 2].
struct Banks {
  std::array<int64_t, 2> released{};
  int64_t next = 0;  // index of the next fill
};

class Estimator {
 public:
  Estimator(const Instruction& instruction, const Config& config)
      : in_(instruction),
        config_(config),
        geometry_(GeometryOf(instruction, config)),
        accumulation_(static_cast<size_t>(config.accumulation_buffer_banks), 0) {}

  int64_t Run() {
    int64_t index = 0;
    for (const Visit& visit : VisitsOf(in_, config_)) {
      const int64_t last = in_.opcode == Opcode::kMatrix ? MatrixBlock(visit, index) : DepthwiseBlock(visit, index);
      Drain(visit, last + SettleCycles(in_, config_), index);
      ++index;
    }
    return clock_.finished;
  }

 private:
  int64_t& AccumulationBank(int64_t visit) { return accumulation_[static_cast<size_t>(visit) % accumulation_.size()]; }

  // Fetches `cycles` worth of inputs into the next bank; returns when they are there.
  int64_t FillInputs(int64_t cycles) {
    const int64_t start = std::max(clock_.input_fetch, inputs_.released[static_cast<size_t>(inputs_.next++ & 1)]);
    clock_.input_fetch = start + cycles;
    return clock_.input_fetch + config_.memory_latency;
  }
  int64_t FillWeights(int64_t cycles) {
    const int64_t start = std::max(clock_.weight_fetch, weights_.released[static_cast<size_t>(weights_.next++ & 1)]);
    clock_.weight_fetch = start + cycles;
    return clock_.weight_fetch + config_.memory_latency;
  }

  // All passes of one block; returns the end of the last.
  int64_t MatrixBlock(const Visit& visit, int64_t index) {
    const Tiling& tiling = in_.tiling;
    const int64_t tiles_of_block = int64_t{geometry_.row_tiles()} * visit.columns;
    int64_t tile_index = 0;
    bool first_pass = true;
    for (int32_t fill = 0; fill < geometry_.fills; ++fill) {
      const int32_t first_group = fill * tiling.groups_per_bank;
      const int32_t end_group = std::min(geometry_.groups, first_group + tiling.groups_per_bank);
      if (visit.fetch_inputs) {
        int64_t cycles = 0;
        for (int32_t g = first_group; g < end_group; ++g) cycles += GroupFetchCycles(in_, config_, geometry_, visit, g);
        inputs_ready_ = FillInputs(cycles);
      }
      for (int32_t g = first_group; g < end_group; ++g) {
        for (int32_t c = 0; c < visit.columns; ++c) {
          for (int32_t r = 0; r < geometry_.rows_per_group; ++r, ++tile_index) {
            const bool fill_begins = tile_index % tiling.weight_tiles_per_bank == 0;
            if (fill_begins && visit.fetch_weights) weights_ready_ = FillWeights(WeightFillCycles(visit, tile_index));
            const int64_t load = std::max({clock_.weight_load, clock_.shadow, weights_ready_});
            clock_.weight_load = load + WeightLoadCycles(config_);
            const bool fill_ends =
                tile_index + 1 == tiles_of_block || (tile_index + 1) % tiling.weight_tiles_per_bank == 0;
            if (fill_ends && visit.last_of_weights) {
              weights_.released[static_cast<size_t>((weights_.next - 1) & 1)] = clock_.weight_load;
            }
            int64_t start = std::max({clock_.array, clock_.weight_load, inputs_ready_});
            if (first_pass) start = std::max(start, AccumulationBank(index));
            first_pass = false;
            clock_.shadow = start;
            clock_.array = start + visit.pixels();
          }
        }
      }
      if (visit.last_of_inputs) inputs_.released[static_cast<size_t>((inputs_.next - 1) & 1)] = clock_.array;
    }
    return clock_.array;
  }

  // Fetch cycles of the weight fill that begins with tile `first` of a block, in the order of passes.
  int64_t WeightFillCycles(const Visit& visit, int64_t first) const {
    const int64_t per_group = int64_t{visit.columns} * geometry_.rows_per_group;
    const int64_t end = std::min(int64_t{geometry_.groups} * per_group, first + in_.tiling.weight_tiles_per_bank);
    int64_t cycles = 0;
    for (int64_t t = first; t < end; ++t) {
      const int32_t group = static_cast<int32_t>(t / per_group);
      const int32_t column = static_cast<int32_t>(t % per_group / geometry_.rows_per_group);
      const int32_t row = static_cast<int32_t>(t % geometry_.rows_per_group);
      cycles += WeightFetchCycles(in_, config_, group * geometry_.rows_per_group + row, visit.first_column + column);
    }
    return cycles;
  }

  int64_t DepthwiseBlock(const Visit& visit, int64_t index) {
    const int64_t inputs = FillInputs(GroupFetchCycles(in_, config_, geometry_, visit, visit.first_column));
    const int64_t weights = FillWeights(WeightFetchCycles(in_, config_, 0, visit.first_column));
    const int64_t start = std::max({clock_.depthwise, inputs, weights, AccumulationBank(index)});
    clock_.depthwise = start + DepthwiseCycles(in_, config_, visit);
    inputs_.released[static_cast<size_t>((inputs_.next - 1) & 1)] = clock_.depthwise;
    weights_.released[static_cast<size_t>((weights_.next - 1) & 1)] = clock_.depthwise;
    return clock_.depthwise;
  }

  void Drain(const Visit& visit, int64_t ready, int64_t index) {
    if (visit.fetch_parameters) {
      const int64_t start = std::max(clock_.parameter_fetch, clock_.parameter_buffer);
      clock_.parameter_fetch = start + ParameterFetchCycles(config_, visit);
      parameters_ready_ = clock_.parameter_fetch + config_.memory_latency;
    }
    const int64_t start = std::max({clock_.vector, ready, parameters_ready_});
    clock_.vector = start + DrainCycles(in_, config_, visit);
    if (visit.last_of_parameters) clock_.parameter_buffer = clock_.vector;
    AccumulationBank(index) = clock_.vector;
    clock_.finished = clock_.vector + PipelineDepth(in_.vector, config_) + config_.memory_latency;
  }

  const Instruction& in_;
  const Config& config_;
  const Geometry geometry_;
  Clock clock_;
  Banks inputs_, weights_;
  std::vector<int64_t> accumulation_;  // when each accumulation bank is free
  int64_t inputs_ready_ = 0, weights_ready_ = 0, parameters_ready_ = 0;
};

}  // namespace

int64_t EstimateCycles(const Instruction& instruction, const Config& config) {
  switch (instruction.opcode) {
    case Opcode::kEnd:
      return 0;
    case Opcode::kVector:
      return VectorCycles(instruction.vector, config) + PipelineDepth(instruction.vector, config) +
             config.memory_latency;
    case Opcode::kMatrix:
    case Opcode::kDepthwise:
      return Estimator(instruction, config).Run();
  }
  KILN_CHECK(false);
  return 0;
}

int64_t DispatchCycles(const Config& config, int64_t encoded_bytes) {
  return CeilDivide(encoded_bytes, config.instruction_bytes_per_cycle) + 1;
}

}  // namespace kiln::systolic
