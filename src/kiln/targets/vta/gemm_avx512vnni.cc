#include <immintrin.h>

#include <cstring>

#include "kiln/targets/vta/gemm_kernels.h"

namespace kiln::vta {
namespace {

__m512i PairAt(const int16_t* numbers) {
  int32_t pair;
  std::memcpy(&pair, numbers, sizeof(pair));
  return _mm512_set1_epi32(pair);
}

__m512i WeightsAt(const int16_t* numbers) { return _mm512_loadu_si512(numbers); }

// kPairs: known when compiled, or 0.
template <int kPairs>
void Run(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b) {
  const int pairs = kPairs > 0 ? kPairs : b.pairs;
  ForEachGemmStep(in, uops, b, [&](const int16_t* inputs, const int16_t* weights, int32_t* accumulators) {
    for (int row = 0; row < b.batch; ++row) {
      const int16_t* input = inputs + ptrdiff_t{row} * pairs * 2;
      for (int o = 0; o < b.block_out; o += 16) {
        int32_t* at = accumulators + ptrdiff_t{row} * b.block_out + o;
        // Two sums side by side: the instruction takes several cycles.
        __m512i even = _mm512_loadu_si512(at), odd = _mm512_setzero_si512();
        int pair = 0;
        for (; pair + 1 < pairs; pair += 2) {
          const int16_t* weight = weights + (ptrdiff_t{pair} * b.block_out + o) * 2;
          even = _mm512_dpwssd_epi32(even, PairAt(input + ptrdiff_t{2} * pair), WeightsAt(weight));
          odd = _mm512_dpwssd_epi32(odd, PairAt(input + ptrdiff_t{2} * pair + 2),
                                    WeightsAt(weight + ptrdiff_t{2} * b.block_out));
        }
        if (pair < pairs) {
          even = _mm512_dpwssd_epi32(even, PairAt(input + ptrdiff_t{2} * pair),
                                     WeightsAt(weights + (ptrdiff_t{pair} * b.block_out + o) * 2));
        }
        _mm512_storeu_si512(at, _mm512_add_epi32(even, odd));
      }
    }
  });
}

}  // namespace

void RunGemmAvx512Vnni(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b) {
  if (b.pairs == 8) {
    Run<8>(in, uops, b);
  } else {
    Run<0>(in, uops, b);
  }
}

}  // namespace kiln::vta
