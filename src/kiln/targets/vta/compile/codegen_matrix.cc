// Generates the instructions of a matrix layer. For each tile, and in it for each chunk:
//
//   load stage      loads inputs and weights of the chunk; waits for the GEMM that last used these
//                   parts of the buffers
//   compute stage   runs the GEMM of the chunk, in pieces. After a tile's first piece comes the
//                   ALU's work for the previous tile; before its last piece, the loads of what the
//                   ALU needs for this tile and the clearing of the next tile's accumulators
//   store stage     stores the previous tile
//
// With two virtual threads this order keeps the GEMM unit busy: a piece is examined while the
// previous piece runs, and instructions that wait for the ALU or the store stage have the length of
// a piece to wait. With one thread, a tile's work is emitted tile by tile in its natural order.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/lower/refusal.h"
#include "kiln/targets/vta/compile/codegen.h"

namespace kiln::vta {
namespace {

constexpr int64_t kBeatsOfConstant = 8;  // approximate beats of one element of constants

// Generates one layer's launch with a given tiling.
class MatrixGenerator {
 public:
  MatrixGenerator(const MatrixLayer& layer, const MatrixTiling& tiling, const CodeContext& context)
      : layer_(layer),
        tiling_(tiling),
        context_(context),
        config_(context.config),
        shape_(ShapeOf(layer, context.network)),
        regions_(RegionsOf(shape_, context.config, tiling.threads)),
        tiles_(TilesOf(shape_, tiling, context.config)),
        emitter_(context.config) {}

  StatusOr<Launch> Generate() {
    if (tiles_.empty()) return ToHost("the tiling does not fit on chip");
    PlaceWeights();
    PlaceConstants();
    reset_.resize(threads());
    for (size_t k = 0; k < tiles_.size(); ++k) EmitTile(k);
    if (threads() > 1) EmitResult(tiles_.size() - 1);
    // FINISH must wait for all stores, so wait for those that no instruction has waited for yet.
    const size_t left = std::min(threads(), tiles_.size());
    for (size_t k = is_wide() && left > 1 ? 1 : 0; k < left; ++k) AwaitStore();
    return emitter_.Finish(context_.image);
  }

 private:
  size_t threads() const { return static_cast<size_t>(tiling_.threads); }
  size_t RegionOf(size_t tile) const { return threads() == 1 ? 0 : tile % threads(); }
  int64_t SumsAt(size_t tile) const {
    return static_cast<int64_t>(RegionOf(tile)) * regions_.pitch;
  }
  bool is_wide() const { return context_.map(layer_.output).wide; }
  bool begins_with_bias() const { return layer_.requantisation.begins_with_bias; }
  // Returns whether a tile's sums begin with the bias. With several threads those of the first tile
  // do not, so that its GEMM need not wait for constants.
  bool IsClearedWithBias(size_t tile) const {
    return begins_with_bias() && (tile > 0 || threads() == 1);
  }

  // ----- constants

  const int8_t* WeightsFrom(int64_t output_block, int64_t input_block) const {
    int64_t element = 0;
    for (int64_t o = 0; o < output_block; ++o)
      element += layer_.reads[static_cast<size_t>(o)].count();
    element += input_block - layer_.reads[static_cast<size_t>(output_block)].first;
    return layer_.weights.data() + element * layer_.kernel.taps() * config_.weight_element_bytes();
  }

  // Places the weights in memory in the order in which chunks are loaded, so that one load suffices
  // for each chunk.
  void PlaceWeights() {
    const int64_t element = config_.weight_element_bytes();
    if (layer_.one_weight) {
      weight_places_.assign(ChunkCount(), 0);
      weights_at_ = context_.image->Add(
          {reinterpret_cast<const uint8_t*>(layer_.weights.data()), static_cast<size_t>(element)});
      return;
    }
    std::map<std::array<int64_t, 4>, uint64_t> places;
    std::vector<std::pair<const Chunk*, uint64_t>> placed;
    uint64_t size = 0;
    for (const Tile& tile : tiles_) {
      for (const Chunk& chunk : tile.chunks) {
        const std::array<int64_t, 4> key = {chunk.outputs.first, chunk.outputs.count,
                                            chunk.inputs.first, chunk.inputs.count};
        weight_places_.push_back(0);
        if (!chunk.load_weights) continue;
        const auto [place, added] = places.emplace(key, size);
        if (added) {
          placed.emplace_back(&chunk, size);
          size += static_cast<uint64_t>(std::ssize(chunk.pairs) * layer_.kernel.taps() * element);
        }
        weight_places_.back() = place->second;
      }
    }
    weights_at_ = context_.image->Reserve(size);
    if (!context_.image->has_bytes()) return;
    for (const auto& [chunk, place] : placed) {
      auto to = context_.image->At(weights_at_ + place);
      for (const Chunk::Pair& pair : chunk->pairs) {
        to = std::copy_n(WeightsFrom(pair.output, pair.input), layer_.kernel.taps() * element, to);
      }
    }
  }

  size_t ChunkCount() const {
    size_t count = 0;
    for (const Tile& tile : tiles_) count += tile.chunks.size();
    return count;
  }

  // Places the rows of constants in memory, with one element per output block in each row:
  // [part][row][block], where a part contains the blocks whose constants are on chip at the same
  // time. A residual's multiplier follows each part.
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
    const bool all_fit = shape_.ConstantElements(blocks) <= regions_.constants;
    constant_blocks_ = all_fit ? blocks : tiling_.blocks;
    if (!context_.image->has_bytes()) {
      const int64_t elements = CeilDivide(blocks, constant_blocks_) * constant_elements();
      constants_at_ = context_.image->Reserve(
          static_cast<uint64_t>(elements * config_.accumulator_element_bytes()));
      return;
    }
    std::vector<uint8_t> bytes;
    for (int64_t first = 0; first < blocks; first += constant_blocks_) {
      for (const std::vector<int32_t>* row : rows) {
        for (int64_t o = first; o < first + constant_blocks_; ++o) AppendElement(*row, o, &bytes);
      }
      if (shape_.residual) AppendElement({}, 0, &bytes);
    }
    constants_at_ = context_.image->Add(bytes);
  }

  // Appends the numbers of an output block's channels, repeated for all rows of the batch. If `row`
  // is empty, appends the residual's multiplier instead.
  void AppendElement(const std::vector<int32_t>& row, int64_t block,
                     std::vector<uint8_t>* bytes) const {
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

  int64_t constant_elements() const { return shape_.ConstantElements(constant_blocks_); }

  // ----- constants on chip

  // Returns the region whose copy of the constants the ALU reads when it works on the sums of
  // `region`: `best` regions further if that has a copy, else `else_use` further. With four threads
  // this copy is in another bank than the sums, and in none that the GEMM unit uses
  // (docs/vta-networks.md, Virtual threads).
  size_t CopyFor(size_t region, size_t best, size_t else_use) const {
    if (threads() < 4) return 0;
    const size_t copy = (region + best) % threads();
    return copies_there_[copy] ? copy : (region + else_use) % threads();
  }
  // Returns the accumulator index of row `row` of a tile's constants.
  int64_t ConstantAt(const Tile& tile, int64_t row, size_t copy) const {
    return static_cast<int64_t>(copy) * regions_.pitch + regions_.constants_at +
           row * constant_blocks_ + tile.blocks.first % constant_blocks_;
  }

  void LoadConstants(const Tile& tile) {
    if (threads() == 4) return;
    const int64_t group = tile.blocks.first / constant_blocks_;
    if (group == constants_there_) return;
    constants_there_ = group;
    LoadConstantsAt(group, regions_.constants_at);
  }

  void LoadConstantsAt(int64_t group, int64_t at) {
    const int64_t bytes = group * constant_elements() * config_.accumulator_element_bytes();
    emitter_.Load(Memory::kAccumulator, {constants_at_ + static_cast<uint64_t>(bytes), at, 1,
                                         constant_elements(), constant_elements()});
  }

  int64_t CopyAt(size_t region) const {
    return static_cast<int64_t>(region) * regions_.pitch + regions_.constants_at;
  }

  // Makes a copy of all constants after a region's sums. The first copy is loaded from memory; the
  // ALU makes the others from it, because the first tiles need the memory port.
  void MakeCopy(size_t region) {
    if (copies_there_[region]) return;
    copies_there_[region] = true;
    if (!first_copy_.has_value()) {
      first_copy_ = region;
      return LoadConstantsAt(0, CopyAt(region));
    }
    const auto to = static_cast<uint32_t>(CopyAt(region)),
               from = static_cast<uint32_t>(CopyAt(*first_copy_));
    Loops loops;
    loops.inner = constant_elements();
    loops.dst_inner = 1;
    const Uop uop{to, from, 0};
    emitter_.Reset(uop, loops);
    loops.src_inner = 1;
    emitter_.Alu(AluOp::kAdd, {&uop, 1}, loops);
  }

  // ----- a tile

  void EmitTile(size_t k) {
    const Tile& tile = tiles_[k];
    if (threads() == 1) LoadConstants(tile);
    if (threads() == 1 || k == 0) EmitClear(k);
    if (threads() > 1 && k == 0 && !tiling_.uops_first) emitter_.LoadOtherUopsHere();
    if (threads() > 2 && k == 0 && tiles_.size() > 1)
      ResetSums(1);  // the GEMM unit does not wait for this
    const Pieces pieces = PiecesOf(tile, k + 1 < tiles_.size() ? &tiles_[k + 1] : nullptr);
    bool first = true, prepared = false;
    for (size_t j = 0; j < tile.chunks.size(); ++j) {
      const Chunk& chunk = tile.chunks[j];
      EmitLoads(tile, chunk);
      const std::vector<Uop> uops = UopsOf(tile, chunk, SumsAt(k));
      const std::vector<size_t> cuts = CutsOf(tile, j, pieces);
      for (size_t p = 0; p + 1 < cuts.size(); ++p) {
        if (threads() == 2 && !first && j + 1 == tile.chunks.size() && p + 2 == cuts.size()) {
          EmitPreparation(k);
          prepared = true;
        }
        emitter_.Gemm(uops, {cuts[p], cuts[p + 1]}, GemmLoops(tile, chunk));
        if (p == 0) emitter_.last().pop_previous = chunk.loads();
        if (p + 2 == cuts.size()) emitter_.last().push_previous = chunk.is_waited_for;
        if (first) EmitBehindFirstPiece(k);
        first = false;
      }
      if (threads() > 1 && k == 0) EmitBehindFirstChunks(j);
      ++chunk_;
    }
    if (threads() == 2 && !prepared) EmitPreparation(k);
    if (k == 0) MakeEarlyCopies();
    if (threads() > 2 && k == 0) ClearUpTo(last_early());
    if (threads() == 1) {
      EmitResultOperands(tile);
      EmitResult(k);
    }
  }

  void EmitBehindFirstPiece(size_t k) {
    if (threads() == 1 || k == 0) return;
    if (threads() == 4) MakeCopy(0);  // the last copy, once the GEMM unit has left the region
    // Loads are emitted before the zeros of the last region.
    const bool early = k == 1 && last_early() + 1 < threads();
    if (k == 2 && last_early() + 1 < threads() && threads() <= tiles_.size())
      ResetSums(threads() - 1);
    EmitResult(k - 1);
    if (threads() > 2 && !early) ClearUpTo(k + static_cast<size_t>(TilesAhead(tiling_.threads)));
  }

  // Makes the copies in regions that the GEMM unit does not use yet.
  void MakeEarlyCopies() {
    if (threads() < 4) return;
    for (const size_t region : {2, 3, 1}) MakeCopy(region);
  }

  // Emits work after a chunk of the first tile. Constants come first, but only when the remaining
  // chunks leave time for their load, unless the ALU is the bottleneck. Then the sums of tiles
  // whose regions have not been used yet are cleared.
  void EmitBehindFirstChunks(size_t j) {
    const Tile& tile = tiles_[0];
    int64_t left = 0;
    for (size_t i = j + 1; i < tile.chunks.size(); ++i)
      left += tile.chunks[i].steps * tile.chunks[i].repeats;
    const int64_t time = kBeatsOfConstant * constant_elements() + 2 * tile.elements();
    if (cleared_ == 1 && !first_constants_ && left > time && !shape_.IsAluBound()) return;
    if (!first_constants_) {
      first_constants_ = true;
      return threads() < 4 ? LoadConstants(tile) : MakeCopy(2);
    }
    MakeEarlyCopies();
    if (threads() > 2) ClearUpTo(std::min(cleared_, last_early()));
  }

  // Returns the last tile that is cleared before the ALU works on the first tile's result. Four
  // threads can clear three more tiles, but if the ALU is the bottleneck, clearing the third must
  // not delay the result.
  size_t last_early() const { return threads() - (threads() == 4 && shape_.IsAluBound() ? 2 : 1); }

  // Clears the sums of the tiles up to `last` that have not been cleared.
  void ClearUpTo(size_t last) {
    while (cleared_ < tiles_.size() && cleared_ <= last) EmitClear(cleared_);
  }

  // Returns where the pieces of chunk j's micro-ops begin and end.
  std::vector<size_t> CutsOf(const Tile& tile, size_t j, const Pieces& pieces) const {
    const auto steps = static_cast<size_t>(tile.chunks[j].steps);
    std::vector<size_t> cuts = {0};
    if (threads() == 2 && pieces.tail > 0) {
      if (j == 0 && pieces.head < tile.chunks[j].steps)
        cuts.push_back(static_cast<size_t>(pieces.head));
      const size_t tail = steps - static_cast<size_t>(pieces.tail);
      if (j + 1 == tile.chunks.size() && tail > cuts.back() && tail < steps) cuts.push_back(tail);
    }
    cuts.push_back(steps);
    return cuts;
  }

  // Emits, after the ALU's work for the previous tile, the loads of what the ALU needs for this
  // tile, and clears the sums of the next tile.
  void EmitPreparation(size_t k) {
    EmitResultOperands(tiles_[k]);
    if (k + 1 < tiles_.size()) {
      EmitClear(k + 1);
    } else if (is_wide() && k > 0) {
      AwaitStore();  // otherwise the planes of this tile would take the previous tile's tokens
    }
  }

  void AwaitStore() {
    emitter_.Nop(Stage::kCompute);
    emitter_.last().pop_next = true;
  }

  // Sets the sums of tile k to zero, except those elements of its region that are already reset.
  void ResetSums(size_t k) {
    int64_t& done = reset_[RegionOf(k)];
    const int64_t elements = tiles_[k].elements();
    if (done >= elements) return;
    const int64_t at = SumsAt(k) + done;
    if (k > last_early() && threads() == 4 && shape_.IsAluBound()) {
      emitter_.LoadZeros(at, elements - done);
    } else {
      Loops loops;
      loops.inner = elements - done;
      loops.dst_inner = 1;
      // This is the same micro-op as that of instructions with an immediate operand.
      emitter_.Reset({static_cast<uint32_t>(at), static_cast<uint32_t>(at), 0}, loops);
    }
    done = elements;
  }

  void EmitClear(size_t k) {
    cleared_ = k + 1;
    const size_t begin = emitter_.size();
    if (!begins_with_bias() && k >= threads()) reset_[RegionOf(k)] = 0;
    ResetSums(k);
    if (IsClearedWithBias(k)) {
      LoadConstants(tiles_[k]);
      WithConstant(AluOp::kMax, k, 0, CopyFor(RegionOf(k), 1, 3));
    }
    if (k >= threads()) emitter_[begin].pop_next = true;
  }

  void EmitLoads(const Tile& tile, const Chunk& chunk) {
    if (!chunk.loads()) return;
    const size_t begin = emitter_.size();
    const MapView& view = layer_.input;
    const KernelSize& kernel = layer_.kernel;
    const int64_t y = view.y0 + (tile.rows.first * kernel.stride_y - kernel.top) * view.y_step;
    const int64_t x = view.x0 + (tile.columns.first * kernel.stride_x - kernel.left) * view.x_step;
    for (const Chunk::Run& run : chunk.input_loads) {
      const Volume volume =
          shape_.InputVolume(run.count, tile.rows.count, tile.columns.count, tiling_.packed);
      LoadVolume(Memory::kInput, context_.AddressOf(view.map, run.block, y, x), run.at, volume);
    }
    if (chunk.load_weights) {
      emitter_.Load(Memory::kWeight, {weights_at_ + weight_places_[chunk_],
                                      chunk.pairs[0].weights_at, 1, chunk.weights, chunk.weights});
    }
    emitter_[begin].pop_next = chunk.waits_for.has_value();
    emitter_.last().push_next = true;
  }

  void LoadVolume(Memory memory, uint64_t address, int64_t at, const Volume& volume) {
    for (const VolumePart& part : PartsOf(volume)) {
      emitter_.Load(
          memory, {AddressOf(address, part), at + part.chip, part.rows, part.columns, part.stride});
    }
  }

  uint64_t AddressOf(uint64_t begin, const VolumePart& part) const {
    return begin + static_cast<uint64_t>(part.memory * config_.output_element_bytes());
  }

  std::vector<Uop> UopsOf(const Tile& tile, const Chunk& chunk, int64_t sums_at) const {
    std::vector<Uop> uops;
    for (size_t n = 0; n < chunk.pairs.size(); ++n) {
      const Chunk::Pair& pair = chunk.pairs[n];
      if (chunk.loop == Chunk::Loop::kOutputs && pair.output != chunk.outputs.first) continue;
      if (chunk.loop == Chunk::Loop::kInputs && pair.input != chunk.inputs.first) continue;
      const int64_t sum = sums_at + (pair.output - tile.blocks.first) * tile.pixels();
      AddTaps(tile, sum, chunk.inputs_at[static_cast<size_t>(pair.input - chunk.inputs.first)],
              pair.weights_at, &uops);
    }
    return uops;
  }

  void AddTaps(const Tile& tile, int64_t sum, int64_t input, int64_t weight,
               std::vector<Uop>* uops) const {
    const KernelSize& kernel = layer_.kernel;
    const int64_t columns = shape_.InputColumns(tile.columns.count, tiling_.packed);
    for (int64_t ky = 0; ky < kernel.y; ++ky) {
      for (int64_t kx = 0; kx < kernel.x; ++kx, weight += layer_.one_weight ? 0 : 1) {
        const int64_t tap =
            ky * kernel.dilation_y * columns + kx * kernel.dilation_x * layer_.input.x_step;
        uops->push_back({static_cast<uint32_t>(sum), static_cast<uint32_t>(input + tap),
                         static_cast<uint32_t>(weight)});
      }
    }
  }

  Loops GemmLoops(const Tile& tile, const Chunk& chunk) const {
    Loops loops;
    loops.dst_inner = 1;
    loops.src_inner = shape_.column_step(tiling_.packed);
    if (chunk.loop == Chunk::Loop::kOutputs) {
      loops.outer = chunk.outputs.count;
      loops.inner = tile.pixels();
      loops.dst_outer = tile.pixels();
      loops.weight_outer = 1;
      return loops;
    }
    if (chunk.loop == Chunk::Loop::kInputs) {
      loops.outer = chunk.inputs.count;
      loops.inner = tile.pixels();
      loops.src_outer = chunk.inputs_at.size() > 1 ? chunk.inputs_at[1] - chunk.inputs_at[0] : 0;
      loops.weight_outer = chunk.input_weight_step();
      return loops;
    }
    loops.outer = tile.rows.count;
    loops.inner = tile.columns.count;
    loops.dst_outer = tile.columns.count;
    loops.src_outer = shape_.row_step() * shape_.InputColumns(tile.columns.count, tiling_.packed);
    return loops;
  }

  // ----- a tile's result

  // Loads the constants and residuals of a tile.
  void EmitResultOperands(const Tile& tile) {
    if (!begins_with_bias()) LoadConstants(tile);
    if (!layer_.residual.has_value()) return;
    const MapView& view = *layer_.residual;
    const FeatureMap& map = context_.map(view.map);
    const Volume volume{tile.blocks.count,
                        tile.rows.count,
                        tile.columns.count,
                        {map.rows() * map.pitch(), view.y_step * map.pitch(), 1}};
    const int64_t y = view.y0 + tile.rows.first * view.y_step, x = view.x0 + tile.columns.first;
    LoadVolume(Memory::kAccumulator8, context_.AddressOf(view.map, tile.blocks.first, y, x),
               regions_.residuals_at, volume);
  }

  void EmitResult(size_t k) {
    const Tile& tile = tiles_[k];
    const Requantisation& r = layer_.requantisation;
    const size_t copy = CopyFor(RegionOf(k), 3, 2);
    if (!IsClearedWithBias(k)) {
      LoadConstants(tile);
      WithConstant(AluOp::kAdd, k, 0, copy);
    }
    if (r.sign.has_value()) {
      WithImmediate(AluOp::kShiftRight, k, 31);
      WithImmediate(AluOp::kMultiply, k, r.sign->from_zero - r.sign->below);
      WithImmediate(AluOp::kAdd, k, r.sign->from_zero);
      emitter_.last().push_next = true;
      EmitStores(k, 0);
      return;
    }
    if (!r.least.empty()) {
      WithConstant(AluOp::kMax, k, 1, copy);
      WithConstant(AluOp::kMin, k, 2, copy);
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
    if (r.multiplies) WithConstant(AluOp::kMultiply, k, 3, copy);
    if (layer_.residual.has_value()) {
      Loops loops = ElementLoops(tile);
      const auto residuals = static_cast<uint32_t>(regions_.residuals_at);
      const auto multiplier =
          static_cast<uint32_t>(regions_.constants_at + shape_.constant_rows * constant_blocks_);
      emitter_.Alu(AluOp::kMultiply, std::vector<Uop>{{residuals, multiplier, 0}}, loops);
      loops.src_outer = loops.dst_outer;
      loops.src_inner = loops.dst_inner;
      emitter_.Alu(AluOp::kAdd, std::vector<Uop>{{static_cast<uint32_t>(SumsAt(k)), residuals, 0}},
                   loops);
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
    loops.inner = tile.pixels();
    loops.dst_outer = tile.pixels();
    loops.dst_inner = 1;
    return loops;
  }

  void WithConstant(AluOp op, size_t k, int64_t row, size_t copy) {
    Loops loops = ElementLoops(tiles_[k]);
    loops.src_outer = 1;
    const Uop uop{static_cast<uint32_t>(SumsAt(k)),
                  static_cast<uint32_t>(ConstantAt(tiles_[k], row, copy)), 0};
    emitter_.Alu(op, {&uop, 1}, loops);
  }

  void WithImmediate(AluOp op, size_t k, int32_t immediate) {
    const Uop uop{static_cast<uint32_t>(SumsAt(k)), 0, 0};
    emitter_.AluImmediate(op, {&uop, 1}, ElementLoops(tiles_[k]), immediate);
  }

  void EmitStores(size_t k, int64_t plane) {
    const Tile& tile = tiles_[k];
    const size_t begin = emitter_.size();
    const uint64_t address = context_.AddressOf(layer_.output, tile.blocks.first, tile.rows.first,
                                                tile.columns.first, plane);
    for (const VolumePart& part :
         PartsOf({tile.blocks.count, tile.rows.count, tile.columns.count, shape_.output})) {
      emitter_.Store(
          {AddressOf(address, part), SumsAt(k) + part.chip, part.rows, part.columns, part.stride});
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
  std::vector<uint64_t> weight_places_;  // by chunk: byte offset from weights_at_
  uint64_t weights_at_ = 0, constants_at_ = 0;
  int64_t constant_blocks_ = 1, constants_there_ = -1;
  std::array<bool, kMaxThreads> copies_there_{};
  std::vector<int64_t> reset_;  // by region: elements that have been reset
  size_t chunk_ = 0, cleared_ = 0;
  bool first_constants_ = false;
  std::optional<size_t> first_copy_;
};

}  // namespace

StatusOr<Launch> GenerateMatrix(const MatrixLayer& layer, const MatrixTiling& tiling,
                                const CodeContext& context) {
  return MatrixGenerator(layer, tiling, context).Generate();
}

}  // namespace kiln::vta
