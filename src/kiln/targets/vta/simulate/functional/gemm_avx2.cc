// The GEMM kernel for processors with AVX2.

#include <immintrin.h>

#include "kiln/targets/vta/simulate/functional/gemm_kernels.h"

namespace kiln::vta {
namespace {

__m256i WeightsAt(const int16_t* numbers) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers));
}

// Runs all steps. kPairs is the number of pairs if it is known at compile time, else 0.
template <int kPairs>
void Run(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b) {
  const auto tile = [&](const int16_t* weights) {
    return [&b, weights](const int16_t* inputs, int32_t* accumulators) {
      const int pairs = kPairs > 0 ? kPairs : b.pairs;
      for (int row = 0; row < b.batch; ++row) {
        const int16_t* input = inputs + ptrdiff_t{row} * pairs * 2;
        for (int o = 0; o < b.block_out; o += 8) {
          auto* at = reinterpret_cast<__m256i*>(accumulators + ptrdiff_t{row} * b.block_out + o);
          __m256i sums = _mm256_loadu_si256(at);
          for (int pair = 0; pair < pairs; ++pair) {
            const int16_t* weight = weights + (ptrdiff_t{pair} * b.block_out + o) * 2;
            sums = _mm256_add_epi32(
                sums, _mm256_madd_epi16(_mm256_set1_epi32(PairAt(input + ptrdiff_t{2} * pair)),
                                        WeightsAt(weight)));
          }
          _mm256_storeu_si256(at, sums);
        }
      }
    };
  };
  ForEachGemmStep(in, uops, b, tile);
}

}  // namespace

void RunGemmAvx2(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b) {
  if (b.pairs == 8) {
    Run<8>(in, uops, b);
  } else {
    Run<0>(in, uops, b);
  }
}

}  // namespace kiln::vta
