#include <immintrin.h>

#include <cstring>

#include "kiln/targets/vta/gemm_kernels.h"

namespace kiln::vta {
namespace {

int32_t PairAt(const int16_t* numbers) {
  int32_t pair;
  std::memcpy(&pair, numbers, sizeof(pair));
  return pair;
}

}  // namespace

void RunGemmAvx2(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b) {
  ForEachGemmStep(in, uops, b, [&](const int16_t* inputs, const int16_t* weights, int32_t* accumulators) {
    for (int row = 0; row < b.batch; ++row) {
      const int16_t* input = inputs + ptrdiff_t{row} * b.pairs * 2;
      for (int o = 0; o < b.block_out; o += 8) {
        auto* at = reinterpret_cast<__m256i*>(accumulators + ptrdiff_t{row} * b.block_out + o);
        __m256i sums = _mm256_loadu_si256(at);
        for (int pair = 0; pair < b.pairs; ++pair) {
          const int16_t* weight = weights + (ptrdiff_t{pair} * b.block_out + o) * 2;
          sums =
              _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_set1_epi32(PairAt(input + ptrdiff_t{2} * pair)),
                                                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weight))));
        }
        _mm256_storeu_si256(at, sums);
      }
    }
  });
}

}  // namespace kiln::vta
