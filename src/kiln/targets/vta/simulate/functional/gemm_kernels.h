// The kernels behind gemm.h, and the loops that they share. The file of each processor level
// instantiates the loops with its own step.
#ifndef KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_GEMM_KERNELS_H_
#define KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_GEMM_KERNELS_H_

#include <cstddef>
#include <cstring>

#include "kiln/targets/vta/simulate/functional/gemm.h"

namespace kiln::vta {

using GemmKernel = void(const Instruction& instruction, std::span<const Uop> uops,
                        const GemmBuffers& buffers);
GemmKernel RunGemmPortable;
GemmKernel RunGemmAvx2;        // requires that block_out is a multiple of 8
GemmKernel RunGemmAvx512Vnni;  // requires that block_out is a multiple of 16

// The anonymous namespace keeps the linker from merging code that files compile for different
// processors.
namespace {

// Returns a pair of operands as one 32-bit number, which vector instructions broadcast to their
// lanes.
[[maybe_unused]] int32_t PairAt(const int16_t* numbers) {
  int32_t pair;
  std::memcpy(&pair, numbers, sizeof(pair));
  return pair;
}

// Calls tile(weights) for every micro-op, or for every step if the weights change inside the loops,
// and calls the function that it returns, step(inputs, accumulators), for all steps with these
// weights. The order of sums is free because they wrap, so micro-ops are the outermost loop, which
// lets weights stay in registers.
template <typename Tile>
void ForEachGemmStep(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b,
                     const Tile& tile) {
  const size_t input_numbers = static_cast<size_t>(b.batch) * b.pairs * 2;
  const size_t weight_numbers = static_cast<size_t>(b.block_out) * b.pairs * 2;
  const size_t accumulator_numbers = static_cast<size_t>(b.batch) * b.block_out;
  const bool weights_stay = in.weight_outer == 0 && in.weight_inner == 0;
  for (const Uop& uop : uops) {
    const auto run = [&](const auto& step, size_t outer, size_t inner) {
      step(b.inputs + (uop.src + outer * in.src_outer + inner * in.src_inner) * input_numbers,
           b.accumulators +
               (uop.dst + outer * in.dst_outer + inner * in.dst_inner) * accumulator_numbers);
    };
    if (weights_stay) {
      const auto step = tile(b.weights + uop.weight * weight_numbers);
      for (size_t outer = 0; outer < in.outer; ++outer) {
        for (size_t inner = 0; inner < in.inner; ++inner) run(step, outer, inner);
      }
      continue;
    }
    for (size_t outer = 0; outer < in.outer; ++outer) {
      for (size_t inner = 0; inner < in.inner; ++inner) {
        const size_t weight = uop.weight + outer * in.weight_outer + inner * in.weight_inner;
        run(tile(b.weights + weight * weight_numbers), outer, inner);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_GEMM_KERNELS_H_
