// Exact products of int8 codes, int8 x int8 -> int32 with wrapping sums, for matrices, convolutions and depthwise
// convolutions. All processor levels give the same bits, because wrapping sums do not depend on their order.
//
// A convolution runs without im2col: the image stands in memory once, with its padding, in the layout the kernel wants
// (StoreCodes), and one output pixel sees the reduction as `runs` stretches of `run_length` consecutive codes at fixed
// distances from its own place. A 3x3 kernel on C channels is three runs of 3C codes; dilated along x nine runs of C; a
// row of a matrix is one run.
//
//   level        layout of the image      one step of the inner loop
//   AVX-512 VNNI code + 128 as uint8      vpdpbusd of 4 codes; 128 * (sum of weights) is taken off at the start
//   AVX2         code as int16            vpmaddwd of 2 codes, then vpaddd (vpmaddubsw would saturate)
//   portable     code as int16            the same in plain C++
#ifndef KILN_EXECUTE_INT8_GEMM_H_
#define KILN_EXECUTE_INT8_GEMM_H_

#include <cstdint>
#include <vector>

#include "kiln/support/cpu.h"

namespace kiln {

enum class CodeLayout { kRaw, kBiased, kWide };  // int8, uint8 = int8 + 128, int16

CodeLayout LayoutOf(CpuLevel level);  // that PackedWeights of this level multiply with
int BytesOf(CodeLayout layout);
// Kernels read up to this many bytes beyond the last code of an image (and multiply them with zero).
inline constexpr int64_t kImageSlack = 64;

// Writes `count` codes at `to` in the given layout; the ranges must not overlap.
void StoreCodes(CodeLayout layout, const int8_t* from, int64_t count, void* to);
void FillCodes(CodeLayout layout, int8_t code, int64_t count, void* to);

// Weights in the order in which the inner loop of one level reads them.
class PackedWeights {
 public:
  // weights: [runs * run_length][columns], row-major. All counts at least 1.
  PackedWeights(CpuLevel level, int64_t runs, int64_t run_length, int64_t columns,
                const int8_t* weights);

  CodeLayout layout() const { return LayoutOf(level_); }
  int64_t columns() const { return columns_; }
  int64_t padded_columns() const {
    return padded_columns_;
  }  // rows of results are this long at least
  int64_t runs() const { return runs_; }

  // out[p * out_stride + n] = sum over runs r and i < run_length of
  //   code(image, pixels[p] + run_offsets[r] + i) * weight(r * run_length + i, n)
  // for p < pixel_count and n < columns(); entries up to padded_columns() are written as 0. Offsets count codes from
  // the image's first one; out_stride >= padded_columns().
  void Multiply(const void* image, const int64_t* pixels, int64_t pixel_count,
                const int64_t* run_offsets, int32_t* out, int64_t out_stride) const;

 private:
  CpuLevel level_;
  int64_t runs_, columns_, padded_columns_;
  int64_t steps_per_run_;
  std::vector<int16_t> codes_;  // [column block][run][step][column][codes of a step], int8 or int16
  std::vector<uint32_t> starting_;  // [padded_columns]: what sums start from
};

// Depthwise: out[p * out_stride + c] = sum over taps t of image[pixels[p] + tap_offsets[t] + c] * weights[t][c] for
// c < channels, image in layout kRaw. `weights` come from PackDepthwiseWeights.
std::vector<int32_t> PackDepthwiseWeights(int64_t taps, int64_t channels,
                                          const int8_t* weights);  // [taps][channels]
void MultiplyDepthwise(const int8_t* image, const int64_t* pixels, int64_t pixel_count,
                       const int64_t* tap_offsets, int64_t taps,
                       const std::vector<int32_t>& weights, int64_t channels, int32_t* out,
                       int64_t out_stride);

}  // namespace kiln

#endif  // KILN_EXECUTE_INT8_GEMM_H_
