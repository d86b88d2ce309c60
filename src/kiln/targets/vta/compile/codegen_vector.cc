// Generates the instructions of a vector layer. For each tile, codes are loaded as accumulators,
// processed by the ALU, and stored. Each register occupies its own quarter of the accumulators, so
// that loads, ALU and stores of different tiles use different banks.
#include <algorithm>
#include <map>
#include <set>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/targets/lower/refusal.h"
#include "kiln/targets/vta/compile/codegen.h"

namespace kiln::vta {
namespace {

constexpr int kQuarters = 4;

// Returns the register, in the layer's steps, of the first constant operand.
size_t FirstConstant(const VectorLayer& layer) {
  return layer.window.has_value() ? 1 : layer.inputs.size();
}

// Returns whether a register of the layer's steps has one element for all pixels.
bool HasOneElement(const VectorLayer& layer, int32_t reg) {
  const auto r = static_cast<size_t>(reg);
  if (r >= FirstConstant(layer)) {
    const ConstantOperand& constant = layer.constants[r - FirstConstant(layer)];
    return constant.height * constant.width == 1;
  }
  return r > 0 && layer.inputs[r].height * layer.inputs[r].width == 1;
}

// Generates one layer's launch.
class VectorGenerator {
 public:
  VectorGenerator(const VectorLayer& layer, int threads, const CodeContext& context)
      : layer_(layer),
        context_(context),
        config_(context.config),
        output_(context.map(layer.output)),
        threads_(static_cast<size_t>(threads)),
        quarter_(context.config.accumulators() / kQuarters),
        emitter_(context.config) {}

  StatusOr<Launch> Generate() {
    PlaceNumbers();
    PlaceOperands();
    if (!ChooseTile()) {
      if (WindowColumns() > quarter_) return ToHost("a window that is wider than the accumulators");
      in_parts_ = true;
      rows_ = columns_ = 1;
    }
    const size_t others = has_single_elements() ? 1 : 0;
    // The planes of a sum wait for their stores one at a time. With two threads, the tokens of two
    // tiles would be mistaken for each other.
    if (threads_ * registers() + others > kQuarters || output_.wide || in_parts_) threads_ = 1;
    if (registers() + others > kQuarters ||
        std::ssize(numbers_) + std::ssize(layer_.constants) > quarter_) {
      return ToHost(
          "an element-wise operator of more operands than the accumulators have room for");
    }
    LoadNumbers();
    const int64_t blocks = output_.Blocks(config_);
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t y = 0; y < output_.height; y += rows_) {
        for (int64_t x = 0; x < output_.width; x += columns_) {
          EmitTile({block, y, x, std::min(rows_, output_.height - y),
                    std::min(columns_, output_.width - x)});
        }
      }
    }
    for (size_t left = std::min(threads_, tiles_); left > 0; --left) {
      emitter_.Nop(Stage::kCompute);
      emitter_.last().pop_next = true;
    }
    return emitter_.Finish(context_.image);
  }

 private:
  struct Tile {
    int64_t block, y, x, rows, columns;
  };

  // ----- registers. A window uses one register for its input and one for its result. A window in
  // parts uses two for its input, between which its parts alternate.

  size_t result() const { return in_parts_ ? 2 : layer_.window.has_value() ? 1 : 0; }
  size_t registers() const {
    if (in_parts_) return result() + 1;
    return (layer_.window.has_value() ? result() + 1 : layer_.inputs.size()) +
           layer_.constants.size();
  }
  // Returns whether the last quarter is reserved for single elements: numbers and, if a tile is one
  // element, constants.
  bool has_single_elements() const {
    return !numbers_.empty() || (in_parts_ && !layer_.constants.empty());
  }
  int64_t RegisterAt(size_t reg) const {
    return static_cast<int64_t>((tiles_ % threads_) * registers() + reg) * quarter_;
  }
  int64_t numbers_at() const { return (kQuarters - 1) * quarter_; }
  // Returns the accumulator index of register `reg` of the layer's steps.
  uint32_t StepRegisterAt(int32_t reg) const {
    const auto r = static_cast<size_t>(reg);
    if (in_parts_ && r >= first_constant()) {
      return static_cast<uint32_t>(numbers_at() + std::ssize(numbers_) +
                                   static_cast<int64_t>(r - first_constant()));
    }
    return static_cast<uint32_t>(RegisterAt(result() + r));
  }
  size_t first_constant() const { return FirstConstant(layer_); }
  bool IsSingle(int32_t reg) const { return HasOneElement(layer_, reg); }

  // ----- tiles

  int64_t InputRows(int64_t rows) const {
    if (!layer_.window.has_value()) return rows;
    return (rows - 1) * layer_.window->stride_y +
           (layer_.window->y - 1) * layer_.window->dilation_y + 1;
  }
  int64_t InputColumns(int64_t columns) const {
    if (!layer_.window.has_value()) return columns;
    return (columns - 1) * layer_.window->stride_x +
           (layer_.window->x - 1) * layer_.window->dilation_x + 1;
  }
  int64_t WindowColumns() const { return InputColumns(1); }

  // Chooses tiles of as many whole rows as fit, or of a part of a row if no whole row fits. Returns
  // false if not even the input of one output element fits.
  bool ChooseTile() {
    columns_ = output_.width;
    while (columns_ > 1 && InputRows(1) * InputColumns(columns_) > quarter_)
      columns_ = CeilDivide(columns_, 2);
    rows_ = 1;
    while (rows_ < output_.height && InputRows(rows_ + 1) * InputColumns(columns_) <= quarter_)
      ++rows_;
    return InputRows(rows_) * InputColumns(columns_) <= quarter_;
  }

  // ----- constants

  static void Append(int32_t number, std::vector<uint8_t>* bytes) {
    const auto* at = reinterpret_cast<const uint8_t*>(&number);
    bytes->insert(bytes->end(), at, at + sizeof(number));
  }

  // Places the constants that are the same for all channels in memory.
  void PlaceNumbers() {
    std::vector<uint8_t> bytes;
    for (const VectorStep& step : layer_.steps) {
      if (step.operand != VectorStep::Operand::kConstant || numbers_.contains(step.value)) continue;
      numbers_.emplace(step.value, std::ssize(numbers_));
      for (int64_t i = 0; i < config_.batch * config_.block_out; ++i) Append(step.value, &bytes);
    }
    if (!bytes.empty()) numbers_in_memory_ = context_.image->Add(bytes);
  }

  void LoadNumbers() {
    const int64_t count = std::ssize(numbers_);
    if (count > 0)
      emitter_.Load(Memory::kAccumulator, {numbers_in_memory_, numbers_at(), 1, count, count});
  }

  // Places the constant operands in memory as [block][height][width] elements, repeated for all
  // rows of the batch. An operand that does not depend on the channel has a single block.
  void PlaceOperands() {
    for (const ConstantOperand& constant : layer_.constants) {
      const int64_t pixels = constant.height * constant.width;
      const int64_t channels = std::ssize(constant.numbers) / pixels;
      KILN_CHECK(channels == 1 || channels == output_.channels);
      std::vector<uint8_t> bytes;
      for (int64_t block = 0; block < (channels == 1 ? 1 : output_.Blocks(config_)); ++block) {
        for (int64_t pixel = 0; pixel < pixels; ++pixel) {
          for (int64_t lane = 0; lane < config_.batch * config_.block_out; ++lane) {
            const int64_t channel =
                channels == 1 ? 0 : block * config_.block_out + lane % config_.block_out;
            Append(channel < channels
                       ? constant.numbers[static_cast<size_t>(pixel * channels + channel)]
                       : 0,
                   &bytes);
          }
        }
      }
      operands_in_memory_.push_back(context_.image->Add(bytes));
    }
  }

  void LoadOperand(const Tile& tile, size_t index) {
    const ConstantOperand& constant = layer_.constants[index];
    const int64_t pixels = constant.height * constant.width;
    const bool alike = std::ssize(constant.numbers) == pixels;
    int64_t element = alike ? 0 : tile.block * pixels;
    MovedRectangle r{0, StepRegisterAt(static_cast<int32_t>(first_constant() + index)), 1, 1, 1};
    if (pixels > 1) {
      element += tile.y * constant.width + tile.x;
      r.rows = tile.rows;
      r.columns = tile.columns;
      r.stride = constant.width;
    }
    r.address = operands_in_memory_[index] +
                static_cast<uint64_t>(element * config_.accumulator_element_bytes());
    emitter_.Load(Memory::kAccumulator, r);
  }

  // ----- a tile

  void EmitTile(const Tile& tile) {
    const size_t begin = emitter_.size();
    if (!in_parts_) {
      for (size_t i = 0; i < layer_.inputs.size(); ++i) LoadInput(tile, i);
    }
    for (size_t i = 0; i < layer_.constants.size(); ++i) LoadOperand(tile, i);
    if (in_parts_) {
      EmitWindowInParts(tile);
    } else if (layer_.window.has_value()) {
      EmitWindow(tile);
    }
    // Waits until the store of the last tile that used these registers has read them.
    if (tiles_ >= threads_) emitter_[begin].pop_next = true;
    for (const VectorStep& step : layer_.steps) EmitStep(tile, step);
    // In the original's hardware a store sees only what the ALU wrote, not what was loaded.
    if (layer_.steps.empty() && !layer_.window.has_value()) {
      EmitStep(tile, {AluOp::kAdd, 0, VectorStep::Operand::kImmediate, 0});
    }
    for (int64_t plane = 0; plane < output_.planes(); ++plane) {
      if (plane > 0) {
        EmitStep(tile, {AluOp::kShiftRight, 0, VectorStep::Operand::kImmediate, 8});
        emitter_.last().pop_next = true;
      }
      emitter_.last().push_next = true;
      emitter_.Store({context_.AddressOf(layer_.output, tile.block, tile.y, tile.x, plane),
                      RegisterAt(result()), tile.rows, tile.columns, output_.pitch()});
      emitter_.last().pop_previous = true;
      emitter_.last().push_previous = true;
    }
    ++tiles_;
  }

  void LoadInput(const Tile& tile, size_t input) {
    const MapView& view = layer_.inputs[input];
    const int64_t pitch = view.y_step * context_.map(view.map).pitch();
    if (!layer_.window.has_value() && IsSingle(static_cast<int32_t>(input))) {
      emitter_.Load(Memory::kAccumulator8,
                    {context_.AddressOf(view.map, tile.block, view.y0, view.x0), RegisterAt(input),
                     1, 1, pitch});
      return;
    }
    int64_t y = tile.y, x = tile.x;
    if (layer_.window.has_value()) {
      y = y * layer_.window->stride_y - layer_.window->top;
      x = x * layer_.window->stride_x - layer_.window->left;
    }
    emitter_.Load(Memory::kAccumulator8,
                  {context_.AddressOf(view.map, tile.block, view.y0 + y * view.y_step, view.x0 + x),
                   RegisterAt(input), InputRows(tile.rows), InputColumns(tile.columns), pitch});
  }

  // Returns the operation for a tap. The first tap of a window is added to zero.
  AluOp TapOp(bool first) const { return first ? AluOp::kAdd : layer_.window_op; }

  void EmitWindow(const Tile& tile) {
    const KernelSize& w = *layer_.window;
    Loops loops;
    loops.outer = tile.rows;
    loops.inner = tile.columns;
    loops.dst_outer = tile.columns;
    loops.dst_inner = 1;
    const auto to = static_cast<uint32_t>(RegisterAt(1));
    emitter_.Reset({to, 0, 0}, loops);
    loops.src_outer = w.stride_y * InputColumns(tile.columns);
    loops.src_inner = w.stride_x;
    for (int64_t ky = 0; ky < w.y; ++ky) {
      for (int64_t kx = 0; kx < w.x; ++kx) {
        const int64_t tap = ky * w.dilation_y * InputColumns(tile.columns) + kx * w.dilation_x;
        const Uop uop{to, static_cast<uint32_t>(RegisterAt(0) + tap), 0};
        emitter_.Alu(TapOp(ky == 0 && kx == 0), {&uop, 1}, loops);
      }
    }
  }

  // Computes one window whose rows are loaded in parts. All rows are combined into one, and that
  // row is halved until one element is left. While the ALU works on a part, the next one is loaded.
  void EmitWindowInParts(const Tile& tile) {
    const KernelSize& w = *layer_.window;
    const MapView& view = layer_.inputs[0];
    const int64_t columns = WindowColumns(), part = quarter_ / columns;
    const int64_t y = tile.y * w.stride_y - w.top, x = tile.x * w.stride_x - w.left;
    const auto to = static_cast<uint32_t>(RegisterAt(result()));
    Loops loops;
    loops.inner = w.x;
    loops.dst_inner = 1;
    emitter_.Reset({to, 0, 0}, loops);
    loops.src_inner = w.dilation_x;
    size_t parts = 0;
    for (int64_t first = 0; first < w.y; first += part, ++parts) {
      const int64_t rows = std::min(part, w.y - first);
      const int64_t from = RegisterAt(parts % 2);
      emitter_.Load(
          Memory::kAccumulator8,
          {context_.AddressOf(view.map, tile.block,
                              view.y0 + (y + first * w.dilation_y) * view.y_step, view.x0 + x),
           from, rows, columns, w.dilation_y * view.y_step * context_.map(view.map).pitch()});
      for (int64_t row = 0; row < rows; ++row) {
        const Uop uop{to, static_cast<uint32_t>(from + row * columns), 0};
        emitter_.Alu(TapOp(first + row == 0), {&uop, 1}, loops);
      }
    }
    loops.src_inner = 1;
    for (int64_t left = w.x; left > 1; left -= loops.inner) {
      loops.inner = left / 2;
      const Uop uop{to, to + static_cast<uint32_t>(left - loops.inner), 0};
      emitter_.Alu(layer_.window_op, {&uop, 1}, loops);
    }
  }

  void EmitStep(const Tile& tile, const VectorStep& step) {
    Loops loops;
    loops.inner = IsSingle(step.destination) ? 1 : tile.rows * tile.columns;
    loops.dst_inner = 1;
    Uop uop{StepRegisterAt(step.destination), 0, 0};
    switch (step.operand) {
      case VectorStep::Operand::kImmediate:
        emitter_.AluImmediate(step.op, {&uop, 1}, loops, step.value);
        return;
      case VectorStep::Operand::kRegister:
        uop.src = StepRegisterAt(step.value);
        loops.src_inner = IsSingle(step.value) ? 0 : 1;
        break;
      case VectorStep::Operand::kConstant:
        uop.src = static_cast<uint32_t>(numbers_at() + numbers_.at(step.value));
        break;
    }
    emitter_.Alu(step.op, {&uop, 1}, loops);
  }

  const VectorLayer& layer_;
  const CodeContext& context_;
  const Config& config_;
  const FeatureMap& output_;
  size_t threads_;
  const int64_t quarter_;
  Emitter emitter_;
  std::map<int32_t, int64_t> numbers_;  // number to element
  uint64_t numbers_in_memory_ = 0;
  std::vector<uint64_t> operands_in_memory_;
  bool in_parts_ = false;
  int64_t rows_ = 1, columns_ = 1;
  size_t tiles_ = 0;
};

// Returns the number of rows, or columns, that at least one window reads.
int64_t LinesUnder(int64_t windows, int64_t taps, int64_t stride, int64_t dilation) {
  std::set<int64_t> lines;
  for (int64_t i = 0; i < windows; ++i) {
    for (int64_t k = 0; k < taps; ++k) lines.insert(i * stride + k * dilation);
  }
  return std::ssize(lines);
}

}  // namespace

Certificate CertificateOf(const VectorLayer& layer, const CodeContext& context, int64_t cycles) {
  const Config& config = context.config;
  const FeatureMap& output = context.map(layer.output);
  const int64_t blocks = output.Blocks(config), elements = blocks * output.height * output.width;
  int64_t steps = output.planes() - 1, inputs = 0;
  for (const VectorStep& step : layer.steps)
    steps += HasOneElement(layer, step.destination) ? 0 : 1;
  for (const MapView& view : layer.inputs) inputs += blocks * view.height * view.width;
  const int64_t constant_beats =
      CeilDivide(config.accumulator_element_bytes(), int64_t{config.memory_port_bytes});
  int64_t constants = 0;
  for (const ConstantOperand& c : layer.constants) constants += c.height * c.width * constant_beats;
  if (layer.window.has_value()) {
    const KernelSize& w = *layer.window;
    steps += w.taps();
    inputs = blocks * LinesUnder(output.height, w.y, w.stride_y, w.dilation_y) *
             LinesUnder(output.width, w.x, w.stride_x, w.dilation_x);
  }
  const int64_t beats =
      CeilDivide(config.output_element_bytes(), int64_t{config.memory_port_bytes});
  const int64_t alu = elements * steps, reads = inputs * beats + constants,
                writes = elements * output.planes() * beats;
  const int64_t bound = std::max({alu, reads, writes});
  Certificate certificate;
  certificate.cost = static_cast<double>(cycles);
  certificate.lower_bound = static_cast<double>(bound);
  certificate.unit = "cycles";
  certificate.bound_from = bound == alu     ? "ALU steps"
                           : bound == reads ? "memory reads"
                                            : "memory writes";
  certificate.optimal = cycles == bound;
  return certificate;
}

StatusOr<Launch> GenerateVector(const VectorLayer& layer, int threads, const CodeContext& context) {
  return VectorGenerator(layer, threads, context).Generate();
}

}  // namespace kiln::vta
