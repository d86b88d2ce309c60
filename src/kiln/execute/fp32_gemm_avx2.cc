#include "kiln/execute/fp32_kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#include "kiln/execute/fp32_body.h"

namespace kiln::internal {

const Fp32Kernels kAvx2Fp32Kernels = {6, 16, TileOf<simd::Avx2, 6, 2>,
                                      DepthwiseOf<simd::Avx2, simd::Scalar>, FinishOf<simd::Avx2>};

}  // namespace kiln::internal
#endif
