// Chooses the GEMM kernel that fits the processor and the block size, and implements the portable
// one.

#include "kiln/targets/vta/simulate/functional/gemm.h"

#include "kiln/support/cpu.h"
#include "kiln/targets/vta/simulate/functional/gemm_kernels.h"

namespace kiln::vta {

void RunGemmPortable(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b) {
  const auto tile = [&](const int16_t* weights) {
    return [&b, weights](const int16_t* inputs, int32_t* accumulators) {
      for (int row = 0; row < b.batch; ++row) {
        const int16_t* input = inputs + ptrdiff_t{row} * b.pairs * 2;
        int32_t* sums = accumulators + ptrdiff_t{row} * b.block_out;
        for (int pair = 0; pair < b.pairs; ++pair) {
          const int16_t* weight = weights + ptrdiff_t{pair} * b.block_out * 2;
          for (int o = 0; o < b.block_out; ++o) {
            const auto first = static_cast<uint32_t>(input[2 * pair] * weight[2 * o]);
            const auto second = static_cast<uint32_t>(input[2 * pair + 1] * weight[2 * o + 1]);
            sums[o] = static_cast<int32_t>(static_cast<uint32_t>(sums[o]) + first + second);
          }
        }
      }
    };
  };
  ForEachGemmStep(in, uops, b, tile);
}

void RunGemm(const Instruction& instruction, std::span<const Uop> uops,
             const GemmBuffers& buffers) {
  const CpuLevel level = GetCpuLevel();
  if (level >= CpuLevel::kAvx512Vnni && buffers.block_out % 16 == 0) {
    RunGemmAvx512Vnni(instruction, uops, buffers);
  } else if (level >= CpuLevel::kAvx2 && buffers.block_out % 8 == 0) {
    RunGemmAvx2(instruction, uops, buffers);
  } else {
    RunGemmPortable(instruction, uops, buffers);
  }
}

}  // namespace kiln::vta
