// Vectors of 1, 8 or 16 fp32 lanes with the same member names, so that arithmetic is written once
// as a template and computes the same bits at every width. A file can use the widths that its
// compiler flags allow (*_avx2.cc, *_avx512vnni.cc).
//
// Every operation is the IEEE 754 operation in binary32, round to nearest even. Max and Min are a >
// b ? a : b and a < b ? a : b, which defines their results for NaN and signed zeros: the second
// operand.
#ifndef KILN_NUMERICS_SIMD_H_
#define KILN_NUMERICS_SIMD_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace kiln::simd {

// One lane in plain C++: the definition of every operation.
struct Scalar {
  static constexpr int kLanes = 1;
  using Float = float;
  using Int = int32_t;
  using Mask = bool;

  static Float Load(const float* p) { return *p; }
  static void Store(float* p, Float v) { *p = v; }
  static Float Set(float v) { return v; }
  static Int SetInt(int32_t v) { return v; }
  static Float Add(Float a, Float b) { return a + b; }
  static Float Subtract(Float a, Float b) { return a - b; }
  static Float Multiply(Float a, Float b) { return a * b; }
  static Float Divide(Float a, Float b) { return a / b; }
  static Float Fma(Float a, Float b, Float c) { return std::fma(a, b, c); }
  static Float Max(Float a, Float b) { return a > b ? a : b; }
  static Float Min(Float a, Float b) { return a < b ? a : b; }
  static Float Floor(Float a) { return std::floor(a); }
  static Mask Less(Float a, Float b) { return a < b; }
  static Mask GreaterEqual(Float a, Float b) { return a >= b; }
  static Mask Equal(Float a, Float b) { return a == b; }
  static Float Select(Mask mask, Float yes, Float no) { return mask ? yes : no; }
  static Int SelectInt(Mask mask, Int yes, Int no) { return mask ? yes : no; }
  static Int AsInt(Float v) { return std::bit_cast<int32_t>(v); }
  static Float AsFloat(Int v) { return std::bit_cast<float>(v); }
  static Int ToInt(Float integral) { return static_cast<int32_t>(integral); }  // |integral| < 2^31
  static Float ToFloat(Int v) { return static_cast<float>(v); }
  // Integer sums wrap; unsigned arithmetic avoids undefined behaviour.
  static Int AddInt(Int a, Int b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  static Int SubtractInt(Int a, Int b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
  }
  static Int And(Int a, Int b) { return a & b; }
  static Int Or(Int a, Int b) { return a | b; }
  static Mask EqualInt(Int a, Int b) { return a == b; }
  template <int kBits>
  static Int ShiftLeft(Int a) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) << kBits);
  }
  template <int kBits>
  static Int ShiftRight(Int a) {  // arithmetic
    return a >> kBits;
  }
  // Returns table[index] for an index in [0, 8).
  static Float Lookup(const float* table, Int index) { return table[index]; }
  static Int ShiftLeftBy(Int a, int bits) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) << bits);
  }
  static Int ShiftRightBy(Int a, int bits) { return a >> bits; }
  // Rounds to nearest even; |a| < 2^31.
  static Int Round(Float a) { return static_cast<int32_t>(std::nearbyint(a)); }
  // Load codes from memory, sign- or zero-extended to 32 bits, and store the low bits of each lane.
  // Addresses need not be aligned.
  static Int LoadInt8(const void* p) { return LoadAs<int8_t>(p); }
  static Int LoadUint8(const void* p) { return LoadAs<uint8_t>(p); }
  static Int LoadInt16(const void* p) { return LoadAs<int16_t>(p); }
  static Int LoadInt32(const void* p) { return LoadAs<int32_t>(p); }
  static void StoreInt8(void* p, Int v) { StoreAs<uint8_t>(p, v); }
  static void StoreInt16(void* p, Int v) { StoreAs<uint16_t>(p, v); }
  static void StoreInt32(void* p, Int v) { StoreAs<uint32_t>(p, v); }

 private:
  template <typename T>
  static Int LoadAs(const void* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  template <typename T>
  static void StoreAs(void* p, Int v) {
    const T value = static_cast<T>(v);
    std::memcpy(p, &value, sizeof value);
  }
};

#if defined(__AVX2__) && defined(__FMA__)
// Eight lanes of AVX2 and FMA.
struct Avx2 {
  static constexpr int kLanes = 8;
  using Float = __m256;
  using Int = __m256i;
  using Mask = __m256;

  static Float Load(const float* p) { return _mm256_loadu_ps(p); }
  static void Store(float* p, Float v) { _mm256_storeu_ps(p, v); }
  static Float Set(float v) { return _mm256_set1_ps(v); }
  static Int SetInt(int32_t v) { return _mm256_set1_epi32(v); }
  static Float Add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float Subtract(Float a, Float b) { return _mm256_sub_ps(a, b); }
  static Float Multiply(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float Divide(Float a, Float b) { return _mm256_div_ps(a, b); }
  static Float Fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Float Max(Float a, Float b) { return _mm256_max_ps(a, b); }
  static Float Min(Float a, Float b) { return _mm256_min_ps(a, b); }
  static Float Floor(Float a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  }
  static Mask Less(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static Mask GreaterEqual(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
  static Mask Equal(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static Float Select(Mask mask, Float yes, Float no) { return _mm256_blendv_ps(no, yes, mask); }
  static Int SelectInt(Mask mask, Int yes, Int no) {
    return _mm256_blendv_epi8(no, yes, _mm256_castps_si256(mask));
  }
  static Int AsInt(Float v) { return _mm256_castps_si256(v); }
  static Float AsFloat(Int v) { return _mm256_castsi256_ps(v); }
  static Int ToInt(Float integral) { return _mm256_cvttps_epi32(integral); }
  static Float ToFloat(Int v) { return _mm256_cvtepi32_ps(v); }
  static Int AddInt(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static Int SubtractInt(Int a, Int b) { return _mm256_sub_epi32(a, b); }
  static Int And(Int a, Int b) { return _mm256_and_si256(a, b); }
  static Int Or(Int a, Int b) { return _mm256_or_si256(a, b); }
  static Mask EqualInt(Int a, Int b) { return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)); }
  template <int kBits>
  static Int ShiftLeft(Int a) {
    return _mm256_slli_epi32(a, kBits);
  }
  template <int kBits>
  static Int ShiftRight(Int a) {
    return _mm256_srai_epi32(a, kBits);
  }
  static Float Lookup(const float* table, Int index) {
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), index);
  }
  static Int ShiftLeftBy(Int a, int bits) { return _mm256_sll_epi32(a, _mm_cvtsi32_si128(bits)); }
  static Int ShiftRightBy(Int a, int bits) { return _mm256_sra_epi32(a, _mm_cvtsi32_si128(bits)); }
  static Int Round(Float a) { return _mm256_cvtps_epi32(a); }
  static Int LoadInt8(const void* p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
  }
  static Int LoadUint8(const void* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
  }
  static Int LoadInt16(const void* p) {
    return _mm256_cvtepi16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  }
  static Int LoadInt32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static void StoreInt8(void* p, Int v) {
    const Int cut = _mm256_and_si256(v, _mm256_set1_epi32(0xff));
    // packus works on each 128-bit half: the halves are extracted to keep the lanes in order.
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(cut), _mm256_extracti128_si256(cut, 1));
    _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  }
  static void StoreInt16(void* p, Int v) {
    const Int cut = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm_packus_epi32(_mm256_castsi256_si128(cut),
                                                                _mm256_extracti128_si256(cut, 1)));
  }
  static void StoreInt32(void* p, Int v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
};
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
// Sixteen lanes of AVX-512.
struct Avx512 {
  static constexpr int kLanes = 16;
  using Float = __m512;
  using Int = __m512i;
  using Mask = __mmask16;

  static Float Load(const float* p) { return _mm512_loadu_ps(p); }
  static void Store(float* p, Float v) { _mm512_storeu_ps(p, v); }
  static Float Set(float v) { return _mm512_set1_ps(v); }
  static Int SetInt(int32_t v) { return _mm512_set1_epi32(v); }
  static Float Add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float Subtract(Float a, Float b) { return _mm512_sub_ps(a, b); }
  static Float Multiply(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float Divide(Float a, Float b) { return _mm512_div_ps(a, b); }
  static Float Fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  // The masked forms with all lanes enabled avoid a warning of g++ 12 about the undefined
  // pass-through operand of the plain forms.
  static Float Max(Float a, Float b) { return _mm512_maskz_max_ps(0xffff, a, b); }
  static Float Min(Float a, Float b) { return _mm512_maskz_min_ps(0xffff, a, b); }
  static Float Floor(Float a) {
    return _mm512_maskz_roundscale_ps(0xffff, a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  }
  static Mask Less(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static Mask GreaterEqual(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
  static Mask Equal(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static Float Select(Mask mask, Float yes, Float no) {
    return _mm512_mask_blend_ps(mask, no, yes);
  }
  static Int SelectInt(Mask mask, Int yes, Int no) {
    return _mm512_mask_blend_epi32(mask, no, yes);
  }
  static Int AsInt(Float v) { return _mm512_castps_si512(v); }
  static Float AsFloat(Int v) { return _mm512_castsi512_ps(v); }
  static Int ToInt(Float integral) { return _mm512_maskz_cvttps_epi32(0xffff, integral); }
  static Float ToFloat(Int v) { return _mm512_maskz_cvtepi32_ps(0xffff, v); }
  static Int AddInt(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static Int SubtractInt(Int a, Int b) { return _mm512_sub_epi32(a, b); }
  static Int And(Int a, Int b) { return _mm512_and_si512(a, b); }
  static Int Or(Int a, Int b) { return _mm512_or_si512(a, b); }
  static Mask EqualInt(Int a, Int b) { return _mm512_cmpeq_epi32_mask(a, b); }
  template <int kBits>
  static Int ShiftLeft(Int a) {
    return _mm512_maskz_slli_epi32(0xffff, a, kBits);
  }
  template <int kBits>
  static Int ShiftRight(Int a) {
    return _mm512_maskz_srai_epi32(0xffff, a, kBits);
  }
  static Float Lookup(const float* table, Int index) {
    return _mm512_maskz_permutexvar_ps(
        0xffff, index, _mm512_maskz_broadcast_f32x8(0xffff, _mm256_loadu_ps(table)));
  }
  static Int ShiftLeftBy(Int a, int bits) {
    return _mm512_maskz_sll_epi32(0xffff, a, _mm_cvtsi32_si128(bits));
  }
  static Int ShiftRightBy(Int a, int bits) {
    return _mm512_maskz_sra_epi32(0xffff, a, _mm_cvtsi32_si128(bits));
  }
  static Int Round(Float a) { return _mm512_maskz_cvtps_epi32(0xffff, a); }
  static Int LoadInt8(const void* p) { return _mm512_maskz_cvtepi8_epi32(0xffff, Load128(p)); }
  static Int LoadUint8(const void* p) { return _mm512_maskz_cvtepu8_epi32(0xffff, Load128(p)); }
  static Int LoadInt16(const void* p) {
    return _mm512_maskz_cvtepi16_epi32(0xffff, _mm256_loadu_si256(static_cast<const __m256i*>(p)));
  }
  static Int LoadInt32(const void* p) { return _mm512_loadu_si512(p); }
  static void StoreInt8(void* p, Int v) {
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_maskz_cvtepi32_epi8(0xffff, v));
  }
  static void StoreInt16(void* p, Int v) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_maskz_cvtepi32_epi16(0xffff, v));
  }
  static void StoreInt32(void* p, Int v) { _mm512_storeu_si512(p, v); }

 private:
  static __m128i Load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
};
#endif

}  // namespace kiln::simd

#endif  // KILN_NUMERICS_SIMD_H_
