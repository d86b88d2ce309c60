// Ranks the tilings of a matrix layer by estimated cycles: first all that fit by their busiest
// unit, then the best of these by a recurrence over chunks and tiles. tiling_search.cc times the
// best of those at the cycle level.

#include "kiln/targets/vta/compile/schedule.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "kiln/support/check.h"

namespace kiln::vta {
namespace {

constexpr size_t kSimulated = 256;       // tilings for which the recurrence is evaluated
constexpr size_t kSimulatedOfSize = 64;  // further tilings of each size of tiles
constexpr size_t kSimulatedOfMany =
    64;  // those of more than kMostTiles tiles, which take long, only among this many best
constexpr int64_t kMostTiles = 512;
constexpr size_t kVaried = 8;     // tilings whose ramp and drain are varied
constexpr int64_t kPipeline = 6;  // cycles from a step to its result
constexpr int64_t kExamination = 3;
constexpr int64_t kDispatch = 20;  // cycles of a tile's ALU instructions in addition to their steps
constexpr int64_t kMaxTiles = 1 << 16;
constexpr int kMostRamp = 4;
// The approximate number of instructions fetched before any data: those in flight and those in the
// queues.
constexpr int64_t kFetchedFirst = 24;

int64_t BeatsOf(int64_t bytes, const Config& c) { return CeilDivide(bytes, c.memory_port_bytes); }

// Returns the sizes of pieces that cut an axis of `count` elements into 1, 2, 3, ... parts.
std::vector<int64_t> PieceSizes(int64_t count) {
  std::set<int64_t> sizes;
  for (int64_t parts = 1; parts <= count; ++parts) sizes.insert(CeilDivide(count, parts));
  return {sizes.begin(), sizes.end()};
}
int64_t StepsOf(const MatrixShape& shape, const Stretch& blocks, const Stretch& inputs) {
  int64_t pairs = 0;
  for (int64_t o = blocks.first; o < blocks.first + blocks.count; ++o) {
    const BlockRange& range = shape.reads[static_cast<size_t>(o)];
    pairs += std::max<int64_t>(
        0, std::min(range.last, inputs.first + inputs.count) - std::max(range.first, inputs.first));
  }
  return pairs * shape.kernel.taps();
}

// The part of a tiling's loads and sums that depends only on the output blocks of a tile and on the
// input blocks of a chunk.
struct BlocksCut {
  int64_t groups = 0;         // tiles along the blocks
  int64_t input_blocks = 0;   // that the groups read, one after the other
  int64_t steps = 0;          // of the GEMM unit per pixel: elements of weights
  int64_t most_weights = 0;   // of one chunk
  bool single_chunks = true;  // each group has one chunk
};

BlocksCut CutBlocks(const MatrixShape& shape, int64_t blocks, int64_t chunk) {
  BlocksCut cut;
  for (const Stretch& group : CutInto(0, std::ssize(shape.reads), blocks)) {
    const BlockRange range = UnionOf(shape, group);
    ++cut.groups;
    cut.input_blocks += range.count();
    if (range.count() > chunk) cut.single_chunks = false;
    for (int64_t at = range.first; at < range.last; at += chunk) {
      const int64_t weights = StepsOf(shape, group, {at, std::min(chunk, range.last - at)});
      cut.most_weights = std::max(cut.most_weights, weights);
      cut.steps += weights;
    }
  }
  return cut;
}

// Returns the sum of size(count) over the pieces into which CutInto cuts an axis.
template <typename Size>
int64_t SumOverPieces(int64_t count, int64_t piece, const Size& size) {
  const int64_t rest = count % piece;
  return count / piece * size(piece) + (rest > 0 ? size(rest) : 0);
}

// Returns a bound on a tiling's cycles: those of its busiest unit. It has the value that a sum over
// TilesOf would have, but is computed without the tiles. CutBlocks returns `cut` for the sizes of
// the tiling.
int64_t BusiestOf(const MatrixShape& shape, const MatrixTiling& t, const BlocksCut& cut,
                  const Config& c) {
  const int64_t groups = cut.groups, steps = cut.steps;
  int64_t input_blocks = cut.input_blocks;
  const int64_t rows =
      SumOverPieces(shape.height, t.rows, [&](int64_t count) { return shape.InputRows(count); });
  const int64_t columns = SumOverPieces(
      shape.width, t.columns, [&](int64_t count) { return shape.InputColumns(count, t.packed); });
  const int64_t places = CeilDivide(shape.height, t.rows) * CeilDivide(shape.width, t.columns);
  // Inputs stay on chip if the next tile needs the same ones.
  const int64_t room =
      c.inputs() / (shape.InputRows(t.rows) * shape.InputColumns(t.columns, t.packed));
  const bool stay =
      cut.single_chunks || (shape.kernel.taps() == 1 && room >= input_blocks / groups);
  if (stay && (!t.blocks_outermost || room >= places * input_blocks / groups))
    input_blocks /= groups;
  const bool once = t.resident || (cut.single_chunks && t.blocks_outermost);
  const int64_t weights = shape.one_weight ? 1 : steps * (once ? 1 : places);
  const int64_t pixels = shape.height * shape.width, elements = pixels * std::ssize(shape.reads);
  const int64_t output_beats = BeatsOf(c.output_element_bytes(), c);
  const int64_t load = rows * columns * input_blocks * BeatsOf(c.input_element_bytes(), c) +
                       weights * BeatsOf(c.weight_element_bytes(), c) +
                       (shape.residual ? elements * output_beats : 0);
  return std::max({load, steps * pixels, elements * (shape.alu_steps + 1),
                   elements * shape.planes * output_beats});
}

// Returns the number of tiles of a tiling.
int64_t TileCount(const MatrixShape& shape, const MatrixTiling& t) {
  return CeilDivide(std::ssize(shape.reads), t.blocks) * CeilDivide(shape.height, t.rows) *
         CeilDivide(shape.width, t.columns);
}

bool FitsOnChip(const MatrixShape& shape, const MatrixTiling& t, const BlocksCut& cut,
                const Config& c) {
  const AccumulatorRegions regions = RegionsOf(shape, c, t.threads);
  // More than two threads need the quarter of the residuals, and stores whose tokens cannot be
  // mistaken for each other.
  if (t.threads > 2 && (shape.residual || shape.planes > 1)) return false;
  if (t.blocks * t.rows * t.columns > regions.sums) return false;
  if (shape.ConstantElements(t.blocks) > regions.constants) return false;
  const int64_t turns = std::min(t.threads, 3);
  if (t.chunk * shape.InputRows(t.rows) * shape.InputColumns(t.columns, t.packed) >
      c.inputs() / turns)
    return false;
  if (shape.one_weight) return t.resident;
  return t.resident ? cut.steps <= c.weights() : cut.most_weights <= c.weights() / turns;
}

// Returns the number of micro-ops of all GEMM instructions. Equal sequences count once; sequences
// differ in the locations of sums, inputs and weights on chip.
int64_t UopsOf(const std::vector<Tile>& tiles, const MatrixTiling& t) {
  std::set<std::array<int64_t, 8>> seen;
  int64_t uops = 0;
  for (size_t k = 0; k < tiles.size(); ++k) {
    const Tile& tile = tiles[k];
    for (const Chunk& chunk : tile.chunks) {
      const std::array<int64_t, 8> key = {static_cast<int64_t>(k) % t.threads,
                                          chunk.inputs_at[0],
                                          chunk.pairs[0].weights_at,
                                          chunk.outputs.first - tile.blocks.first,
                                          chunk.outputs.count,
                                          chunk.inputs.count,
                                          tile.rows.count,
                                          tile.columns.count};
      if (seen.insert(key).second) uops += chunk.steps;
    }
  }
  return uops;
}

// Returns the number of instructions for a tile's loads of inputs and its stores.
int64_t PartsOfTile(const MatrixShape& shape, const MatrixTiling& t, const Tile& tile) {
  int64_t parts =
      shape.planes *
      std::ssize(PartsOf({tile.blocks.count, tile.rows.count, tile.columns.count, shape.output}));
  for (const Chunk& chunk : tile.chunks) {
    for (const Chunk::Run& run : chunk.input_loads) {
      parts += std::ssize(
          PartsOf(shape.InputVolume(run.count, tile.rows.count, tile.columns.count, t.packed)));
    }
  }
  return parts;
}

// Returns the number of instructions, or `most` if there are more.
int64_t InstructionsUpTo(int64_t most, const MatrixShape& shape, const MatrixTiling& t,
                         const std::vector<Tile>& tiles) {
  int64_t instructions = t.threads;
  for (const Tile& tile : tiles) {
    if (instructions >= most) return most;
    instructions += PartsOfTile(shape, t, tile) + shape.alu_steps + 1 + (t.threads == 2 ? 1 : 0);
    if (shape.residual) instructions += tile.blocks.count;
    for (const Chunk& chunk : tile.chunks) instructions += chunk.load_weights ? 2 : 1;
  }
  return std::min(instructions, most);
}

int64_t LoadBeats(const MatrixShape& shape, const MatrixTiling& t, const Tile& tile,
                  const Chunk& chunk, const Config& c) {
  int64_t blocks = 0;
  for (const Chunk::Run& run : chunk.input_loads) blocks += run.count;
  const int64_t elements =
      shape.InputVolume(blocks, tile.rows.count, tile.columns.count, t.packed).elements();
  return elements * BeatsOf(c.input_element_bytes(), c) +
         (chunk.load_weights ? chunk.weights * BeatsOf(c.weight_element_bytes(), c) : 0);
}

// The recurrence: a model of the machine's units, each with the cycle from which it is free.
class Estimate {
 public:
  Estimate(const MatrixShape& shape, const MatrixTiling& t, const Config& c,
           const std::vector<Tile>& tiles)
      : shape_(shape),
        t_(t),
        c_(c),
        tiles_(tiles),
        output_beats_(BeatsOf(c.output_element_bytes(), c)),
        cleared_(tiles.size()),
        summed_(tiles.size()),
        stored_(tiles.size()) {}

  int64_t Cycles() {
    const int64_t fetched = InstructionsUpTo(kFetchedFirst, shape_, t_, tiles_);
    port_ = c_.memory_latency + fetched * BeatsOf(kInstructionBytes, c_) + UopsOf(tiles_, t_);
    dispatch_ = alu_ = c_.memory_latency;
    for (size_t k = 0; k < tiles_.size(); ++k) RunTile(k);
    if (t_.threads > 1) Finish(tiles_.size() - 1, 0);
    return stored_.back();
  }

 private:
  size_t threads() const { return static_cast<size_t>(t_.threads); }

  void Clear(size_t k) {
    if (k >= tiles_.size()) return;
    const int64_t free = k < threads() ? 0 : stored_[k - threads()];
    dispatch_ = std::max(dispatch_, free);
    alu_ = cleared_[k] = std::max(free, alu_) + tiles_[k].elements();
  }

  // Adds the ALU's work for a tile and its store, which begins after cycle `retired`, when all
  // earlier instructions have retired.
  void Finish(size_t k, int64_t retired) {
    const int64_t elements = tiles_[k].elements();
    if (shape_.residual) {
      port_ += elements * output_beats_;
      if (t_.threads == 1)
        alu_ = std::max(alu_, summed_[k] + elements * output_beats_ + c_.memory_latency);
    }
    alu_ = std::max(alu_, summed_[k] + kPipeline) + elements * shape_.alu_steps + kDispatch;
    store_ = std::max({store_, alu_, retired}) + elements * shape_.planes * output_beats_;
    stored_[k] = store_ + c_.memory_latency;
  }

  void RunTile(size_t k) {
    const Tile& tile = tiles_[k];
    if (t_.threads == 1 || k == 0) Clear(k);
    const Pieces pieces = PiecesOf(tile, k + 1 < tiles_.size() ? &tiles_[k + 1] : nullptr);
    for (size_t j = 0; j < tile.chunks.size(); ++j) {
      const Chunk& chunk = tile.chunks[j];
      const int64_t room = chunk.waits_for.has_value() ? given_[*chunk.waits_for] : 0;
      if (chunk.loads()) port_ = std::max(port_, room) + LoadBeats(shape_, t_, tile, chunk, c_);
      // The examination overlaps with the previous GEMM.
      const int64_t there = chunk.loads() ? port_ + c_.memory_latency : 0;
      dispatch_ = std::max({dispatch_, there, cleared_[k]}) + std::min(chunk.steps, pieces.head) +
                  kExamination;
      const int64_t start = std::max(gemm_, dispatch_);
      gemm_ = start + chunk.steps * chunk.repeats;
      if (t_.threads > 1 && j == 0)
        AfterFirst(k, t_.threads == 2 ? start + pieces.head * chunk.repeats : gemm_);
      if (t_.threads == 2 && j + 1 == tile.chunks.size() && k + 1 < tiles_.size()) {
        Clear(k + 1);
        gemm_ = std::max(gemm_, dispatch_ + pieces.tail * chunk.repeats);
      }
      // Tokens are given in order, so ALU work that was dispatched earlier must be done first.
      const bool behind_alu =
          t_.threads > 1 && (j > 0 || (t_.threads == 2 && tile.chunks.size() == 1));
      given_.push_back(behind_alu ? std::max(gemm_ + kPipeline, alu_) : gemm_ + kPipeline);
    }
    summed_[k] = gemm_;
    if (t_.threads == 1) Finish(k, gemm_);
    if (t_.threads > 2 && k == 0) ClearAhead();
  }

  void AfterFirst(size_t k, int64_t retired) {
    if (k == 0) return;
    Finish(k - 1, retired);
    const size_t ahead = k + static_cast<size_t>(TilesAhead(t_.threads));
    if (t_.threads > 2 && ahead >= threads()) Clear(ahead);
  }

  void ClearAhead() {
    for (size_t k = 1; k < threads(); ++k) Clear(k);
  }

  const MatrixShape& shape_;
  const MatrixTiling& t_;
  const Config& c_;
  const std::vector<Tile>& tiles_;
  const int64_t output_beats_;
  int64_t port_ = 0, dispatch_ = 0, gemm_ = 0, alu_ = 0, store_ = 0;
  std::vector<int64_t> given_;                      // by chunk: when its GEMM frees its buffers
  std::vector<int64_t> cleared_, summed_, stored_;  // by tile
};

bool IsBetter(const RankedTiling& a, const RankedTiling& b) {
  return std::tuple(a.cycles, a.number) < std::tuple(b.cycles, b.number);
}

// The best estimates so far, of all tilings and of each size of tiles, as many of each as later
// steps may use.
class BestEstimates {
 public:
  void Add(int64_t cycles, int size) {
    Keep(cycles, kKept, &all_);
    Keep(cycles, kKeptOfSize, &of_size_[size]);
  }
  // Returns whether a tiling of size class `size` that takes at least `cycles` cycles is certainly
  // not among them.
  bool AreBetterThan(int64_t cycles, int size) const {
    const auto at = of_size_.find(size);
    return all_.size() == kKept && *all_.rbegin() < cycles && at != of_size_.end() &&
           at->second.size() == kKeptOfSize && *at->second.rbegin() < cycles;
  }

 private:
  // More are kept than will be timed, because tilings whose micro-ops do not fit are skipped.
  static constexpr size_t kKept = 24, kKeptOfSize = 4;
  static void Keep(int64_t cycles, size_t most, std::multiset<int64_t>* kept) {
    kept->insert(cycles);
    if (kept->size() > most) kept->erase(std::prev(kept->end()));
  }
  std::multiset<int64_t> all_;
  std::map<int, std::multiset<int64_t>> of_size_;
};

// Adds variants of a tiling with other ramps and drains.
void AddVariants(const MatrixShape& shape, const MatrixTiling tiling, const Config& c,
                 size_t first_number, std::vector<RankedTiling>* ranked) {
  if (tiling.threads == 1) return;
  for (const int ramp : {0, 1}) {
    for (const int64_t eighths : {0, 1, 2, 4, 8, 12}) {
      MatrixTiling t = tiling;
      t.ramp = ramp;
      t.drain = tiling.blocks * tiling.rows * tiling.columns * eighths / 8;
      if (t.ramp == 0 && t.drain == 0) continue;
      const auto cycles = EstimateCycles(shape, t, c);
      if (cycles.has_value()) ranked->push_back({t, *cycles, first_number + ranked->size()});
    }
  }
}

}  // namespace

MatrixShape ShapeOf(const MatrixLayer& layer, const Network& network) {
  const FeatureMap& output = network.maps[static_cast<size_t>(layer.output)];
  const Requantisation& r = layer.requantisation;
  MatrixShape shape;
  shape.height = output.height;
  shape.width = output.width;
  shape.kernel = layer.kernel;
  shape.x_step = layer.input.x_step;
  shape.reads = layer.reads;
  shape.begins_with_bias = r.begins_with_bias;
  shape.residual = layer.residual.has_value();
  shape.planes = output.planes();
  shape.one_weight = layer.one_weight;
  const MapView& view = layer.input;
  const FeatureMap& input = network.maps[static_cast<size_t>(view.map)];
  const int64_t row_step = shape.kernel.y == 1 ? shape.kernel.stride_y * view.y_step : view.y_step;
  shape.input = {input.rows() * input.pitch(), row_step * input.pitch(), 1};
  shape.output = {output.rows() * output.pitch(), output.pitch(), 1};
  const int64_t columns_end = input.border.left + view.x0 - shape.kernel.left * view.x_step +
                              shape.width * shape.column_step(false);
  shape.whole_columns = shape.kernel.x == 1 && columns_end <= input.pitch();
  shape.constant_rows = r.multiplies ? 4 : r.least.empty() ? 1 : 3;
  if (output.wide) {
    shape.alu_steps = shape.constant_rows + 3;
  } else {
    shape.alu_steps = r.multiplies ? 5 : r.begins_with_bias ? 3 : 4;
    if (shape.residual) shape.alu_steps += 4;
  }
  return shape;
}

std::optional<int64_t> EstimateCycles(const MatrixShape& shape, const MatrixTiling& t,
                                      const Config& c) {
  const std::vector<Tile> tiles = TilesOf(shape, t, c);
  if (tiles.empty()) return std::nullopt;
  return Estimate(shape, t, c, tiles).Cycles();
}

int64_t LeastEstimate(const MatrixShape& shape, const MatrixTiling& t, const Config& c) {
  const auto rest = [](int64_t count, int64_t piece) {
    return count % piece == 0 ? piece : count % piece;
  };
  const int64_t pixels = shape.height * shape.width, elements = pixels * std::ssize(shape.reads);
  int64_t pairs = 0;
  for (const BlockRange& range : shape.reads) pairs += range.count();
  const int64_t steps = pairs * shape.kernel.taps() * pixels;
  const int64_t last = rest(std::ssize(shape.reads), t.blocks) * rest(shape.height, t.rows) *
                       rest(shape.width, t.columns);
  const int64_t output_beats = BeatsOf(c.output_element_bytes(), c) * shape.planes;
  const int64_t first =
      shape.InputRows(std::min(t.rows, shape.height)) *
          shape.InputColumns(std::min(t.columns, shape.width), t.packed) *
          BeatsOf(c.input_element_bytes(), c) +
      (shape.one_weight ? 1 : shape.kernel.taps()) * BeatsOf(c.weight_element_bytes(), c);
  const int64_t result =
      last * (shape.alu_steps + output_beats) + kPipeline + kDispatch + c.memory_latency;
  const int64_t alu =
      elements * (shape.alu_steps + 1) + TileCount(shape, t) * kDispatch + last * output_beats;
  return 2 * c.memory_latency + std::max(first + steps + result, alu);
}

int SizeClassOf(const MatrixTiling& tiling) {
  return std::bit_width(static_cast<uint64_t>(tiling.elements()));
}

std::vector<RankedTiling> RankTilings(const MatrixShape& shape, const Config& c, int threads,
                                      Ranked which, double effort) {
  struct Candidate {
    MatrixTiling tiling;
    int64_t bound;
    size_t number;
  };
  std::vector<Candidate> candidates;
  const auto consider = [&](const MatrixTiling& t, const BlocksCut& cut) {
    if (threads != 0 && t.threads != threads) return;
    if (!FitsOnChip(shape, t, cut, c) || TileCount(shape, t) > kMaxTiles) return;
    candidates.push_back({t, BusiestOf(shape, t, cut, c), candidates.size()});
  };
  int64_t most_inputs = 1;
  for (const BlockRange& range : shape.reads) most_inputs = std::max(most_inputs, range.count());
  const std::vector<int64_t> row_sizes = PieceSizes(shape.height),
                             column_sizes = PieceSizes(shape.width);
  for (const int64_t blocks : PieceSizes(std::ssize(shape.reads))) {
    const BlockRange range =
        UnionOf(shape, {0, std::min<int64_t>(blocks, std::ssize(shape.reads))});
    std::vector<std::pair<int64_t, BlocksCut>> cuts;  // by the size of a chunk
    for (const int64_t chunk : PieceSizes(std::max(most_inputs, range.count())))
      cuts.emplace_back(chunk, CutBlocks(shape, blocks, chunk));
    for (const int64_t rows : row_sizes) {
      for (const int64_t columns : column_sizes) {
        if (columns < shape.width && rows > columns) continue;  // cut rows before columns
        for (const auto& [chunk, cut] : cuts) {
          for (int variant = 0; variant < 4 * kMaxThreads; ++variant) {
            const int order = variant / kMaxThreads;
            MatrixTiling t{1 + variant % kMaxThreads, blocks,          rows, columns, chunk,
                           (order & 1) != 0,          (order & 2) != 0};
            consider(t, cut);
            t.packed = true;
            if (shape.CanPack()) consider(t, cut);
          }
        }
      }
    }
  }
  const auto by_bound = [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.bound, -a.tiling.threads,
                      -a.tiling.blocks * a.tiling.rows * a.tiling.columns, a.number) <
           std::tuple(b.bound, -b.tiling.threads,
                      -b.tiling.blocks * b.tiling.rows * b.tiling.columns, b.number);
  };
  std::sort(candidates.begin(), candidates.end(), by_bound);
  // Choose the candidates for the recurrence. Equal estimates are ranked in this order.
  std::vector<Candidate> chosen;
  std::map<int, size_t> of_size;
  const auto part_of = [&](size_t count) {
    return static_cast<size_t>(static_cast<double>(count) * effort);
  };
  for (size_t i = 0; i < candidates.size(); ++i) {
    Candidate candidate = candidates[i];
    if (TileCount(shape, candidate.tiling) > kMostTiles) {
      if (i >= part_of(kSimulatedOfMany)) continue;
    } else if (i >= part_of(kSimulated) &&
               ++of_size[SizeClassOf(candidate.tiling)] > part_of(kSimulatedOfSize)) {
      continue;
    }
    candidate.bound = LeastEstimate(shape, candidate.tiling, c);
    candidate.number = chosen.size();
    chosen.push_back(candidate);
  }
  std::sort(chosen.begin(), chosen.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.bound, a.number) < std::tuple(b.bound, b.number);
  });
  std::vector<RankedTiling> ranked;
  BestEstimates best;
  for (const Candidate& candidate : chosen) {
    const int size = SizeClassOf(candidate.tiling);
    if (which == Ranked::kBest && best.AreBetterThan(candidate.bound, size)) continue;
    const auto cycles = EstimateCycles(shape, candidate.tiling, c);
    if (!cycles.has_value()) continue;
    best.Add(*cycles, size);
    ranked.push_back({candidate.tiling, *cycles, candidate.number});
  }
  std::sort(ranked.begin(), ranked.end(), IsBetter);
  const size_t varied = std::min(ranked.size(), kVaried);
  for (size_t i = 0; i < varied; ++i)
    AddVariants(shape, ranked[i].tiling, c, chosen.size(), &ranked);
  std::sort(ranked.begin(), ranked.end(), IsBetter);
  return ranked;
}

std::vector<MatrixTiling> NeighboursOf(const MatrixShape& shape, const MatrixTiling& tiling,
                                       const Config& c) {
  std::vector<MatrixTiling> all;
  const auto add = [&](const auto& change) {
    MatrixTiling t = tiling;
    change(&t);
    const auto within = [](int64_t size, int64_t most) { return size > 0 && size <= most; };
    const bool possible = within(t.blocks, std::ssize(shape.reads)) &&
                          within(t.rows, shape.height) && within(t.columns, shape.width) &&
                          t.chunk > 0 && t.ramp >= 0 && t.ramp <= kMostRamp && t.drain >= 0 &&
                          (!t.packed || shape.CanPack());
    if (possible && FitsOnChip(shape, t, CutBlocks(shape, t.blocks, t.chunk), c) &&
        TileCount(shape, t) <= kMaxTiles)
      all.push_back(t);
  };
  for (const int by : {-1, 1}) {
    add([&](MatrixTiling* t) { t->rows += by; });
    add([&](MatrixTiling* t) { t->columns += by; });
    add([&](MatrixTiling* t) { t->blocks += by; });
    add([&](MatrixTiling* t) { t->chunk += by; });
    add([&](MatrixTiling* t) { t->ramp += by; });
    for (const int parts : {1, 4, 16}) {
      add([&](MatrixTiling* t) { t->drain += by * CeilDivide(tiling.elements(), parts); });
    }
  }
  add([](MatrixTiling* t) { t->blocks_outermost = !t->blocks_outermost; });
  add([](MatrixTiling* t) { t->packed = !t->packed; });
  for (const int turns : {0, 2, 3}) {
    if (turns < tiling.threads) add([&](MatrixTiling* t) { t->input_turns = turns; });
  }
  add([](MatrixTiling* t) { t->uops_first = !t->uops_first; });
  return all;
}

Certificate CertificateOf(const MatrixShape& shape, const Config& c, int64_t cycles) {
  Certificate certificate;
  certificate.cost = static_cast<double>(cycles);
  certificate.unit = "cycles";
  int64_t pairs = 0, last_input = 0;
  for (const BlockRange& range : shape.reads) {
    pairs += range.count();
    last_input = std::max(last_input, range.last);
  }
  const int64_t pixels = shape.height * shape.width, elements = pixels * std::ssize(shape.reads);
  // Every step takes a cycle. Every weight, every input pixel that a window reads and every
  // residual crosses the memory port at least once.
  const int64_t steps = pairs * shape.kernel.taps() * pixels;
  const int64_t rows = std::min(shape.InputRows(shape.height), shape.height * shape.kernel.y);
  const int64_t columns =
      std::min(shape.InputColumns(shape.width, false), shape.width * shape.kernel.x);
  const int64_t out_beats = BeatsOf(c.output_element_bytes(), c);
  const int64_t weights = shape.one_weight ? 1 : pairs * shape.kernel.taps();
  const int64_t reads = weights * BeatsOf(c.weight_element_bytes(), c) +
                        last_input * rows * columns * BeatsOf(c.input_element_bytes(), c) +
                        (shape.residual ? elements * out_beats : 0);
  const int64_t writes = elements * shape.planes * out_beats;
  const int64_t bound = std::max({steps, reads, writes});
  certificate.lower_bound = static_cast<double>(bound);
  certificate.bound_from = bound == steps   ? "GEMM steps"
                           : bound == reads ? "memory reads"
                                            : "memory writes";
  certificate.optimal = cycles == bound;
  return certificate;
}

}  // namespace kiln::vta
