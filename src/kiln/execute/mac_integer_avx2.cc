// Integer psums for AVX2: int16 operands and weights, two per step (vpmaddwd).
#include "kiln/execute/mac_kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <cstring>

#include "kiln/execute/mac_float_body.h"
#include "kiln/numerics/simd.h"

namespace kiln::internal {
namespace {

// 4 pixels by 2 vectors of 8 columns: 8 sums stay in registers.
constexpr int kPixels = 4;

// Computes kPixels pixels by kVectors vectors of 8 columns. Each step broadcasts two operands of a
// pixel as one 32-bit lane.
template <int kVectors>
void WordTile(const TileArguments& args) {
  __m256i sums[kPixels][kVectors];
  const int16_t* operands[kPixels];
  for (int p = 0; p < kPixels; ++p) {
    operands[p] = static_cast<const int16_t*>(args.image) + args.places[p];
    for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm256_setzero_si256();
  }
  const auto* weights = static_cast<const __m256i*>(args.weights);
  for (int64_t s = 0; s < args.steps; ++s, weights += kVectors) {
    const int64_t offset = args.offsets[s];
    for (int p = 0; p < kPixels; ++p) {
      int32_t two;
      std::memcpy(&two, operands[p] + offset, sizeof two);
      const __m256i x = _mm256_set1_epi32(two);
      for (int v = 0; v < kVectors; ++v) {
        sums[p][v] =
            _mm256_add_epi32(sums[p][v], _mm256_madd_epi16(x, _mm256_loadu_si256(weights + v)));
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      _mm256_storeu_si256(static_cast<__m256i*>(args.psums) + p * kVectors + v, sums[p][v]);
    }
  }
}

// Adds integer psums to integer accumulations. A shift left and an arithmetic shift right cut a sum
// to its bits and sign-extend it.
void AddIntegers(const AccumulationArguments& args) {
  const __m128i psum_above = _mm_cvtsi32_si128(32 - args.psum_bits);
  const __m128i above = _mm_cvtsi32_si128(32 - args.accumulation_bits);
  for (int64_t p = 0; p < args.pixels; ++p) {
    const int32_t* psums = static_cast<const int32_t*>(args.psums) + p * args.columns;
    int32_t* results = static_cast<int32_t*>(args.results) + p * args.stride;
    for (int64_t n = 0; n < args.columns; n += 8) {
      const __m256i psum = simd::Avx2::LoadInt32(psums + n);
      const __m256i cut = _mm256_sra_epi32(_mm256_sll_epi32(psum, psum_above), psum_above);
      const __m256i sum = _mm256_add_epi32(cut, simd::Avx2::LoadInt32(results + n));
      simd::Avx2::StoreInt32(results + n, _mm256_sra_epi32(_mm256_sll_epi32(sum, above), above));
    }
  }
}

}  // namespace

const IntegerKernelSet kAvx2IntegerKernels = {.bytes = {},
                                              .words = {.lanes = 8,
                                                        .max_vectors = 2,
                                                        .pixels = kPixels,
                                                        .operands_per_step = 2,
                                                        .weight_bytes = 2,
                                                        .starting = false,
                                                        .function = {WordTile<1>, WordTile<2>}},
                                              .to_integer = AddIntegers,
                                              .to_fp32 = AddConvertedTile<simd::Avx2>,
                                              .scaled = {}};

}  // namespace kiln::internal
#endif
