// The interface between mac_gemm.h and its kernels. Only mac_*.cc and the test of the kernels' bits
// include it.
//
// A tile kernel computes the psums of one row tile for a few pixels and a few vectors of columns,
// in registers; an accumulation function then adds them to the results. mac_tiled.cc loops over row
// tiles, pixels and columns. A step is one iteration of a kernel's inner loop: it multiplies
// `operands_per_step` consecutive operands of each pixel.
#ifndef KILN_EXECUTE_MAC_KERNELS_H_
#define KILN_EXECUTE_MAC_KERNELS_H_

#include <cstdint>
#include <memory>

#include "kiln/execute/mac_gemm.h"
#include "kiln/numerics/tables.h"

namespace kiln::internal {

// How psums and accumulations round, as far as kernels distinguish it.
enum class SumRounding {
  kFp32,    // fp32 itself
  kBf16,    // the upper 16 bits of fp32
  kTf32,    // the upper 19
  kNarrow,  // IEEE style with at most 7 exponent bits and 22 of significand, within fp32's range
  kTable,   // floats and posits of at most 16 bits, by FormatTable
  kOther,
};
// Returns the rounding that gives a format's bits; kOther if only the scalar kernel does.
SumRounding SumRoundingOf(const Format& format);

// The constants with which kNarrow rounds: multiples of `unit` below `normal`; above it, fp32 with
// `dropped` fraction bits less; infinity above `greatest`.
struct NarrowFloat {
  int32_t dropped = 0;
  int32_t half_less_one = 0;  // 2^(dropped - 1) - 1
  int32_t mask = 0;           // all but the dropped bits
  float normal = 0, unit = 0, inverse_unit = 0, greatest = 0;
};
// Requires SumRoundingOf(format) == kNarrow.
NarrowFloat NarrowFloatOf(const Format& format);

// A format of sums as kernels see it.
struct SumFormat {
  SumRounding rounding = SumRounding::kOther;
  NarrowFloat narrow;                        // kNarrow
  std::shared_ptr<const FormatTable> table;  // kTable
};
// Fills the members that the format's rounding needs.
SumFormat SumFormatOf(const Format& format);

// The arguments of a tile kernel: one row tile for TileKernel::pixels pixels and some vectors of
// columns.
// Weights are [step][column of the vectors][operand of a step].
struct TileArguments {
  const void* image;
  const int64_t* places;   // of each pixel: index of its first operand in the image
  const int64_t* offsets;  // of each step: index of its first operand, relative to the pixel
  int64_t steps;
  const void* weights;
  void* psums;  // [pixels][vectors * lanes], 4 bytes each
  // Float psums: the format to which each step rounds.
  const SumFormat* psum;
  float unit;  // quire kernels: the power of two by which the integer sums are scaled
};
using TileFunction = void (*)(const TileArguments& arguments);

// The arguments of an accumulation function, which adds the psums of one tile to the results:
// accumulation = round(accumulation + psum * s) at results[p * stride + n] for p < pixels and n <
// columns (a multiple of the lanes).
struct AccumulationArguments {
  void* psums;  // [pixels][columns]; the function may change them
  int64_t pixels, columns;
  const float* input_scales;   // [pixels]; null: s = 1
  const float* weight_scales;  // [columns]
  void* results;
  // Elements of `results` between two pixels.
  int64_t stride;
  const SumFormat* accumulation;
  int psum_bits;  // bits at which integer psums wrap; 0: psums are fp32 values
  // Bits at which integer accumulations wrap.
  int accumulation_bits;
};
using AccumulationFunction = void (*)(const AccumulationArguments& arguments);

inline constexpr int kMaxTileVectors = 4;
// A tile kernel and its shape. function[v - 1] computes `pixels` pixels by v vectors of `lanes`
// columns.
struct TileKernel {
  int lanes = 0;
  int max_vectors = 0;
  int pixels = 0;
  int operands_per_step = 1;  // consecutive operands that one step multiplies
  int weight_bytes = 4;       // of one weight
  bool starting = false;      // a tile's weights begin with the initial psums, 4 bytes per column
  TileFunction function[kMaxTileVectors] = {};  // by vectors - 1
};

// The steps of one row tile, as indices into ChunkArguments::step_offsets.
struct TileSteps {
  int64_t first_step, steps;
};
// The arguments of a chunk kernel, which computes the psums and the accumulations of several
// consecutive row tiles without leaving registers.
struct ChunkArguments {
  const void* image;
  const int64_t* places;
  const TileSteps* tiles;
  int64_t tile_count;
  // Of all steps of the reduction; tiles refer to ranges of it.
  const int64_t* step_offsets;
  const void* weights;
  const float* const* input_scales;  // of each pixel; null without scales, as are the next three
  const int64_t* scale_offsets;      // of each tile
  const float* weight_scales;        // [tile][weight_scale_stride]
  int64_t weight_scale_stride;
  float* const* results;  // of each pixel; two may be the same pixel
  bool begun;             // continue from the results of earlier chunks; otherwise start at zero
};
// Returns false, having written nothing, if the kernel cannot guarantee its results; the caller
// then calls the fallback, which always can.
using ChunkFunction = bool (*)(const ChunkArguments& arguments);
struct ChunkKernel {
  TileKernel tile;  // only its shape is used; `function` is not called
  ChunkFunction function[kMaxTileVectors] = {};
  ChunkFunction fallback[kMaxTileVectors] = {};
};

// The properties of a float psum that decide its kernel.
struct FloatPsum {
  SumRounding rounding;
  // Rounding sums to fp32 first could change the result, except to odd (see mac_float.cc).
  bool odd;
  bool product_rounded;
  bool normal;  // every sum is zero, infinite, NaN or at least 2^-126 in magnitude
};
// The float kernels of one processor level. Each member returns null functions if the level has no
// kernel for the format.
struct FloatKernelSet {
  TileKernel (*tile)(const FloatPsum& psum);
  AccumulationFunction (*accumulation)(SumRounding accumulation);
  // Serves rules without scales only; null: the level has none.
  ChunkKernel (*chunk)(const FloatPsum& psum, SumRounding accumulation);
};
extern const FloatKernelSet kPortableFloatKernels;    // mac_float.cc
extern const FloatKernelSet kAvx2FloatKernels;        // mac_float_avx2.cc
extern const FloatKernelSet kAvx512FloatKernels;      // mac_float_avx512vnni.cc
extern const FloatKernelSet kAvx512Bf16FloatKernels;  // mac_float_avx512bf16.cc

// Returns the accumulation function for float accumulations; null for kOther.
AccumulationFunction FloatAccumulation(CpuLevel level, SumRounding rounding);

// The integer kernels of one processor level; psums wrap at 32 bits.
struct IntegerKernelSet {
  // For int8 weights and operands stored as int8 + 128; no functions if the level has none.
  TileKernel bytes;
  TileKernel words;                 // int16 weights and operands, in pairs
  AccumulationFunction to_integer;  // psum and accumulation wrap at their bits
  AccumulationFunction to_fp32;     // fp32 accumulation of fp32(psum) * s, for 32-bit psums
  ChunkKernel scaled;  // `bytes` and `to_fp32` in one kernel; no functions if the level has none
};
extern const IntegerKernelSet kPortableIntegerKernels;  // mac_integer.cc
extern const IntegerKernelSet kAvx2IntegerKernels;      // mac_integer_avx2.cc
extern const IntegerKernelSet kAvx512IntegerKernels;    // mac_integer_avx512vnni.cc

// Quire kernels: exact psums of int32 operands and weights in int64, rounded once to fp32 and
// multiplied by TileArguments::unit.
extern const TileKernel kPortableQuireKernel;  // mac_quire.cc
extern const TileKernel kAvx2QuireKernel;      // mac_quire_avx2.cc
extern const TileKernel kAvx512QuireKernel;    // mac_quire_avx512vnni.cc

// Accumulation function that copies the psums into the results, for reductions that are a single
// tile.
void CopyPsums(const AccumulationArguments& arguments);

// The kernels that a rule's weights use, and their constants.
struct TilePlan {
  TileKernel tile;
  AccumulationFunction accumulate = nullptr;
  ChunkKernel chunk;  // replaces tile and accumulate if it has functions
  SumFormat psum, accumulation;
  int psum_bits = 0, accumulation_bits = 32;  // as AccumulationArguments has them
  float unit = 1;
};
// Packs weights for the kernels of a plan and returns the object that runs them.
//   weights  [order.offsets.size()][columns], plan.tile.weight_bytes each
std::unique_ptr<const MacWeights> PackTiles(const TilePlan& plan, const MacOrder& order,
                                            int64_t columns, const void* weights,
                                            const float* scales);
// Returns the same reduction as a single tile, for rules whose sums do not depend on tile
// boundaries.
MacOrder OneTile(const MacOrder& order);

// The range of bits that the finite codes of a format need; fp32's range for formats above 16 bits.
struct OperandExtent {          // most significant bits of any code
  int significant = 0;          // lowest exponent of any code's lowest set bit
  int64_t lowest = INT64_MAX;   // highest exponent of any code's highest set bit
  int64_t highest = INT64_MIN;  // the format has NaN or infinity
  bool specials = false;        // whether there are NaN or infinity
};
// Enumerates all codes of formats of at most 16 bits.
OperandExtent ExtentOf(const Format& format);

// Create the kernel for a rule. Each returns null if it does not serve the rule, except for
// MakeScalarKernel, which serves every rule.
std::unique_ptr<const MacKernel> MakeFloatKernel(CpuLevel level, const MacRule& rule);
std::unique_ptr<const MacKernel> MakeIntegerKernel(CpuLevel level, const MacRule& rule);
std::unique_ptr<const MacKernel> MakeQuireKernel(CpuLevel level, const MacRule& rule);
std::unique_ptr<const MacKernel> MakeScalarKernel(const MacRule& rule);

// Checks the arguments of Pack, as programming errors. Every kernel calls it first.
void CheckPacking(const MacRule& rule, const MacOrder& order, int64_t columns, const float* scales);

}  // namespace kiln::internal

#endif  // KILN_EXECUTE_MAC_KERNELS_H_
