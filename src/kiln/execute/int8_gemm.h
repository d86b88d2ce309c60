// Multiplies int8 codes exactly, int8 x int8 -> int32 with wrapping sums, for matrices,
// convolutions and depthwise convolutions. Functional levels run on it.
// All processor levels give the same bits, because wrapping sums do not depend on their order.
//
// A convolution runs without im2col. The image is stored once, with its padding, in the layout that
// the kernel reads (StoreCodes), and each output pixel reads the reduction as `runs` stretches of
// `run_length` consecutive codes at fixed offsets from the pixel's position. A 3x3 kernel on C
// channels has three runs of 3C codes, or nine runs of C if it is dilated along x; a row of a
// matrix is one run.
//
//   level         layout of the image     one step of the inner loop
//   AVX-512 VNNI  code + 128 as uint8     vpdpbusd on 4 codes; sums start at -128 * (weights' sum)
//   AVX2          code as int16           vpmaddwd on 2 codes, vpaddd (vpmaddubsw would saturate)
//   portable      code as int16           the same in plain C++
#ifndef KILN_EXECUTE_INT8_GEMM_H_
#define KILN_EXECUTE_INT8_GEMM_H_

#include <cstdint>
#include <vector>

#include "kiln/support/cpu.h"

namespace kiln {

// How an image stores its int8 codes: as they are, as uint8 code + 128, or widened to int16.
enum class CodeLayout { kRaw, kBiased, kWide };  // int8, uint8 = int8 + 128, int16

// Returns the layout that PackedWeights of this level multiply with.
CodeLayout LayoutOf(CpuLevel level);
// Returns the bytes per code of a layout: 1 or 2.
int BytesOf(CodeLayout layout);
// Bytes that kernels may read after the last code of an image. They are multiplied by zero.
inline constexpr int64_t kImageSlack = 64;

// Writes `count` codes at `to` in the given layout. The ranges must not overlap.
void StoreCodes(CodeLayout layout, const int8_t* from, int64_t count, void* to);
// Writes `count` copies of one code, such as the zero point of the padding.
void FillCodes(CodeLayout layout, int8_t code, int64_t count, void* to);

// The weights of one matrix or convolution, packed in the order in which the inner loop of one
// processor level reads them.
class PackedWeights {
 public:
  // Packs weights [runs * run_length][columns], row-major. All counts are at least 1.
  PackedWeights(CpuLevel level, int64_t runs, int64_t run_length, int64_t columns,
                const int8_t* weights);

  // Returns the layout in which Multiply expects the image.
  CodeLayout layout() const { return LayoutOf(level_); }
  int64_t columns() const { return columns_; }
  // Columns rounded up to whole vectors: the least length of a row of results.
  int64_t padded_columns() const { return padded_columns_; }
  // Returns the number of stretches of consecutive codes that a pixel reads.
  int64_t runs() const { return runs_; }

  // Multiplies pixel_count pixels:
  //   out[p * out_stride + n] = sum over runs r and i < run_length of
  //     code(image, pixels[p] + run_offsets[r] + i) * weight(r * run_length + i, n)
  // for p < pixel_count and n < columns(). Entries from columns() up to padded_columns() are
  // written as 0. Offsets count codes from the image's first one; out_stride >= padded_columns().
  // Example: an image of 6 x 6 pixels (padding included) with 4 channels and a 3x3 kernel has runs
  // = 3, run_length = 12 and run_offsets = {0, 24, 48}; the pixel of output (y, x) at stride 1 is
  // (6 y + x) * 4.
  void Multiply(const void* image, const int64_t* pixels, int64_t pixel_count,
                const int64_t* run_offsets, int32_t* out, int64_t out_stride) const;

 private:
  CpuLevel level_;
  int64_t runs_, columns_, padded_columns_;
  int64_t steps_per_run_;
  std::vector<int16_t> codes_;  // [column block][run][step][column][codes of a step], int8 or int16
  // [padded_columns]: initial value of each column's sums; corrects the bias of kBiased
  std::vector<uint32_t> starting_;
};

// Packs the weights [taps][channels] of a depthwise convolution.
std::vector<int32_t> PackDepthwiseWeights(int64_t taps, int64_t channels, const int8_t* weights);
// Multiplies a depthwise convolution:
//   out[p * out_stride + c] =
//     sum over taps t of image[pixels[p] + tap_offsets[t] + c] * weights[t][c]
// for c < channels. The image is in layout kRaw; `weights` come from PackDepthwiseWeights.
void MultiplyDepthwise(const int8_t* image, const int64_t* pixels, int64_t pixel_count,
                       const int64_t* tap_offsets, int64_t taps,
                       const std::vector<int32_t>& weights, int64_t channels, int32_t* out,
                       int64_t out_stride);

}  // namespace kiln

#endif  // KILN_EXECUTE_INT8_GEMM_H_
