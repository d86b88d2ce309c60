// The order of work of matrix and depthwise instructions (docs/systolic.md, "Order of work"): the
// pixel tiles, blocks, fills and passes of an instruction. The cycle level, the closed form
// (timing.h), the scheduler and the weight layout share it.
#ifndef KILN_TARGETS_SYSTOLIC_ISA_WALK_H_
#define KILN_TARGETS_SYSTOLIC_ISA_WALK_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// One axis of the input region of a pixel tile: which input coordinates are fetched, and the
// position at which a tap finds its code. If the stride is at least the kernel's extent, only the
// positions that taps touch are fetched (the axis is compact).
struct RegionAxis {
  int32_t kernel = 1, stride = 1, dilation = 1, pad = 0;

  // The input coordinates that a kernel spans.
  int32_t extent() const { return (kernel - 1) * dilation + 1; }
  bool compact() const { return stride >= extent(); }
  // Returns the number of positions to fetch for `tile` outputs.
  int32_t Places(int32_t tile) const {
    return compact() ? tile * kernel : (tile - 1) * stride + extent();
  }
  // Returns the input coordinate of a position, for a tile that begins at output `first`. It may be
  // outside the image.
  int32_t Coordinate(int32_t first, int32_t place) const {
    const int32_t origin = first * stride - pad;
    return compact() ? origin + place / kernel * stride + place % kernel * dilation
                     : origin + place;
  }
  // Returns the position at which output `output` (counted within the tile) finds tap `tap`.
  int32_t Place(int32_t output, int32_t tap) const {
    return compact() ? output * kernel + tap : output * stride + tap * dilation;
  }
};

// Sizes that follow from an instruction and a design point.
struct Geometry {
  RegionAxis y, x;
  int32_t rows_per_group = 1;  // row tiles in a row group: the taps, or 1 with tap packing
  int32_t groups = 1;          // row groups
  int32_t column_tiles = 1;
  int32_t blocks = 1;  // column blocks
  int32_t fills = 1;   // input fills for one block
  int32_t tile_fills =
      1;  // depthwise: input fills of a pixel tile, each for groups_per_bank blocks
  // Depthwise: rows of a pixel tile's region have no gaps in memory or in the bank, so that a beat
  // of the input port may bring words of several pixels.
  bool joined_rows = false;
  int32_t tiles_y = 1, tiles_x = 1;  // pixel tiles of one batch
  // Whether one input fill serves all blocks of a pixel tile, and whether one weight fill serves
  // all pixel tiles of a block.
  bool inputs_resident = false;
  bool weights_resident = false;

  int32_t row_tiles() const { return groups * rows_per_group; }
};

// Returns the sizes of a kMatrix or kDepthwise instruction. Depthwise: a block is one column tile
// and one group; a fill serves groups_per_bank blocks.
Geometry GeometryOf(const Instruction& instruction, const Config& config);

// Returns whether the taps of a kernel's row are adjacent in the input, so that packed taps are read
// in one run for each row of the kernel: neither taps nor pixels have gaps between them.
bool TapsAreJoined(const Convolution& convolution, const Config& config);

// Returns row_tiles() of the geometry without computing the rest.
int32_t RowTilesOf(const Instruction& instruction, const Config& config);

// One block of one pixel tile: the accumulators that are in an accumulation bank at the same time.
struct Visit {
  int32_t batch = 0;
  int32_t y = 0, x = 0;           // first output pixel
  int32_t height = 1, width = 1;  // of the pixel tile
  int32_t first_column = 0;       // column tile
  int32_t columns = 1;            // column tiles of the block
  // Whether this visit's inputs, weights and channel parameters are fetched for it, and whether it
  // is the last to use them.
  bool fetch_inputs = true, last_of_inputs = true;
  bool fetch_weights = true, last_of_weights = true;
  bool fetch_parameters = true, last_of_parameters = true;

  int32_t pixels() const { return height * width; }
};

// Returns all visits in order.
std::vector<Visit> VisitsOf(const Instruction& instruction, const Config& config);

// Returns the number of visits in VisitsOf.
int64_t CountVisits(const Instruction& instruction, const Config& config);

// Returns the words of one row group (or depthwise region) of a pixel tile in an input bank.
int64_t GroupWords(const Instruction& instruction, const Geometry& geometry, int32_t tile_height,
                   int32_t tile_width);

// Returns the valid codes in row tile `row_tile`: array_rows, except in the last tile of an axis.
int32_t ValidRows(const Instruction& instruction, const Config& config, int32_t row_tile);
// Returns the valid output channels in column tile `column_tile`.
int32_t ValidColumns(const Instruction& instruction, const Config& config, int32_t column_tile);

// Returns the bytes in memory of a row of a weight tile, or of a tap of depthwise weights:
// array_columns codes.
int64_t WeightRowBytes(const Convolution& convolution, const Config& config);

// Returns entry `row` of row tile `row_tile` as an index into the weight list (ky, kx, c) in
// row-major order, or -1 if it is padding. The compiler lays out weights by it, and the fetch unit
// packs taps by it.
int64_t WeightIndex(const Instruction& instruction, const Config& config, int32_t row_tile,
                    int32_t row);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_WALK_H_
