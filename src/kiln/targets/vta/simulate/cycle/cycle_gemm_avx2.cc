// The GEMM loops of the cycle level, compiled for processors with AVX2.

#include "kiln/targets/vta/simulate/cycle/cycle_gemm.h"

namespace kiln::vta {

void RunCycleGemmAvx2(const Instruction& instruction, std::span<const Uop> uops,
                      const CycleGemm& gemm) {
  ChooseGemmSteps<CpuLevel::kAvx2>(instruction, uops, gemm);
}

}  // namespace kiln::vta
