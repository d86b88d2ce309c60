// A matrix layer as tiles and chunks: what is summed when, and where it stands on chip.
//
// A tile is some output blocks of some output rows and columns; its accumulators stay on chip until all input blocks
// have been summed, chunk by chunk. A chunk is what is loaded together, inputs and weights, and what a GEMM instruction
// works on. Inputs and weights that still stand on chip are not loaded again.
#ifndef KILN_TARGETS_VTA_TILES_H_
#define KILN_TARGETS_VTA_TILES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kiln/targets/vta/layers.h"
#include "kiln/targets/vta/volume.h"

namespace kiln::vta {

inline constexpr int kMaxThreads = 4;

struct MatrixTiling {
  int threads = 2;
  int64_t blocks = 1, rows = 1, columns = 1;  // of a tile
  int64_t chunk = 1;                          // input blocks
  bool blocks_outermost = true;               // the order of tiles; else pixels are
  bool resident = false;                      // weights are loaded once and stay
  bool packed = false;  // of columns that are apart, only those that are read are loaded
  // Of the outermost axis, the first piece is halved so many times, so that the ALU has something to do early.
  int ramp = 0;
  // The last tiles become smaller, so that this many cycles of the ALU's work are left when the last sum is there; 0:
  // they do not.
  int64_t drain = 0;
  // How many rows of slots on chip the inputs of tiles take turns in; 0: as many as there are threads. Fewer keep loads
  // nearer to their use, and every one has micro-ops of its own.
  int input_turns = 0;
  // All micro-ops are loaded before the first tile is cleared; else what clears it is, and then the others.
  bool uops_first = false;

  int64_t elements() const { return blocks * rows * columns; }
  int turns() const { return input_turns == 0 ? threads : input_turns; }
  bool operator==(const MatrixTiling&) const = default;
};

// What a matrix layer is to its schedule.
struct MatrixShape {
  int64_t height = 1, width = 1;  // of the output
  KernelSize kernel;
  int64_t x_step = 1;  // of the input's pixels
  std::vector<BlockRange> reads;
  int64_t constant_rows = 1;      // constants for an output block
  int64_t alu_steps = 1;          // for an output element, without the clearing
  bool begins_with_bias = false;  // clearing puts the bias there
  bool residual = false;
  int64_t planes = 1;       // stores of an output element
  bool one_weight = false;  // one element for all
  bool whole_columns =
      false;  // a row of the input may be read up to where the next column would stand
  Strides input, output;

  // Constants of so many output blocks, and the residual's multiplier.
  int64_t ConstantElements(int64_t blocks) const {
    return blocks * constant_rows + (residual ? 1 : 0);
  }
  // On chip, rows are as far apart as kernels need them.
  int64_t row_step() const { return kernel.y == 1 ? 1 : kernel.stride_y; }
  int64_t column_step(bool packed) const { return packed ? 1 : kernel.stride_x * x_step; }
  int64_t InputRows(int64_t rows) const {
    return (rows - 1) * row_step() + (kernel.y - 1) * kernel.dilation_y + 1;
  }
  int64_t InputColumns(int64_t columns, bool packed) const {
    if (kernel.x == 1 && whole_columns) return columns * column_step(packed);
    return (columns - 1) * column_step(packed) + (kernel.x - 1) * kernel.dilation_x * x_step + 1;
  }
  // GEMM steps for an element that reads so many input blocks, and whether the ALU has about as much to do.
  bool IsAluBound() const { return 4 * (alu_steps + 1) >= 3 * reads[0].count() * kernel.taps(); }
  // Only columns that no kernel connects can be packed.
  bool CanPack() const { return kernel.x == 1 && column_step(false) > 1; }
  Volume InputVolume(int64_t blocks, int64_t rows, int64_t columns, bool packed) const {
    Strides strides = input;
    if (packed) strides.column = column_step(false);
    return {blocks, InputRows(rows), InputColumns(columns, packed), strides};
  }
};

// Part of an axis.
struct Stretch {
  int64_t first = 0, count = 0;
  int64_t end() const { return first + count; }
  bool operator==(const Stretch&) const = default;
};
std::vector<Stretch> CutInto(int64_t first, int64_t count, int64_t piece);

struct Chunk {
  Stretch outputs, inputs;  // blocks
  struct Pair {
    int64_t output = 0, input = 0;
    int64_t weights_at = 0;  // on chip, an element a tap
  };
  absl::InlinedVector<Pair, 4> pairs;         // of blocks: [input][output]
  absl::InlinedVector<int64_t, 4> inputs_at;  // on chip, an input block each
  struct Run {
    int64_t block = 0, count = 0, at = 0;
  };
  absl::InlinedVector<Run, 2> input_loads;  // blocks that follow each other in memory and on chip
  bool load_weights = false;  // of all pairs, one behind the other from the first one's place
  int64_t weights = 0;        // elements
  // The number (over all tiles) of the chunk whose GEMM must be done before anything is loaded; and whether any chunk
  // waits so for this one.
  std::optional<size_t> waits_for;
  bool is_waited_for = false;
  // What a GEMM instruction loops over beside pixels: where these follow each other on chip, the blocks on one side. A
  // micro-op is then a block on the other side; without such a loop, a tap of a pair.
  enum class Loop : uint8_t { kNone, kOutputs, kInputs } loop = Loop::kNone;
  int64_t steps = 0, repeats = 0;  // micro-ops, and how often each is run

  bool loads() const { return load_weights || !input_loads.empty(); }
  // From an input block's weights to the next one's.
  int64_t input_weight_step() const {
    const auto next = static_cast<size_t>(outputs.count);
    return pairs.size() > next ? pairs[next].weights_at - pairs[0].weights_at : 0;
  }
};

struct Tile {
  Stretch blocks, rows, columns;
  std::vector<Chunk> chunks;
  int64_t pixels() const { return rows.count * columns.count; }
  int64_t elements() const { return blocks.count * pixels(); }
};

// The accumulators' range: a region a virtual thread for sums, one for constants, one for residuals. With four threads
// there are constants behind every region's sums.
struct AccumulatorRegions {
  int64_t sums = 0;                         // elements of a thread
  int64_t pitch = 0;                        // from one thread's to the next
  int64_t constants_at = 0, constants = 0;  // elements
  int64_t residuals_at = 0;
};
AccumulatorRegions RegionsOf(const MatrixShape& shape, const Config& config, int threads);

// "2 virtual threads, tiles of 4 blocks x 7 x 7": output blocks, rows and columns.
std::string Describe(const MatrixTiling& tiling);

// How many tiles are cleared before the one that is summed is done.
inline int TilesAhead(int threads) { return threads > 3 ? 2 : 1; }

// Tiles in the order of work; none: they do not fit on chip.
std::vector<Tile> TilesOf(const MatrixShape& shape, const MatrixTiling& tiling,
                          const Config& config);

// With two threads, where the GEMM of a tile is cut: micro-ops before the ALU's work for the tile before is dispatched,
// and those behind the clearing for the tile after, which give that and the examination of the next piece time. No
// tail: one piece.
struct Pieces {
  int64_t head = 1, tail = 0;
};
Pieces PiecesOf(const Tile& tile, const Tile* next);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_TILES_H_
