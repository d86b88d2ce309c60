// Instructions of the systolic family. An instruction is one kernel: it sets the loop nests of every unit it uses.
//
//   matrix      convolution or matrix product on the array, then a vector program on the accumulators
//   depthwise   depthwise convolution on its own unit, then a vector program on the accumulators
//   vector      a vector program on operands from memory
//   end         stops the machine
//
// Memory is byte addressed and little-endian. Activations lie in NHWC order, dense or with the strides an instruction
// names. Arithmetic is fixed here once; functional level, cycle level and RTL follow it to the bit:
//
//   accumulators    numerics/mac.h: psum over the rows of a row tile, accumulation over row tiles, in the order of
//                   walk.h and the formats of the design point; with block scales each row tile's psum is multiplied by
//                   fp32(input scale * weight scale), or by the one that is there
//   vector unit     fp32, nearest even, no flushing of subnormals; `fma` is fused (one rounding). With a narrower
//                   vector_format every result is computed in fp32 from numbers of that format and rounded to it once;
//                   `fma` is then a product and a sum, rounded each. (Where the format has p <= 11 significant bits,
//                   rounding twice is rounding once, but among subnormals of fp32's own exponent range.)
//   integer -> fp32 nearest even; fp32 -> code: see QuantiseOut
#ifndef KILN_TARGETS_SYSTOLIC_ISA_H_
#define KILN_TARGETS_SYSTOLIC_ISA_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/numerics/nonlinear.h"
#include "kiln/support/status.h"
#include "kiln/targets/systolic/config.h"

namespace kiln::systolic {

enum class Opcode : uint8_t { kEnd = 0, kMatrix = 1, kDepthwise = 2, kVector = 3 };

// How elements lie in memory.
enum class Element : uint8_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kFloat32 = 4,
  kVector = 5,  // numbers of the vector unit's format
  kInput = 6,   // codes of the array's input format
  kWeight =
      7,  // codes of the array's weight format; those of its other precisions follow: InputElement, WeightElement
};
inline constexpr int kElements = 6 + 2 * kMostPrecisions;
// Codes of the formats of a precision.
constexpr Element InputElement(int precision) {
  return static_cast<Element>(static_cast<int>(Element::kInput) + 2 * precision);
}
constexpr Element WeightElement(int precision) {
  return static_cast<Element>(static_cast<int>(Element::kWeight) + 2 * precision);
}
// Whether a design point has the element.
bool HasElement(const Config& config, Element element);
int BytesOf(Element element, const Config& config);
inline bool IsInteger(Element element) { return element <= Element::kInt32; }
inline bool IsCode(Element element) { return element >= Element::kInput; }
// The format of what is no integer.
const Format& FormatOf(Element element, const Config& config);

// ---------------------------------------------------------------------------------------------------------------------
// Vector programs
//
// A vector program walks four outer loops (rows), and for each row the words of one innermost axis of `length`
// elements, lanes elements a word (the last word may be partial: lanes at or beyond `length` are off: never written,
// and no part of reductions). In a row it makes one or more passes. A pass reads its source word by word, runs its
// stages on the lane value v (its stage i in stage i of the machine, which must have the operation: stages.h), may
// reduce v over the row into a scalar register, and may write v to the row buffer or (quantised) to memory. A later
// pass starts when the scalar of the former is there. Scalars and the row buffer live for one row.

inline constexpr int kOuterLoops = 4;
inline constexpr int kMaxOperands = 3;
inline constexpr int kMaxStages = kMostVectorStages;
inline constexpr int kMaxPasses = 4;
inline constexpr int kScalars = 4;  // s0..s3, one fp32 each, all lanes see the same value
inline constexpr int kSaved = 2;    // x0, x1: a lane value put aside inside one pass

// A stream of elements in memory. Element address = base + sum(outer_index[i] * outer_stride[i]) + index *
// element_stride
// (+ window terms for operand 0), all strides in bytes; `index` runs along the innermost axis. A stride of 0
// broadcasts.
//
// With block scales (elements of kind kInput only) rows lie along the blocks: element_stride is the element's size and
// every row begins with a block. The scale of element `index` is a code of Config::scale_format at
// base + sum(outer_index[i] * outer_stride[i]) + index / block_size * bytes of a scale (+ window terms likewise).
struct BlockScales {
  bool present = false;
  uint64_t base = 0;
  std::array<int64_t, kOuterLoops> outer_stride{};
  int64_t row_stride = 0, column_stride = 0;  // with a window, in place of outer_stride[1] and [2]
};

struct Stream {
  uint64_t base = 0;
  std::array<int64_t, kOuterLoops> outer_stride{};
  int64_t element_stride = 0;
  Element element = Element::kInt8;
  // As an operand, then rounded to the vector format:
  //   integers            fp32(code - zero_point) * scale, the product rounded once
  //   codes               (value of the code) * scale, likewise; with block scales the factor is fp32(scale * block
  //                       scale), a NaN scale gives NaN
  //   kFloat32, kVector   the number as it is
  float scale = 1.0f;
  int32_t zero_point = 0;  // integers
  BlockScales blocks;
};

// Which row of a vector instruction: an index for each outer loop.
using OuterIndex = std::array<int64_t, kOuterLoops>;

// Address of element `index` of a stream in a row.
inline uint64_t AddressOf(const Stream& stream, const OuterIndex& outer, int64_t index) {
  int64_t offset = index * stream.element_stride;
  for (size_t i = 0; i < kOuterLoops; ++i) offset += outer[i] * stream.outer_stride[i];
  return stream.base + static_cast<uint64_t>(offset);
}

// Pooling: operand 0 is read at window_y x window_x places per output element and combined lane by lane, in row-major
// order of the window, before the first stage of pass 0. Row y of place (oy, ky) is oy * stride_y - pad_top + ky *
// dilation_y, where oy is the index of outer loop 1 and ox that of outer loop 2 (outer loop 0: batch); places outside
// [0, height) x [0, width) are left out. The operand's outer_stride[1] and [2] are NOT used for operand 0 when there is
// a window; row_stride and column_stride stand in their place, from the image's (0, 0).
enum class Combine : uint8_t { kNone = 0, kMax = 1, kSum = 2 };
struct Window {
  Combine combine = Combine::kNone;
  int32_t window_y = 1, window_x = 1;
  int32_t stride_y = 1, stride_x = 1;
  int32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_top = 0, pad_left = 0;
  int32_t height = 1, width = 1;
  int64_t row_stride = 0, column_stride = 0;  // bytes
  // kSum: the sum is multiplied by 1/n, n the number of places inside the image if true, else window_y * window_x. The
  // factor is fp32(1) / fp32(n), rounded once; n = 0 counts as 1. kMax starts from -infinity, kSum from 0; a join is
  // partial > v ? partial : v, or partial + v.
  bool average = false;
  bool divide_by_valid = false;
};

// Where a pass reads from.
enum class Source : uint8_t {
  kAccumulator =
      0,  // matrix and depthwise: fma(fp32(accumulator + offset[c]), scale[c], bias[c]) per output channel
          // c; float accumulators come without offset
  kOperand0 = 1,   // memory
  kRowBuffer = 2,  // what an earlier pass of the row kept
  kConstant = 3,   // immediate (fills)
};

// What a stage takes beside v.
enum class Argument : uint8_t {
  kNone = 0,
  kImmediate = 1,
  kOperand0 = 2,
  kOperand1 = 3,
  kOperand2 = 4,  // streams; read in the same word order as the pass
  kScalar0 = 5,
  kScalar1 = 6,
  kScalar2 = 7,
  kScalar3 = 8,
  kSaved0 = 9,
  kSaved1 = 10,
};

enum class StageOp : uint8_t {
  kAdd = 0,              // v + a
  kSubtract = 1,         // v - a
  kReverseSubtract = 2,  // a - v
  kMultiply = 3,         // v * a
  kFma = 4,              // fma(v, a, b): the only stage with two arguments
  kMax = 5,              // v > a ? v : a   (which settles NaN and the signs of zeros)
  kMin = 6,              // v < a ? v : a
  kAbsolute = 7,
  kSquare = 8,  // v * v
  kSave0 = 9,
  kSave1 = 10,                 // x0 = v / x1 = v; v goes on unchanged
  kFunction = 11,              // v = approximate function `function` of v (numerics/nonlinear.h)
  kReciprocal = 12,            // 1 / v,       by the same unit
  kReciprocalSquareRoot = 13,  // 1 / sqrt(v)
  kSelectNegative = 14,        // v < 0 ? v * a : v   (leaky ReLU, PReLU)
  kDivide = 15,                // v / a, correctly rounded
};

// Operations of the function tables, and of the divider, which a stage may lack (Config::vector_function_stages).
constexpr bool IsFunction(StageOp op) {
  return op == StageOp::kFunction || op == StageOp::kReciprocal ||
         op == StageOp::kReciprocalSquareRoot;
}
constexpr bool IsDivision(StageOp op) { return op == StageOp::kDivide; }

// The functions that a stage can name; kReciprocal and kReciprocalSquareRoot are operations of their own.
inline constexpr NonlinearFunction kLastFunction = NonlinearFunction::kElu;

struct Stage {
  StageOp op = StageOp::kAdd;
  Argument a = Argument::kNone;
  Argument b = Argument::kNone;
  float immediate_a = 0;
  float immediate_b = 0;
  NonlinearFunction function = NonlinearFunction::kExp;
};

// Reduction of v over the elements of the row into scalar register `into`, after the last stage. Lane partials start at
// the neutral element (0 or -infinity) and take words in order; then lanes are combined pairwise as a tree: for half =
// p/2, p/4, ..., 1: lane[i] = lane[i] op lane[i + half] for i < half, p = lanes rounded up to a power of two (missing
// lanes neutral). A lane that is off in a word keeps its partial. a op b is a + b, or a > b ? a : b. A scalar stage
// that names register `into` sees what it held before.
enum class Reduce : uint8_t { kNone = 0, kSum = 1, kMax = 2 };

// How a value leaves for memory. kFloat32, kVector: the number. Integers: code = clamp(rne(v * inverse_scale) +
// zero_point, low, high); v * inverse_scale is one fp32 product; rne and the clamp are exact; NaN gives zero_point
// clamped. A NaN written as kFloat32 is written as 0x7fc00000. Codes: Encode(format, v * inverse_scale),
// rounding and overflow as the format says; with block scales, scale and codes of each block by
// numerics/microscaling.h.
struct QuantiseOut {
  float inverse_scale = 1.0f;
  int32_t zero_point = 0;
  int32_t low = -128, high = 127;
};

struct Pass {
  Source source = Source::kOperand0;
  float constant = 0;         // Source::kConstant
  std::vector<Stage> stages;  // at most kMaxStages
  Reduce reduce = Reduce::kNone;
  uint8_t into = 0;  // scalar register
  std::vector<Stage>
      scalar_stages;  // run once a row on the reduced scalar (mean, reciprocal, ...); arguments: immediate, scalars
  bool to_row_buffer = false;
  bool to_memory = false;  // exactly one pass of a program writes to memory
};

struct VectorProgram {
  std::array<int32_t, kOuterLoops> outer{1, 1, 1, 1};  // loop counts, outermost first
  int32_t length = 1;                                  // elements of the innermost axis
  std::vector<Stream> operands;                        // at most kMaxOperands
  Window window;                                       // of operand 0
  std::vector<Pass> passes;  // 1 to kMaxPasses; with Source::kAccumulator exactly 1
  Stream output;             // scale and zero_point unused: see quantise
  QuantiseOut quantise;
};

// ---------------------------------------------------------------------------------------------------------------------
// Matrix and depthwise instructions
//
// out[b, oy, ox, n] = sum over ky, kx, c of in[b, oy*sy - pt + ky*dy, ox*sx - pl + kx*dx, c] * w[ky, kx, c, n]
// Places outside the image read as `pad_code`. A matrix product of [M, K] by [K, N] is height 1, width M, one tap.
//
// Its vector program has outer loops (batch, out_height, out_width, 1) and length out_channels, and is fed word by word
// from the accumulators: word = output pixel x column tile.

// Parameters per output channel, in memory as three arrays of out_channels entries each, one after the other:
// int32 offset, fp32 scale, fp32 bias (see Source::kAccumulator). offset holds the zero-point correction. Scale and
// bias are rounded to the vector format as they are read.
struct ChannelParameters {
  uint64_t base = 0;
};

enum class Packing : uint8_t {
  kChannels =
      0,  // an input word holds array_rows channels of one input pixel; the feeder walks the taps
  kTaps =
      1,  // an input word holds array_rows taps (ky, kx, c in row-major order) of one output pixel, packed by the
          // fetcher (im2col); for layers with few channels
};

enum class WeightLayout : uint8_t {
  kTiled =
      0,  // constant weights, already in tiles: [batch_weights][column tile][row tile][array_rows][array_columns]
          // codes, edges padded with code 0. Row tiles stand in the order of walk.h.
  kStrided =
      1,  // activations as weights (matrix product of two activations): element (k, n) of batch b at
  // base + b*batch_stride + k*row_stride + n*column_stride; one of the two strides is 1. Edges read as 0.
};

// Loop order outside a tile. A block is the set of column tiles whose accumulators a bank holds together.
enum class Order : uint8_t {
  kInputOuter = 0,   // for batch, pixel tile, column block
  kWeightOuter = 1,  // for batch, column block, pixel tile
};

// Block scales of an operand of the array: codes of Config::scale_format.
//   input            of channel c at pixel (iy, ix): base + b*batch_stride + iy*row_stride + ix*column_stride +
//                    c / block_size * bytes of a scale. Channel packing only; padding has scale 1.
//   tiled weights    one for each row tile and column: [column tile][row tile][array_columns] from base +
//   b*batch_stride strided weights  of element (k, n): base + b*batch_stride + n*column_stride + k / block_size * bytes
//   of a scale;
//                    the codes are dense along k
struct OperandScales {
  bool present = false;
  uint64_t base = 0;
  int64_t batch_stride = 0, row_stride = 0, column_stride = 0;
};

struct Convolution {
  // Input, NHWC with strides in bytes; a group of a grouped convolution is a batch with its own channel offset.
  uint64_t input_base = 0;
  int64_t input_batch_stride = 0, input_row_stride = 0,
          input_column_stride = 0;  // channels are dense
  int32_t height = 1, width = 1, channels = 1;
  int32_t batch = 1;
  int32_t kernel_y = 1, kernel_x = 1;
  int32_t stride_y = 1, stride_x = 1;
  int32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_top = 0, pad_left = 0;
  int32_t out_height = 1, out_width = 1, out_channels = 1;
  int32_t pad_code = 0;  // the input's zero point, or the code of zero

  // Weights. Depthwise: [column tile][tap][lanes] codes, edges 0.
  uint64_t weight_base = 0;
  WeightLayout weight_layout = WeightLayout::kTiled;
  int64_t weight_batch_stride = 0;  // 0: all batches share the weights
  int64_t weight_row_stride = 0, weight_column_stride = 0;

  ChannelParameters parameters;
  int64_t parameter_batch_stride = 0;  // bytes from one batch's parameters to the next; 0: shared

  OperandScales input_scales, weight_scales;  // kMatrix

  int32_t taps() const { return kernel_y * kernel_x; }
};

// Tiling of a matrix or depthwise instruction (chosen by schedule.h).
struct Tiling {
  Packing packing = Packing::kChannels;
  Order order = Order::kInputOuter;
  int32_t tile_height = 1, tile_width = 1;  // output pixels of a pixel tile; edges are smaller
  int32_t columns_per_block =
      1;  // column tiles a block: tile pixels * columns_per_block <= accumulation words
  // Row groups (walk.h) that an input bank holds at once; depthwise: column tiles, more than one with kInputOuter only.
  int32_t groups_per_bank = 1;
  int32_t weight_tiles_per_bank =
      1;  // weight tiles that a weight bank holds: * array_rows <= weight_buffer_words
};

// "tiles of 14x28 pixels, 2 column tiles a block".
std::string Describe(const Tiling& tiling);

struct Instruction {
  Opcode opcode = Opcode::kEnd;
  uint32_t kernel = 0;  // index into Program::kernels(), for traces; no unit looks at it
  // Which earlier instruction must have written its last byte before this one's memory reads start, weights that are
  // constants excepted: the one so many places before it, and with it all before that one. 1: the previous one; 0:
  // none.
  uint8_t wait_distance = 1;
  bool user_unit = false;  // kDepthwise: on the unit of the design point's own (user_unit.h)
  uint8_t precision =
      0;  // kMatrix: which pair of operand formats (Config::other_precisions); else 0
  Convolution convolution;  // kMatrix, kDepthwise
  Tiling tiling;            // kMatrix, kDepthwise
  VectorProgram vector;     // all but kEnd
};

// Which streams come with block scales, as bits of the instruction's header.
uint8_t BlockMask(const Instruction& instruction);

// ---------------------------------------------------------------------------------------------------------------------
// Text and bits

// Readable text of one instruction, several lines, every field that is not at its default.
std::string Print(const Instruction& instruction, const Config& config);

// Binary form: words of 16 bytes, a header first. rtl/systolic/kiln_systolic_pkg.sv is the layout, docs/systolic.md
// tells of it. For instructions that CheckInstruction accepts; of others bits may be lost.
std::vector<uint8_t> Encode(std::span<const Instruction> instructions, const Config& config);
std::vector<uint8_t> Encode(const Instruction& instruction, const Config& config);
// Error: truncated, a word out of place, unknown enumerator, count beyond its limit, a derived member that is not what
// the instruction and the design point make it, or whatever CheckInstruction refuses. What is accepted has one
// encoding.
StatusOr<std::vector<Instruction>> Decode(const std::vector<uint8_t>& bytes, const Config& config);

// What a machine of this design point must refuse: counts above the limits, tiles that do not fit the buffers,
// addresses outside memory_bytes, strides that leave it, more stages than vector_stages, operations in stages that have
// them not. The codegen's own output always passes.
Status CheckInstruction(const Instruction& instruction, const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_H_
