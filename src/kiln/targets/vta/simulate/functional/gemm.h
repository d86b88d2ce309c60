// The GEMM core of the functional level. gemm_kernels.h declares a kernel for each processor level.
#ifndef KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_GEMM_H_
#define KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_GEMM_H_

#include <cstdint>
#include <span>

#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// The buffers in the kernels' layout: operands have 16 bits and are paired along block_in (an odd
// last one is paired with zero). The products of a pair are added to 32-bit sums that wrap, so the
// result is exact modulo 2^32 in any order.
struct GemmBuffers {
  int batch = 1, pairs = 8, block_out = 16;
  const int16_t* inputs = nullptr;   // [element][batch][pairs][2]
  const int16_t* weights = nullptr;  // [element][pairs][block_out][2]
  int32_t* accumulators = nullptr;   // [element][batch][block_out]
};

// Executes all steps of a GEMM instruction without reset with the best kernel for the processor
// (support/cpu.h). Indices must be inside the buffers.
void RunGemm(const Instruction& instruction, std::span<const Uop> uops, const GemmBuffers& buffers);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_GEMM_H_
