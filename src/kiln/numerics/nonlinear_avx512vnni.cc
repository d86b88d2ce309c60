// The nonlinear functions compiled for AVX-512; the build gives this file the compiler flags.

#include "kiln/numerics/nonlinear_body.h"

#if defined(__AVX512F__)
namespace kiln::internal {

void ApproximateAvx512(const SplineTables& tables, NonlinearFunction function, float* values,
                       int64_t count) {
  NonlinearBody<simd::Avx512>{tables}.Run(function, values, count);
}

}  // namespace kiln::internal
#endif
