// The inner kernels of int8_gemm.h, one set a processor level; only int8_gemm.cc calls them.
#ifndef KILN_EXECUTE_INT8_KERNELS_H_
#define KILN_EXECUTE_INT8_KERNELS_H_

#include <cstdint>

namespace kiln::internal {

// A stretch of the reduction: `steps` steps from code `offset` on.
struct Segment {
  int64_t offset;
  int64_t steps;
};

// One block of a product: up to max_pixels pixels by `vectors` vectors of columns.
struct BlockArguments {
  const void* image;
  const int64_t* pixels;  // code offsets
  const Segment* segments;
  int64_t segment_count;
  const void* weights;       // [step][columns of the block][codes of a step]
  const uint32_t* starting;  // sums start here; null: they go on from what stands in out
  int32_t* out;
  int64_t out_stride;
};
using BlockFunction = void (*)(const BlockArguments& arguments);

// The arguments of MultiplyDepthwise, the weights by their address.
using DepthwiseFunction = void (*)(const int8_t* image, const int64_t* pixels, int64_t pixel_count,
                                   const int64_t* tap_offsets, int64_t taps, const int32_t* weights,
                                   int64_t channels, int32_t* out, int64_t out_stride);

// A level's depthwise kernel from its blocks: Block::Run<kPixels> takes that many pixels, and so no pixel count.
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

// What a level's kernels look like. function[vectors - 1][pixels - 1].
inline constexpr int kMaxVectors = 4;
inline constexpr int kMaxPixels = 8;
struct KernelSet {
  int codes_per_step;
  int vector;       // columns in one vector
  int max_vectors;  // in one block
  int max_pixels[kMaxVectors];
  BlockFunction function[kMaxVectors][kMaxPixels];
  DepthwiseFunction depthwise;
};

extern const KernelSet kPortableKernels;
extern const KernelSet kAvx2Kernels;        // int8_gemm_avx2.cc
extern const KernelSet kAvx512VnniKernels;  // int8_gemm_avx512vnni.cc

}  // namespace kiln::internal

#endif  // KILN_EXECUTE_INT8_KERNELS_H_
