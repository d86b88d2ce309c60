// Integer psums for AVX-512 VNNI: four int8 operands per step (vpdpbusd), or two int16 (vpdpwssd).
#include "kiln/execute/mac_kernels.h"

#if defined(__AVX512VNNI__)
#include <cstring>

#include "kiln/execute/mac_float_body.h"
#include "kiln/numerics/simd.h"

namespace kiln::internal {
namespace {

// 6 pixels by up to 4 vectors of 16 columns: 24 sums, 4 vectors of weights and one operand fit the
// 32 registers.
constexpr int kPixels = 6;

// Computes kPixels pixels by kVectors vectors. kBytes: four int8 weights and biased operands per
// step, with initial psums that correct the bias; otherwise two int16.
template <bool kBytes, int kVectors>
void Tile(const TileArguments& args) {
  constexpr int kOperandBytes = kBytes ? 1 : 2;
  const auto* weights = static_cast<const __m512i*>(args.weights);
  __m512i sums[kPixels][kVectors];
  const uint8_t* operands[kPixels];
  for (int p = 0; p < kPixels; ++p) {
    operands[p] = static_cast<const uint8_t*>(args.image) + args.places[p] * kOperandBytes;
    for (int v = 0; v < kVectors; ++v) {
      sums[p][v] = kBytes ? _mm512_loadu_si512(weights + v) : _mm512_setzero_si512();
    }
  }
  if (kBytes) weights += kVectors;
  for (int64_t s = 0; s < args.steps; ++s, weights += kVectors) {
    const int64_t offset = args.offsets[s] * kOperandBytes;
    __m512i w[kVectors];
    for (int v = 0; v < kVectors; ++v) w[v] = _mm512_loadu_si512(weights + v);
    for (int p = 0; p < kPixels; ++p) {
      int32_t four;
      std::memcpy(&four, operands[p] + offset, sizeof four);
      const __m512i x = _mm512_set1_epi32(four);
      for (int v = 0; v < kVectors; ++v) {
        sums[p][v] = kBytes ? _mm512_dpbusd_epi32(sums[p][v], x, w[v])
                            : _mm512_dpwssd_epi32(sums[p][v], x, w[v]);
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      _mm512_storeu_si512(static_cast<__m512i*>(args.psums) + p * kVectors + v, sums[p][v]);
    }
  }
}

// Chunk kernel for scaled fp32 accumulations, accumulation = fma(fp32(psum), s, accumulation).
// Twelve psums and twelve accumulations stay in registers for all tiles.
template <int kVectors>
bool ScaledTiles(const ChunkArguments& args) {
  const auto* weights = static_cast<const __m512i*>(args.weights);
  __m512 accumulations[kPixels][kVectors];
  const uint8_t* operands[kPixels];
  for (int p = 0; p < kPixels; ++p) {
    operands[p] = static_cast<const uint8_t*>(args.image) + args.places[p];
    for (int v = 0; v < kVectors; ++v) {
      accumulations[p][v] =
          args.begun ? _mm512_loadu_ps(args.results[p] + 16 * v) : _mm512_setzero_ps();
    }
  }
  for (int64_t t = 0; t < args.tile_count; ++t) {
    const int64_t* offsets = args.step_offsets + args.tiles[t].first_step;
    __m512i sums[kPixels][kVectors];
    for (int p = 0; p < kPixels; ++p) {
      for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm512_loadu_si512(weights + v);
    }
    weights += kVectors;
    for (int64_t s = 0; s < args.tiles[t].steps; ++s, weights += kVectors) {
      __m512i w[kVectors];
      for (int v = 0; v < kVectors; ++v) w[v] = _mm512_loadu_si512(weights + v);
      for (int p = 0; p < kPixels; ++p) {
        int32_t four;
        std::memcpy(&four, operands[p] + offsets[s], sizeof four);
        const __m512i x = _mm512_set1_epi32(four);
        for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm512_dpbusd_epi32(sums[p][v], x, w[v]);
      }
    }
    // The tile ends: converts its psums to fp32 and adds them under the tile's scales.
    const float* weight_scales = args.weight_scales + t * args.weight_scale_stride;
    for (int p = 0; p < kPixels; ++p) {
      const __m512 input_scale = _mm512_set1_ps(args.input_scales[p][args.scale_offsets[t]]);
      for (int v = 0; v < kVectors; ++v) {
        const __m512 scale = _mm512_mul_ps(input_scale, _mm512_loadu_ps(weight_scales + 16 * v));
        const __m512 psum = _mm512_maskz_cvtepi32_ps(0xffff, sums[p][v]);
        accumulations[p][v] = _mm512_fmadd_ps(psum, scale, accumulations[p][v]);
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v)
      _mm512_storeu_ps(args.results[p] + 16 * v, accumulations[p][v]);
  }
  return true;
}

// Adds integer psums to integer accumulations; both wrap at their bits.
void AddIntegers(const AccumulationArguments& args) {
  const __m128i psum_above = _mm_cvtsi32_si128(32 - args.psum_bits);
  const __m128i above = _mm_cvtsi32_si128(32 - args.accumulation_bits);
  const auto wrap = [](__m512i value, __m128i count) {
    return _mm512_maskz_sra_epi32(0xffff, _mm512_maskz_sll_epi32(0xffff, value, count), count);
  };
  for (int64_t p = 0; p < args.pixels; ++p) {
    const int32_t* psums = static_cast<const int32_t*>(args.psums) + p * args.columns;
    int32_t* results = static_cast<int32_t*>(args.results) + p * args.stride;
    for (int64_t n = 0; n < args.columns; n += 16) {
      const __m512i psum = wrap(_mm512_loadu_si512(psums + n), psum_above);
      _mm512_storeu_si512(results + n,
                          wrap(_mm512_add_epi32(psum, _mm512_loadu_si512(results + n)), above));
    }
  }
}

template <bool kBytes>
constexpr TileKernel Kernel() {
  return {.lanes = 16,
          .max_vectors = 4,
          .pixels = kPixels,
          .operands_per_step = kBytes ? 4 : 2,
          .weight_bytes = kBytes ? 1 : 2,
          .starting = kBytes,
          .function = {Tile<kBytes, 1>, Tile<kBytes, 2>, Tile<kBytes, 3>, Tile<kBytes, 4>}};
}

// The chunk kernel keeps psums and accumulations in registers, so it takes half the vectors.
constexpr TileKernel ScaledShape() {
  TileKernel kernel = Kernel<true>();
  kernel.max_vectors = 2;
  return kernel;
}

}  // namespace

const IntegerKernelSet kAvx512IntegerKernels = {
    .bytes = Kernel<true>(),
    .words = Kernel<false>(),
    .to_integer = AddIntegers,
    .to_fp32 = AddConvertedTile<simd::Avx512>,
    .scaled = {.tile = ScaledShape(), .function = {ScaledTiles<1>, ScaledTiles<2>}}};

}  // namespace kiln::internal
#endif
