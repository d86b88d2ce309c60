// A vector layer as instructions: tile after tile, codes are loaded as accumulators, worked on by the ALU, stored.
// Registers stand in quarters of the accumulators' range of their own, so that loads, ALU and stores of different tiles
// meet in different banks.
#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/targets/vta/codegen.h"

namespace kiln::vta {
namespace {

constexpr int kQuarters = 4;

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
    PlaceConstants();
    const size_t needed = threads_ * registers() + (constants_.empty() ? 0 : 1);
    // The planes of a sum wait for their stores one by one: tokens of two tiles would be mistaken for each other.
    if (needed > kQuarters || output_.wide) threads_ = 1;
    if (registers() + (constants_.empty() ? 0 : 1) > kQuarters || std::ssize(constants_) > quarter_) {
      return absl::UnimplementedError("an element-wise operator of more operands than the accumulators have room for");
    }
    if (!ChooseTile()) return absl::UnimplementedError("a window that is larger than the accumulators");
    LoadConstants();
    const int64_t blocks = CeilDivide(output_.channels, config_.block_out);
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t y = 0; y < output_.height; y += rows_) {
        for (int64_t x = 0; x < output_.width; x += columns_) {
          EmitTile({block, y, x, std::min(rows_, output_.height - y), std::min(columns_, output_.width - x)});
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

  // A window's input and its result are two registers.
  size_t registers() const { return layer_.window.has_value() ? 2 : layer_.inputs.size(); }
  int64_t RegisterAt(size_t reg) const {
    return static_cast<int64_t>((tiles_ % threads_) * registers() + reg) * quarter_;
  }
  int64_t constants_at() const { return (kQuarters - 1) * quarter_; }
  // Register 0 of the layer's steps.
  size_t result() const { return layer_.window.has_value() ? 1 : 0; }

  int64_t InputRows(int64_t rows) const {
    if (!layer_.window.has_value()) return rows;
    return (rows - 1) * layer_.window->stride_y + (layer_.window->y - 1) * layer_.window->dilation_y + 1;
  }
  int64_t InputColumns(int64_t columns) const {
    if (!layer_.window.has_value()) return columns;
    return (columns - 1) * layer_.window->stride_x + (layer_.window->x - 1) * layer_.window->dilation_x + 1;
  }

  // As many whole rows as fit; where none does, a part of one.
  bool ChooseTile() {
    columns_ = output_.width;
    while (columns_ > 1 && InputRows(1) * InputColumns(columns_) > quarter_) columns_ = CeilDivide(columns_, 2);
    rows_ = 1;
    while (rows_ < output_.height && InputRows(rows_ + 1) * InputColumns(columns_) <= quarter_) ++rows_;
    return InputRows(rows_) * InputColumns(columns_) <= quarter_;
  }

  void PlaceConstants() {
    std::vector<uint8_t> bytes;
    for (const VectorStep& step : layer_.steps) {
      if (step.operand != VectorStep::Operand::kConstant || constants_.contains(step.value)) continue;
      constants_.emplace(step.value, std::ssize(constants_));
      for (int64_t i = 0; i < config_.accumulator_element_bytes(); i += 4) {
        const auto* at = reinterpret_cast<const uint8_t*>(&step.value);
        bytes.insert(bytes.end(), at, at + sizeof(step.value));
      }
    }
    if (!bytes.empty()) memory_ = context_.image->Add(bytes);
  }

  void LoadConstants() {
    const int64_t count = std::ssize(constants_);
    if (count > 0) emitter_.Load(Memory::kAccumulator, {memory_, constants_at(), 1, count, count});
  }

  void EmitTile(const Tile& tile) {
    const size_t begin = emitter_.size();
    for (size_t i = 0; i < layer_.inputs.size(); ++i) EmitLoad(tile, i);
    // The store of the tile before in these registers has read them.
    if (tiles_ >= threads_) emitter_[begin].pop_next = true;
    if (layer_.window.has_value()) EmitWindow(tile);
    for (const VectorStep& step : layer_.steps) EmitStep(tile, step);
    // A store sees what the ALU wrote, not what was loaded.
    if (layer_.steps.empty() && !layer_.window.has_value()) {
      EmitStep(tile, {AluOp::kAdd, 0, VectorStep::Operand::kImmediate, 0});
    }
    for (int64_t plane = 0; plane < output_.planes(); ++plane) {
      if (plane > 0) {
        EmitStep(tile, {AluOp::kShiftRight, 0, VectorStep::Operand::kImmediate, 8});
        emitter_.last().pop_next = true;
      }
      emitter_.last().push_next = true;
      emitter_.Store({context_.AddressOf(layer_.output, tile.block, tile.y, tile.x, plane), RegisterAt(result()),
                      tile.rows, tile.columns, output_.pitch()});
      emitter_.last().pop_previous = true;
      emitter_.last().push_previous = true;
    }
    ++tiles_;
  }

  void EmitLoad(const Tile& tile, size_t input) {
    const MapView& view = layer_.inputs[input];
    int64_t y = tile.y, x = tile.x;
    if (layer_.window.has_value()) {
      y = y * layer_.window->stride_y - layer_.window->top;
      x = x * layer_.window->stride_x - layer_.window->left;
    }
    emitter_.Load(Memory::kAccumulator8,
                  {context_.AddressOf(view.map, tile.block, view.y0 + y * view.y_step, view.x0 + x), RegisterAt(input),
                   InputRows(tile.rows), InputColumns(tile.columns), view.y_step * context_.map(view.map).pitch()});
  }

  // The first element of each window by adding it to zero, the others by the greater of two.
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
        emitter_.Alu(ky == 0 && kx == 0 ? AluOp::kAdd : AluOp::kMax, {&uop, 1}, loops);
      }
    }
  }

  void EmitStep(const Tile& tile, const VectorStep& step) {
    Loops loops;
    loops.inner = tile.rows * tile.columns;
    loops.dst_inner = 1;
    const auto at = [&](int32_t reg) { return static_cast<uint32_t>(RegisterAt(result() + static_cast<size_t>(reg))); };
    Uop uop{at(step.destination), 0, 0};
    switch (step.operand) {
      case VectorStep::Operand::kImmediate:
        emitter_.AluImmediate(step.op, {&uop, 1}, loops, step.value);
        return;
      case VectorStep::Operand::kRegister:
        uop.src = at(step.value);
        loops.src_inner = 1;
        break;
      case VectorStep::Operand::kConstant:
        uop.src = static_cast<uint32_t>(constants_at() + constants_.at(step.value));
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
  std::map<int32_t, int64_t> constants_;  // number to element
  uint64_t memory_ = 0;
  int64_t rows_ = 1, columns_ = 1;
  size_t tiles_ = 0;
};

}  // namespace

StatusOr<Launch> GenerateVector(const VectorLayer& layer, int threads, const CodeContext& context) {
  return VectorGenerator(layer, threads, context).Generate();
}

}  // namespace kiln::vta
