// Chooses the shapes of blocks.

#include "kiln/targets/dataflow/cost/memory_blocks.h"

#include <algorithm>
#include <array>

#include "kiln/support/integer.h"

namespace kiln::dataflow {
namespace {

struct BlockShape {
  int64_t width, depth;
};

// RAMB18 with one port to write and one to read.
constexpr std::array<BlockShape, 6> kRamb18 = {
    {{36, 512}, {18, 1024}, {9, 2048}, {4, 4096}, {2, 8192}, {1, 16384}}};
constexpr BlockShape kUltra = {72, 4096};

int64_t Ramb18Of(int64_t width, int64_t depth) {
  int64_t least = INT64_MAX;
  for (const BlockShape& shape : kRamb18)
    least = std::min(least, CeilDivide(width, shape.width) * CeilDivide(depth, shape.depth));
  return least;
}

}  // namespace

MemoryBlocks BlocksOf(MemoryKind kind, int64_t width, int64_t depth) {
  MemoryBlocks blocks;
  switch (kind) {
    case MemoryKind::kBlock:
      blocks.ramb18 = Ramb18Of(width, depth);
      break;
    case MemoryKind::kUltra:
      blocks.uram = CeilDivide(width, kUltra.width) * CeilDivide(depth, kUltra.depth);
      break;
    case MemoryKind::kLut:
      // A LUT holds 64 bits of one column, or 32 bits of two; deeper memories need multiplexers.
      blocks.lut = depth <= 1    ? 0
                   : depth <= 32 ? CeilDivide(width, int64_t{2}) * 8 / 7
                                 : width * CeilDivide(depth, int64_t{64}) * 8 / 7;
      if (depth > 64) blocks.lut += width * CeilDivide(CeilDivide(depth, int64_t{64}), int64_t{4});
      break;
  }
  return blocks;
}

MemoryBlocks RomBlocksOf(MemoryKind kind, int64_t width, int64_t depth) {
  MemoryBlocks blocks;
  if (kind == MemoryKind::kBlock) {
    blocks.ramb18 = Ramb18Of(width, depth);
  } else {
    blocks.lut = depth <= 1 ? 0 : width * CeilDivide(depth, int64_t{64});
  }
  return blocks;
}

}  // namespace kiln::dataflow
