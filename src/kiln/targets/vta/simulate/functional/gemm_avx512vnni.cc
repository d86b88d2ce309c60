// The GEMM kernels for processors with AVX-512 VNNI: one for the usual block of 16 x 16, and one
// for other blocks.

#include <immintrin.h>

#include "kiln/targets/vta/simulate/functional/gemm_kernels.h"

namespace kiln::vta {
namespace {

__m512i Spread(const int16_t* pair) { return _mm512_set1_epi32(PairAt(pair)); }

constexpr int kPairs = 8, kOutputs = 16;  // sizes of the usual block, 16x16

struct Held {  // holds the weights of one element
  __m512i pairs[kPairs];
};

// Runs all steps with blocks of 16x16, whose weights stay in eight registers.
void RunBlock16(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b) {
  const auto tile = [&](const int16_t* weights) {
    Held held;
    for (int pair = 0; pair < kPairs; ++pair)
      held.pairs[pair] = _mm512_loadu_si512(weights + pair * kOutputs * 2);
    return [batch = b.batch, held](const int16_t* inputs, int32_t* accumulators) {
      for (int row = 0; row < batch; ++row, inputs += kPairs * 2, accumulators += kOutputs) {
        // Two independent sums hide the latency of the instruction, which takes several cycles.
        __m512i even = _mm512_loadu_si512(accumulators), odd = _mm512_setzero_si512();
        for (int pair = 0; pair < kPairs; pair += 2) {
          even = _mm512_dpwssd_epi32(even, Spread(inputs + 2 * pair), held.pairs[pair]);
          odd = _mm512_dpwssd_epi32(odd, Spread(inputs + 2 * pair + 2), held.pairs[pair + 1]);
        }
        _mm512_storeu_si512(accumulators, _mm512_add_epi32(even, odd));
      }
    };
  };
  ForEachGemmStep(in, uops, b, tile);
}

void RunAny(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b) {
  const auto tile = [&](const int16_t* weights) {
    return [&b, weights](const int16_t* inputs, int32_t* accumulators) {
      for (int row = 0; row < b.batch; ++row) {
        const int16_t* input = inputs + ptrdiff_t{row} * b.pairs * 2;
        for (int o = 0; o < b.block_out; o += 16) {
          int32_t* at = accumulators + ptrdiff_t{row} * b.block_out + o;
          __m512i sums = _mm512_loadu_si512(at);
          for (int pair = 0; pair < b.pairs; ++pair) {
            const int16_t* weight = weights + (ptrdiff_t{pair} * b.block_out + o) * 2;
            sums = _mm512_dpwssd_epi32(sums, Spread(input + ptrdiff_t{2} * pair),
                                       _mm512_loadu_si512(weight));
          }
          _mm512_storeu_si512(at, sums);
        }
      }
    };
  };
  ForEachGemmStep(in, uops, b, tile);
}

}  // namespace

void RunGemmAvx512Vnni(const Instruction& in, std::span<const Uop> uops, const GemmBuffers& b) {
  if (b.pairs == 8 && b.block_out == 16) {
    RunBlock16(in, uops, b);
  } else {
    RunAny(in, uops, b);
  }
}

}  // namespace kiln::vta
