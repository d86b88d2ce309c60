// Implements fp32_gemm.h: the portable kernels, the choice of kernels for this processor, and the
// packing of the right matrix into panels.
#include "kiln/execute/fp32_gemm.h"

#include "kiln/execute/fp32_body.h"
#include "kiln/support/cpu.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace internal {
namespace {

#if defined(__FP_FAST_FMAF)
using PortableLanes = simd::Scalar;  // the target has the instruction
#else
// Two lanes of binary32, held as binary64. A fused multiply-add is emulated exactly: the product of
// two binary32 numbers is a binary64 number; its sum with the addend is rounded to odd (S. Boldo,
// G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to
// odd", 2008), after which the rounding to binary32 gives the same result as one rounding of the
// exact sum.
struct PortableLanes {
  static constexpr int kLanes = 2;
  typedef double Float __attribute__((vector_size(16)));
  typedef float Narrow __attribute__((vector_size(8)));
  typedef int64_t Bits __attribute__((vector_size(16)));

  static Float Load(const float* p) { return Float{p[0], p[1]}; }
  static void Store(float* p, Float v) {
    p[0] = static_cast<float>(v[0]);
    p[1] = static_cast<float>(v[1]);
  }
  static Float Set(float v) { return Float{v, v}; }
  static Float Fma(Float a, Float b, Float c) {
    const Float product = a * b;
    const Float sum = product + c;
    // Knuth's two-sum computes the rounding error of the sum exactly; NaN if the sum is infinite.
    const Float part = sum - product;
    const Float lost = (product - (sum - part)) + (c - part);
    const Bits bits = std::bit_cast<Bits>(sum);
    // Rounds to odd: an inexact sum with an even significand moves one unit in the last place
    // towards the lost part. Infinities and NaN stay, because `lost` is NaN and compares false.
    const Bits inexact = std::bit_cast<Bits>(lost < 0.0) | std::bit_cast<Bits>(lost > 0.0);
    const Bits even = (bits & 1) - 1;
    const Bits opposite = (bits ^ std::bit_cast<Bits>(lost)) < 0;  // all ones, or zero
    const Float odd = std::bit_cast<Float>(bits + ((opposite | 1) & even & inexact));
    return __builtin_convertvector(__builtin_convertvector(odd, Narrow), Float);
  }
};
#endif

// A single lane with the arithmetic of PortableLanes.
struct PortableOne {
  static constexpr int kLanes = 1;
  using Float = float;
  static Float Load(const float* p) { return *p; }
  static void Store(float* p, Float v) { *p = v; }
  static Float Set(float v) { return v; }
  static Float Fma(Float a, Float b, Float c) {
#if defined(__FP_FAST_FMAF)
    return simd::Scalar::Fma(a, b, c);
#else
    return static_cast<float>(
        PortableLanes::Fma(PortableLanes::Set(a), PortableLanes::Set(b), PortableLanes::Set(c))[0]);
#endif
  }
};

}  // namespace

const Fp32Kernels kPortableFp32Kernels = {4, 2 * PortableLanes::kLanes, TileOf<PortableLanes, 4, 2>,
                                          DepthwiseOf<PortableLanes, PortableOne>,
                                          FinishOf<simd::Scalar>};

}  // namespace internal

const internal::Fp32Kernels& Fp32KernelsOfProcessor() {
#if defined(__x86_64__)
  switch (GetCpuLevel()) {
    case CpuLevel::kAvx512Bf16:
    case CpuLevel::kAvx512Vnni:
      return internal::kAvx512Fp32Kernels;
    case CpuLevel::kAvx2:
      return internal::kAvx2Fp32Kernels;
    case CpuLevel::kPortable:
      break;
  }
#endif
  return internal::kPortableFp32Kernels;
}

int64_t PackedSize(int64_t depth, int64_t columns, int64_t width) {
  return CeilDivide(columns, width) * depth * width;
}

void PackColumns(const float* from, int64_t depth, int64_t columns, int64_t row_stride,
                 int64_t column_stride, int64_t width, float* to) {
  ParallelFor(CeilDivide(columns, width), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t here = std::min(width, columns - p * width);
      const float* panel = from + p * width * column_stride;
      float* packed = to + p * width * depth;
      if (column_stride == 1) {
        for (int64_t k = 0; k < depth; ++k) {
          std::copy_n(panel + k * row_stride, here, packed + k * width);
          std::fill_n(packed + k * width + here, width - here, 0.0f);
        }
        continue;
      }
      // Copies column by column: in a transposed matrix a column is contiguous in memory.
      for (int64_t j = 0; j < width; ++j) {
        for (int64_t k = 0; k < depth; ++k)
          packed[k * width + j] = j < here ? panel[k * row_stride + j * column_stride] : 0.0f;
      }
    }
  });
}

}  // namespace kiln
