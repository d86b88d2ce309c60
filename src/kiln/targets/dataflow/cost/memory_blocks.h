// Blocks that a memory takes in an FPGA (Xilinx UG573, UG473 for the shapes of block and ultra
// RAM).
#ifndef KILN_TARGETS_DATAFLOW_COST_MEMORY_BLOCKS_H_
#define KILN_TARGETS_DATAFLOW_COST_MEMORY_BLOCKS_H_

#include <cstdint>

#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// Amounts of memory blocks and LUTs.
struct MemoryBlocks {
  int64_t ramb18 = 0, uram = 0, lut = 0;
  MemoryBlocks& operator+=(const MemoryBlocks& more) {
    ramb18 += more.ramb18;
    uram += more.uram;
    lut += more.lut;
    return *this;
  }
};

// Returns the blocks or LUTs of a memory of `depth` words of `width` bits with one write and one
// read port. LUT memories of up to 64 words are read asynchronously.
MemoryBlocks BlocksOf(MemoryKind kind, int64_t width, int64_t depth);
// Returns what a memory takes that is never written. There is none in ultra RAM, which has no
// contents after configuration.
MemoryBlocks RomBlocksOf(MemoryKind kind, int64_t width, int64_t depth);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COST_MEMORY_BLOCKS_H_
