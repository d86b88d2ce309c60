// Lower bounds of an instruction's cycles: the work that it cannot avoid, unit by unit (LowerBound
// of schedule.h).
#include <algorithm>
#include <limits>

#include "kiln/support/integer.h"
#include "kiln/targets/systolic/compile/schedule.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {
namespace {

// Returns the number of positions along one axis of the image that some tap of some output touches.
int64_t PlacesTouched(int32_t outputs, int32_t kernel, int32_t stride, int32_t dilation,
                      int32_t pad, int32_t limit) {
  std::vector<bool> touched(static_cast<size_t>(limit), false);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t at = o * stride - pad + k * dilation;
      if (at >= 0 && at < limit) touched[static_cast<size_t>(at)] = true;
    }
  }
  return std::count(touched.begin(), touched.end(), true);
}

// Returns the least time of an element of operand `operand` on its port, in cycles. A whole word of
// equal elements takes one beat, which some loop order may achieve wherever a loop repeats the
// element.
double OperandCycles(const VectorProgram& v, const Config& config, size_t operand) {
  const Stream& stream = v.operands[operand];
  const bool windowed = operand == 0 && v.window.combine != Combine::kNone;
  bool repeats = v.length > 1 && stream.element_stride == 0;
  for (size_t i = 0; i < kOuterLoops; ++i) {
    const bool of_window =
        windowed && (i == 1 || i == 2);  // the window's own strides replace these outer strides
    repeats |= !of_window && v.outer[i] > 1 && stream.outer_stride[i] == 0;
  }
  const double cycles =
      static_cast<double>(BytesOf(stream.element, config)) / config.operand_port_bytes;
  return repeats ? std::min(cycles, 1.0 / config.lanes()) : cycles;
}

// Returns the average number of positions inside the image that the window reads for each output of
// loops 1 and 2.
double PlacesAnOutput(const VectorProgram& v) {
  const Window& w = v.window;
  if (w.combine == Combine::kNone) return 1;
  double rows = 0, columns = 0;
  for (int32_t o = 0; o < v.outer[1]; ++o) {
    rows += static_cast<double>(
        WindowPlaces(o, w.window_y, w.stride_y, w.dilation_y, w.pad_top, w.height));
  }
  for (int32_t o = 0; o < v.outer[2]; ++o) {
    columns += static_cast<double>(
        WindowPlaces(o, w.window_x, w.stride_x, w.dilation_x, w.pad_left, w.width));
  }
  return rows * columns / (static_cast<double>(v.outer[1]) * v.outer[2]);
}

// The bound of a vector program.
struct VectorBound {
  double cycles = 0;
  bool memory = false;  // some pass is limited by its ports
};

// Returns the bound of a vector program. Passes follow each other row by row; each moves its
// elements through the lanes, and its operands and outputs through their ports.
VectorBound VectorWork(const VectorProgram& v, const Config& config) {
  double elements = v.length;
  for (const int32_t count : v.outer) elements *= count;
  VectorBound bound;
  for (size_t p = 0; p < v.passes.size(); ++p) {
    double operands = 0;
    for (size_t i = 0; i < v.operands.size(); ++i) {
      if (!PassReads(v, p, i)) continue;
      const bool windowed = i == 0 && v.passes[p].source == Source::kOperand0;
      operands += OperandCycles(v, config, i) * (windowed ? PlacesAnOutput(v) : 1);
    }
    const double output =
        v.passes[p].to_memory
            ? static_cast<double>(BytesOf(v.output.element, config)) / config.output_port_bytes
            : 0;
    const double lane = 1.0 / config.lanes();
    bound.cycles += elements * std::max({lane, operands, output});
    bound.memory |= std::max(operands, output) > lane;
  }
  return bound;
}

// Returns the least cycles of the input fetch: every position that some tap touches, once for each
// row group; or with packed taps, one word for each pixel and row tile.
int64_t InputFetch(const Instruction& in, const Config& config, const Geometry& g) {
  const Convolution& c = in.convolution;
  const bool depthwise = in.opcode == Opcode::kDepthwise;
  const int32_t groups = depthwise ? g.column_tiles : g.groups;
  int64_t cycles = 0;
  if (!depthwise && in.tiling.packing == Packing::kTaps) {
    for (int32_t group = 0; group < groups; ++group)
      cycles += LeastPackedWordBeats(in, config, group);
    return cycles * c.batch * c.out_height * c.out_width;
  }
  const int64_t places =
      PlacesTouched(c.out_height, c.kernel_y, c.stride_y, c.dilation_y, c.pad_top, c.height) *
      PlacesTouched(c.out_width, c.kernel_x, c.stride_x, c.dilation_x, c.pad_left, c.width);
  const int64_t per_word = depthwise ? config.array_columns : config.array_rows;
  for (int32_t group = 0; group < groups; ++group) {
    const int64_t bytes =
        std::min<int64_t>(per_word, c.channels - group * per_word) * config.input_format.bytes();
    cycles += (bytes + config.input_port_bytes - 1) / config.input_port_bytes;
  }
  // A request may bring as many words as fit a beat.
  if (depthwise) return CeilDivide(cycles * places, config.depthwise_words_per_cycle) * c.batch;
  return cycles * places * c.batch;
}

}  // namespace

double LowerBound(const Instruction& instruction, const Config& config, std::string* bound_from) {
  double best = 0;
  const auto offer = [&](double cycles, std::string_view from) {
    if (cycles <= best) return;
    best = cycles;
    *bound_from = from;
  };
  const VectorProgram& v = instruction.vector;
  if (instruction.opcode == Opcode::kVector) {
    const VectorBound bound = VectorWork(v, config);
    offer(bound.cycles, bound.memory ? "memory traffic" : "vector passes");
    return best;
  }

  Instruction in = instruction;
  in.tiling = Tiling{};
  const Convolution& c = in.convolution;
  const bool depthwise = in.opcode == Opcode::kDepthwise;
  const double pixels = static_cast<double>(c.batch) * c.out_height * c.out_width;
  const double products = pixels * c.out_channels * c.taps() * (depthwise ? 1 : c.channels);
  offer(products / static_cast<double>(depthwise
                                           ? int64_t{config.lanes()} * config.depthwise_multipliers
                                           : config.macs_per_cycle()),
        "multiply-accumulates");

  // The work on tiles depends on how the rows are packed: takes the lesser count, unit by unit.
  constexpr double kNone = std::numeric_limits<double>::max();
  double array = kNone, loads = kNone, weights = kNone, inputs = kNone;
  for (const Packing packing : PackingsOf(instruction, config)) {
    in.tiling.packing = packing;
    const Geometry g = GeometryOf(in, config);
    const double tiles = static_cast<double>(depthwise ? 1 : g.row_tiles()) * g.column_tiles;
    int64_t fetch = 0;
    if (!depthwise && c.weight_layout == WeightLayout::kStrided) {
      for (int32_t r = 0; r < g.row_tiles(); ++r) {
        for (int32_t t = 0; t < g.column_tiles; ++t)
          fetch += LeastWeightFetchCycles(in, config, r, t);
      }
    }
    Visit pixel;
    array = std::min(
        array,
        pixels * tiles * (depthwise ? static_cast<double>(DepthwiseCycles(in, config, pixel)) : 1));
    loads = std::min(
        loads, depthwise ? 0 : c.batch * tiles * static_cast<double>(WeightLoadCycles(config)));
    weights =
        std::min(weights, c.batch * (fetch > 0 ? static_cast<double>(fetch)
                                               : tiles * static_cast<double>(LeastWeightFetchCycles(
                                                             in, config, 0, 0))));
    inputs = std::min(inputs, static_cast<double>(InputFetch(in, config, g)));
  }
  offer(array, depthwise ? "depthwise unit" : "array passes");
  offer(loads, "weight load");
  offer(weights, "memory traffic");
  offer(inputs, "memory traffic");

  // The drain: a word is one pixel of one column tile, regardless of the tiling.
  const Geometry g = GeometryOf(in, config);
  double words = 0, busy = 0;
  for (int32_t t = 0; t < g.column_tiles; ++t) {
    words += pixels;
    busy +=
        pixels * static_cast<double>(LeastWordCycles(v, config, 0, ValidColumns(in, config, t)));
  }
  offer(busy, busy > words ? "memory traffic" : "vector passes");
  return best;
}

}  // namespace kiln::systolic
