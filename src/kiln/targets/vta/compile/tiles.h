// Tiles and chunks of a matrix layer: the order of its sums and their locations on chip. The
// schedule (schedule.h) estimates them, codegen_matrix.cc generates their instructions.
//
// A tile consists of some output blocks of some output rows and columns. Its accumulators stay on
// chip until all input blocks have been summed, chunk by chunk. A chunk consists of the inputs and
// weights that are loaded together and that a GEMM instruction works on. Inputs and weights that
// are still on chip are not loaded again.
#ifndef KILN_TARGETS_VTA_COMPILE_TILES_H_
#define KILN_TARGETS_VTA_COMPILE_TILES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kiln/targets/vta/compile/layers.h"
#include "kiln/targets/vta/compile/volume.h"

namespace kiln::vta {

inline constexpr int kMaxThreads = 4;

// The choices of a schedule.
struct MatrixTiling {
  int threads = 2;                            // virtual threads
  int64_t blocks = 1, rows = 1, columns = 1;  // size of a tile; blocks are output blocks
  int64_t chunk = 1;                          // input blocks of a chunk
  bool blocks_outermost = true;               // the order of tiles; false: pixels are outermost
  bool resident = false;                      // weights are loaded once and stay on chip
  bool packed = false;                        // columns that a stride leaves out are not loaded
  // How many times the first piece of the outermost axis is halved, so that the ALU can start
  // early.
  int ramp = 0;
  // The cycles of the ALU's work that remain after the last sum. The last tiles become smaller to
  // achieve this; 0: they do not.
  int64_t drain = 0;
  // The number of rows of input slots between which tiles alternate; 0: as many as there are
  // threads. Fewer rows keep loads nearer to their use, and each row needs its own micro-ops.
  int input_turns = 0;
  // Whether all micro-ops are loaded before the first tile is cleared. If not, only the micro-op
  // that clears it is, and the others follow.
  bool uops_first = false;

  int64_t elements() const { return blocks * rows * columns; }
  int turns() const { return input_turns == 0 ? threads : input_turns; }
  bool operator==(const MatrixTiling&) const = default;
};

// The properties of a matrix layer that its schedule depends on.
struct MatrixShape {
  int64_t height = 1, width = 1;  // of the output
  KernelSize kernel;
  int64_t x_step = 1;  // MapView::x_step of the input
  std::vector<BlockRange> reads;
  int64_t constant_rows = 1;      // constants per output block
  int64_t alu_steps = 1;          // per output element, without the clearing
  bool begins_with_bias = false;  // clearing sets sums to the bias
  bool residual = false;
  int64_t planes = 1;       // stores per output element
  bool one_weight = false;  // all pairs of blocks and taps share one element
  bool whole_columns =
      false;  // input rows may be read to the position of the column after the last
  Strides input, output;

  // Returns the elements of constants of `blocks` output blocks, including the residual's
  // multiplier.
  int64_t ConstantElements(int64_t blocks) const {
    return blocks * constant_rows + (residual ? 1 : 0);
  }
  // Return the distance on chip between the input rows, or columns, of neighbouring output pixels,
  // and the input rows and columns that a tile needs on chip.
  int64_t row_step() const { return kernel.y == 1 ? 1 : kernel.stride_y; }
  int64_t column_step(bool packed) const { return packed ? 1 : kernel.stride_x * x_step; }
  int64_t InputRows(int64_t rows) const {
    return (rows - 1) * row_step() + (kernel.y - 1) * kernel.dilation_y + 1;
  }
  int64_t InputColumns(int64_t columns, bool packed) const {
    if (kernel.x == 1 && whole_columns) return columns * column_step(packed);
    return (columns - 1) * column_step(packed) + (kernel.x - 1) * kernel.dilation_x * x_step + 1;
  }
  // Returns whether the ALU has at least about three quarters as many steps per output element as
  // the GEMM unit has, going by the first output block.
  bool IsAluBound() const { return 4 * (alu_steps + 1) >= 3 * reads[0].count() * kernel.taps(); }
  // Returns whether columns can be packed: only if each kernel reads a single column.
  bool CanPack() const { return kernel.x == 1 && column_step(false) > 1; }
  Volume InputVolume(int64_t blocks, int64_t rows, int64_t columns, bool packed) const {
    Strides strides = input;
    if (packed) strides.column = column_step(false);
    return {blocks, InputRows(rows), InputColumns(columns, packed), strides};
  }
};

// A part of an axis.
struct Stretch {
  int64_t first = 0, count = 0;
  int64_t end() const { return first + count; }
  bool operator==(const Stretch&) const = default;
};
// Returns the range of input blocks that a stretch of output blocks reads, gaps included.
BlockRange UnionOf(const MatrixShape& shape, const Stretch& outputs);
// Cuts the stretch of `count` from `first` on into pieces of `piece`, of which the last one may be
// smaller.
std::vector<Stretch> CutInto(int64_t first, int64_t count, int64_t piece);

// A chunk of a tile.
struct Chunk {
  Stretch outputs, inputs;  // blocks
  struct Pair {
    int64_t output = 0, input = 0;
    int64_t weights_at = 0;  // index on chip of its first weight; there is one element per tap
  };
  absl::InlinedVector<Pair, 4> pairs;         // pairs of blocks: [input][output]
  absl::InlinedVector<int64_t, 4> inputs_at;  // by input block: index on chip
  struct Run {
    int64_t block = 0, count = 0, at = 0;
  };
  absl::InlinedVector<Run, 2> input_loads;  // blocks that are contiguous in memory and on chip
  bool load_weights = false;  // whether weights are loaded: all pairs, contiguously on chip
  int64_t weights = 0;        // elements of weights
  // The number (over all tiles) of the chunk whose GEMM must be done before this chunk's loads, and
  // whether any chunk waits for this one.
  std::optional<size_t> waits_for;
  bool is_waited_for = false;
  // The blocks over which a GEMM instruction loops in addition to pixels. If blocks of one side are
  // at constant distances on chip, it loops over these, and there is a micro-op for each block of
  // the other side. Without such a loop there is a micro-op for each tap of a pair.
  enum class Loop : uint8_t { kNone, kOutputs, kInputs } loop = Loop::kNone;
  int64_t steps = 0, repeats = 0;  // number of micro-ops, and executions of each

  bool loads() const { return load_weights || !input_loads.empty(); }
  // Returns the distance on chip from an input block's weights to those of the next input block.
  int64_t input_weight_step() const {
    const auto next = static_cast<size_t>(outputs.count);
    return pairs.size() > next ? pairs[next].weights_at - pairs[0].weights_at : 0;
  }
};

// A tile with its chunks in order.
struct Tile {
  Stretch blocks, rows, columns;
  std::vector<Chunk> chunks;
  int64_t pixels() const { return rows.count * columns.count; }
  int64_t elements() const { return blocks.count * pixels(); }
};

// The division of the accumulators: one region for the sums of each virtual thread, one for
// constants, one for residuals. With four threads, constants follow the sums in every region.
struct AccumulatorRegions {
  int64_t sums = 0;                         // elements of one thread's sums
  int64_t pitch = 0;                        // distance between the threads' regions
  int64_t constants_at = 0, constants = 0;  // elements
  int64_t residuals_at = 0;
};
// Returns the division for `threads` virtual threads. Indices count accumulator elements.
AccumulatorRegions RegionsOf(const MatrixShape& shape, const Config& config, int threads);

// Describes a tiling by output blocks, rows and columns: "2 virtual threads, tiles of 4 blocks x 7
// x 7".
std::string Describe(const MatrixTiling& tiling);

// Returns how many tiles ahead of the one that is being summed are cleared.
inline int TilesAhead(int threads) { return threads > 3 ? 2 : 1; }

// Returns the tiles in the order in which they are processed; empty if they do not fit on chip.
std::vector<Tile> TilesOf(const MatrixShape& shape, const MatrixTiling& tiling,
                          const Config& config);

// Where the GEMM of a tile is cut with two threads: `head` micro-ops run before the ALU's work for
// the previous tile is dispatched, and `tail` micro-ops after the clearing of the next tile, so
// that the clearing and the examination of the next piece have time. If tail is 0, there is a
// single piece.
struct Pieces {
  int64_t head = 1, tail = 0;
};
// Returns the pieces of a tile. `next` is the tile after it, or null for the last one.
Pieces PiecesOf(const Tile& tile, const Tile* next);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_TILES_H_
