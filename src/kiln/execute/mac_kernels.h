// The kernels behind mac_gemm.h; only mac_*.cc and the test of their bits call them.
//
// A tile kernel forms the psums of one row tile for a few pixels and a few vectors of columns, in registers; an
// accumulation function then adds them to the results. mac_tiled.cc walks tiles, pixels and columns.
#ifndef KILN_EXECUTE_MAC_KERNELS_H_
#define KILN_EXECUTE_MAC_KERNELS_H_

#include <cstdint>
#include <memory>

#include "kiln/execute/mac_gemm.h"
#include "kiln/numerics/tables.h"

namespace kiln::internal {

// How psums and accumulations round, as far as kernels tell it apart.
enum class SumRounding {
  kFp32,    // fp32 itself
  kBf16,    // the upper 16 bits of fp32
  kTf32,    // the upper 19
  kNarrow,  // IEEE style with at most 7 exponent bits and 22 of significand, within fp32's range
  kTable,   // floats and posits of at most 16 bits, by FormatTable
  kOther,
};
SumRounding SumRoundingOf(const Format& format);

// What kNarrow rounds to: multiples of `unit` below `normal`, `dropped` bits of fp32's fraction less above it, infinity
// beyond `greatest`.
struct NarrowFloat {
  int32_t dropped = 0;
  int32_t half_less_one = 0;  // 2^(dropped - 1) - 1
  int32_t mask = 0;           // all but the dropped bits
  float normal = 0, unit = 0, inverse_unit = 0, greatest = 0;
};
NarrowFloat NarrowFloatOf(const Format& format);

// Everything a kernel needs to know of a sum's format.
struct SumFormat {
  SumRounding rounding = SumRounding::kOther;
  NarrowFloat narrow;                        // kNarrow
  std::shared_ptr<const FormatTable> table;  // kTable
};
SumFormat SumFormatOf(const Format& format);

// One tile for `pixels` pixels (as many as the kernel takes) and `vectors` vectors of columns.
struct TileArguments {
  const void* image;
  const int64_t* places;   // of each pixel, in operands
  const int64_t* offsets;  // of each step
  int64_t steps;
  const void* weights;
  void* psums;  // [pixels][vectors * lanes], 4 bytes each
  const SumFormat* psum;
  float unit;  // quire: the power of two that an exact sum counts in
};
using TileFunction = void (*)(const TileArguments& arguments);

// Adds the psums of one tile to results: accumulation = round(accumulation + psum * s) at
// results[p * stride + n] for p < pixels, n < columns (a multiple of the lanes).
struct AccumulationArguments {
  void* psums;  // [pixels][columns]; the function may change them
  int64_t pixels, columns;
  const float* input_scales;   // [pixels]; null: s = 1
  const float* weight_scales;  // [columns]
  void* results;
  int64_t stride;
  const SumFormat* accumulation;
  int psum_bits;  // of integer psums, which wrap there; 0: psums are fp32 values
  int accumulation_bits;
};
using AccumulationFunction = void (*)(const AccumulationArguments& arguments);

inline constexpr int kMaxTileVectors = 4;
struct TileKernel {
  int lanes = 0;
  int max_vectors = 0;
  int pixels = 0;
  int operands_per_step = 1;  // consecutive operands that one step takes
  int weight_bytes = 4;       // of one weight
  bool starting = false;  // a tile's weights begin with what its psums start from, 4 bytes a column
  TileFunction function[kMaxTileVectors] = {};  // by vectors - 1
};

// All tiles of a chunk for the pixels and columns of one group, without a stop between psums and accumulations.
struct TileSteps {
  int64_t first_step, steps;
};
struct ChunkArguments {
  const void* image;
  const int64_t* places;
  const TileSteps* tiles;
  int64_t tile_count;
  const int64_t* step_offsets;
  const void* weights;
  const float* const*
      input_scales;              // of each pixel; only where there are scales, as the next three
  const int64_t* scale_offsets;  // of each tile
  const float* weight_scales;    // [tile][weight_scale_stride]
  int64_t weight_scale_stride;
  float* const* results;  // of each pixel; two may be the same
  bool begun;             // results hold what earlier chunks gave; else they start at zero
};
// False: it has written nothing, because it cannot tell that its results are right; the fallback's are.
using ChunkFunction = bool (*)(const ChunkArguments& arguments);
struct ChunkKernel {
  TileKernel tile;  // its shape; function of it is not called
  ChunkFunction function[kMaxTileVectors] = {};
  ChunkFunction fallback[kMaxTileVectors] = {};
};

// What a float psum asks of a kernel.
struct FloatPsum {
  SumRounding rounding;
  bool
      odd;  // rounding sums to fp32 first could change the result, unless to odd (mac_float.cc says when it cannot)
  bool product_rounded;
  bool normal;  // every sum is zero, infinite, NaN or at least 2^-126 in magnitude
};
struct FloatKernelSet {
  // Null functions where the level has no kernel for the format.
  TileKernel (*tile)(const FloatPsum& psum);
  AccumulationFunction (*accumulation)(SumRounding accumulation);
  ChunkKernel (*chunk)(const FloatPsum& psum,
                       SumRounding accumulation);  // without scales; null: the level has none
};
extern const FloatKernelSet kPortableFloatKernels;    // mac_float.cc
extern const FloatKernelSet kAvx2FloatKernels;        // mac_float_avx2.cc
extern const FloatKernelSet kAvx512FloatKernels;      // mac_float_avx512vnni.cc
extern const FloatKernelSet kAvx512Bf16FloatKernels;  // mac_float_avx512bf16.cc

// For float accumulations; null for kOther.
AccumulationFunction FloatAccumulation(CpuLevel level, SumRounding rounding);

// Integer psums, wrapping at 32 bits.
struct IntegerKernelSet {
  TileKernel bytes;  // int8 weights, operands int8 + 128; no functions where the level has none
  TileKernel words;  // int16 pairs
  AccumulationFunction to_integer;  // psum and sum wrap at their bits
  AccumulationFunction to_fp32;     // fp32(psum) * s, fp32 accumulation; 32-bit psums
  ChunkKernel scaled;  // of bytes, to_fp32 in one; no functions where the level has none
};
extern const IntegerKernelSet kPortableIntegerKernels;  // mac_integer.cc
extern const IntegerKernelSet kAvx2IntegerKernels;      // mac_integer_avx2.cc
extern const IntegerKernelSet kAvx512IntegerKernels;    // mac_integer_avx512vnni.cc

// Exact psums of int32 operands and weights in int64, rounded to fp32 once and multiplied by TileArguments::unit.
extern const TileKernel kPortableQuireKernel;  // mac_quire.cc
extern const TileKernel kAvx2QuireKernel;      // mac_quire_avx2.cc
extern const TileKernel kAvx512QuireKernel;    // mac_quire_avx512vnni.cc

// How the psums of a tile come into the results, for formats of no level of its own.
void CopyPsums(const AccumulationArguments& arguments);

// Weights as tile kernels read them, and the walk over tiles, pixels and columns.
struct TilePlan {
  TileKernel tile;
  AccumulationFunction accumulate = nullptr;
  ChunkKernel chunk;  // in place of tile and accumulate, if it has functions
  SumFormat psum, accumulation;
  int psum_bits = 0, accumulation_bits = 32;  // as AccumulationArguments has them
  float unit = 1;
};
//   weights  [order.offsets.size()][columns], plan.tile.weight_bytes each
std::unique_ptr<const MacWeights> PackTiles(const TilePlan& plan, const MacOrder& order,
                                            int64_t columns, const void* weights,
                                            const float* scales);
// The same reduction as a single tile, for sums that no tile boundary changes.
MacOrder OneTile(const MacOrder& order);

// What the finite codes of a format need; of formats above 16 bits what fp32 needs.
struct OperandExtent {
  int significant = 0;          // bits
  int64_t lowest = INT64_MAX;   // exponent of the lowest bit of any
  int64_t highest = INT64_MIN;  // exponent of the highest bit of any
  bool specials = false;        // whether there are NaN or infinity
};
OperandExtent ExtentOf(const Format& format);

// The kernels by rule; each gives null where it does not serve the rule. MakeScalarKernel serves all.
std::unique_ptr<const MacKernel> MakeFloatKernel(CpuLevel level, const MacRule& rule);
std::unique_ptr<const MacKernel> MakeIntegerKernel(CpuLevel level, const MacRule& rule);
std::unique_ptr<const MacKernel> MakeQuireKernel(CpuLevel level, const MacRule& rule);
std::unique_ptr<const MacKernel> MakeScalarKernel(const MacRule& rule);

// Checks what Pack is given; all kernels begin with it.
void CheckPacking(const MacRule& rule, const MacOrder& order, int64_t columns, const float* scales);

}  // namespace kiln::internal

#endif  // KILN_EXECUTE_MAC_KERNELS_H_
