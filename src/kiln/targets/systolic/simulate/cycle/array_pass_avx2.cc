// The pass kernel for AVX2.
#include <immintrin.h>

#include <cstring>

#include "kiln/targets/systolic/simulate/cycle/array_pass.h"

namespace kiln::systolic::internal {
namespace {

// Computes one pixel for `kVectors` registers of 8 columns, from column `first`.
template <int kVectors>
inline void Pixel(const ArrayWeights& weights, const int16_t* word, int first, bool overwrite,
                  int32_t* accumulators) {
  __m256i sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sums[v] =
        overwrite
            ? _mm256_setzero_si256()
            : _mm256_loadu_si256(reinterpret_cast<const __m256i*>(accumulators + first + 8 * v));
  }
  const int16_t* pairs = weights.pairs.data() + static_cast<int64_t>(first) * 2;
  for (int p = 0; p < weights.row_pairs; ++p) {
    int32_t pair;
    std::memcpy(&pair, word + 2 * p, sizeof(pair));
    const __m256i codes = _mm256_set1_epi32(pair);
    const int16_t* at = pairs + static_cast<int64_t>(p) * weights.columns * 2;
    for (int v = 0; v < kVectors; ++v) {
      const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 16 * v));
      sums[v] = _mm256_add_epi32(sums[v], _mm256_madd_epi16(codes, w));
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(accumulators + first + 8 * v), sums[v]);
  }
}

}  // namespace

void RunPassAvx2(const ArrayWeights& weights, const int16_t* words, const PassWords& places,
                 bool overwrite, int32_t* accumulators) {
  const int word_codes = 2 * weights.row_pairs;
  for (const int32_t row : places.rows) {
    for (const int32_t column : places.columns) {
      const int16_t* word = words + static_cast<int64_t>(row + column) * word_codes;
      int first = 0;
      for (; first + 32 <= weights.columns; first += 32)
        Pixel<4>(weights, word, first, overwrite, accumulators);
      if (first + 16 <= weights.columns) {
        Pixel<2>(weights, word, first, overwrite, accumulators);
        first += 16;
      }
      if (first < weights.columns) Pixel<1>(weights, word, first, overwrite, accumulators);
      accumulators += weights.columns;
    }
  }
}

}  // namespace kiln::systolic::internal
