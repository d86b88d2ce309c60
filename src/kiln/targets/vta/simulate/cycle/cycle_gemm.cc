// Chooses the GEMM loops of the cycle level that fit the processor, and compiles the portable ones.

#include "kiln/targets/vta/simulate/cycle/cycle_gemm.h"

namespace kiln::vta {

void RunCycleGemm(const Instruction& instruction, std::span<const Uop> uops,
                  const CycleGemm& gemm) {
  if (GetCpuLevel() >= CpuLevel::kAvx2) return RunCycleGemmAvx2(instruction, uops, gemm);
  ChooseGemmSteps<CpuLevel::kPortable>(instruction, uops, gemm);
}

}  // namespace kiln::vta
