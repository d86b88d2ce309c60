// The GEMM core of the functional level.
#ifndef KILN_TARGETS_VTA_GEMM_H_
#define KILN_TARGETS_VTA_GEMM_H_

#include <cstdint>
#include <span>

#include "kiln/targets/vta/isa.h"

namespace kiln::vta {

// Numbers on chip as the kernels want them: operands in 16 bits, in pairs along block_in (an odd one out beside a
// zero). Products of a pair are added to 32-bit sums that wrap, which is exact modulo 2^32 whatever the order.
struct GemmBuffers {
  int batch = 1, pairs = 8, block_out = 16;
  const int16_t* inputs = nullptr;   // [element][batch][pairs][2]
  const int16_t* weights = nullptr;  // [element][pairs][block_out][2]
  int32_t* accumulators = nullptr;   // [element][batch][block_out]
};

// All steps of a GEMM instruction without reset; indices are inside the buffers. By the processor's best kernel
// (support/cpu.h).
void RunGemm(const Instruction& instruction, std::span<const Uop> uops, const GemmBuffers& buffers);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_GEMM_H_
