// Psums in bf16 with vcvtne2ps2bf16, which rounds two vectors of fp32 sums at once to nearest even.
// The instruction treats subnormals as zeros, so FloatPsum::normal must hold; it neither reads nor
// changes the processor's modes and flags.
//
// Products with too many bits to round twice (FloatPsum::odd) are served in two ways; the second is
// the fallback of the first:
//
//   optimistic   Sums are rounded to nearest in fp32, then to bf16. The processor keeps a sticky
//                flag for inexact results, which no other operation here raises. If the flag is
//                still clear after a chunk, every fp32 sum was exact and was rounded only once.
//   two-sided    The exact sum s is rounded down and up to fp32, and each of the two to bf16,
//                giving a <= b. The result r is the odd one of a and b.
//
// Proof of the second: rounding is monotone, so a <= r <= b. If a != b, there is a midpoint m of
// bf16 numbers between them. fp32 represents m and has no number between `down` and `up`, so one of
// them is m and s is not. If `down` is m, then r = b as s > m, whereas m rounded to a: a is even
// and b odd. If `up` is m, then likewise r = a is odd. If a = b, either one is r, except for the
// zeros of opposite sign of an exact 0; both are even, so b = +0 is taken, which is right.
#include "kiln/execute/mac_kernels.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

#include <algorithm>

namespace kiln::internal {
namespace {

constexpr int kLanes = 16;
// 26 psums, two weights and two permutations in the 32 registers. An addition and its rounding have
// a latency of about 13 cycles from psum to psum, in which about twelve others can issue.
constexpr int kPixels = 13;

// Rounds to 32 bf16 numbers, those of `low` first.
inline __m512i ToBf16(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// Widens bf16 to fp32: 16-bit word n of the lower or upper half becomes the upper half of lane n.
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

// Two vectors of sums a.sum + a.x * a.w, and how they are rounded to bf16.
struct Terms {
  __m512 x, w, sum;
};
// Rounds twice, to nearest each time: right if every fp32 sum is exact or the claim holds.
struct Nearest {
  static __m512i Round(const Terms& a, const Terms& b) {
    return ToBf16(_mm512_fmadd_ps(a.x, a.w, a.sum), _mm512_fmadd_ps(b.x, b.w, b.sum));
  }
};
// Rounds down and up and selects, per 16-bit lane, the odd result.
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

// The psums of one tile, [pixel][vector]. One rounding instruction takes two neighbouring vectors;
// if their number is odd, it takes the last one twice.
template <int kVectors>
constexpr int kSums = kPixels * kVectors;

// The part of the reduction that one tile covers.
struct TileWalk {
  const int64_t* offsets;
  int64_t steps;
  const float* weights;
};
// Computes the psums of one tile, rounding after each step.
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

// Finds the first operand of each pixel.
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

// Adds without raising the inexact flag, so that InexactWatch sees only the psums' sums.
inline __m512 AddQuietly(__m512 a, __m512 b) {
  return _mm512_maskz_add_round_ps(0xffff, a, b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// Adds psums to accumulations in bf16 or fp32. In bf16 both are bf16 numbers, so the claim of
// mac_float.cc allows rounding twice.
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

// Sums all tiles of a chunk. Not inlined, so that compilers keep its arithmetic within the lifetime
// of InexactWatch.
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

// Watches the processor's inexact flag from construction on; restores it at the end.
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

// Sums a chunk with a rounding that is always right.
template <typename Rounding, bool kBf16, int kVectors>
bool Chunk(const ChunkArguments& args) {
  __m512 accumulations[kSums<kVectors>];
  SumChunk<Rounding, kBf16, kVectors>(args, accumulations);
  StoreResults<kVectors>(accumulations, args);
  return true;
}
// Sums a chunk assuming that every fp32 sum is exact; returns false, with nothing written, if not.
template <bool kBf16, int kVectors>
bool ChunkAtAVenture(const ChunkArguments& args) {
  __m512 accumulations[kSums<kVectors>];
  const InexactWatch watch;
  SumChunk<Nearest, kBf16, kVectors>(args, accumulations);
  if (watch.Seen()) return false;
  StoreResults<kVectors>(accumulations, args);
  return true;
}

// Returns true if vcvtne2ps2bf16 gives this psum's bits.
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

// Chooses the chunk kernels: with exact products no attempt can fail, so no fallback is needed.
template <bool kBf16>
ChunkKernel ChunkOf(bool odd) {
  if (!odd)
    return {.tile = TileOf<Nearest>(),
            .function = {Chunk<Nearest, kBf16, 1>, Chunk<Nearest, kBf16, 2>}};
  return {.tile = TileOf<BothSides>(),
          .function = {ChunkAtAVenture<kBf16, 1>, ChunkAtAVenture<kBf16, 2>},
          .fallback = {Chunk<BothSides, kBf16, 1>, Chunk<BothSides, kBf16, 2>}};
}
// Accumulations in bf16 or fp32 stay in registers; other formats have no chunk kernel.
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
