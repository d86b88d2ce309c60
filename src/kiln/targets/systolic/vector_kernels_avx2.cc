#include "kiln/targets/systolic/vector_kernels.h"

#if defined(__AVX2__)
namespace kiln::systolic {

const VectorKernels kAvx2VectorKernels = VectorBody<simd::Avx2>::kKernels;

}  // namespace kiln::systolic
#endif
