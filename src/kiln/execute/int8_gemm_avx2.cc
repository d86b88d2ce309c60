// AVX2 kernels of int8_gemm.h: codes and weights are int16, two per step (vpmaddwd, vpaddd).
#include "kiln/execute/int8_kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <cstring>

namespace kiln::internal {
namespace {

__m256i LoadVector(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
void StoreVector(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

// Computes kPixels pixels by kVectors vectors of 8 columns. Each step broadcasts two codes of a
// pixel as one 32-bit lane and multiplies them by two weights of each column.
template <int kPixels, int kVectors>
void Block(const BlockArguments& args) {
  __m256i sums[kPixels][kVectors];
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      sums[p][v] = args.starting != nullptr ? LoadVector(args.starting + 8 * v)
                                            : LoadVector(args.out + p * args.out_stride + 8 * v);
    }
  }
  const int16_t* weights = static_cast<const int16_t*>(args.weights);
  for (int64_t s = 0; s < args.segment_count; ++s) {
    const int16_t* codes[kPixels];
    for (int p = 0; p < kPixels; ++p) {
      codes[p] = static_cast<const int16_t*>(args.image) + args.pixels[p] + args.segments[s].offset;
    }
    const int64_t end = 2 * args.segments[s].steps;
    for (int64_t i = 0; i < end; i += 2) {
      __m256i w[kVectors];
      for (int v = 0; v < kVectors; ++v) w[v] = LoadVector(weights + 16 * v);
      weights += 16 * kVectors;
      for (int p = 0; p < kPixels; ++p) {
        int32_t two;
        std::memcpy(&two, codes[p] + i, sizeof two);
        const __m256i a = _mm256_set1_epi32(two);
        for (int v = 0; v < kVectors; ++v)
          sums[p][v] = _mm256_add_epi32(sums[p][v], _mm256_madd_epi16(a, w[v]));
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v)
      StoreVector(args.out + p * args.out_stride + 8 * v, sums[p][v]);
  }
}

// Depthwise block with the operands of the AVX-512 kernel: (code, its sign) times (weight, 0).
struct DepthwiseBlock {
  template <int kPixels>
  static void Run(const int8_t* image, const int64_t* pixels, const int64_t* tap_offsets,
                  int64_t taps, const int32_t* weights, int64_t channels, int32_t* out,
                  int64_t out_stride) {
    int64_t c = 0;
    for (; c + 8 <= channels; c += 8) {
      __m256i sums[kPixels];
      for (int p = 0; p < kPixels; ++p) sums[p] = _mm256_setzero_si256();
      for (int64_t t = 0; t < taps; ++t) {
        const __m256i w = LoadVector(weights + t * channels + c);
        for (int p = 0; p < kPixels; ++p) {
          const void* at = image + pixels[p] + tap_offsets[t] + c;
          const __m256i a = _mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(at)));
          sums[p] = _mm256_add_epi32(sums[p], _mm256_madd_epi16(a, w));
        }
      }
      for (int p = 0; p < kPixels; ++p) StoreVector(out + p * out_stride + c, sums[p]);
    }
    // Channels after the last full vector, one at a time.
    for (; c < channels; ++c) {
      for (int p = 0; p < kPixels; ++p) {
        uint32_t sum = 0;
        for (int64_t t = 0; t < taps; ++t) {
          const int16_t w = static_cast<int16_t>(weights[t * channels + c]);
          sum += static_cast<uint32_t>(image[pixels[p] + tap_offsets[t] + c] * w);
        }
        out[p * out_stride + c] = static_cast<int32_t>(sum);
      }
    }
  }
};

}  // namespace

// 12 sums, 2 vectors of weights, one of codes and one product fill the 16 registers.
const KernelSet kAvx2Kernels = {2,
                                8,
                                2,
                                {8, 6, 0, 0},
                                {{Block<1, 1>, Block<2, 1>, Block<3, 1>, Block<4, 1>, Block<5, 1>,
                                  Block<6, 1>, Block<7, 1>, Block<8, 1>},
                                 {Block<1, 2>, Block<2, 2>, Block<3, 2>, Block<4, 2>, Block<5, 2>,
                                  Block<6, 2>, nullptr, nullptr},
                                 {},
                                 {}},
                                DepthwiseInBlocks<DepthwiseBlock>};

}  // namespace kiln::internal
#endif
