#include "kiln/targets/vta/cycle_gemm.h"

namespace kiln::vta {

void RunCycleGemmAvx2(const Instruction& instruction, std::span<const Uop> uops,
                      const CycleGemm& gemm) {
  ChooseGemmSteps<CpuLevel::kAvx2>(instruction, uops, gemm);
}

}  // namespace kiln::vta
