// Instantiates the fp32 kernels of fp32_body.h for AVX-512.
#include "kiln/execute/fp32_kernels.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include "kiln/execute/fp32_body.h"

namespace kiln::internal {

// Tiles of 8 rows by 3 vectors of 16 lanes: 24 sums, 3 vectors of b and one broadcast of a fit the
// 32 registers.
const Fp32Kernels kAvx512Fp32Kernels = {8, 48, TileOf<simd::Avx512, 8, 3>,
                                        DepthwiseOf<simd::Avx512, simd::Scalar>,
                                        FinishOf<simd::Avx512>};

}  // namespace kiln::internal
#endif
