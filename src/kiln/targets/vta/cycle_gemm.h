// The GEMM unit's arithmetic at the cycle level: plain loops, in the order of the machine's steps.
#ifndef KILN_TARGETS_VTA_CYCLE_GEMM_H_
#define KILN_TARGETS_VTA_CYCLE_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "kiln/support/cpu.h"
#include "kiln/targets/vta/elements.h"
#include "kiln/targets/vta/isa.h"

namespace kiln::vta {

struct CycleGemm {
  size_t batch = 1, block_in = 16, block_out = 16;
  int accumulator_bits = 32;
  const int16_t* inputs = nullptr;   // [element][batch][block_in]
  const int16_t* weights = nullptr;  // [element][block_in][block_out]
  int32_t* accumulators = nullptr;   // [element][batch][block_out]
};

// All steps of a GEMM instruction without reset; indices are inside the buffers.
void RunCycleGemm(const Instruction& instruction, std::span<const Uop> uops, const CycleGemm& gemm);
void RunCycleGemmAvx2(const Instruction& instruction, std::span<const Uop> uops, const CycleGemm& gemm);

// The loops, for kIn x kOut blocks or, where these are 0, for those that `gemm` says. kLevel only keeps apart what
// files compile for different processors.
template <CpuLevel kLevel, size_t kIn, size_t kOut>
void RunGemmSteps(const Instruction& in, std::span<const Uop> uops, const CycleGemm& gemm) {
  const size_t block_in = kIn != 0 ? kIn : gemm.block_in, block_out = kOut != 0 ? kOut : gemm.block_out;
  for (size_t outer = 0; outer < in.outer; ++outer) {
    for (size_t inner = 0; inner < in.inner; ++inner) {
      for (const Uop& uop : uops) {
        const size_t dst = uop.dst + outer * in.dst_outer + inner * in.dst_inner;
        const size_t src = uop.src + outer * in.src_outer + inner * in.src_inner;
        const size_t weight = uop.weight + outer * in.weight_outer + inner * in.weight_inner;
        const int16_t* weights = gemm.weights + weight * block_in * block_out;
        for (size_t b = 0; b < gemm.batch; ++b) {
          const int16_t* inputs = gemm.inputs + (src * gemm.batch + b) * block_in;
          int32_t* sums = gemm.accumulators + (dst * gemm.batch + b) * block_out;
          for (size_t k = 0; k < block_in; ++k) {
            for (size_t o = 0; o < block_out; ++o) {
              const int32_t product = int32_t{inputs[k]} * weights[k * block_out + o];
              sums[o] = static_cast<int32_t>(static_cast<uint32_t>(sums[o]) + static_cast<uint32_t>(product));
            }
          }
          if (gemm.accumulator_bits == 32) continue;
          for (size_t o = 0; o < block_out; ++o) sums[o] = Wrap(sums[o], gemm.accumulator_bits);
        }
      }
    }
  }
}

template <CpuLevel kLevel>
void ChooseGemmSteps(const Instruction& in, std::span<const Uop> uops, const CycleGemm& gemm) {
  if (gemm.block_in == 16 && gemm.block_out == 16) return RunGemmSteps<kLevel, 16, 16>(in, uops, gemm);
  RunGemmSteps<kLevel, 0, 0>(in, uops, gemm);
}

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CYCLE_GEMM_H_
