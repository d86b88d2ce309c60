// The kernels behind gemm.h. A file of each processor level instantiates the loops with its own step.
#ifndef KILN_TARGETS_VTA_GEMM_KERNELS_H_
#define KILN_TARGETS_VTA_GEMM_KERNELS_H_

#include <cstddef>

#include "kiln/targets/vta/gemm.h"

namespace kiln::vta {

using GemmKernel = void(const Instruction& instruction, std::span<const Uop> uops, const GemmBuffers& buffers);
GemmKernel RunGemmPortable;
GemmKernel RunGemmAvx2;        // block_out a multiple of 8
GemmKernel RunGemmAvx512Vnni;  // block_out a multiple of 16

// In a namespace of its own in each file, lest the linker take one file's code for another processor's.
namespace {

// Calls step(inputs, weights, accumulators) with the elements of every step.
template <typename Step>
void ForEachGemmStep(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b, const Step& step) {
  const size_t input_numbers = static_cast<size_t>(b.batch) * b.pairs * 2;
  const size_t weight_numbers = static_cast<size_t>(b.block_out) * b.pairs * 2;
  const size_t accumulator_numbers = static_cast<size_t>(b.batch) * b.block_out;
  for (size_t outer = 0; outer < in.outer; ++outer) {
    for (size_t inner = 0; inner < in.inner; ++inner) {
      const size_t dst = outer * in.dst_outer + inner * in.dst_inner;
      const size_t src = outer * in.src_outer + inner * in.src_inner;
      const size_t weight = outer * in.weight_outer + inner * in.weight_inner;
      for (const Uop& uop : uops) {
        step(b.inputs + (src + uop.src) * input_numbers, b.weights + (weight + uop.weight) * weight_numbers,
             b.accumulators + (dst + uop.dst) * accumulator_numbers);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_GEMM_KERNELS_H_
