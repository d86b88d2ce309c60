// Float psums for AVX-512, from mac_float_body.h, with rounding modes per instruction.
#include "kiln/execute/mac_kernels.h"

#if defined(__AVX512VNNI__)
#include "kiln/execute/mac_float_body.h"
#include "kiln/numerics/simd.h"

namespace kiln::internal {
namespace {

// AVX-512 vectors with the operations of mac_float_body.h.
struct Width : simd::Avx512 {
  // Rounds to odd: rounds the exact sum down and up and takes the odd result. The two neighbours of
  // an inexact sum are adjacent, so exactly one of them is odd. An exact sum rounds to itself
  // either way, except for the zeros of opposite sign of an exact 0; the upper one, +0, is right.
  static Float FmaOdd(Float a, Float b, Float c) {
    const Float down = _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const Float up = _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
    const Mask odd = _mm512_test_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
    return _mm512_mask_blend_ps(odd, up, down);
  }
  // As SumRounder::Top, but one 16-bit dot product (vpdpwssd) moves the last kept bit down to bit 0
  // and adds it.
  static Float RoundToBf16(Float sum) {
    const __m512i bits = _mm512_castps_si512(sum), last = _mm512_set1_epi32(0x10000);
    const __m512i carried = _mm512_dpwssd_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)),
                                                _mm512_and_si512(bits, last), last);
    return _mm512_castsi512_ps(
        _mm512_and_si512(carried, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static Float RoundIntegral(Float a) {
    return _mm512_maskz_roundscale_ps(0xffff, a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

// The kernels: tiles of 8 pixels by up to 2 vectors.
struct Level {
  // 16 psums in flight, so that none waits for its predecessor; with weights and constants they fit
  // the 32 registers.
  template <SumRounding kRounding, bool kOdd, bool kProductRounded>
  static TileKernel Tile() {
    return {.lanes = Width::kLanes,
            .max_vectors = 2,
            .pixels = 8,
            .function = {FloatTile<Width, kRounding, kOdd, kProductRounded, 8, 1>,
                         FloatTile<Width, kRounding, kOdd, kProductRounded, 8, 2>}};
  }
  template <SumRounding kRounding>
  static void Accumulate(const AccumulationArguments& args) {
    TileScales scales;
    PrepareTile<Width>(args, scales);
    AddTile<Width, kRounding>(args, scales);
  }
};

}  // namespace

const FloatKernelSet kAvx512FloatKernels = {ChooseTile<Level>, ChooseAccumulation<Level>, nullptr};

}  // namespace kiln::internal
#endif
