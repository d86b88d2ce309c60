#include "kiln/targets/vta/schedule.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "kiln/support/check.h"

namespace kiln::vta {
namespace {

constexpr size_t kSimulated = 512;  // tilings that the recurrence is run for
constexpr int64_t kPipeline = 6;    // from a step to its result
constexpr int64_t kExamination = 3;
constexpr int64_t kDispatch = 40;  // what a row of instructions takes to be dispatched, in all
constexpr int64_t kMaxTiles = 1 << 16;

int64_t BeatsOf(int64_t bytes, const Config& c) { return CeilDivide(bytes, c.memory_port_bytes); }

std::vector<Stretch> CutInto(int64_t first, int64_t count, int64_t piece) {
  std::vector<Stretch> parts;
  for (int64_t at = 0; at < count; at += piece) parts.push_back({first + at, std::min(piece, count - at)});
  return parts;
}

// Sizes of pieces that cut an axis into 1, 2, 3, ... parts.
std::vector<int64_t> PieceSizes(int64_t count) {
  std::set<int64_t> sizes;
  for (int64_t parts = 1; parts <= count; ++parts) sizes.insert(CeilDivide(count, parts));
  return {sizes.begin(), sizes.end()};
}

// The input blocks that some output blocks read.
BlockRange UnionOf(const MatrixShape& shape, const Stretch& blocks) {
  BlockRange all = shape.reads[static_cast<size_t>(blocks.first)];
  for (int64_t o = blocks.first; o < blocks.first + blocks.count; ++o) {
    const BlockRange& range = shape.reads[static_cast<size_t>(o)];
    all = {std::min(all.first, range.first), std::max(all.last, range.last)};
  }
  return all;
}

int64_t StepsOf(const MatrixShape& shape, const Stretch& blocks, const Stretch& inputs) {
  int64_t pairs = 0;
  for (int64_t o = blocks.first; o < blocks.first + blocks.count; ++o) {
    const BlockRange& range = shape.reads[static_cast<size_t>(o)];
    pairs +=
        std::max<int64_t>(0, std::min(range.last, inputs.first + inputs.count) - std::max(range.first, inputs.first));
  }
  return pairs * shape.kernel.taps();
}

int64_t InputBeats(const MatrixShape& shape, const Tile& tile, const Chunk& chunk, const Config& c) {
  return chunk.blocks.count * shape.InputRows(tile.rows.count) * shape.InputColumns(tile.columns.count) *
         BeatsOf(c.input_element_bytes(), c);
}

int64_t LoadBeats(const MatrixShape& shape, const Tile& tile, const Chunk& chunk, const Config& c) {
  return (chunk.load_input ? InputBeats(shape, tile, chunk, c) : 0) +
         (chunk.load_weights ? chunk.weights * BeatsOf(c.weight_element_bytes(), c) : 0);
}

// What a tiling takes at least: the busiest unit. The same sums as over TilesOf, without the tiles.
int64_t BusiestOf(const MatrixShape& shape, const MatrixTiling& t, const Config& c) {
  int64_t groups = 0, input_blocks = 0, steps = 0, single = 1;
  for (const Stretch& blocks : CutInto(0, std::ssize(shape.reads), t.blocks)) {
    const BlockRange range = UnionOf(shape, blocks);
    ++groups;
    input_blocks += range.count();
    steps += StepsOf(shape, blocks, {range.first, range.count()});
    if (range.count() > t.chunk) single = 0;
  }
  int64_t rows = 0, columns = 0, places = 0;
  for (const Stretch& part : CutInto(0, shape.height, t.rows)) rows += shape.InputRows(part.count);
  for (const Stretch& part : CutInto(0, shape.width, t.columns)) columns += shape.InputColumns(part.count);
  places = CeilDivide(shape.height, t.rows) * CeilDivide(shape.width, t.columns);
  // One chunk a tile stays where the next tile wants the same.
  if (single == 1 && !t.blocks_outermost) input_blocks /= groups;
  const bool once = t.resident || (single == 1 && t.blocks_outermost);
  const int64_t weights = shape.one_weight ? 1 : steps * (once ? 1 : places);
  const int64_t pixels = shape.height * shape.width, elements = pixels * std::ssize(shape.reads);
  const int64_t output_beats = BeatsOf(c.output_element_bytes(), c);
  const int64_t load = rows * columns * input_blocks * BeatsOf(c.input_element_bytes(), c) +
                       weights * BeatsOf(c.weight_element_bytes(), c) + (shape.residual ? elements * output_beats : 0);
  return std::max({load, steps * pixels, elements * (shape.alu_steps + 1), elements * shape.planes * output_beats});
}

// How many tiles there would be.
int64_t TileCount(const MatrixShape& shape, const MatrixTiling& t) {
  return CeilDivide(std::ssize(shape.reads), t.blocks) * CeilDivide(shape.height, t.rows) *
         CeilDivide(shape.width, t.columns);
}

bool FitsOnChip(const MatrixShape& shape, const MatrixTiling& t, const Config& c) {
  const AccumulatorRegions regions = RegionsOf(c, t.threads);
  // Three need the residuals' quarter, and stores whose tokens are not mistaken for each other.
  if (t.threads > 2 && (shape.residual || shape.planes > 1)) return false;
  if (t.blocks * t.rows * t.columns > regions.sums) return false;
  if (t.blocks * shape.constant_rows + 1 > regions.constants) return false;
  if (t.chunk * shape.InputRows(t.rows) * shape.InputColumns(t.columns) > c.inputs() / t.threads) return false;
  if (shape.one_weight) return t.resident;
  int64_t most = 0, all = 0;
  for (const Stretch& blocks : CutInto(0, std::ssize(shape.reads), t.blocks)) {
    const BlockRange range = UnionOf(shape, blocks);
    for (const Stretch& inputs : CutInto(range.first, range.count(), t.chunk)) {
      const int64_t weights = StepsOf(shape, blocks, inputs);
      most = std::max(most, weights);
      all += weights;
    }
  }
  return t.resident ? all <= c.weights() : most <= c.weights() / t.threads;
}

}  // namespace

MatrixShape ShapeOf(const MatrixLayer& layer, const Network& network, const Config&) {
  const FeatureMap& output = network.maps[static_cast<size_t>(layer.output)];
  const Requantisation& r = layer.requantisation;
  MatrixShape shape;
  shape.height = output.height;
  shape.width = output.width;
  shape.kernel = layer.kernel;
  shape.x_step = layer.input.x_step;
  shape.reads = layer.reads;
  shape.residual = layer.residual.has_value();
  shape.planes = output.planes();
  shape.one_weight = layer.one_weight;
  shape.constant_rows = r.multiplies ? 4 : r.least.empty() ? 1 : 3;
  if (output.wide) {
    shape.alu_steps = shape.constant_rows + 3;
  } else {
    shape.alu_steps = r.multiplies ? 5 : r.begins_with_bias ? 3 : 4;
    if (shape.residual) shape.alu_steps += 4;
  }
  return shape;
}

AccumulatorRegions RegionsOf(const Config& config, int threads) {
  const int64_t quarter = config.accumulators() / 4;
  if (threads == 3) return {quarter, 3 * quarter, quarter, 4 * quarter};
  return {threads == 1 ? 2 * quarter : quarter, 2 * quarter, quarter, 3 * quarter};
}

std::vector<Tile> TilesOf(const MatrixShape& shape, const MatrixTiling& t) {
  struct Place {
    Stretch rows, columns;
  };
  std::vector<Place> places;
  for (const Stretch& rows : CutInto(0, shape.height, t.rows)) {
    for (const Stretch& columns : CutInto(0, shape.width, t.columns)) places.push_back({rows, columns});
  }
  const std::vector<Stretch> groups = CutInto(0, std::ssize(shape.reads), t.blocks);
  std::vector<Tile> tiles;
  std::array<int64_t, 3> input_there = {-1, -1, -1};  // place, input blocks
  std::array<int64_t, 2> weights_there = {-1, -1};    // group, first input block
  std::set<std::array<int64_t, 2>> resident;
  const size_t count = groups.size() * places.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t group = t.blocks_outermost ? i / places.size() : i % groups.size();
    const size_t place = t.blocks_outermost ? i % places.size() : i / groups.size();
    Tile tile{groups[group], places[place].rows, places[place].columns, {}};
    const BlockRange range = UnionOf(shape, tile.blocks);
    for (const Stretch& inputs : CutInto(range.first, range.count(), t.chunk)) {
      Chunk chunk;
      chunk.blocks = inputs;
      chunk.steps = StepsOf(shape, tile.blocks, inputs);
      const std::array<int64_t, 3> input = {static_cast<int64_t>(place), inputs.first, inputs.count};
      const std::array<int64_t, 2> weights = {static_cast<int64_t>(group), inputs.first};
      chunk.load_input = input != input_there;
      chunk.load_weights = t.resident ? resident.insert(weights).second : weights != weights_there;
      if (shape.one_weight) chunk.load_weights = tiles.empty() && tile.chunks.empty();
      chunk.weights = shape.one_weight ? 1 : chunk.steps;
      input_there = input;
      weights_there = weights;
      tile.chunks.push_back(chunk);
    }
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

Pieces PiecesOf(const Tile& tile, const Tile* next) {
  const int64_t pixels = tile.rows.count * tile.columns.count, last = tile.chunks.back().steps;
  int64_t steps = 0;
  for (const Chunk& chunk : tile.chunks) steps += chunk.steps;
  Pieces pieces;
  if (steps == 1) return pieces;
  const int64_t half = std::max<int64_t>(1, steps / 2);
  int64_t wait = kDispatch;
  if (next != nullptr) {
    const int64_t clear = next->blocks.count * next->rows.count * next->columns.count;
    wait += std::max(clear, std::min(half, next->chunks[0].steps));
  }
  pieces.tail = std::clamp<int64_t>(CeilDivide(wait, pixels), 1, std::min(half, last));
  const int64_t first = tile.chunks[0].steps, beyond = steps - pieces.tail;
  pieces.head = tile.chunks.size() == 1 ? std::max<int64_t>(1, beyond / 2) : first;
  return pieces;
}

namespace {

// Micro-ops of all GEMM instructions, those alike counted once: they differ in where sums, inputs and weights stand.
int64_t UopsOf(const std::vector<Tile>& tiles, const MatrixTiling& t) {
  std::set<std::array<int64_t, 8>> seen;
  int64_t uops = 0, input_slot = 0, weight_slot = 0;
  for (size_t k = 0; k < tiles.size(); ++k) {
    const Tile& tile = tiles[k];
    for (const Chunk& chunk : tile.chunks) {
      if (chunk.load_input) input_slot = (input_slot + 1) % t.threads;
      if (chunk.load_weights) weight_slot = (weight_slot + 1) % t.threads;
      const std::array<int64_t, 8> key = {static_cast<int64_t>(k) % t.threads,
                                          input_slot,
                                          t.resident ? tile.blocks.first : -1 - weight_slot,
                                          t.resident ? chunk.blocks.first : 0,
                                          tile.blocks.count,
                                          chunk.blocks.count,
                                          tile.rows.count,
                                          tile.columns.count};
      if (seen.insert(key).second) uops += chunk.steps;
    }
  }
  return uops;
}

}  // namespace

int64_t EstimateCycles(const MatrixShape& shape, const MatrixTiling& t, const Config& c) {
  const std::vector<Tile> tiles = TilesOf(shape, t);
  const int64_t output_beats = BeatsOf(c.output_element_bytes(), c), latency = c.memory_latency;
  const auto threads = static_cast<size_t>(t.threads);
  const auto elements_of = [&](size_t k) {
    return tiles[k].blocks.count * tiles[k].rows.count * tiles[k].columns.count;
  };
  std::vector<int64_t> given;   // when the GEMM of a chunk gives its halves of the buffers back
  std::vector<int64_t> stored;  // when a tile is in memory
  int64_t port = UopsOf(tiles, t), gemm = 0, dispatch = port + latency, alu = dispatch, store = 0, cleared = 0,
          summed = 0;
  // The ALU's work for a tile and its store, which begins when everything before has retired.
  const auto finish = [&](size_t k, int64_t retired) {
    if (shape.residual) {
      port += elements_of(k) * output_beats;
      if (threads == 1) summed += elements_of(k) * output_beats + latency;
    }
    alu = std::max(alu, summed + kPipeline) + elements_of(k) * shape.alu_steps + kDispatch;
    store = std::max({store, alu, retired}) + elements_of(k) * shape.planes * output_beats;
    stored.push_back(store + latency);
  };
  const auto clear = [&](size_t k) {
    const int64_t free = k < threads ? 0 : stored[k - threads];
    dispatch = std::max(dispatch, free);
    alu = cleared = std::max(free, alu) + elements_of(k);
    return free;
  };
  for (size_t k = 0; k < tiles.size(); ++k) {
    const Tile& tile = tiles[k];
    const int64_t pixels = tile.rows.count * tile.columns.count;
    if (threads == 1 || k == 0) clear(k);
    const Pieces pieces = PiecesOf(tile, k + 1 < tiles.size() ? &tiles[k + 1] : nullptr);
    for (size_t j = 0; j < tile.chunks.size(); ++j) {
      const Chunk& chunk = tile.chunks[j];
      port = std::max(port, given.size() >= threads ? given[given.size() - threads] : 0) +
             LoadBeats(shape, tile, chunk, c);
      // Examination goes on beside the GEMM before.
      dispatch = std::max({dispatch, port + latency, cleared}) + std::min(chunk.steps, pieces.head) + kExamination;
      const int64_t start = std::max(gemm, dispatch);
      gemm = start + chunk.steps * pixels;
      if (threads > 1 && j == 0 && k > 0) finish(k - 1, start + pieces.head * pixels);
      if (threads > 1 && j + 1 == tile.chunks.size() && k + 1 < tiles.size()) {
        // The tail stands behind the clearing for the tile after.
        gemm = std::max(gemm, clear(k + 1) + pieces.tail * pixels);
      }
      // Tokens are given in order: the ALU's work that was dispatched before comes first.
      given.push_back(threads > 1 && (j > 0 || tile.chunks.size() == 1) ? std::max(gemm + kPipeline, alu)
                                                                        : gemm + kPipeline);
    }
    summed = gemm;
    if (threads == 1) finish(k, gemm);
  }
  if (threads > 1) finish(tiles.size() - 1, summed);
  return stored.back();
}

std::vector<RankedTiling> RankTilings(const MatrixShape& shape, const Config& c, int threads) {
  struct Candidate {
    MatrixTiling tiling;
    int64_t bound;
    size_t number;
  };
  std::vector<Candidate> candidates;
  int64_t most_inputs = 1;
  for (const BlockRange& range : shape.reads) most_inputs = std::max(most_inputs, range.count());
  const std::vector<int64_t> row_sizes = PieceSizes(shape.height), column_sizes = PieceSizes(shape.width);
  for (const int64_t blocks : PieceSizes(std::ssize(shape.reads))) {
    const BlockRange range = UnionOf(shape, {0, std::min<int64_t>(blocks, std::ssize(shape.reads))});
    for (const int64_t rows : row_sizes) {
      for (const int64_t columns : column_sizes) {
        if (columns < shape.width && rows > columns) continue;  // rows are cut where images are
        for (const int64_t chunk : PieceSizes(std::max(most_inputs, range.count()))) {
          for (int variant = 0; variant < 4 * kMaxThreads; ++variant) {
            const int order = variant / kMaxThreads;
            MatrixTiling t{1 + variant % kMaxThreads, blocks, rows, columns, chunk, (order & 1) != 0, (order & 2) != 0};
            if (threads != 0 && t.threads != threads) continue;
            if (!FitsOnChip(shape, t, c) || TileCount(shape, t) > kMaxTiles) continue;
            candidates.push_back({t, BusiestOf(shape, t, c), candidates.size()});
          }
        }
      }
    }
  }
  const auto by_bound = [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.bound, -a.tiling.threads, -a.tiling.blocks * a.tiling.rows * a.tiling.columns, a.number) <
           std::tuple(b.bound, -b.tiling.threads, -b.tiling.blocks * b.tiling.rows * b.tiling.columns, b.number);
  };
  std::sort(candidates.begin(), candidates.end(), by_bound);
  if (candidates.size() > kSimulated) candidates.resize(kSimulated);
  std::vector<RankedTiling> ranked;
  for (const Candidate& candidate : candidates) {
    ranked.push_back({candidate.tiling, EstimateCycles(shape, candidate.tiling, c), ranked.size()});
  }
  std::sort(ranked.begin(), ranked.end(), [](const RankedTiling& a, const RankedTiling& b) {
    return std::tuple(a.cycles, a.number) < std::tuple(b.cycles, b.number);
  });
  return ranked;
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
  // Every step takes a cycle; every weight, every input pixel under some window and every residual crosses the port
  // once.
  const int64_t steps = pairs * shape.kernel.taps() * pixels;
  const int64_t rows = std::min(shape.InputRows(shape.height), shape.height * shape.kernel.y);
  const int64_t columns = std::min(shape.InputColumns(shape.width), shape.width * shape.kernel.x);
  const int64_t out_beats = BeatsOf(c.output_element_bytes(), c);
  const int64_t weights = shape.one_weight ? 1 : pairs * shape.kernel.taps();
  const int64_t reads = weights * BeatsOf(c.weight_element_bytes(), c) +
                        last_input * rows * columns * BeatsOf(c.input_element_bytes(), c) +
                        (shape.residual ? elements * out_beats : 0);
  const int64_t writes = elements * shape.planes * out_beats;
  const int64_t bound = std::max({steps, reads, writes});
  certificate.lower_bound = static_cast<double>(bound);
  certificate.bound_from = bound == steps ? "GEMM steps" : bound == reads ? "memory reads" : "memory writes";
  certificate.optimal = cycles == bound;
  return certificate;
}

}  // namespace kiln::vta
