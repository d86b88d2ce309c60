// Float psums for AVX2, from mac_float_body.h. AVX2 has no rounding mode per instruction, so sums
// that round to odd run with the processor's mode set to round down.
#include "kiln/execute/mac_kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#include "kiln/execute/mac_float_body.h"
#include "kiln/numerics/simd.h"

namespace kiln::internal {
namespace {

// AVX2 vectors with the operations of mac_float_body.h.
struct Width : simd::Avx2 {
  // Requires a DownwardScope. The sum rounded up is minus the negated sum rounded down; the AVX-512
  // kernel explains the rest.
  static Float FmaOdd(Float a, Float b, Float c) {
    const Float down = _mm256_fmadd_ps(a, b, c);
    const Float up = _mm256_xor_ps(_mm256_fnmsub_ps(a, b, c), _mm256_set1_ps(-0.0f));
    const Float odd = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(down), 31));
    return _mm256_blendv_ps(up, down, odd);
  }
  static Float RoundIntegral(Float a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

// Sets the rounding mode towards minus infinity for its lifetime. Arithmetic under it must be in a
// function that is not inlined, because compilers assume a constant rounding mode and could move
// operations out of the scope.
class DownwardScope {
 public:
  DownwardScope() { _mm_setcsr((saved_ & ~kModes) | kDown); }
  ~DownwardScope() { _mm_setcsr(saved_); }
  DownwardScope(const DownwardScope&) = delete;
  DownwardScope& operator=(const DownwardScope&) = delete;

 private:
  static constexpr unsigned kModes = 0x6000, kDown = 0x2000;
  const unsigned saved_ = _mm_getcsr();
};

template <SumRounding kRounding, bool kProductRounded, int kPixels, int kVectors>
__attribute__((noinline)) void OddTileBody(const TileArguments& args) {
  FloatTile<Width, kRounding, true, kProductRounded, kPixels, kVectors>(args);
}
// Sets the rounding mode and calls the body, which is not inlined here.
template <SumRounding kRounding, bool kProductRounded, int kPixels, int kVectors>
void OddTile(const TileArguments& args) {
  const DownwardScope scope;
  OddTileBody<kRounding, kProductRounded, kPixels, kVectors>(args);
}
template <SumRounding kRounding>
__attribute__((noinline)) void AddTileBody(const AccumulationArguments& args,
                                           const TileScales& scales) {
  AddTile<Width, kRounding>(args, scales);
}
// Computes the scales in round-to-nearest, before the rounding mode changes.
__attribute__((noinline)) void Prepare(const AccumulationArguments& args, TileScales& scales) {
  PrepareTile<Width>(args, scales);
}

// The kernels; those that round to odd set the rounding mode around their body.
struct Level {
  // Eight psums in flight leave the other half of the registers to weights, operands and constants.
  template <SumRounding kRounding, bool kOdd, bool kProductRounded>
  static TileKernel Tile() {
    TileKernel kernel{.lanes = Width::kLanes, .max_vectors = 2, .pixels = 4};
    if constexpr (kOdd) {
      kernel.function[0] = OddTile<kRounding, kProductRounded, 4, 1>;
      kernel.function[1] = OddTile<kRounding, kProductRounded, 4, 2>;
    } else {
      kernel.function[0] = FloatTile<Width, kRounding, false, kProductRounded, 4, 1>;
      kernel.function[1] = FloatTile<Width, kRounding, false, kProductRounded, 4, 2>;
    }
    return kernel;
  }
  template <SumRounding kRounding>
  static void Accumulate(const AccumulationArguments& args) {
    TileScales scales;
    Prepare(args, scales);
    if constexpr (kRounding == SumRounding::kFp32) {
      AddTileBody<kRounding>(args, scales);
    } else {
      const DownwardScope scope;
      AddTileBody<kRounding>(args, scales);
    }
  }
};

}  // namespace

const FloatKernelSet kAvx2FloatKernels = {ChooseTile<Level>, ChooseAccumulation<Level>, nullptr};

}  // namespace kiln::internal
#endif
