// The vector kernels for AVX2.
#include "kiln/targets/systolic/simulate/functional/vector_kernels.h"

#if defined(__AVX2__)
namespace kiln::systolic {

const VectorKernels kAvx2VectorKernels = VectorBody<simd::Avx2>::kKernels;

}  // namespace kiln::systolic
#endif
