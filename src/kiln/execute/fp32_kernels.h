// The inner loops of fp32_gemm.h: one Fp32Kernels per processor level, all with the same bits. Only
// fp32_gemm.h and the fast nodes of the reference executor call them.
//
// Each sum is one chain of fused multiply-adds in binary32 that starts from +0 and follows the
// order of the reduction; a vector holds different sums, never parts of one. On a processor without
// fused multiply-adds they are emulated exactly in binary64.
#ifndef KILN_EXECUTE_FP32_KERNELS_H_
#define KILN_EXECUTE_FP32_KERNELS_H_

#include <cstdint>

namespace kiln::internal {

// One register tile of a product: sums[r][c] (+)= sum over k of a[a_rows[r] + a_depth[k]] *
// b[b_depth[k] + c], for r in [0, rows) and all columns of a panel. Columns from `columns` on
// receive values that the caller ignores, but b must be readable there.
struct Fp32Tile {
  int rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  const float* a = nullptr;
  // Offsets in floats: of each row of the tile, and of each element of the reduction.
  const int64_t* a_rows = nullptr;
  const int64_t* a_depth = nullptr;
  const float* b = nullptr;
  // Offset in floats of each element of the reduction, at the panel's first column.
  const int64_t* b_depth = nullptr;
  float* sums = nullptr;  // [rows][columns of a panel]
  bool resumes = false;   // continues the chains in `sums` instead of starting from +0
};

// One output pixel of a depthwise convolution: out[c] = sum over k of x[x_depth[k] + c] * w[k *
// channels + c].
struct Fp32Depthwise {
  int64_t channels = 0;
  int64_t depth = 0;
  const float* x = nullptr;
  // Offset in floats of each kernel position, at channel 0.
  const int64_t* x_depth = nullptr;
  // [depth][channels].
  const float* w = nullptr;
  float* out = nullptr;
};

// The activations that a kernel can apply to finished sums.
enum class Fp32Activation { kNone, kRelu, kLeakyRelu, kClip };

// The epilogue of `count` sums: multiplies by alpha (unless 1), adds the biases, adds the residual,
// then applies the activation; each operation rounds once. A NaN becomes 0x7fc00000, because the
// payload of a NaN differs between processors.
struct Fp32Finish {
  // Number of consecutive elements.
  int64_t count = 0;
  const float* sums = nullptr;
  float alpha = 1;
  const float* column_bias = nullptr;  // one for each sum, or null
  const float* row_bias = nullptr;     // one for all sums, or null
  const float* residual = nullptr;     // one for each sum, or null; may alias `out`
  Fp32Activation activation = Fp32Activation::kNone;
  float low = 0, high = 0;  // bounds of kClip; `low` is the slope of kLeakyRelu
  float* out = nullptr;
};

// The kernels of one processor level.
struct Fp32Kernels {
  int rows;         // largest number of rows in a tile
  int64_t columns;  // columns of a panel
  // The kernels of products, depthwise convolutions and epilogues.
  void (*tile)(const Fp32Tile& tile);
  void (*depthwise)(const Fp32Depthwise& job);
  void (*finish)(const Fp32Finish& job);
};

extern const Fp32Kernels kPortableFp32Kernels;
extern const Fp32Kernels kAvx2Fp32Kernels;    // fp32_gemm_avx2.cc
extern const Fp32Kernels kAvx512Fp32Kernels;  // fp32_gemm_avx512vnni.cc

}  // namespace kiln::internal

#endif  // KILN_EXECUTE_FP32_KERNELS_H_
