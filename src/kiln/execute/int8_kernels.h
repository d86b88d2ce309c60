// The inner kernels of int8_gemm.h, one KernelSet per processor level. Only int8_gemm.cc calls
// them.
#ifndef KILN_EXECUTE_INT8_KERNELS_H_
#define KILN_EXECUTE_INT8_KERNELS_H_

#include <cstdint>

namespace kiln::internal {

// A stretch of the reduction within one run: `steps` steps from code `offset`, relative to the
// pixel.
// A run may be cut into several segments where a slice of the reduction ends inside it.
struct Segment {
  int64_t offset;
  int64_t steps;
};

// The arguments of one block of a product: up to max_pixels pixels by up to max_vectors vectors of
// columns.
struct BlockArguments {
  const void* image;
  const int64_t* pixels;  // offset of each pixel, in codes
  const Segment* segments;
  // Number of segments; they follow each other in the weights.
  int64_t segment_count;
  const void* weights;  // [step][columns of the block][codes of a step]
  // [columns of the block]: initial sums; null: continue from the sums in `out`
  const uint32_t* starting;
  int32_t* out;
  // Elements of `out` between two pixels.
  int64_t out_stride;
};
using BlockFunction = void (*)(const BlockArguments& arguments);

// A depthwise kernel: the arguments of MultiplyDepthwise, with the packed weights as a pointer.
using DepthwiseFunction = void (*)(const int8_t* image, const int64_t* pixels, int64_t pixel_count,
                                   const int64_t* tap_offsets, int64_t taps, const int32_t* weights,
                                   int64_t channels, int32_t* out, int64_t out_stride);

// Builds a level's depthwise kernel from Block::Run<kPixels>, which computes that many pixels at
// once: blocks of four pixels, then single ones.
template <typename Block>
void DepthwiseInBlocks(const int8_t* image, const int64_t* pixels, int64_t pixel_count,
                       const int64_t* tap_offsets, int64_t taps, const int32_t* weights,
                       int64_t channels, int32_t* out, int64_t out_stride) {
  int64_t p = 0;
  for (; p + 4 <= pixel_count; p += 4) {
    Block::template Run<4>(image, pixels + p, tap_offsets, taps, weights, channels,
                           out + p * out_stride, out_stride);
  }
  for (; p < pixel_count; ++p) {
    Block::template Run<1>(image, pixels + p, tap_offsets, taps, weights, channels,
                           out + p * out_stride, out_stride);
  }
}

// The kernels of one level: function[vectors - 1][pixels - 1] computes that block.
inline constexpr int kMaxVectors = 4;
inline constexpr int kMaxPixels = 8;
struct KernelSet {
  int codes_per_step;           // consecutive codes of one run that an inner-loop step multiplies
  int vector;                   // columns in one vector
  int max_vectors;              // largest number of vectors in a block
  int max_pixels[kMaxVectors];  // by vectors - 1: largest number of pixels in a block
  BlockFunction function[kMaxVectors][kMaxPixels];
  DepthwiseFunction depthwise;
};

extern const KernelSet kPortableKernels;
extern const KernelSet kAvx2Kernels;        // int8_gemm_avx2.cc
extern const KernelSet kAvx512VnniKernels;  // int8_gemm_avx512vnni.cc

}  // namespace kiln::internal

#endif  // KILN_EXECUTE_INT8_KERNELS_H_
