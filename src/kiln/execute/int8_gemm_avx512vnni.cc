// AVX-512 VNNI kernels of int8_gemm.h: biased codes and int8 weights, four per step (vpdpbusd).
#include "kiln/execute/int8_kernels.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include <cstring>

namespace kiln::internal {
namespace {

// Computes kPixels pixels by kVectors vectors of 16 columns. Each step broadcasts four codes of a
// pixel as one 32-bit lane.
template <int kPixels, int kVectors>
void Block(const BlockArguments& args) {
  __m512i sums[kPixels][kVectors];
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      sums[p][v] = args.starting != nullptr
                       ? _mm512_loadu_si512(args.starting + 16 * v)
                       : _mm512_loadu_si512(args.out + p * args.out_stride + 16 * v);
    }
  }
  const int8_t* weights = static_cast<const int8_t*>(args.weights);
  for (int64_t s = 0; s < args.segment_count; ++s) {
    const uint8_t* codes[kPixels];
    for (int p = 0; p < kPixels; ++p) {
      codes[p] = static_cast<const uint8_t*>(args.image) + args.pixels[p] + args.segments[s].offset;
    }
    const int64_t end = 4 * args.segments[s].steps;
    for (int64_t i = 0; i < end; i += 4) {
      __m512i w[kVectors];
      for (int v = 0; v < kVectors; ++v) w[v] = _mm512_loadu_si512(weights + 64 * v);
      weights += 64 * kVectors;
      for (int p = 0; p < kPixels; ++p) {
        int32_t four;
        std::memcpy(&four, codes[p] + i, sizeof four);
        const __m512i a = _mm512_set1_epi32(four);
        for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm512_dpbusd_epi32(sums[p][v], a, w[v]);
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v)
      _mm512_storeu_si512(args.out + p * args.out_stride + 16 * v, sums[p][v]);
  }
}

// Depthwise block of 16 channels. A code widened to 32 bits is the int16 pair (code, its sign); a
// weight is stored as (weight, 0), so vpmaddwd computes the exact product.
struct DepthwiseBlock {
  template <int kPixels>
  static void Run(const int8_t* image, const int64_t* pixels, const int64_t* tap_offsets,
                  int64_t taps, const int32_t* weights, int64_t channels, int32_t* out,
                  int64_t out_stride) {
    for (int64_t c = 0; c < channels; c += 16) {
      const int64_t left = channels - c;
      const __mmask16 mask = left >= 16 ? 0xffff : static_cast<__mmask16>((1u << left) - 1);
      __m512i sums[kPixels];
      for (int p = 0; p < kPixels; ++p) sums[p] = _mm512_setzero_si512();
      for (int64_t t = 0; t < taps; ++t) {
        const __m512i w = _mm512_maskz_loadu_epi32(mask, weights + t * channels + c);
        for (int p = 0; p < kPixels; ++p) {
          const __m128i a = _mm_maskz_loadu_epi8(mask, image + pixels[p] + tap_offsets[t] + c);
          sums[p] = _mm512_add_epi32(sums[p],
                                     _mm512_madd_epi16(_mm512_maskz_cvtepi8_epi32(0xffff, a), w));
        }
      }
      for (int p = 0; p < kPixels; ++p)
        _mm512_mask_storeu_epi32(out + p * out_stride + c, mask, sums[p]);
    }
  }
};

}  // namespace

// 24 sums, 4 vectors of weights and one of codes fit the 32 registers.
const KernelSet kAvx512VnniKernels = {4,
                                      16,
                                      4,
                                      {8, 8, 8, 6},
                                      {{Block<1, 1>, Block<2, 1>, Block<3, 1>, Block<4, 1>,
                                        Block<5, 1>, Block<6, 1>, Block<7, 1>, Block<8, 1>},
                                       {Block<1, 2>, Block<2, 2>, Block<3, 2>, Block<4, 2>,
                                        Block<5, 2>, Block<6, 2>, Block<7, 2>, Block<8, 2>},
                                       {Block<1, 3>, Block<2, 3>, Block<3, 3>, Block<4, 3>,
                                        Block<5, 3>, Block<6, 3>, Block<7, 3>, Block<8, 3>},
                                       {Block<1, 4>, Block<2, 4>, Block<3, 4>, Block<4, 4>,
                                        Block<5, 4>, Block<6, 4>, nullptr, nullptr}},
                                      DepthwiseInBlocks<DepthwiseBlock>};

}  // namespace kiln::internal
#endif
