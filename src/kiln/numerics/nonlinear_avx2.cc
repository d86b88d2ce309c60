// The nonlinear functions compiled for AVX2; the build gives this file the compiler flags.

#include "kiln/numerics/nonlinear_body.h"

#if defined(__AVX2__)
namespace kiln::internal {

void ApproximateAvx2(const SplineTables& tables, NonlinearFunction function, float* values,
                     int64_t count) {
  NonlinearBody<simd::Avx2>{tables}.Run(function, values, count);
}

}  // namespace kiln::internal
#endif
