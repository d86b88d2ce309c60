// Blocks of memories. The shapes are those of Xilinx UG573 (UltraScale) and UG473 (7 series): a
// RAMB18 with one write and one read port holds 512 x 36, 1024 x 18, 2048 x 9, 4096 x 4, 8192 x 2
// or 16384 x 1 bits, a URAM288 4096 x 72. The least number of blocks of one shape is worked out by
// hand beside each row.
#include "kiln/targets/dataflow/cost/memory_blocks.h"

#include <gtest/gtest.h>

namespace kiln::dataflow {
namespace {

struct Row {
  int64_t width, depth, blocks;
};

TEST(DataflowMemoryBlocks, Ramb18) {
  const Row rows[] = {
      {1, 1, 1},      {36, 512, 1},                                // exactly 512 x 36
      {37, 512, 2},                                                // 2 x 36 bits side by side
      {72, 512, 2},                                                // one RAMB36 as 512 x 72
      {36, 513, 2},                                                // 2 x 18 bits of 1024 words
      {18, 1024, 1},  {19, 1024, 2},                               // 2 x 18; 2 x 512 of 36 also 2
      {9, 2048, 1},   {8, 2048, 1},                                // the parity bit is not used
      {10, 2048, 2},                                               // 2 x 9
      {4, 4096, 1},   {5, 4096, 2},                                // 2 x 4; 2 x 2048 of 9
      {2, 8192, 1},   {1, 16384, 1}, {1, 16385, 2}, {3, 8192, 2},  // 2 x 2 bits
      {32, 4096, 8},   // 8 x 4 bits: four RAMB36 of 4096 x 9 waste nothing
      {12, 1500, 2},   // 2 x 9 of 2048, or 18 bits of 2 x 1024
      {3, 5000, 2},    // 2 x 2 bits of 8192
      {64, 784, 4},    // 4 x 18 of 1024; 2 x 36 of 2 x 512 also 4
      {288, 64, 8},    // 8 x 36
      {144, 1024, 8},  // 8 x 18
  };
  for (const Row& row : rows) {
    const MemoryBlocks ram = BlocksOf(MemoryKind::kBlock, row.width, row.depth);
    EXPECT_EQ(ram.ramb18, row.blocks) << row.width << " x " << row.depth;
    EXPECT_EQ(ram.uram, 0);
    EXPECT_EQ(ram.lut, 0);
    EXPECT_EQ(RomBlocksOf(MemoryKind::kBlock, row.width, row.depth).ramb18, row.blocks);
  }
}

TEST(DataflowMemoryBlocks, Ultra) {
  const Row rows[] = {{1, 1, 1},     {72, 4096, 1},  {73, 4096, 2},
                      {72, 4097, 2}, {144, 8192, 4}, {145, 8193, 9},  // 3 x 3
                      {16, 16384, 4}};                                // no narrow shape: 4 x 4096
  for (const Row& row : rows) {
    const MemoryBlocks ram = BlocksOf(MemoryKind::kUltra, row.width, row.depth);
    EXPECT_EQ(ram.uram, row.blocks) << row.width << " x " << row.depth;
    EXPECT_EQ(ram.ramb18, 0);
  }
}

// Eight LUTs of a SLICEM hold 14 columns of 32 bits (RAM32M16) or 7 columns of 64 bits (RAM64M8)
// with one write and one read port (UG574). Deeper memories select among 64-word parts, four in a
// LUT.
TEST(DataflowMemoryBlocks, DistributedRam) {
  EXPECT_EQ(BlocksOf(MemoryKind::kLut, 100, 1).lut, 0);  // a register
  EXPECT_EQ(BlocksOf(MemoryKind::kLut, 14, 32).lut, 8);
  EXPECT_EQ(BlocksOf(MemoryKind::kLut, 28, 2).lut, 16);
  EXPECT_EQ(BlocksOf(MemoryKind::kLut, 7, 33).lut, 8);
  EXPECT_EQ(BlocksOf(MemoryKind::kLut, 7, 64).lut, 8);
  EXPECT_EQ(BlocksOf(MemoryKind::kLut, 7, 128).lut, 2 * 8 + 7);
  EXPECT_EQ(BlocksOf(MemoryKind::kLut, 7, 256).lut, 4 * 8 + 7);
  EXPECT_EQ(BlocksOf(MemoryKind::kLut, 7, 257).lut, 5 * 8 + 2 * 7);
}

// A LUT holds 64 words of one column that is never written.
TEST(DataflowMemoryBlocks, DistributedRom) {
  EXPECT_EQ(RomBlocksOf(MemoryKind::kLut, 9, 1).lut, 0);  // constants
  EXPECT_EQ(RomBlocksOf(MemoryKind::kLut, 9, 2).lut, 9);
  EXPECT_EQ(RomBlocksOf(MemoryKind::kLut, 9, 64).lut, 9);
  EXPECT_EQ(RomBlocksOf(MemoryKind::kLut, 9, 65).lut, 18);
}

// More bits or words never take fewer blocks, and the blocks hold all bits.
TEST(DataflowMemoryBlocks, GrowWithTheirSize) {
  for (int64_t width = 1; width <= 80; ++width) {
    for (int64_t depth : {1, 31, 512, 513, 1024, 1500, 4096, 9000, 20000}) {
      for (const MemoryKind kind : {MemoryKind::kLut, MemoryKind::kBlock, MemoryKind::kUltra}) {
        const MemoryBlocks here = BlocksOf(kind, width, depth);
        for (const MemoryBlocks& more :
             {BlocksOf(kind, width + 1, depth), BlocksOf(kind, width, depth + 1)}) {
          EXPECT_GE(more.ramb18, here.ramb18) << width << " x " << depth;
          EXPECT_GE(more.uram, here.uram) << width << " x " << depth;
          EXPECT_GE(more.lut, here.lut) << width << " x " << depth;
        }
        if (kind == MemoryKind::kBlock) {
          EXPECT_GE(here.ramb18 * 18 * 1024, width * depth);
        }
        if (kind == MemoryKind::kUltra) {
          EXPECT_GE(here.uram * 288 * 1024, width * depth);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kiln::dataflow
