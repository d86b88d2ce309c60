// How a matrix layer is cut into tiles: search and certificate.
//
// A tile is some output blocks of some output rows and columns; its accumulators stay on chip until all input blocks
// have been summed, chunk by chunk. A chunk is what one load of inputs and weights brings. With two virtual threads,
// chunks and tiles take turns in two halves of the buffers, so that loads, GEMM, ALU and stores of neighbours overlap;
// with one, each waits for the one before.
#ifndef KILN_TARGETS_VTA_SCHEDULE_H_
#define KILN_TARGETS_VTA_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/interface/program.h"
#include "kiln/targets/vta/layers.h"

namespace kiln::vta {

inline constexpr int kMaxThreads = 3;

struct MatrixTiling {
  int threads = 2;
  int64_t blocks = 1, rows = 1, columns = 1;  // of a tile
  int64_t chunk = 1;                          // input blocks
  bool blocks_outermost = true;               // the order of tiles; else pixels are
  bool resident = false;                      // weights are loaded once and stay
};

// What a matrix layer is to its schedule.
struct MatrixShape {
  int64_t height = 1, width = 1;  // of the output
  KernelSize kernel;
  int64_t x_step = 1;  // of the input's pixels
  std::vector<BlockRange> reads;
  int64_t constant_rows = 1;  // constants for an output block
  int64_t alu_steps = 1;      // for an output element, without the clearing
  bool residual = false;
  int64_t planes = 1;       // stores of an output element
  bool one_weight = false;  // one element for all

  // On chip, rows are as far apart as kernels need them.
  int64_t row_step() const { return kernel.y == 1 ? 1 : kernel.stride_y; }
  int64_t column_step() const { return kernel.stride_x * x_step; }
  int64_t InputRows(int64_t rows) const { return (rows - 1) * row_step() + (kernel.y - 1) * kernel.dilation_y + 1; }
  int64_t InputColumns(int64_t columns) const {
    return (columns - 1) * column_step() + (kernel.x - 1) * kernel.dilation_x * x_step + 1;
  }
};

MatrixShape ShapeOf(const MatrixLayer& layer, const Network& network, const Config& config);

// Part of an axis.
struct Stretch {
  int64_t first = 0, count = 0;
};

struct Chunk {
  int64_t steps = 0;  // micro-ops
  Stretch blocks;     // input blocks
  bool load_input = true, load_weights = true;
  int64_t weights = 0;  // elements
};

struct Tile {
  Stretch blocks, rows, columns;
  std::vector<Chunk> chunks;
};

// Tiles in the order of work.
std::vector<Tile> TilesOf(const MatrixShape& shape, const MatrixTiling& tiling);

// Where the GEMM of a tile is cut: micro-ops before the ALU's work for the tile before is dispatched, and those behind
// the clearing for the tile after, which give that and the examination of the next piece time. No tail: one piece.
struct Pieces {
  int64_t head = 1, tail = 0;
};
Pieces PiecesOf(const Tile& tile, const Tile* next);

// The accumulators' range: a region a virtual thread for sums, one for constants, one for residuals.
struct AccumulatorRegions {
  int64_t sums = 0;                         // elements of a thread
  int64_t constants_at = 0, constants = 0;  // elements
  int64_t residuals_at = 0;
};
AccumulatorRegions RegionsOf(const Config& config, int threads);

// Cycles from the first load to the last store, by a recurrence over chunks and tiles (docs/vta-machine.md's times
// without fetch and micro-ops).
int64_t EstimateCycles(const MatrixShape& shape, const MatrixTiling& tiling, const Config& config);

struct RankedTiling {
  MatrixTiling tiling;
  int64_t cycles = 0;  // estimated
  size_t number = 0;   // by which those alike are told apart
};
// The best tilings with so many virtual threads (1 to kMaxThreads; 0: whichever is better), best first; none: nothing
// fits. How many micro-ops they need is not known here.
std::vector<RankedTiling> RankTilings(const MatrixShape& shape, const Config& config, int threads);
Certificate CertificateOf(const MatrixShape& shape, const Config& config, int64_t cycles);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SCHEDULE_H_
