// Psums in bf16 where vcvtne2ps2bf16 rounds two vectors of fp32 sums at once, to nearest even. It takes subnormals for
// zeros, which is why FloatPsum::normal must hold; it neither reads nor changes the processor's modes and flags.
//
// Products of too many bits (FloatPsum::odd) are served in two ways, the second where the first is not sure:
//
//   at a venture   Sums are rounded to nearest in fp32, then to bf16. The processor keeps a flag for inexact results
//                  and all else here leaves it alone: if it is still down after a chunk, every fp32 sum was the exact
//                  one and has been rounded only once.
//   both sides     The exact sum s is rounded down and up to fp32, either is rounded to bf16, giving a <= b, and the
//                  result r is the odd one of the two.
//                    Rounding is monotone, so a <= r <= b. If a != b, a midpoint m lies between them; fp32 holds it,
//                    and holds nothing between `down` and `up`, so one of them is m, and s is not. If `down` is m, then
//                    r = b as s > m, whereas m went to a: a is even and b odd. If `up` is m, then likewise r = a is
//                    odd. If a = b, either is r, but for the zeros of opposite sign of an exact 0: of these even
//                    numbers b, +0, is right, and is taken.
#include "kiln/execute/mac_kernels.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

#include <algorithm>

namespace kiln::internal {
namespace {

constexpr int kLanes = 16;
// 26 psums, two weights and two permutations in the 32 registers. An addition and its rounding take about 13 cycles
// from psum to psum, in which twelve or so others can begin.
constexpr int kPixels = 13;

// 32 bf16 numbers, those of `low` first.
inline __m512i ToBf16(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// Word n of the lower or upper half becomes the upper half of lane n: the fp32 value of the bf16 number.
class Widener {
 public:
  __m512 Low(__m512i words) const { return Widen(low_, words); }
  __m512 High(__m512i words) const { return Widen(high_, words); }

 private:
  static constexpr __mmask32 kUpperWords = 0xaaaaaaaa;
  static __m512 Widen(__m512i from, __m512i words) {
    return _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(kUpperWords, from, words));
  }
  __m512i low_ =
      _mm512_mullo_epi32(_mm512_set1_epi32(1 << 16),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  __m512i high_ = _mm512_add_epi32(low_, _mm512_set1_epi32(16 << 16));
};

// Two vectors of sums a + x * w each, rounded.
struct Terms {
  __m512 x, w, sum;
};
struct Nearest {
  static __m512i Round(const Terms& a, const Terms& b) {
    return ToBf16(_mm512_fmadd_ps(a.x, a.w, a.sum), _mm512_fmadd_ps(b.x, b.w, b.sum));
  }
};
struct BothSides {
  static __m512i Round(const Terms& a, const Terms& b) {
    const __m512i down = Directed < _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC > (a, b);
    const __m512i up = Directed < _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC > (a, b);
    return _mm512_mask_blend_epi16(_mm512_test_epi16_mask(down, _mm512_set1_epi16(1)), up, down);
  }

 private:
  template <int kDirection>
  static __m512i Directed(const Terms& a, const Terms& b) {
    return ToBf16(_mm512_fmadd_round_ps(a.x, a.w, a.sum, kDirection),
                  _mm512_fmadd_round_ps(b.x, b.w, b.sum, kDirection));
  }
};

// The psums of one tile, [pixel][vector] one after the other; a rounding takes two neighbours, the last one perhaps
// twice.
template <int kVectors>
constexpr int kSums = kPixels * kVectors;

struct TileWalk {
  const int64_t* offsets;
  int64_t steps;
  const float* weights;
};
template <typename Rounding, int kVectors>
inline void SumTile(const float* const* operands, const TileWalk& tile, const Widener& widener,
                    __m512 (&sums)[kSums<kVectors>]) {
#pragma GCC unroll 32
  for (int i = 0; i < kSums<kVectors>; ++i) sums[i] = _mm512_setzero_ps();
  const float* weights = tile.weights;
  for (int64_t s = 0; s < tile.steps; ++s, weights += kVectors * kLanes) {
    const int64_t offset = tile.offsets[s];
    __m512 w[kVectors];
    for (int v = 0; v < kVectors; ++v) w[v] = _mm512_loadu_ps(weights + v * kLanes);
#pragma GCC unroll 32
    for (int i = 0; i < kSums<kVectors>; i += 2) {
      const int j = std::min(i + 1, kSums<kVectors> - 1);
      const __m512i rounded = Rounding::Round(
          {_mm512_set1_ps(operands[i / kVectors][offset]), w[i % kVectors], sums[i]},
          {_mm512_set1_ps(operands[j / kVectors][offset]), w[j % kVectors], sums[j]});
      sums[i] = widener.Low(rounded);
      if (j != i) sums[j] = widener.High(rounded);
    }
  }
}

inline void FindOperands(const void* image, const int64_t* places, const float** operands) {
  for (int p = 0; p < kPixels; ++p) operands[p] = static_cast<const float*>(image) + places[p];
}

template <typename Rounding, int kVectors>
void Tile(const TileArguments& args) {
  const float* operands[kPixels];
  FindOperands(args.image, args.places, operands);
  __m512 sums[kSums<kVectors>];
  SumTile<Rounding, kVectors>(operands,
                              {args.offsets, args.steps, static_cast<const float*>(args.weights)},
                              Widener(), sums);
#pragma GCC unroll 32
  for (int i = 0; i < kSums<kVectors>; ++i)
    _mm512_storeu_ps(static_cast<float*>(args.psums) + i * kLanes, sums[i]);
}

// Raises no flag.
inline __m512 AddQuietly(__m512 a, __m512 b) {
  return _mm512_maskz_add_round_ps(0xffff, a, b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// accumulation + psum, in bf16 or fp32. Both are bf16 numbers in the first case, which may be rounded twice by the
// claim of mac_float.cc.
template <bool kBf16, int kVectors>
inline void Accumulate(const __m512 (&sums)[kSums<kVectors>], const Widener& widener,
                       __m512* accumulations) {
#pragma GCC unroll 32
  for (int i = 0; i < kSums<kVectors>; i += 2) {
    const int j = std::min(i + 1, kSums<kVectors> - 1);
    const __m512 a = AddQuietly(accumulations[i], sums[i]),
                 b = AddQuietly(accumulations[j], sums[j]);
    if constexpr (kBf16) {
      const __m512i rounded = ToBf16(a, b);
      accumulations[i] = widener.Low(rounded);
      if (j != i) accumulations[j] = widener.High(rounded);
    } else {
      accumulations[i] = a;
      accumulations[j] = b;
    }
  }
}

// Not inlined, so that compilers keep its arithmetic where the watch over it is.
template <typename Rounding, bool kBf16, int kVectors>
__attribute__((noinline)) void SumChunk(const ChunkArguments& args, __m512* accumulations) {
  const Widener widener;
  const float* operands[kPixels];
  FindOperands(args.image, args.places, operands);
  for (int i = 0; i < kSums<kVectors>; ++i) {
    accumulations[i] = args.begun
                           ? _mm512_loadu_ps(args.results[i / kVectors] + i % kVectors * kLanes)
                           : _mm512_setzero_ps();
  }
  const auto* weights = static_cast<const float*>(args.weights);
  for (int64_t t = 0; t < args.tile_count; ++t) {
    const TileSteps& tile = args.tiles[t];
    __m512 sums[kSums<kVectors>];
    SumTile<Rounding, kVectors>(
        operands, {args.step_offsets + tile.first_step, tile.steps, weights}, widener, sums);
    weights += tile.steps * kVectors * kLanes;
    Accumulate<kBf16, kVectors>(sums, widener, accumulations);
  }
}

template <int kVectors>
void StoreResults(const __m512* accumulations, const ChunkArguments& args) {
  for (int i = 0; i < kSums<kVectors>; ++i) {
    _mm512_storeu_ps(args.results[i / kVectors] + i % kVectors * kLanes, accumulations[i]);
  }
}

// Whether an operation that reports it has been inexact since the watch began.
class InexactWatch {
 public:
  InexactWatch() { _mm_setcsr(saved_ & ~kInexact); }
  ~InexactWatch() { _mm_setcsr(saved_ | _mm_getcsr()); }
  InexactWatch(const InexactWatch&) = delete;
  InexactWatch& operator=(const InexactWatch&) = delete;
  bool Seen() const { return (_mm_getcsr() & kInexact) != 0; }

 private:
  static constexpr unsigned kInexact = 0x20;
  const unsigned saved_ = _mm_getcsr();
};

template <typename Rounding, bool kBf16, int kVectors>
bool Chunk(const ChunkArguments& args) {
  __m512 accumulations[kSums<kVectors>];
  SumChunk<Rounding, kBf16, kVectors>(args, accumulations);
  StoreResults<kVectors>(accumulations, args);
  return true;
}
template <bool kBf16, int kVectors>
bool ChunkAtAVenture(const ChunkArguments& args) {
  __m512 accumulations[kSums<kVectors>];
  const InexactWatch watch;
  SumChunk<Nearest, kBf16, kVectors>(args, accumulations);
  if (watch.Seen()) return false;
  StoreResults<kVectors>(accumulations, args);
  return true;
}

bool Serves(const FloatPsum& psum) {
  return psum.rounding == SumRounding::kBf16 && !psum.product_rounded && psum.normal;
}

template <typename Rounding>
TileKernel TileOf() {
  return {.lanes = kLanes,
          .max_vectors = 2,
          .pixels = kPixels,
          .function = {Tile<Rounding, 1>, Tile<Rounding, 2>}};
}
TileKernel ChooseTile(const FloatPsum& psum) {
  if (!Serves(psum)) return kAvx512FloatKernels.tile(psum);
  return psum.odd ? TileOf<BothSides>() : TileOf<Nearest>();
}

AccumulationFunction ChooseAccumulation(SumRounding accumulation) {
  return kAvx512FloatKernels.accumulation(accumulation);
}

template <bool kBf16>
ChunkKernel ChunkOf(bool odd) {
  if (!odd)
    return {.tile = TileOf<Nearest>(),
            .function = {Chunk<Nearest, kBf16, 1>, Chunk<Nearest, kBf16, 2>}};
  return {.tile = TileOf<BothSides>(),
          .function = {ChunkAtAVenture<kBf16, 1>, ChunkAtAVenture<kBf16, 2>},
          .fallback = {Chunk<BothSides, kBf16, 1>, Chunk<BothSides, kBf16, 2>}};
}
ChunkKernel ChooseChunk(const FloatPsum& psum, SumRounding accumulation) {
  if (!Serves(psum)) return {};
  if (accumulation == SumRounding::kBf16) return ChunkOf<true>(psum.odd);
  if (accumulation == SumRounding::kFp32) return ChunkOf<false>(psum.odd);
  return {};
}

}  // namespace

const FloatKernelSet kAvx512Bf16FloatKernels = {ChooseTile, ChooseAccumulation, ChooseChunk};

}  // namespace kiln::internal
#endif
