// Instructions of the systolic family. An instruction is one kernel: it sets the loop nests of
// every unit that it uses.
//
//   matrix      convolution or matrix product on the array; a vector program on the accumulators
//   depthwise   depthwise convolution on its own unit; a vector program on the accumulators
//   vector      a vector program on operands from memory
//   end         stops the machine
//
// Memory is byte addressed and little-endian. Activations are stored in NHWC order, dense or with
// the strides that an instruction gives. The arithmetic is defined here once; the functional level,
// the cycle level and the RTL compute exactly these bits:
//
//   accumulators      numerics/mac.h: psum over the rows of a row tile, accumulation over row
//                     tiles, in the order of walk.h and the formats of the design point. With
//                     block scales, each row tile's psum is multiplied by fp32(input scale * weight
//                     scale), or by the only scale if one operand alone has scales.
//   vector unit       fp32, round to nearest even, subnormals are not flushed; `fma` is fused (one
//                     rounding). With a narrower vector_format, every result is computed in fp32
//                     from numbers of that format and rounded to it once; `fma` is then a product
//                     and a sum, each rounded. (If the format has p <= 11 significant bits,
//                     rounding twice equals rounding once, except among subnormals of fp32's own
//                     exponent range.)
//   integer -> fp32   rounds to nearest even
//   fp32 -> code      see QuantiseOut
#ifndef KILN_TARGETS_SYSTOLIC_ISA_ISA_H_
#define KILN_TARGETS_SYSTOLIC_ISA_ISA_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/numerics/nonlinear.h"
#include "kiln/support/status.h"
#include "kiln/targets/systolic/config/config.h"

namespace kiln::systolic {

// The kind of an instruction, as listed above.
enum class Opcode : uint8_t { kEnd = 0, kMatrix = 1, kDepthwise = 2, kVector = 3 };

// How an element is stored in memory.
enum class Element : uint8_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kFloat32 = 4,
  kVector = 5,  // numbers of the vector unit's format
  kInput = 6,   // codes of the array's input format
  kWeight = 7,  // codes of the array's weight format; the codes of its other precisions follow:
                // InputElement, WeightElement
};
inline constexpr int kElements = 6 + 2 * kMostPrecisions;
// Return the elements that hold codes of the input and the weight format of a precision.
constexpr Element InputElement(int precision) {
  return static_cast<Element>(static_cast<int>(Element::kInput) + 2 * precision);
}
constexpr Element WeightElement(int precision) {
  return static_cast<Element>(static_cast<int>(Element::kWeight) + 2 * precision);
}
// Returns whether a design point has the element.
bool HasElement(const Config& config, Element element);
// Returns the size of an element in memory.
int BytesOf(Element element, const Config& config);
inline bool IsInteger(Element element) { return element <= Element::kInt32; }
inline bool IsCode(Element element) { return element >= Element::kInput; }
// Returns the format of an element that is not an integer.
const Format& FormatOf(Element element, const Config& config);

// -------------------------------------------------------------------------------------------------
// Vector programs
//
// A vector program walks four outer loops, which enumerate vector rows. Each row has `length`
// elements along one innermost axis and is processed in words of as many elements as the unit has
// lanes. The last word may be partial: lanes at or beyond `length` are disabled, never written, and
// excluded from reductions. A row goes through one or more vector passes. A pass reads its source
// word by word and runs its stages on the lane value v (stage i of the pass runs in stage i of the
// machine, which must have the operation: stages.h). It may reduce v over the row into a scalar
// register, and may write v to the row buffer or (quantised) to memory. A later pass starts when
// the scalar of the pass before is available. Scalars and the row buffer hold values of one row.

inline constexpr int kOuterLoops = 4;
inline constexpr int kMaxOperands = 3;
inline constexpr int kMaxStages = kMostVectorStages;
inline constexpr int kMaxPasses = 4;
inline constexpr int kScalars = 4;  // s0..s3, one fp32 each; all lanes see the same value
inline constexpr int kSaved = 2;    // x0, x1: a lane value saved within one pass

// The block scales of a stream (elements of kind kInput only). Rows run along the blocks:
// element_stride is the element's size, and every row begins with a block. The scale of element
// `index` is a code of Config::scale_format at base + sum(outer_index[i] * outer_stride[i]) + index
// / block_size * bytes of a scale (+ the terms of a window, as for elements).
struct BlockScales {
  bool present = false;
  uint64_t base = 0;
  std::array<int64_t, kOuterLoops> outer_stride{};
  int64_t row_stride = 0, column_stride = 0;  // with a window, they replace outer_stride[1] and [2]
};

// A stream of elements in memory. The address of an element is base + sum(outer_index[i] *
// outer_stride[i]) + index * element_stride (+ the terms of a window, for operand 0). All strides
// are in bytes; `index` counts along the innermost axis. A stride of 0 broadcasts.
struct Stream {
  uint64_t base = 0;
  std::array<int64_t, kOuterLoops> outer_stride{};
  int64_t element_stride = 0;
  Element element = Element::kInt8;
  // How an operand is read; the result is then rounded to the vector format. r rounds to
  // FactorFormat (config.h), and changes nothing unless the vector format is a short float. The
  // scale is a number of FactorFormat.
  //   integers            r(fp32(code - zero_point)) * scale, the product rounded to fp32
  //   codes               r(value of the code) * scale likewise; with block scales the factor is
  //                       r(fp32(scale * block scale)), and a NaN scale gives NaN
  //   kFloat32, kVector   the number itself
  float scale = 1.0f;
  int32_t zero_point = 0;  // integers
  BlockScales blocks;
};

// Selects a row of a vector instruction: an index for each outer loop.
using OuterIndex = std::array<int64_t, kOuterLoops>;

// Returns the address of element `index` of a stream in a row.
inline uint64_t AddressOf(const Stream& stream, const OuterIndex& outer, int64_t index) {
  int64_t offset = index * stream.element_stride;
  for (size_t i = 0; i < kOuterLoops; ++i) offset += outer[i] * stream.outer_stride[i];
  return stream.base + static_cast<uint64_t>(offset);
}

// Pooling. Operand 0 is read at window_y x window_x positions for each output element, and the
// values are combined lane by lane, in row-major order of the window, before the first stage of
// pass 0. Output row oy and window row ky give image row oy * stride_y - pad_top + ky * dilation_y,
// where oy is the index of outer loop 1; ox, for columns, is the index of outer loop 2 (outer loop
// 0 is the batch). Positions outside [0, height) x [0, width) are skipped. With a window, operand 0
// does NOT use its outer_stride[1] and [2] but row_stride and column_stride, counted from the
// image's (0, 0).
enum class Combine : uint8_t { kNone = 0, kMax = 1, kSum = 2 };
struct Window {
  Combine combine = Combine::kNone;
  int32_t window_y = 1, window_x = 1;
  int32_t stride_y = 1, stride_x = 1;
  int32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_top = 0, pad_left = 0;
  int32_t height = 1, width = 1;
  int64_t row_stride = 0, column_stride = 0;  // bytes
  // With `average`, a kSum is multiplied by 1/n, where n is the number of positions inside the
  // image if divide_by_valid is set, else window_y * window_x. The factor is fp32(1) / fp32(n),
  // rounded once; with divide_by_valid n is r(n), as for operands, and n = 0 counts as 1. kMax
  // starts from -infinity, kSum from 0. A value v is combined as partial > v ? partial : v, or
  // partial + v.
  bool average = false;
  bool divide_by_valid = false;
};

// The source of a pass's values.
enum class Source : uint8_t {
  kAccumulator = 0,  // matrix and depthwise: fma(fp32(accumulator + offset[c]), scale[c], bias[c])
                     // for output channel c; float accumulators have no offset
  kOperand0 = 1,     // memory
  kRowBuffer = 2,    // written by an earlier pass of the same row
  kConstant = 3,     // an immediate (for fills)
};

// The operand of a stage besides v.
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

// The operation of a stage on the lane value v with arguments a and b.
enum class StageOp : uint8_t {
  kAdd = 0,              // v + a
  kSubtract = 1,         // v - a
  kReverseSubtract = 2,  // a - v
  kMultiply = 3,         // v * a
  kFma = 4,              // fma(v, a, b): the only stage with two arguments
  kMax = 5,              // v > a ? v : a   (which defines the results for NaN and signed zeros)
  kMin = 6,              // v < a ? v : a
  kAbsolute = 7,
  kSquare = 8,  // v * v
  kSave0 = 9,
  kSave1 = 10,                 // x0 = v / x1 = v; v is unchanged
  kFunction = 11,              // v = approximate function `function` of v (numerics/nonlinear.h)
  kReciprocal = 12,            // 1 / v,       computed by the same unit
  kReciprocalSquareRoot = 13,  // 1 / sqrt(v)
  kSelectNegative = 14,        // v < 0 ? v * a : v   (leaky ReLU, PReLU)
  kDivide = 15,                // v / a, correctly rounded
};

// Return whether an operation needs the function tables, or the divider. A stage may lack them
// (Config::vector_function_stages, vector_divide_stages).
constexpr bool IsFunction(StageOp op) {
  return op == StageOp::kFunction || op == StageOp::kReciprocal ||
         op == StageOp::kReciprocalSquareRoot;
}
constexpr bool IsDivision(StageOp op) { return op == StageOp::kDivide; }

// The last function that a stage can name; kReciprocal and kReciprocalSquareRoot are operations
// instead.
inline constexpr NonlinearFunction kLastFunction = NonlinearFunction::kElu;

// One operation of a vector pass.
struct Stage {
  StageOp op = StageOp::kAdd;
  Argument a = Argument::kNone;
  Argument b = Argument::kNone;
  float immediate_a = 0;
  float immediate_b = 0;
  NonlinearFunction function = NonlinearFunction::kExp;
};

// Reduces v over the elements of the row into scalar register `into`, after the last stage. Each
// lane's partial starts at the neutral element (0 or -infinity) and takes the words in order. Then
// the lanes are combined pairwise as a tree: for half = p/2, p/4, ..., 1: lane[i] = lane[i] op
// lane[i + half] for i < half, where p is the number of lanes rounded up to a power of two (missing
// lanes are neutral). A lane that is disabled in a word keeps its partial. a op b is a + b, or a >
// b ? a : b. A scalar stage that reads register `into` sees its previous content.
enum class Reduce : uint8_t { kNone = 0, kSum = 1, kMax = 2 };

// How a value is written to memory.
//   kFloat32, kVector   the number; a NaN written as kFloat32 is written as 0x7fc00000
// The inverse scale is a number of FactorFormat (config.h).
//   integers            code = clamp(rne(v * inverse_scale) + zero_point, low, high);
//                       v * inverse_scale is one fp32 product; rne and the clamp are exact; NaN
//                       gives zero_point clamped
//   codes               Encode(format, v * inverse_scale); the format defines rounding and
//                       overflow. With block scales, numerics/microscaling.h defines the scale and
//                       the codes of each block.
struct QuantiseOut {
  float inverse_scale = 1.0f;
  int32_t zero_point = 0;
  int32_t low = -128, high = 127;
};

// One traversal of a row: source, stages, reduction and destination.
struct Pass {
  Source source = Source::kOperand0;
  float constant = 0;         // Source::kConstant
  std::vector<Stage> stages;  // at most kMaxStages
  Reduce reduce = Reduce::kNone;
  uint8_t into = 0;                  // scalar register
  std::vector<Stage> scalar_stages;  // run once per row on the reduced scalar (mean, reciprocal,
                                     // ...); arguments: immediate, scalars
  bool to_row_buffer = false;
  bool to_memory = false;  // exactly one pass of a program writes to memory
};

// The operations of a vector instruction, or of a matrix or depthwise instruction's drain.
struct VectorProgram {
  std::array<int32_t, kOuterLoops> outer{1, 1, 1, 1};  // loop counts, outermost first
  int32_t length = 1;                                  // elements of the innermost axis
  std::vector<Stream> operands;                        // at most kMaxOperands
  Window window;                                       // of operand 0
  std::vector<Pass> passes;  // 1 to kMaxPasses; with Source::kAccumulator exactly 1
  Stream output;             // scale and zero_point unused: see quantise
  QuantiseOut quantise;
};

// -------------------------------------------------------------------------------------------------
// Matrix and depthwise instructions
//
// out[b, oy, ox, n] = sum over ky, kx, c of
//   in[b, oy*sy - pt + ky*dy, ox*sx - pl + kx*dx, c] * w[ky, kx, c, n]
// Positions outside the image read as `pad_code`. A matrix product of [M, K] by [K, N] has height
// 1, width M and one tap.
//
// The instruction's vector program has outer loops (batch, out_height, out_width, 1) and length
// out_channels. It receives one word from the accumulators for each output pixel and column tile.

// The parameters of each output channel: three consecutive arrays in memory, of out_channels
// entries each: int32 offset, fp32 scale, fp32 bias (see Source::kAccumulator). The offset holds
// the zero-point correction. Scale and bias are rounded to the vector format when they are read.
struct ChannelParameters {
  uint64_t base = 0;
};

// What an input word holds.
enum class Packing : uint8_t {
  kChannels =
      0,  // an input word holds array_rows channels of one input pixel; the feeder walks the taps
  kTaps = 1,  // an input word holds array_rows taps (ky, kx, c in row-major order) of one output
              // pixel, packed by the fetch unit (im2col); for layers with few channels
};

// How the weights of a matrix instruction are stored in memory.
enum class WeightLayout : uint8_t {
  kTiled = 0,  // constant weights, stored in tiles; edges are padded with code 0, and row tiles are
               // in the order of walk.h. Shape of the codes:
               // [batch_weights][column tile][row tile][array_rows][array_columns]
  kStrided = 1,  // activations as weights (matrix product of two activations): element (k, n) of
                 // batch b is at base + b*batch_stride + k*row_stride + n*column_stride; one of the
                 // two strides is one code. Edges read as 0.
};

// The order of the loops outside a tile. A block is the set of column tiles whose accumulators are
// in one bank at the same time.
enum class Order : uint8_t {
  kInputOuter = 0,   // for batch, pixel tile, column block
  kWeightOuter = 1,  // for batch, column block, pixel tile
};

// The block scales of an operand of the array: codes of Config::scale_format, at
//   input             for channel c at pixel (iy, ix): base + b*batch_stride + iy*row_stride +
//                     ix*column_stride + c / block_size * bytes of a scale. Channel packing
//                     only; padding has scale 1.
//   tiled weights     one for each row tile and column: [column tile][row tile][array_columns] from
//                     base + b*batch_stride
//   strided weights   for element (k, n): base + b*batch_stride + n*column_stride +
//                     k / block_size * bytes of a scale; the codes are dense along k
struct OperandScales {
  bool present = false;
  uint64_t base = 0;
  int64_t batch_stride = 0, row_stride = 0, column_stride = 0;
};

// The operands and sizes of a matrix or depthwise instruction.
struct Convolution {
  // Input: NHWC, strides in bytes. A group of a grouped convolution is a batch with its own channel
  // offset.
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
  int32_t pad_code = 0;  // the input's zero point, or the code of the number zero

  // Weights. Depthwise: [column tile][tap][lanes] codes; edges are 0.
  uint64_t weight_base = 0;
  WeightLayout weight_layout = WeightLayout::kTiled;
  // Tiled weights: 0 if every code takes whole bytes. From 1 to 7 (Config::packed_weights): a code
  // takes this many bits, and the codes of a row of a tile follow one another from the lowest bit
  // of its first byte on; the row ends with its last byte. Codes of integers are extended by their
  // sign; others have all bits of their format.
  uint8_t weight_bits = 0;
  int64_t weight_batch_stride = 0;  // 0: all batches share the weights
  int64_t weight_row_stride = 0, weight_column_stride = 0;

  ChannelParameters parameters;
  int64_t parameter_batch_stride = 0;  // bytes from one batch's parameters to the next; 0: all
                                       // batches share them

  OperandScales input_scales, weight_scales;  // kMatrix only

  int32_t taps() const { return kernel_y * kernel_x; }
};

// The tiling of a matrix or depthwise instruction, chosen by the scheduler (schedule.h).
struct Tiling {
  Packing packing = Packing::kChannels;
  Order order = Order::kInputOuter;
  int32_t tile_height = 1, tile_width = 1;  // output pixels of a pixel tile; tiles at the edges are
                                            // smaller
  int32_t columns_per_block =
      1;  // column tiles per block: at most parameter_buffer_words, and tile pixels *
          // columns_per_block <= accumulation words
  // Row groups (walk.h) that an input bank holds at the same time. Depthwise: column tiles; more
  // than one only with kInputOuter.
  int32_t groups_per_bank = 1;
  int32_t weight_tiles_per_bank =
      1;  // weight tiles in a weight bank: weight_tiles_per_bank * array_rows <=
          // weight_buffer_words
};

// Returns a tiling as text: "tiles of 14x28 pixels, 2 column tiles a block".
std::string Describe(const Tiling& tiling);

// One instruction; `opcode` selects the members that it uses.
struct Instruction {
  Opcode opcode = Opcode::kEnd;
  uint32_t kernel = 0;  // index into Program::kernels(), for traces; no unit reads it
  // The earlier instruction that must have written its last byte before this one starts to read
  // memory (constant weights excepted): the one `wait_distance` positions earlier, and with it all
  // instructions before that one. 1 is the previous instruction; 0 means no wait.
  uint8_t wait_distance = 1;
  bool user_unit = false;  // kDepthwise: computed by the design point's user unit (user_unit.h)
  uint8_t precision =
      0;  // kMatrix: index of the pair of operand formats (Config::other_precisions); else 0
  Convolution convolution;  // kMatrix, kDepthwise
  Tiling tiling;            // kMatrix, kDepthwise
  VectorProgram vector;     // for all opcodes but kEnd
};

// Returns which streams have block scales, as bits.
uint8_t BlockMask(const Instruction& instruction);

// -------------------------------------------------------------------------------------------------
// Text and bits

// Returns readable text of one instruction: several lines, with every field that differs from its
// default.
std::string Print(const Instruction& instruction, const Config& config);

// Returns the binary form: instruction words of 16 bytes, starting with a header.
// rtl/systolic/kiln_systolic_pkg.sv defines the layout, and docs/systolic-instructions.md describes
// it. The instructions must pass CheckInstruction; bits of other instructions may be lost.
std::vector<uint8_t> Encode(std::span<const Instruction> instructions, const Config& config);
std::vector<uint8_t> Encode(const Instruction& instruction, const Config& config);
// Returns the instructions in `bytes`. Each accepted byte sequence is the only encoding of its
// instructions. Errors: truncated input, an instruction word in the wrong position, an unknown
// enumerator, a count beyond its limit, a derived member that differs from what the instruction and
// the design point give, and every error of CheckInstruction.
StatusOr<std::vector<Instruction>> Decode(const std::vector<uint8_t>& bytes, const Config& config);

// Returns an error for an instruction that a machine of this design point must refuse: counts above
// the limits, tiles that do not fit the buffers, addresses outside memory_bytes, strides that leave
// it, more stages than vector_stages, operations in stages that lack them. Instructions from the
// compiler always pass.
Status CheckInstruction(const Instruction& instruction, const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_ISA_H_
