// Implements the order of schedules, and counts in closed form what tilings fetch.
#include "kiln/targets/systolic/compile/ranking.h"

#include <algorithm>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/compile/axis_sums.h"
#include "kiln/targets/systolic/cost/cost.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {
namespace {

// The share of an instruction's transfers during which the rest of the machine waits, roughly: its
// first fills, its last drains, and what ports that share a memory wait for each other. Measured on
// networks with memories of several bandwidths (docs/systolic-compiler.md).
constexpr double kNotHidden = 1.0 / 16;

// Returns how many taps of all outputs along one axis are inside the image.
int64_t TapsInside(const RegionAxis& axis, int32_t outputs, int32_t limit) {
  int64_t inside = 0;
  for (int32_t o = 0; o < outputs; ++o) {
    for (int32_t k = 0; k < axis.kernel; ++k) {
      const int64_t at = int64_t{o} * axis.stride - axis.pad + int64_t{k} * axis.dilation;
      inside += at >= 0 && at < limit ? 1 : 0;
    }
  }
  return inside;
}

// Counts what a matrix or depthwise instruction fetches, and which weights it loads into the array,
// with its tiling.
class Fetches {
 public:
  // `taps_inside` is TapsInside of both axes multiplied, which is the same for every tiling.
  Fetches(const Instruction& instruction, const Config& config, int64_t taps_inside)
      : in_(instruction),
        config_(config),
        conv_(instruction.convolution),
        geometry_(GeometryOf(instruction, config)),
        depthwise_(instruction.opcode == Opcode::kDepthwise),
        taps_inside_(taps_inside) {}

  // Returns these events: bits written to buffers, bytes of memory, weights that leave the weight
  // buffer.
  Events Count() {
    Inputs();
    Weights();
    Parameters();
    OperandScales();
    return events_;
  }

 private:
  int64_t tiles() const { return int64_t{geometry_.tiles_y} * geometry_.tiles_x; }

  void Inputs() {
    const AxisSums y = SumsOf(geometry_.y, conv_.out_height, in_.tiling.tile_height, conv_.height);
    const AxisSums x = SumsOf(geometry_.x, conv_.out_width, in_.tiling.tile_width, conv_.width);
    const int64_t bytes = config_.input_format.bytes();
    if (depthwise_) {
      events_.depthwise_inputs.written = int64_t{conv_.batch} * geometry_.column_tiles * y.places *
                                         x.places * config_.array_columns *
                                         config_.input_format.bits;
      events_.input_bytes = conv_.batch * y.inside * x.inside * conv_.out_channels * bytes;
      return;
    }
    const int64_t times = int64_t{conv_.batch} * (geometry_.inputs_resident ? 1 : geometry_.blocks);
    const int64_t word = int64_t{config_.array_rows} * config_.input_bits();
    if (in_.tiling.packing == Packing::kTaps) {
      const int64_t pixels = int64_t{conv_.out_height} * conv_.out_width;
      events_.input_buffer.written = times * geometry_.groups * pixels * word;
      events_.input_bytes = times * taps_inside_ * conv_.channels * bytes;
      return;
    }
    const int64_t inside = times * y.inside * x.inside;
    events_.input_buffer.written = times * geometry_.groups * y.places * x.places * word;
    events_.input_bytes = inside * conv_.channels * bytes;
    if (conv_.input_scales.present)
      events_.input_scale_bytes += inside * geometry_.groups * config_.scale_format.bytes();
  }

  void Weights() {
    const int64_t row_bytes = WeightRowBytes(conv_, config_), columns = config_.array_columns;
    if (depthwise_) {
      const int64_t rows = conv_.batch * tiles() * geometry_.column_tiles * int64_t{conv_.taps()};
      events_.depthwise_weights.written = rows * columns * config_.weight_format.bits;
      events_.weight_bytes = rows * row_bytes;
      return;
    }
    const int64_t times = conv_.batch * (geometry_.weights_resident ? 1 : tiles());
    const int64_t row_tiles = geometry_.row_tiles(), column_tiles = geometry_.column_tiles;
    const int64_t fetched_rows = times * row_tiles * column_tiles * config_.array_rows;
    // Every pixel tile loads every weight tile.
    events_.weights_loaded =
        conv_.batch * tiles() * row_tiles * column_tiles * config_.array_rows * columns;
    events_.weight_buffer.read = events_.weights_loaded * config_.weight_bits();
    const bool tiled = conv_.weight_layout == WeightLayout::kTiled;
    const int64_t rows = int64_t{conv_.taps()} * conv_.channels;  // that hold weights
    events_.weight_buffer.written = fetched_rows * columns * config_.weight_bits();
    events_.weight_bytes = tiled
                               ? fetched_rows * row_bytes
                               : times * rows * conv_.out_channels * config_.weight_format.bytes();
    if (!conv_.weight_scales.present) return;
    const int64_t scales = tiled ? row_tiles * column_tiles * columns
                                 : CeilDivide(rows, config_.array_rows) * conv_.out_channels;
    events_.weight_scale_bytes += times * scales * config_.scale_format.bytes();
  }

  // A block's parameters are kept until a visit to another block, or to another batch with
  // parameters of its own.
  void Parameters() {
    const bool outer_blocks = in_.tiling.order == Order::kWeightOuter;
    const bool own = conv_.parameter_batch_stride != 0;
    const int64_t times = geometry_.blocks == 1 ? (own ? conv_.batch : 1)
                                                : conv_.batch * (outer_blocks ? 1 : tiles());
    constexpr int64_t kBytes = 3 * 4;  // of a column: offset, scale, bias
    events_.parameters.written =
        times * geometry_.column_tiles * config_.array_columns * kBytes * 8;
    events_.parameter_bytes = times * conv_.out_channels * kBytes;
  }

  // The block scales of the drain's operands, which are fetched in whole blocks for each visit.
  void OperandScales() {
    const VectorProgram& program = in_.vector;
    const int64_t columns = depthwise_ ? 1 : in_.tiling.columns_per_block;
    for (size_t i = 0; i < program.operands.size(); ++i) {
      const Stream& stream = program.operands[i];
      if (!stream.blocks.present || !PassReads(program, 0, i)) continue;
      int64_t blocks = 0;
      for (const AxisPieces& y : PiecesOf(conv_.out_height, in_.tiling.tile_height)) {
        for (const AxisPieces& x : PiecesOf(conv_.out_width, in_.tiling.tile_width)) {
          for (int64_t first = 0; first < geometry_.column_tiles; first += columns) {
            const int64_t count = std::min(columns, geometry_.column_tiles - first);
            const int64_t channels = std::min(count * config_.array_columns,
                                              conv_.out_channels - first * config_.array_columns);
            const int64_t each = stream.element_stride == 0 ? count : channels;
            blocks +=
                y.count * x.count * CeilDivide(int64_t{y.size} * x.size * each, config_.block_size);
          }
        }
      }
      events_.operand_scale_bytes += conv_.batch * blocks * config_.scale_format.bytes();
    }
  }

  const Instruction& in_;
  const Config& config_;
  const Convolution& conv_;
  const Geometry geometry_;
  const bool depthwise_;
  const int64_t taps_inside_;
  Events events_;
};

}  // namespace

double Ranking::Time(int64_t cycles, int64_t bytes) const {
  const auto own = static_cast<double>(cycles);
  if (!has_memory()) return own;
  const double transfer = static_cast<double>(bytes) / memory_bytes_per_cycle_;
  return std::max(own, transfer) + kNotHidden * transfer;
}

double Ranking::CyclesFor(double time, int64_t bytes) const {
  if (!has_memory()) return time;
  return time - kNotHidden * static_cast<double>(bytes) / memory_bytes_per_cycle_;
}

Expense& Expense::operator+=(const Expense& other) {
  cycles += other.cycles;
  picojoules += other.picojoules;
  bytes += other.bytes;
  return *this;
}

Expense Expense::Times(int64_t times) const {
  return {times * cycles, static_cast<double>(times) * picojoules, times * bytes};
}

double Ranking::Picojoules(const Events& events) const {
  const StatusOr<Energy> energy = EnergyOf(events, config_, node_nm_);
  KILN_CHECK(energy.ok());  // Compile has checked the node
  return energy->picojoules();
}

Expense Ranking::ExpenseOf(const Instruction& instruction, int64_t cycles) const {
  Expense expense;
  expense.cycles = cycles;
  if (by_cycles()) return expense;
  const Events events = CountEvents(std::span(&instruction, 1), config_);
  expense.bytes = events.bytes();
  if (weighs_energy()) expense.picojoules = Picojoules(events);
  return expense;
}

double Ranking::Measure(const Expense& expense) const {
  const double cycles = Time(expense.cycles, expense.bytes);
  switch (objective_) {
    case Objective::kCycles:
      return cycles;
    case Objective::kEnergy:
      return expense.picojoules;
    case Objective::kEdp:
      return expense.picojoules * cycles;
    case Objective::kTraffic:
      return static_cast<double>(expense.bytes);
  }
  KILN_CHECK(false);
  return 0;
}

bool Ranking::IsBetter(const Expense& a, const Expense& b) const {
  return std::pair(Measure(a), a.cycles) < std::pair(Measure(b), b.cycles);
}

TilingExpenses::TilingExpenses(const Instruction& instruction, const Config& config,
                               const Ranking& ranking, std::span<const Tiling> tilings)
    : instruction_(instruction), config_(config) {
  const Convolution& conv = instruction.convolution;
  const Geometry geometry = GeometryOf(instruction, config);
  taps_inside_ = TapsInside(geometry.y, conv.out_height, conv.height) *
                 TapsInside(geometry.x, conv.out_width, conv.width);
  if (ranking.weighs_energy()) {
    // Energy is linear in the events, so one event of each kind tells its picojoules.
    const auto one = [&](MemoryBits Events::* memory) {
      Events events;
      (events.*memory).written = 1;
      return ranking.Picojoules(events);
    };
    input_bit_ = one(&Events::input_buffer);
    weight_bit_ = one(&Events::weight_buffer);
    Events loaded;
    loaded.weights_loaded = 1;
    loaded_weight_ = ranking.Picojoules(loaded);
    parameter_bit_ = one(&Events::parameters);
    depthwise_input_bit_ = one(&Events::depthwise_inputs);
    depthwise_weight_bit_ = one(&Events::depthwise_weights);
    Events byte;
    byte.input_bytes = 1;
    byte_ = ranking.Picojoules(byte);
  }
  for (const Tiling& tiling : tilings) {
    const bool known = std::any_of(rests_.begin(), rests_.end(), [&](const Rest& rest) {
      return rest.packing == tiling.packing;
    });
    if (known) continue;
    instruction_.tiling = tiling;
    Expense rest = ranking.ExpenseOf(instruction_, 0);
    const Events fetches = Fetches(instruction_, config_, taps_inside_).Count();
    rest.picojoules -= PicojoulesOf(fetches);
    rest.bytes -= fetches.bytes();
    rests_.push_back({tiling.packing, rest});
  }
}

double TilingExpenses::PicojoulesOf(const Events& fetches) const {
  const auto weigh = [](int64_t count, double each) { return static_cast<double>(count) * each; };
  return weigh(fetches.input_buffer.written, input_bit_) +
         weigh(fetches.weight_buffer.written + fetches.weight_buffer.read, weight_bit_) +
         weigh(fetches.weights_loaded, loaded_weight_) +
         weigh(fetches.parameters.written, parameter_bit_) +
         weigh(fetches.depthwise_inputs.written, depthwise_input_bit_) +
         weigh(fetches.depthwise_weights.written, depthwise_weight_bit_) +
         weigh(fetches.bytes(), byte_);
}

Expense TilingExpenses::Of(const Tiling& tiling) {
  const auto rest = std::find_if(rests_.begin(), rests_.end(),
                                 [&](const Rest& one) { return one.packing == tiling.packing; });
  KILN_CHECK(rest != rests_.end());
  instruction_.tiling = tiling;
  const Events fetches = Fetches(instruction_, config_, taps_inside_).Count();
  return {.cycles = 0,
          .picojoules = rest->expense.picojoules + PicojoulesOf(fetches),
          .bytes = rest->expense.bytes + fetches.bytes()};
}

}  // namespace kiln::systolic
