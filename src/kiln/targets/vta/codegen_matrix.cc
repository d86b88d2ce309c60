// A matrix layer as instructions. Tile after tile, chunk after chunk:
//
//   load stage      inputs and weights of the chunk; waits for the GEMM that used these halves of the buffers last
//   compute stage   GEMM of the chunk, in pieces; behind a tile's first piece the ALU's work for the tile before and
//   what it
//                   needs, before its last the clearing of the next tile's accumulators
//   store stage     the tile before
//
// so that with two virtual threads the dispatcher never stands before an empty GEMM unit: a piece is examined while the
// piece before it runs, and what waits for the ALU or the store stage has the length of a piece to wait. With one
// thread, all of a tile stands in its own order.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/vta/codegen.h"

namespace kiln::vta {
namespace {

class MatrixGenerator {
 public:
  MatrixGenerator(const MatrixLayer& layer, const MatrixTiling& tiling, const CodeContext& context)
      : layer_(layer),
        tiling_(tiling),
        context_(context),
        config_(context.config),
        shape_(ShapeOf(layer, context.network, context.config)),
        regions_(RegionsOf(context.config, tiling.threads)),
        tiles_(TilesOf(shape_, tiling)),
        emitter_(context.config) {}

  StatusOr<Launch> Generate() {
    PlaceWeights();
    PlaceConstants();
    for (const Tile& tile : tiles_) chunks_total_ += tile.chunks.size();
    for (size_t k = 0; k < tiles_.size(); ++k) EmitTile(k);
    if (threads() > 1) EmitResult(tiles_.size() - 1);
    // The stores that nobody has waited for.
    const size_t left = std::min(threads(), tiles_.size());
    for (size_t k = is_wide() && left > 1 ? 1 : 0; k < left; ++k) AwaitStore();
    return emitter_.Finish(context_.image);
  }

 private:
  size_t threads() const { return static_cast<size_t>(tiling_.threads); }
  int64_t SumsAt(size_t tile) const {
    return static_cast<int64_t>(tile % threads()) * (tiling_.threads == 1 ? 0 : regions_.sums);
  }
  bool is_wide() const { return context_.map(layer_.output).wide; }
  bool begins_with_bias() const { return layer_.requantisation.begins_with_bias; }
  int64_t pixels_of_block() const { return tiling_.rows * tiling_.columns; }

  // ----- constants

  const int8_t* WeightsFrom(int64_t output_block, int64_t input_block) const {
    int64_t element = 0;
    for (int64_t o = 0; o < output_block; ++o) element += layer_.reads[static_cast<size_t>(o)].count();
    element += input_block - layer_.reads[static_cast<size_t>(output_block)].first;
    return layer_.weights.data() + element * layer_.kernel.taps() * config_.weight_element_bytes();
  }

  // In the order in which chunks are loaded, so that each is one load.
  void PlaceWeights() {
    std::vector<uint8_t> bytes;
    std::map<std::array<int64_t, 3>, std::pair<uint64_t, int64_t>> places;  // offset, first element where they stay
    int64_t elements = 0;
    for (Tile& tile : tiles_) {
      for (const Chunk& chunk : tile.chunks) {
        const std::array<int64_t, 3> key = {tile.blocks.first, chunk.blocks.first, chunk.blocks.count};
        if (!layer_.one_weight && !places.contains(key)) {
          places[key] = {bytes.size(), elements};
          elements += chunk.weights;
          ForEachPair(tile, chunk, [&](int64_t o, int64_t i) {
            const auto* from = reinterpret_cast<const uint8_t*>(WeightsFrom(o, i));
            bytes.insert(bytes.end(), from, from + layer_.kernel.taps() * config_.weight_element_bytes());
          });
        }
        weight_places_.push_back(places[key]);
      }
    }
    if (layer_.one_weight) {
      const auto* from = reinterpret_cast<const uint8_t*>(layer_.weights.data());
      bytes.assign(from, from + config_.weight_element_bytes());
    }
    weights_at_ = context_.image->Add(bytes);
  }

  template <typename Body>
  void ForEachPair(const Tile& tile, const Chunk& chunk, const Body& body) const {
    for (int64_t o = tile.blocks.first; o < tile.blocks.first + tile.blocks.count; ++o) {
      const BlockRange& range = layer_.reads[static_cast<size_t>(o)];
      for (int64_t i = std::max(range.first, chunk.blocks.first);
           i < std::min(range.last, chunk.blocks.first + chunk.blocks.count); ++i) {
        body(o, i);
      }
    }
  }

  // Rows of constants, an element an output block in each: [groups of blocks that are on chip together][row][block];
  // behind each group the residual's multiplier.
  void PlaceConstants() {
    const Requantisation& r = layer_.requantisation;
    std::vector<const std::vector<int32_t>*> rows = {&r.bias};
    if (!r.least.empty()) {
      rows.push_back(&r.least);
      rows.push_back(&r.most);
    }
    if (r.multiplies) rows.push_back(&r.multipliers);
    KILN_CHECK(std::ssize(rows) == shape_.constant_rows);
    const int64_t blocks = layer_.output_blocks();
    const bool all_fit = blocks * shape_.constant_rows + 1 <= regions_.constants;
    constant_blocks_ = all_fit ? blocks : tiling_.blocks;
    std::vector<uint8_t> bytes;
    for (int64_t first = 0; first < blocks; first += constant_blocks_) {
      for (const std::vector<int32_t>* row : rows) {
        for (int64_t o = first; o < first + constant_blocks_; ++o) AppendElement(*row, o, &bytes);
      }
      AppendElement({}, 0, &bytes);
    }
    constants_at_ = context_.image->Add(bytes);
  }

  // The numbers of an output block's channels, alike in all rows of a batch; without numbers, the residual's
  // multiplier.
  void AppendElement(const std::vector<int32_t>& row, int64_t block, std::vector<uint8_t>* bytes) const {
    for (int b = 0; b < config_.batch; ++b) {
      for (int64_t lane = 0; lane < config_.block_out; ++lane) {
        const auto channel = static_cast<size_t>(block * config_.block_out + lane);
        int32_t number = row.empty() ? layer_.requantisation.residual_multiplier.value_or(0) : 0;
        if (channel < row.size()) number = row[channel];
        const auto* at = reinterpret_cast<const uint8_t*>(&number);
        bytes->insert(bytes->end(), at, at + sizeof(number));
      }
    }
  }

  int64_t constant_elements() const { return constant_blocks_ * shape_.constant_rows + 1; }

  // Where row `row` of a tile's constants stands on chip.
  int64_t ConstantAt(const Tile& tile, int64_t row) const {
    return regions_.constants_at + row * constant_blocks_ + tile.blocks.first % constant_blocks_;
  }

  void LoadConstants(const Tile& tile) {
    const int64_t group = tile.blocks.first / constant_blocks_;
    if (group == constants_there_) return;
    constants_there_ = group;
    const int64_t bytes = group * constant_elements() * config_.accumulator_element_bytes();
    emitter_.Load(Memory::kAccumulator, {constants_at_ + static_cast<uint64_t>(bytes), regions_.constants_at, 1,
                                         constant_elements(), constant_elements()});
  }

  // ----- a tile

  void EmitTile(size_t k) {
    const Tile& tile = tiles_[k];
    const bool ahead = threads() > 1;
    if (k == 0) LoadConstants(tile);
    if (!ahead || k == 0) EmitClear(k);
    const Pieces pieces = PiecesOf(tile, k + 1 < tiles_.size() ? &tiles_[k + 1] : nullptr);
    bool first = true, prepared = false;
    for (size_t j = 0; j < tile.chunks.size(); ++j) {
      EmitLoads(tile, tile.chunks[j]);
      const std::vector<Uop> uops = UopsOf(tile, tile.chunks[j], SumsAt(k));
      const std::vector<size_t> cuts = CutsOf(tile, j, pieces);
      for (size_t p = 0; p + 1 < cuts.size(); ++p) {
        if (ahead && !first && j + 1 == tile.chunks.size() && p + 2 == cuts.size()) {
          EmitPreparation(k);
          prepared = true;
        }
        emitter_.Gemm(uops, {cuts[p], cuts[p + 1]}, GemmLoops(tile));
        if (p == 0) emitter_.last().pop_previous = true;
        if (p + 2 == cuts.size()) emitter_.last().push_previous = chunk_ + threads() < chunks_total_;
        if (ahead && first && k > 0) EmitResult(k - 1);
        first = false;
      }
      ++chunk_;
    }
    if (ahead && !prepared) EmitPreparation(k);
    if (!ahead) {
      EmitResultOperands(tile);
      EmitResult(k);
    }
  }

  // Where the pieces of chunk j's micro-ops begin and end.
  std::vector<size_t> CutsOf(const Tile& tile, size_t j, const Pieces& pieces) const {
    const auto steps = static_cast<size_t>(tile.chunks[j].steps);
    std::vector<size_t> cuts = {0};
    if (threads() > 1 && pieces.tail > 0) {
      if (j == 0 && pieces.head < tile.chunks[j].steps) cuts.push_back(static_cast<size_t>(pieces.head));
      const size_t tail = steps - static_cast<size_t>(pieces.tail);
      if (j + 1 == tile.chunks.size() && tail > cuts.back() && tail < steps) cuts.push_back(tail);
    }
    cuts.push_back(steps);
    return cuts;
  }

  // Behind the ALU's work for the tile before: what the ALU will need for this tile, and room for the next.
  void EmitPreparation(size_t k) {
    EmitResultOperands(tiles_[k]);
    if (k + 1 < tiles_.size()) {
      EmitClear(k + 1);
    } else if (is_wide() && k > 0) {
      AwaitStore();  // lest the planes of this tile take the tokens of the tile before
    }
  }

  void AwaitStore() {
    emitter_.Nop(Stage::kCompute);
    emitter_.last().pop_next = true;
  }

  void EmitClear(size_t k) {
    const Tile& tile = tiles_[k];
    Loops loops;
    loops.outer = tile.blocks.count;
    loops.inner = tile.rows.count * tile.columns.count;
    loops.dst_outer = pixels_of_block();
    loops.dst_inner = 1;
    const auto sums = static_cast<uint32_t>(SumsAt(k));
    const size_t begin = emitter_.size();
    if (!begins_with_bias() || k < threads()) {
      Loops all = loops;  // whatever was there before this launch
      if (begins_with_bias()) all = {tiling_.blocks, pixels_of_block(), pixels_of_block(), 1};
      emitter_.Reset({sums, 0, 0}, all);
    }
    if (begins_with_bias()) {
      LoadConstants(tile);
      loops.src_outer = 1;
      const Uop uop{sums, static_cast<uint32_t>(ConstantAt(tile, 0)), 0};
      emitter_.Alu(AluOp::kMax, {&uop, 1}, loops);
    }
    if (k >= threads()) emitter_[begin].pop_next = true;
  }

  void EmitLoads(const Tile& tile, const Chunk& chunk) {
    const size_t begin = emitter_.size();
    if (chunk.load_input) {
      input_slot_ = (input_slot_ + 1) % threads();
      const MapView& view = layer_.input;
      const KernelSize& kernel = layer_.kernel;
      const int64_t row_step = kernel.y == 1 ? kernel.stride_y * view.y_step : view.y_step;
      const int64_t rows = shape_.InputRows(tile.rows.count), columns = shape_.InputColumns(tile.columns.count);
      const int64_t y = view.y0 + (tile.rows.first * kernel.stride_y - kernel.top) * view.y_step;
      const int64_t x = view.x0 + (tile.columns.first * kernel.stride_x - kernel.left) * view.x_step;
      for (int64_t i = 0; i < chunk.blocks.count; ++i) {
        emitter_.Load(Memory::kInput,
                      {context_.AddressOf(view.map, chunk.blocks.first + i, y, x), InputSlotAt() + i * rows * columns,
                       rows, columns, row_step * context_.map(view.map).pitch()});
      }
    }
    const auto [offset, stays_at] = weight_places_[chunk_];
    if (chunk.load_weights) {
      weight_slot_ = (weight_slot_ + 1) % threads();
      const int64_t at = tiling_.resident ? stays_at : WeightSlotAt();
      emitter_.Load(Memory::kWeight, {weights_at_ + offset, at, 1, chunk.weights, chunk.weights});
    }
    if (emitter_.size() == begin) emitter_.Nop(Stage::kLoad);
    if (chunk_ >= threads()) emitter_[begin].pop_next = true;
    emitter_.last().push_next = true;
  }

  int64_t InputSlotAt() const { return static_cast<int64_t>(input_slot_) * (config_.inputs() / tiling_.threads); }
  int64_t WeightSlotAt() const { return static_cast<int64_t>(weight_slot_) * (config_.weights() / tiling_.threads); }

  std::vector<Uop> UopsOf(const Tile& tile, const Chunk& chunk, int64_t sums_at) const {
    const KernelSize& kernel = layer_.kernel;
    const int64_t rows = shape_.InputRows(tile.rows.count), columns = shape_.InputColumns(tile.columns.count);
    int64_t weight = tiling_.resident ? weight_places_[chunk_].second : WeightSlotAt();
    std::vector<Uop> uops;
    ForEachPair(tile, chunk, [&](int64_t o, int64_t i) {
      for (int64_t ky = 0; ky < kernel.y; ++ky) {
        for (int64_t kx = 0; kx < kernel.x; ++kx, weight += layer_.one_weight ? 0 : 1) {
          const int64_t tap = ky * kernel.dilation_y * columns + kx * kernel.dilation_x * layer_.input.x_step;
          const int64_t src = InputSlotAt() + (i - chunk.blocks.first) * rows * columns + tap;
          uops.push_back({static_cast<uint32_t>(sums_at + (o - tile.blocks.first) * pixels_of_block()),
                          static_cast<uint32_t>(src), static_cast<uint32_t>(weight)});
        }
      }
    });
    return uops;
  }

  Loops GemmLoops(const Tile& tile) const {
    Loops loops;
    loops.outer = tile.rows.count;
    loops.inner = tile.columns.count;
    loops.dst_outer = tile.columns.count;
    loops.dst_inner = 1;
    loops.src_outer = shape_.row_step() * shape_.InputColumns(tile.columns.count);
    loops.src_inner = shape_.column_step();
    return loops;
  }

  // ----- a tile's result

  // Constants and residuals of a tile.
  void EmitResultOperands(const Tile& tile) {
    if (!begins_with_bias()) LoadConstants(tile);
    if (!layer_.residual.has_value()) return;
    const MapView& view = *layer_.residual;
    for (int64_t o = 0; o < tile.blocks.count; ++o) {
      const int64_t y = view.y0 + tile.rows.first * view.y_step, x = view.x0 + tile.columns.first;
      emitter_.Load(Memory::kAccumulator8, {context_.AddressOf(view.map, tile.blocks.first + o, y, x),
                                            regions_.residuals_at + o * pixels_of_block(), tile.rows.count,
                                            tile.columns.count, view.y_step * context_.map(view.map).pitch()});
    }
  }

  void EmitResult(size_t k) {
    const Tile& tile = tiles_[k];
    const Requantisation& r = layer_.requantisation;
    if (!begins_with_bias()) WithConstant(AluOp::kAdd, k, 0);
    if (!r.least.empty()) {
      WithConstant(AluOp::kMax, k, 1);
      WithConstant(AluOp::kMin, k, 2);
    }
    if (is_wide()) {
      for (int64_t plane = 0; plane < 4; ++plane) {
        emitter_.last().push_next = true;
        EmitStores(k, plane);
        if (plane == 3) return;
        WithImmediate(AluOp::kShiftRight, k, 8);
        emitter_.last().pop_next = true;
      }
    }
    if (r.multiplies) WithConstant(AluOp::kMultiply, k, 3);
    if (layer_.residual.has_value()) {
      Loops loops = ElementLoops(tile);
      const auto residuals = static_cast<uint32_t>(regions_.residuals_at);
      const auto multiplier = static_cast<uint32_t>(regions_.constants_at + shape_.constant_rows * constant_blocks_);
      emitter_.Alu(AluOp::kMultiply, std::vector<Uop>{{residuals, multiplier, 0}}, loops);
      loops.src_outer = loops.dst_outer;
      loops.src_inner = loops.dst_inner;
      emitter_.Alu(AluOp::kAdd, std::vector<Uop>{{static_cast<uint32_t>(SumsAt(k)), residuals, 0}}, loops);
    }
    if (r.shift > 0) WithImmediate(AluOp::kShiftRight, k, r.shift);
    if (!r.multiplies || layer_.residual.has_value()) {
      const int32_t carried = begins_with_bias() ? kCarried : 0;
      WithImmediate(AluOp::kMax, k, r.low + carried);
      WithImmediate(AluOp::kMin, k, r.high + carried);
    }
    emitter_.last().push_next = true;
    EmitStores(k, 0);
  }

  Loops ElementLoops(const Tile& tile) const {
    Loops loops;
    loops.outer = tile.blocks.count;
    loops.inner = tile.rows.count * tile.columns.count;
    loops.dst_outer = pixels_of_block();
    loops.dst_inner = 1;
    return loops;
  }

  void WithConstant(AluOp op, size_t k, int64_t row) {
    Loops loops = ElementLoops(tiles_[k]);
    loops.src_outer = 1;
    const Uop uop{static_cast<uint32_t>(SumsAt(k)), static_cast<uint32_t>(ConstantAt(tiles_[k], row)), 0};
    emitter_.Alu(op, {&uop, 1}, loops);
  }

  void WithImmediate(AluOp op, size_t k, int32_t immediate) {
    const Uop uop{static_cast<uint32_t>(SumsAt(k)), 0, 0};
    emitter_.AluImmediate(op, {&uop, 1}, ElementLoops(tiles_[k]), immediate);
  }

  void EmitStores(size_t k, int64_t plane) {
    const Tile& tile = tiles_[k];
    const size_t begin = emitter_.size();
    for (int64_t o = 0; o < tile.blocks.count; ++o) {
      emitter_.Store(
          {context_.AddressOf(layer_.output, tile.blocks.first + o, tile.rows.first, tile.columns.first, plane),
           SumsAt(k) + o * pixels_of_block(), tile.rows.count, tile.columns.count,
           context_.map(layer_.output).pitch()});
    }
    emitter_[begin].pop_previous = true;
    emitter_.last().push_previous = true;
  }

  const MatrixLayer& layer_;
  const MatrixTiling tiling_;
  const CodeContext& context_;
  const Config& config_;
  const MatrixShape shape_;
  const AccumulatorRegions regions_;
  std::vector<Tile> tiles_;
  Emitter emitter_;
  std::vector<std::pair<uint64_t, int64_t>> weight_places_;  // a chunk each: byte offset, element where it stays
  uint64_t weights_at_ = 0, constants_at_ = 0;
  int64_t constant_blocks_ = 1, constants_there_ = -1;
  size_t chunk_ = 0, chunks_total_ = 0;
  size_t input_slot_ = 0, weight_slot_ = 0;
};

}  // namespace

StatusOr<Launch> GenerateMatrix(const MatrixLayer& layer, const MatrixTiling& tiling, const CodeContext& context) {
  return MatrixGenerator(layer, tiling, context).Generate();
}

}  // namespace kiln::vta
