// AVX2 kernel for quires that fit 64 bits: int32 operands and weights, int64 sums (vpmuldq).
#include "kiln/execute/mac_kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>

namespace kiln::internal {
namespace {

constexpr int kPixels = 3;
constexpr int kLanes = 16;  // two vectors of int32 weights, four of int64 sums

// Computes 3 pixels by 16 columns.
void Tile(const TileArguments& args) {
  __m256i sums[kPixels][4];
  const int32_t* operands[kPixels];
  for (int p = 0; p < kPixels; ++p) {
    operands[p] = static_cast<const int32_t*>(args.image) + args.places[p];
    for (__m256i& sum : sums[p]) sum = _mm256_setzero_si256();
  }
  const auto* weights = static_cast<const __m256i*>(args.weights);
  for (int64_t s = 0; s < args.steps; ++s, weights += 2) {
    const int64_t offset = args.offsets[s];
    for (int v = 0; v < 2; ++v) {
      // vpmuldq multiplies the lower halves of 64-bit lanes: the even columns, and the odd ones
      // after a shift.
      const __m256i even = _mm256_loadu_si256(weights + v), odd = _mm256_srli_epi64(even, 32);
      for (int p = 0; p < kPixels; ++p) {
        const __m256i x = _mm256_set1_epi32(operands[p][offset]);
        sums[p][2 * v] = _mm256_add_epi64(sums[p][2 * v], _mm256_mul_epi32(x, even));
        sums[p][2 * v + 1] = _mm256_add_epi64(sums[p][2 * v + 1], _mm256_mul_epi32(x, odd));
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    // AVX2 cannot convert int64 to fp32; the conversion is scalar and undoes the order of the
    // columns.
    alignas(32) int64_t exact[4][4];
    for (int i = 0; i < 4; ++i)
      _mm256_store_si256(reinterpret_cast<__m256i*>(exact[i]), sums[p][i]);
    float* psums = static_cast<float*>(args.psums) + p * kLanes;
    for (int n = 0; n < kLanes; ++n) {
      const int sum = n / 8 * 2 + n % 2, lane = n % 8 / 2;
      psums[n] = static_cast<float>(exact[sum][lane]) * args.unit;
    }
  }
}

}  // namespace

const TileKernel kAvx2QuireKernel = {.lanes = kLanes,
                                     .max_vectors = 1,
                                     .pixels = kPixels,
                                     .operands_per_step = 1,
                                     .weight_bytes = 4,
                                     .starting = false,
                                     .function = {Tile}};

}  // namespace kiln::internal
#endif
