// Cuts a matrix layer into tiles and chunks, and assigns their inputs and weights to parts of the
// buffers so that data that are still on chip are not loaded again.

#include "kiln/targets/vta/compile/tiles.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/check.h"

namespace kiln::vta {
namespace {

constexpr int64_t kRowDispatch = 40;  // cycles to dispatch a sequence of instructions, in total

// Halves the first stretch `times` times, so that it becomes parts of relative size 1, 1, 2, 4, ...
std::vector<Stretch> Ramped(std::vector<Stretch> parts, int times) {
  for (int i = 0; i < times && parts[0].count > 1; ++i) {
    const Stretch first = parts[0];
    parts[0].count = first.count / 2;
    parts.insert(parts.begin() + 1, {parts[0].end(), first.count - parts[0].count});
  }
  return parts;
}

std::vector<Tile> WholeTiles(const MatrixShape& shape, const MatrixTiling& t) {
  std::vector<Stretch> groups = CutInto(0, std::ssize(shape.reads), t.blocks);
  std::vector<Stretch> row_parts = CutInto(0, shape.height, t.rows);
  if (t.blocks_outermost) {
    groups = Ramped(std::move(groups), t.ramp);
  } else {
    row_parts = Ramped(std::move(row_parts), t.ramp);
  }
  std::vector<Tile> places;
  for (const Stretch& rows : row_parts) {
    for (const Stretch& columns : CutInto(0, shape.width, t.columns))
      places.push_back({{}, rows, columns, {}});
  }
  std::vector<Tile> tiles;
  const size_t count = groups.size() * places.size();
  for (size_t i = 0; i < count; ++i) {
    Tile tile = places[t.blocks_outermost ? i % places.size() : i / groups.size()];
    tile.blocks = groups[t.blocks_outermost ? i / places.size() : i % groups.size()];
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

// Cuts slices of at most `most` elements in total, but at least one slice, off the end of a tile.
// Returns nullopt if the tile has only one slice.
std::optional<Tile> CutOff(Tile* tile, int64_t most) {
  Stretch Tile::* axis = tile->blocks.count > 1 ? &Tile::blocks
                         : tile->rows.count > 1 ? &Tile::rows
                                                : &Tile::columns;
  const int64_t count = (tile->*axis).count;
  if (count == 1) return std::nullopt;
  const int64_t slices = std::clamp<int64_t>(most / (tile->elements() / count), 1, count - 1);
  Tile end = *tile;
  end.*axis = {(tile->*axis).end() - slices, slices};
  (tile->*axis).count -= slices;
  return end;
}

// Shrinks the last tiles. When the GEMM unit is done with one of them, the ALU's remaining work is
// at most `t.drain` cycles longer than the GEMM unit's. When it is done with the last one, only
// these cycles remain.
void Taper(const MatrixShape& shape, const MatrixTiling& t, std::vector<Tile>* tiles) {
  constexpr int64_t kTapered = 3, kSmallest = 32;  // tiles to shrink; a part is at least 1/32
  constexpr int64_t kStoreBeats = 2;               // approximate
  const int64_t whole = t.blocks * t.rows * t.columns;
  const BlockRange reads = UnionOf(shape, tiles->back().blocks);
  const int64_t gemm = reads.count() * shape.kernel.taps(), alu = shape.alu_steps;
  std::vector<Tile> end;  // the last one first
  const auto behind = [&](size_t n) { return end.size() < n ? 0 : end[end.size() - n].elements(); };
  int64_t all_behind = 0;
  while (!tiles->empty() && all_behind < kTapered * whole) {
    // The next tiles have been cleared already.
    const int64_t cleared = behind(1) + (t.threads > 3 ? behind(2) : 0);
    int64_t most = (t.drain + all_behind * (gemm - alu - 1) + cleared) / alu;
    if (end.empty()) most = t.drain / (alu + kStoreBeats * shape.planes);
    // With fewer threads, clearing the tile after the next waits for the result of this one.
    if (t.threads < 4 && end.size() > 1) most = std::min(most, behind(1) * gemm / (alu + 1));
    most = std::max(most, whole / kSmallest);
    // Cut a slice off the tile, or a slice off that slice.
    while (tiles->back().elements() > most) {
      std::optional<Tile> cut = CutOff(&tiles->back(), most);
      if (!cut.has_value()) break;
      tiles->push_back(*std::move(cut));
    }
    all_behind += tiles->back().elements();
    end.push_back(std::move(tiles->back()));
    tiles->pop_back();
  }
  tiles->insert(tiles->end(), std::make_move_iterator(end.rbegin()),
                std::make_move_iterator(end.rend()));
}

// Cuts tiles into chunks and decides where their inputs and weights are stored on chip.
class Planner {
 public:
  Planner(const MatrixShape& shape, const MatrixTiling& t, const Config& config)
      : shape_(shape), t_(t), config_(config), slot_elements_(InputElements(t.rows, t.columns)) {}

  bool Plan(std::vector<Tile>* tiles) {
    MakeInputSlots(*tiles);
    for (Tile& tile : *tiles) CutIntoChunks(&tile, &tile == tiles->data());
    MakeWeightSlots(*tiles);
    for (Tile& tile : *tiles) {
      for (Chunk& chunk : tile.chunks) {
        std::optional<size_t> last_user;
        if (!PlaceInputs(tile, &chunk, &last_user) || !PlaceWeights(&chunk, &last_user))
          return false;
        chunk.waits_for = last_user;
        CountSteps(tile, &chunk);
        ++number_;
      }
    }
    LinkWaits(tiles);
    return true;
  }

 private:
  int64_t InputElements(int64_t rows, int64_t columns) const {
    return shape_.InputRows(rows) * shape_.InputColumns(columns, t_.packed);
  }

  // Cuts a tile into chunks. The first tile's chunks grow, so that the GEMM unit can start early.
  void CutIntoChunks(Tile* tile, bool first) {
    const BlockRange range = UnionOf(shape_, tile->blocks);
    const int64_t most = ChunkOf(*tile, first, range.count());
    const bool grow = first && t_.threads > 1;
    int64_t piece = grow ? 1 : std::min(most, 2 * AlikeChunk(*tile));
    tile->chunks.reserve(static_cast<size_t>(CeilDivide(range.count(), most) + (grow ? 6 : 2)));
    for (int64_t at = range.first, cut = 0; at < range.last; at += piece, ++cut) {
      if (cut > 1) piece = std::min(2 * piece, most);
      const Stretch inputs{at, std::min(piece, range.last - at)};
      if (!grow || cut >= 2) {
        AddChunk(tile->blocks, inputs, tile);
        continue;
      }
      // The first chunks also cut the output blocks: first into a single block and two halves of
      // the others, then into two halves.
      std::vector<Stretch> parts =
          CutInto(tile->blocks.first, tile->blocks.count, CeilDivide(tile->blocks.count, 2));
      if (cut == 0) {
        const int64_t others = tile->blocks.count - 1;
        parts =
            CutInto(tile->blocks.first + 1, others, std::max<int64_t>(1, CeilDivide(others, 2)));
        parts.insert(parts.begin(), {tile->blocks.first, 1});
      }
      for (const Stretch& outputs : parts) AddChunk(outputs, inputs, tile);
    }
  }

  // Returns the input blocks per chunk of a tile. A tile with fewer output blocks gets more of
  // them, so that its chunks have as many weights.
  int64_t AlikeChunk(const Tile& tile) const {
    return t_.chunk * std::max<int64_t>(1, t_.blocks / tile.blocks.count);
  }

  // Returns the input blocks per chunk. Chunks are larger if loads never wait.
  int64_t ChunkOf(const Tile& tile, bool first, int64_t inputs) const {
    if (t_.threads == 1 || std::ssize(input_slots_) < inputs) return t_.chunk;
    return std::min(inputs, AlikeChunk(tile) * (!first && all_fit_ && t_.resident ? 4 : 1));
  }

  void AddChunk(const Stretch& outputs, const Stretch& inputs, Tile* tile) const {
    Chunk chunk;
    chunk.outputs = outputs;
    chunk.inputs = inputs;
    int64_t pairs = 0;
    for (int64_t o = outputs.first; o < outputs.end(); ++o) {
      const BlockRange& range = shape_.reads[static_cast<size_t>(o)];
      pairs += std::max<int64_t>(
          0, std::min(range.last, inputs.end()) - std::max(range.first, inputs.first));
    }
    if (pairs == 0) return;
    chunk.pairs.resize(static_cast<size_t>(pairs));
    auto pair = chunk.pairs.begin();
    for (int64_t i = inputs.first; i < inputs.end(); ++i) {
      for (int64_t o = outputs.first; o < outputs.end(); ++o) {
        const BlockRange& range = shape_.reads[static_cast<size_t>(o)];
        if (i >= range.first && i < range.last) *pair++ = {o, i, 0};
      }
    }
    chunk.weights = shape_.one_weight ? 1 : pairs * shape_.kernel.taps();
    tile->chunks.push_back(std::move(chunk));
  }

  // Divides the input buffer into slots of one input block each, in rows between which chunks
  // alternate. More rows let loads run further ahead, but need more micro-ops.
  void MakeInputSlots(const std::vector<Tile>& tiles) {
    const int64_t room = config_.inputs() / slot_elements_;
    int64_t most_inputs = 1;
    for (const Tile& tile : tiles)
      most_inputs = std::max(most_inputs, UnionOf(shape_, tile.blocks).count());
    const int64_t places =
        CeilDivide(shape_.height, t_.rows) * CeilDivide(shape_.width, t_.columns);
    int64_t slots = std::min<int64_t>(t_.turns(), std::max<int64_t>(1, room / t_.chunk)) * t_.chunk;
    if (t_.threads > 1 && shape_.kernel.taps() == 1 && room >= most_inputs) {
      const int64_t rows_of_all = room / most_inputs;
      all_fit_ = rows_of_all >= places;
      const bool few = rows_of_all == 1 || all_fit_;
      slots =
          std::max(slots, few ? room : std::min<int64_t>(t_.turns(), rows_of_all) * most_inputs);
    }
    input_slots_.resize(static_cast<size_t>(std::min(slots, room)));
    int64_t blocks = 0;
    for (const BlockRange& range : shape_.reads) blocks = std::max(blocks, range.last);
    slots_of_.resize(static_cast<size_t>(blocks));
  }

  void MakeWeightSlots(const std::vector<Tile>& tiles) {
    for (const Tile& tile : tiles) {
      for (const Chunk& chunk : tile.chunks) weight_slot_ = std::max(weight_slot_, chunk.weights);
    }
    weight_slots_.resize(
        static_cast<size_t>(std::min<int64_t>(t_.threads, config_.weights() / weight_slot_)));
  }

  struct InputSlot {
    int64_t block = -1;  // -1: the slot is empty
    Stretch rows, columns;
    std::optional<size_t> last_user;
  };
  struct WeightSlot {
    std::array<int64_t, 4> holds = {-1, -1, -1, -1};  // output blocks, input blocks
    std::optional<size_t> last_user;
  };

  static void KeepLast(const std::optional<size_t>& user, std::optional<size_t>* last) {
    if (user.has_value() && (!last->has_value() || **last < *user)) *last = user;
  }

  bool PlaceInputs(const Tile& tile, Chunk* chunk, std::optional<size_t>* last_user) {
    for (int64_t i = chunk->inputs.first; i < chunk->inputs.end(); ++i) {
      const std::optional<int64_t> there = FindInput(tile, i);
      chunk->inputs_at.push_back(there.value_or(-1));
    }
    for (size_t n = 0; n < chunk->inputs_at.size(); ++n) {
      if (chunk->inputs_at[n] >= 0) continue;
      if (!TakeInputSlot(last_user)) return false;
      const int64_t block = chunk->inputs.first + static_cast<int64_t>(n);
      HoldInput(block, tile);
      chunk->inputs_at[n] = static_cast<int64_t>(input_cursor_) * slot_elements_;
      AddToRuns(tile, block, chunk->inputs_at[n], chunk);
    }
    return true;
  }

  // Returns where an input block of a tile is stored on chip, if it is. If kernels have one tap,
  // the rows of a larger tile suffice.
  std::optional<int64_t> FindInput(const Tile& tile, int64_t block) {
    const bool parts = shape_.kernel.taps() == 1;
    std::optional<size_t> first;
    for (const size_t s : slots_of_[static_cast<size_t>(block)]) {
      const InputSlot& slot = input_slots_[s];
      if (slot.columns != tile.columns || (first.has_value() && *first < s)) continue;
      const bool within = slot.rows.first <= tile.rows.first && tile.rows.end() <= slot.rows.end();
      if (slot.rows == tile.rows || (parts && within)) first = s;
    }
    if (!first.has_value()) return std::nullopt;
    InputSlot& slot = input_slots_[*first];
    slot.last_user = number_;
    const int64_t row = (tile.rows.first - slot.rows.first) * shape_.row_step();
    return static_cast<int64_t>(*first) * slot_elements_ +
           row * shape_.InputColumns(tile.columns.count, t_.packed);
  }

  // Assigns a tile's input block to the slot at the cursor.
  void HoldInput(int64_t block, const Tile& tile) {
    InputSlot& slot = input_slots_[input_cursor_];
    if (slot.block >= 0) {
      auto& others = slots_of_[static_cast<size_t>(slot.block)];
      others.erase(std::find(others.begin(), others.end(), input_cursor_));
    }
    slot = {block, tile.rows, tile.columns, number_};
    slots_of_[static_cast<size_t>(block)].push_back(input_cursor_);
  }

  // Moves the cursor to the next slot that this chunk does not use itself. Returns false if there
  // is none.
  bool TakeInputSlot(std::optional<size_t>* last_user) {
    for (size_t tries = 0; tries < input_slots_.size(); ++tries) {
      input_cursor_ = (input_cursor_ + 1) % input_slots_.size();
      const InputSlot& slot = input_slots_[input_cursor_];
      if (slot.last_user == number_) continue;
      KeepLast(slot.last_user, last_user);
      return true;
    }
    return false;
  }

  void AddToRuns(const Tile& tile, int64_t block, int64_t at, Chunk* chunk) const {
    const int64_t elements = InputElements(tile.rows.count, tile.columns.count);
    if (!chunk->input_loads.empty()) {
      Chunk::Run& run = chunk->input_loads.back();
      if (run.block + run.count == block && run.at + run.count * elements == at) {
        ++run.count;
        return;
      }
    }
    chunk->input_loads.push_back({block, 1, at});
  }

  bool PlaceWeights(Chunk* chunk, std::optional<size_t>* last_user) {
    if (shape_.one_weight) {
      chunk->load_weights = number_ == 0;
      return true;
    }
    if (t_.resident) return PlaceResidentWeights(chunk);
    const std::array<int64_t, 4> key = {chunk->outputs.first, chunk->outputs.count,
                                        chunk->inputs.first, chunk->inputs.count};
    if (weight_slots_.empty()) return false;
    size_t at = weight_slots_.size();
    for (size_t s = 0; s < weight_slots_.size(); ++s) {
      if (weight_slots_[s].holds == key) at = s;
    }
    if (at == weight_slots_.size()) {
      at = weight_cursor_ = (weight_cursor_ + 1) % weight_slots_.size();
      KeepLast(weight_slots_[at].last_user, last_user);
      weight_slots_[at].holds = key;
      chunk->load_weights = true;
    }
    weight_slots_[at].last_user = number_;
    PutPairs(static_cast<int64_t>(at) * weight_slot_, chunk);
    return true;
  }

  bool PlaceResidentWeights(Chunk* chunk) {
    bool all_there = true;
    for (Chunk::Pair& pair : chunk->pairs) {
      const int64_t there = WeightsOf(pair);
      if (there < 0) {
        all_there = false;
      } else {
        pair.weights_at = there;
      }
    }
    if (all_there) return true;
    if (resident_ + chunk->weights > config_.weights()) return false;
    chunk->load_weights = true;
    PutPairs(resident_, chunk);
    resident_ += chunk->weights;
    for (const Chunk::Pair& pair : chunk->pairs) WeightsOf(pair) = pair.weights_at;
    return true;
  }

  // Returns where a pair's resident weights are stored on chip, -1 if they have not been loaded.
  int64_t& WeightsOf(const Chunk::Pair& pair) {
    if (weights_of_.empty()) weights_of_.resize(shape_.reads.size() * slots_of_.size(), -1);
    return weights_of_[static_cast<size_t>(pair.output) * slots_of_.size() +
                       static_cast<size_t>(pair.input)];
  }

  void PutPairs(int64_t at, Chunk* chunk) const {
    for (Chunk::Pair& pair : chunk->pairs) {
      pair.weights_at = at;
      at += shape_.kernel.taps();
    }
  }

  void CountSteps(const Tile& tile, Chunk* chunk) const {
    const bool many_inputs = chunk->inputs.count > chunk->outputs.count;
    if (many_inputs && LoopsInputs(tile, *chunk)) {
      chunk->loop = Chunk::Loop::kInputs;
    } else if (LoopsOutputs(tile, *chunk)) {
      chunk->loop = Chunk::Loop::kOutputs;
    }
    const int64_t blocks = chunk->loop == Chunk::Loop::kOutputs  ? chunk->outputs.count
                           : chunk->loop == Chunk::Loop::kInputs ? chunk->inputs.count
                                                                 : 1;
    chunk->steps = std::ssize(chunk->pairs) * shape_.kernel.taps() / blocks;
    chunk->repeats = tile.pixels() * blocks;
  }

  // Returns whether consecutive pixels are at a constant distance on chip, and the chunk has all
  // pairs of its blocks.
  bool LoopsPixels(const Tile& tile, const Chunk& chunk) const {
    if (shape_.kernel.taps() > 1 || shape_.one_weight) return false;
    if (tile.rows.count > 1 &&
        shape_.row_step() * shape_.InputColumns(tile.columns.count, t_.packed) !=
            tile.columns.count * shape_.column_step(t_.packed)) {
      return false;
    }
    return std::ssize(chunk.pairs) == chunk.outputs.count * chunk.inputs.count;
  }

  // Returns whether, in addition, the weights of consecutive output blocks are adjacent.
  bool LoopsOutputs(const Tile& tile, const Chunk& chunk) const {
    if (!LoopsPixels(tile, chunk)) return false;
    for (auto pair = chunk.pairs.begin(); pair != chunk.pairs.end();) {
      const int64_t first = pair->weights_at;
      for (int64_t output = 0; output < chunk.outputs.count; ++output, ++pair) {
        if (pair->weights_at != first + output) return false;
      }
    }
    return true;
  }

  // Returns whether, in addition to LoopsPixels, the pixels and the weights of consecutive input
  // blocks are at constant distances.
  bool LoopsInputs(const Tile& tile, const Chunk& chunk) const {
    if (!LoopsPixels(tile, chunk)) return false;
    const int64_t step = chunk.input_weight_step();
    if (step < 0) return false;
    auto pair = chunk.pairs.begin();
    for (int64_t input = 0; input < chunk.inputs.count; ++input) {
      auto first = chunk.pairs.begin();
      for (int64_t output = 0; output < chunk.outputs.count; ++output, ++pair, ++first) {
        if (pair->weights_at != first->weights_at + input * step) return false;
      }
    }
    for (size_t i = 1; i < chunk.inputs_at.size(); ++i) {
      if (chunk.inputs_at[i] - chunk.inputs_at[i - 1] != slot_elements_) return false;
    }
    return true;
  }

  // Lets a chunk wait only if no earlier chunk has waited for the same or a later chunk.
  static void LinkWaits(std::vector<Tile>* tiles) {
    std::vector<Chunk*> chunks;
    for (Tile& tile : *tiles) {
      for (Chunk& chunk : tile.chunks) chunks.push_back(&chunk);
    }
    std::optional<size_t> waited;
    for (Chunk* chunk : chunks) {
      if (!chunk->waits_for.has_value()) continue;
      if (waited.has_value() && *chunk->waits_for <= *waited) {
        chunk->waits_for.reset();
        continue;
      }
      waited = chunk->waits_for;
      chunks[*waited]->is_waited_for = true;
    }
  }

  const MatrixShape& shape_;
  const MatrixTiling& t_;
  const Config& config_;
  const int64_t slot_elements_;  // elements of an input block
  bool all_fit_ = false;         // whether the inputs of all tiles stay on chip
  size_t number_ = 0;            // number of the current chunk
  std::vector<InputSlot> input_slots_;
  // By input block: the slots that currently hold it.
  std::vector<absl::InlinedVector<size_t, 4>> slots_of_;
  size_t input_cursor_ = SIZE_MAX;
  int64_t weight_slot_ = 1, resident_ = 0;
  std::vector<WeightSlot> weight_slots_;
  std::vector<int64_t> weights_of_;  // for WeightsOf: [output block][input block]
  size_t weight_cursor_ = SIZE_MAX;
};

}  // namespace

BlockRange UnionOf(const MatrixShape& shape, const Stretch& outputs) {
  BlockRange all = shape.reads[static_cast<size_t>(outputs.first)];
  for (int64_t o = outputs.first; o < outputs.end(); ++o) {
    const BlockRange& range = shape.reads[static_cast<size_t>(o)];
    all = {std::min(all.first, range.first), std::max(all.last, range.last)};
  }
  return all;
}

std::string Describe(const MatrixTiling& t) {
  return fmt::format("{} virtual thread{}, tiles of {} block{} x {} x {}", t.threads,
                     t.threads == 1 ? "" : "s", t.blocks, t.blocks == 1 ? "" : "s", t.rows,
                     t.columns);
}

std::vector<Stretch> CutInto(int64_t first, int64_t count, int64_t piece) {
  std::vector<Stretch> parts;
  for (int64_t at = 0; at < count; at += piece)
    parts.push_back({first + at, std::min(piece, count - at)});
  return parts;
}

AccumulatorRegions RegionsOf(const MatrixShape& shape, const Config& config, int threads) {
  const int64_t quarter = config.accumulators() / 4;
  if (threads == 4) {
    const int64_t constants = shape.ConstantElements(std::ssize(shape.reads));
    return {quarter - constants, quarter, quarter - constants, constants, 4 * quarter};
  }
  if (threads == 3) return {quarter, quarter, 3 * quarter, quarter, 4 * quarter};
  return {threads == 1 ? 2 * quarter : quarter, quarter, 2 * quarter, quarter, 3 * quarter};
}

std::vector<Tile> TilesOf(const MatrixShape& shape, const MatrixTiling& t, const Config& config) {
  std::vector<Tile> tiles = WholeTiles(shape, t);
  if (t.drain > 0) Taper(shape, t, &tiles);
  if (!Planner(shape, t, config).Plan(&tiles)) return {};
  return tiles;
}

Pieces PiecesOf(const Tile& tile, const Tile* next) {
  const Chunk &first = tile.chunks.front(), &last = tile.chunks.back();
  int64_t steps = 0;
  for (const Chunk& chunk : tile.chunks) steps += chunk.steps;
  Pieces pieces;
  if (steps == 1) return pieces;
  const int64_t half = std::max<int64_t>(1, steps / 2);
  int64_t wait = kRowDispatch;
  if (next != nullptr) wait += std::max(next->elements(), std::min(half, next->chunks[0].steps));
  pieces.tail = std::clamp<int64_t>(CeilDivide(wait, last.repeats), 1, std::min(half, last.steps));
  pieces.head =
      tile.chunks.size() == 1 ? std::max<int64_t>(1, (steps - pieces.tail) / 2) : first.steps;
  return pieces;
}

}  // namespace kiln::vta
