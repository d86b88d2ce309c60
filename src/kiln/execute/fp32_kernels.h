// The inner loops of fp32_gemm.h, one set for each processor level. Every set gives the same bits.
//
// A sum is one chain of fused multiply-adds in binary32, from +0, in the order of the reduction; vectors run over
// different sums. A level without fused multiply-adds computes them exactly by way of binary64.
#ifndef KILN_EXECUTE_FP32_KERNELS_H_
#define KILN_EXECUTE_FP32_KERNELS_H_

#include <cstdint>

namespace kiln::internal {

// sums[r][c] (+)= sum over k of a[a_rows[r] + a_depth[k]] * b[b_depth[k] + c], for r in [0, rows) and all columns of a
// panel, those beyond `columns` with numbers that nobody reads. b must be readable there.
struct Fp32Tile {
  int rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  const float* a = nullptr;
  const int64_t* a_rows = nullptr;
  const int64_t* a_depth = nullptr;
  const float* b = nullptr;
  const int64_t* b_depth = nullptr;
  float* sums = nullptr;  // rows of a panel's columns
  bool resumes = false;   // goes on from what sums hold
};

// out[c] = sum over k of x[x_depth[k] + c] * w[k * channels + c].
struct Fp32Depthwise {
  int64_t channels = 0;
  int64_t depth = 0;
  const float* x = nullptr;
  const int64_t* x_depth = nullptr;
  const float* w = nullptr;
  float* out = nullptr;
};

enum class Fp32Activation { kNone, kRelu, kLeakyRelu, kClip };

// What becomes of `count` sums, one rounding for each operation: times alpha (unless 1), plus the biases, plus the
// residual, then the activation. NaN becomes 0x7fc00000, because its other bits differ between processors.
struct Fp32Finish {
  int64_t count = 0;
  const float* sums = nullptr;
  float alpha = 1;
  const float* column_bias = nullptr;  // one for each sum, or null
  const float* row_bias = nullptr;     // one for all sums, or null
  const float* residual = nullptr;     // one for each sum, or null; may be `out`
  Fp32Activation activation = Fp32Activation::kNone;
  float low = 0, high = 0;  // bounds of kClip; `low` is the slope of kLeakyRelu
  float* out = nullptr;
};

struct Fp32Kernels {
  int rows;         // the most of a tile
  int64_t columns;  // of a panel
  void (*tile)(const Fp32Tile& tile);
  void (*depthwise)(const Fp32Depthwise& job);
  void (*finish)(const Fp32Finish& job);
};

extern const Fp32Kernels kPortableFp32Kernels;
extern const Fp32Kernels kAvx2Fp32Kernels;    // fp32_gemm_avx2.cc
extern const Fp32Kernels kAvx512Fp32Kernels;  // fp32_gemm_avx512vnni.cc

}  // namespace kiln::internal

#endif  // KILN_EXECUTE_FP32_KERNELS_H_
