// AVX-512 kernel for quires that fit 64 bits: int32 operands and weights, int64 sums (vpmuldq).
#include "kiln/execute/mac_kernels.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

namespace kiln::internal {
namespace {

constexpr int kPixels = 8;

// Computes 8 pixels by 16 columns.
void Tile(const TileArguments& args) {
  __m512i even_sums[kPixels], odd_sums[kPixels];
  const int32_t* operands[kPixels];
  for (int p = 0; p < kPixels; ++p) {
    operands[p] = static_cast<const int32_t*>(args.image) + args.places[p];
    even_sums[p] = odd_sums[p] = _mm512_setzero_si512();
  }
  const auto* weights = static_cast<const __m512i*>(args.weights);
  for (int64_t s = 0; s < args.steps; ++s, ++weights) {
    const int64_t offset = args.offsets[s];
    // vpmuldq multiplies the lower halves of 64-bit lanes: the even columns, and the odd ones after
    // a shift.
    const __m512i even = _mm512_loadu_si512(weights), odd = _mm512_maskz_srli_epi64(0xff, even, 32);
    for (int p = 0; p < kPixels; ++p) {
      const __m512i x = _mm512_set1_epi32(operands[p][offset]);
      even_sums[p] = _mm512_add_epi64(even_sums[p], _mm512_maskz_mul_epi32(0xff, x, even));
      odd_sums[p] = _mm512_add_epi64(odd_sums[p], _mm512_maskz_mul_epi32(0xff, x, odd));
    }
  }
  const __m512i interleave =
      _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  for (int p = 0; p < kPixels; ++p) {
    // Rounds each exact sum to fp32 once, then merges even and odd columns into memory order.
    const __m256 even = _mm512_maskz_cvtepi64_ps(0xff, even_sums[p]),
                 odd = _mm512_maskz_cvtepi64_ps(0xff, odd_sums[p]);
    const __m512 both = _mm512_maskz_insertf32x8(0xffff, _mm512_castps256_ps512(even), odd, 1);
    const __m512 psums = _mm512_maskz_permutexvar_ps(0xffff, interleave, both);
    _mm512_storeu_ps(static_cast<float*>(args.psums) + 16 * p,
                     _mm512_mul_ps(psums, _mm512_set1_ps(args.unit)));
  }
}

}  // namespace

const TileKernel kAvx512QuireKernel = {.lanes = 16,
                                       .max_vectors = 1,
                                       .pixels = kPixels,
                                       .operands_per_step = 1,
                                       .weight_bytes = 4,
                                       .starting = false,
                                       .function = {Tile}};

}  // namespace kiln::internal
#endif
