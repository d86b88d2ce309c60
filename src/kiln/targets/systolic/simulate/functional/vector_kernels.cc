// Selects the vector kernels of the CPU that runs the program.
#include "kiln/targets/systolic/simulate/functional/vector_kernels.h"

#include "kiln/support/cpu.h"

namespace kiln::systolic {
namespace {

constexpr VectorKernels kPortableVectorKernels = VectorBody<simd::Scalar>::kKernels;

}  // namespace

const VectorKernels& GetVectorKernels() {
#if defined(__x86_64__)
  switch (GetCpuLevel()) {
    case CpuLevel::kAvx512Bf16:
    case CpuLevel::kAvx512Vnni:
      return kAvx512VectorKernels;
    case CpuLevel::kAvx2:
      return kAvx2VectorKernels;
    case CpuLevel::kPortable:
      break;
  }
#endif
  return kPortableVectorKernels;
}

}  // namespace kiln::systolic
