// AVX-512 kernels of look_up.h: one vpermw looks up 32 channels, one vpaddw adds them.
#include "kiln/targets/binary/tables/look_up.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kiln::binary::internal {
namespace {

void NarrowValues(const int32_t* values, int64_t count, int shift, int32_t mask, int16_t* to) {
  const __m128i by = _mm_cvtsi32_si128(shift);
  const __m512i masks = _mm512_set1_epi32(mask);
  for (int64_t i = 0; i < count; i += 16) {
    const __mmask16 left =
        count - i >= 16 ? 0xffff : static_cast<__mmask16>((1u << (count - i)) - 1);
    const __m512i x = _mm512_maskz_loadu_epi32(left, values + i);
    _mm512_mask_cvtepi32_storeu_epi16(to + i, left,
                                      _mm512_and_si512(_mm512_sra_epi32(x, by), masks));
  }
}

// The entries of a table select from 16 slots and their 16 negations: lane e takes slot j, or slot
// j of the second half where bit j of the entry's index is 0.
template <int kSize>
struct Selectors {
  alignas(64) std::array<std::array<uint16_t, kLanes>, kSize * RegistersOfTable(kSize)> lanes = {};

  constexpr Selectors() {
    for (int half = 0; half < RegistersOfTable(kSize); ++half) {
      for (int j = 0; j < kSize; ++j) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const int index = half * kLanes + lane;
          const int table = kSize >= 5 ? 0 : index >> kSize;
          const bool positive = (index >> j & 1) != 0;
          lanes[static_cast<size_t>(half * kSize + j)][static_cast<size_t>(lane)] =
              static_cast<uint16_t>(table * kSize + j + (positive ? 0 : 16));
        }
      }
    }
  }
};

template <int kSize>
void BuildTables(const int16_t* slots, int64_t registers, int16_t* tables) {
  static constexpr Selectors<kSize> kSelectors;
  constexpr int kRows = kSize * RegistersOfTable(kSize);
  __m512i select[kRows];
  for (int row = 0; row < kRows; ++row) {
    select[row] = _mm512_load_si512(kSelectors.lanes[static_cast<size_t>(row)].data());
  }
  for (int64_t r = 0; r < registers; ++r) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(slots));
    const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(x),
                                            _mm256_sub_epi16(_mm256_setzero_si256(), x), 1);
    for (int half = 0; half < RegistersOfTable(kSize); ++half) {
      __m512i sum = _mm512_permutexvar_epi16(select[half * kSize], both);
      for (int j = 1; j < kSize; ++j) {
        sum = _mm512_add_epi16(sum, _mm512_permutexvar_epi16(select[half * kSize + j], both));
      }
      _mm512_store_si512(tables, sum);
      tables += kLanes;
    }
    slots += SlotsOfRegister(kSize);
  }
}

void Build(int size, const int16_t* slots, int64_t registers, int16_t* tables) {
  using Function = void (*)(const int16_t*, int64_t, int16_t*);
  constexpr Function kFunctions[] = {BuildTables<1>, BuildTables<2>, BuildTables<3>,
                                     BuildTables<4>, BuildTables<5>, BuildTables<6>};
  kFunctions[size - 1](slots, registers, tables);
}

// Sums are kept in 16 bits; every steps_per_flush steps they are added to `out`, even and odd lanes
// apart, by a product with (2^shift, 0) and (0, 2^shift).
template <int kPositions, int kVectors, bool kPair>
void Block(const LookUpArguments& args) {
  const __m512i even = _mm512_set1_epi32(1 << args.shift);
  const __m512i odd = _mm512_set1_epi32(1 << (16 + args.shift));
  const int16_t* sites[kPositions];
  for (int p = 0; p < kPositions; ++p) sites[p] = args.tables + args.sites[p];
  const uint16_t* codes = args.codes;
  for (int64_t first = 0; first < args.step_count; first += args.steps_per_flush) {
    const int64_t end = std::min(args.step_count, first + args.steps_per_flush);
    __m512i sums[kPositions][kVectors];
    for (int p = 0; p < kPositions; ++p) {
      for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm512_setzero_si512();
    }
    for (int64_t s = first; s < end; ++s) {
      const int64_t step = args.steps[s];
      __m512i code[kVectors];
      for (int v = 0; v < kVectors; ++v) code[v] = _mm512_load_si512(codes + kLanes * v);
      codes += kLanes * kVectors;
      for (int p = 0; p < kPositions; ++p) {
        const __m512i low = _mm512_load_si512(sites[p] + step);
        [[maybe_unused]] __m512i high;
        if constexpr (kPair) high = _mm512_load_si512(sites[p] + step + kLanes);
        for (int v = 0; v < kVectors; ++v) {
          __m512i entries;
          if constexpr (kPair) {
            entries = _mm512_permutex2var_epi16(low, code[v], high);
          } else {
            entries = _mm512_permutexvar_epi16(code[v], low);
          }
          sums[p][v] = _mm512_add_epi16(sums[p][v], entries);
        }
      }
    }
    for (int p = 0; p < kPositions; ++p) {
      for (int v = 0; v < kVectors; ++v) {
        int32_t* out = args.out + p * args.out_stride + kLanes * v;
        _mm512_store_si512(out, _mm512_dpwssd_epi32(_mm512_load_si512(out), sums[p][v], even));
        out += kLanes / 2;
        _mm512_store_si512(out, _mm512_dpwssd_epi32(_mm512_load_si512(out), sums[p][v], odd));
      }
    }
  }
}

using BlockFunction = void (*)(const LookUpArguments&);

// The kernels of a number of vectors, by positions - 1.
template <int kVectors, bool kPair, int... kPositions>
void BlockOf(int positions, const LookUpArguments& args,
             std::integer_sequence<int, kPositions...> /*positions*/) {
  static constexpr BlockFunction kFunctions[] = {Block<kPositions + 1, kVectors, kPair>...};
  kFunctions[positions - 1](args);
}

template <bool kPair>
void LookUpPairsOrNot(int positions, int vectors, const LookUpArguments& args) {
  if (vectors == 1) {
    BlockOf<1, kPair>(positions, args, std::make_integer_sequence<int, kBlockSites>());
  } else {
    BlockOf<2, kPair>(positions, args, std::make_integer_sequence<int, kBlockSites>());
  }
}

void LookUpBlocks(int size, int positions, int vectors, const LookUpArguments& args) {
  size == 6 ? LookUpPairsOrNot<true>(positions, vectors, args)
            : LookUpPairsOrNot<false>(positions, vectors, args);
}

}  // namespace

const Kernels kAvx512VnniKernels = {NarrowValues, Build, LookUpBlocks};

}  // namespace kiln::binary::internal
#endif
