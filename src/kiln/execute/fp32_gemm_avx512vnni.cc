#include "kiln/execute/fp32_kernels.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include "kiln/execute/fp32_body.h"

namespace kiln::internal {

const Fp32Kernels kAvx512Fp32Kernels = {8, 48, TileOf<simd::Avx512, 8, 3>,
                                        DepthwiseOf<simd::Avx512, simd::Scalar>,
                                        FinishOf<simd::Avx512>};

}  // namespace kiln::internal
#endif
