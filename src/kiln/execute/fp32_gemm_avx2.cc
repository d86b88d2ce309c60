// Instantiates the fp32 kernels of fp32_body.h for AVX2 and FMA.
#include "kiln/execute/fp32_kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#include "kiln/execute/fp32_body.h"

namespace kiln::internal {

// Tiles of 6 rows by 2 vectors of 8 lanes: 12 sums, 2 vectors of b and one broadcast of a fill 15
// of the 16 registers.
const Fp32Kernels kAvx2Fp32Kernels = {6, 16, TileOf<simd::Avx2, 6, 2>,
                                      DepthwiseOf<simd::Avx2, simd::Scalar>, FinishOf<simd::Avx2>};

}  // namespace kiln::internal
#endif
