// The vector kernels for AVX-512.
#include "kiln/targets/systolic/simulate/functional/vector_kernels.h"

#if defined(__AVX512F__)
namespace kiln::systolic {

const VectorKernels kAvx512VectorKernels = VectorBody<simd::Avx512>::kKernels;

}  // namespace kiln::systolic
#endif
