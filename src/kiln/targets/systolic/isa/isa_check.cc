// CheckInstruction: what a machine refuses. Everything is checked before a unit starts, so that
// units need no checks of their own.
#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/stages.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {
namespace {

constexpr int32_t kMaxExtent = (1 << 24) - 1;  // of a loop or an image axis; counts have 24 bits
constexpr int64_t kMaxStride = int64_t{1} << (kAddressBits - 1);  // bytes; strides are signed
constexpr int64_t kMaxAddress = int64_t{1} << kAddressBits;
constexpr int64_t kMaxIterations = int64_t{1} << 44;  // of a loop nest

using Wide = __int128;

// Collects the first fault and drops later ones.
class Checker {
 public:
  explicit Checker(const Config& config) : config_(config) {}

  bool ok() const { return fault_.empty(); }
  Status status() const { return ok() ? OkStatus() : ErrorAt("", "", fault_, ""); }

  template <typename... Args>
  void Require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
    if (!condition && ok()) fault_ = fmt::format(format, std::forward<Args>(args)...);
  }
  // A scale must be finite, and a number of the format in which the machine holds scales.
  void Scale(std::string_view what, float scale) {
    Require(std::isfinite(scale), "{} is not finite", what);
    if (!ok()) return;
    if (const float rounded = RoundScale(config_, scale); rounded != scale) {
      Require(false, "{} is {}, which is no number of {}; the nearest is {}", what, scale,
              FactorFormat(config_).name, rounded);
    }
  }
  void Between(std::string_view what, int64_t value, int64_t low, int64_t high) {
    Require(value >= low && value <= high, "{} is {}, not in [{}, {}]", what, value, low, high);
  }

  void Stride(std::string_view what, int64_t stride) {
    Between(fmt::format("a stride of {}", what), stride, -kMaxStride, kMaxStride - 1);
  }

  // Block scales must be aligned to their size, so that none crosses a beat.
  void ScalesAligned(std::string_view what, uint64_t base, std::initializer_list<int64_t> strides) {
    const int64_t bytes = config_.scale_format.bytes();
    bool aligned = base % static_cast<uint64_t>(bytes) == 0;
    for (const int64_t stride : strides) aligned = aligned && stride % bytes == 0;
    Require(aligned, "{} are not at multiples of their {} bytes", what, bytes);
  }

  // Checks the addresses base + sum of index_i * stride_i for index_i in [0, count_i), each of
  // `bytes` bytes.
  struct Axis {
    int64_t count, stride;
  };
  void Range(std::string_view what, uint64_t base, std::initializer_list<Axis> axes,
             int64_t bytes) {
    if (!ok()) return;
    Wide low = base, high = base;
    for (const Axis& axis : axes) {
      Stride(what, axis.stride);
      const Wide reach = Wide{axis.count - 1} * axis.stride;
      (reach < 0 ? low : high) += reach;
    }
    high += bytes;
    Require(base <= (uint64_t{1} << 62) && low >= 0 && high <= config_.memory_bytes,
            "{} reaches outside the memory of {} bytes", what, config_.memory_bytes);
    Require(high <= kMaxAddress, "{} reaches beyond the addresses of {} bits", what, kAddressBits);
  }

  const Config& config() const { return config_; }

 private:
  const Config& config_;
  std::string fault_;
};

bool IsOperand(Argument a) { return a >= Argument::kOperand0 && a <= Argument::kOperand2; }
int IndexOfOperand(Argument a) {
  return static_cast<int>(a) - static_cast<int>(Argument::kOperand0);
}

bool TakesArgument(StageOp op) {
  switch (op) {
    case StageOp::kAbsolute:
    case StageOp::kSquare:
    case StageOp::kSave0:
    case StageOp::kSave1:
    case StageOp::kFunction:
    case StageOp::kReciprocal:
    case StageOp::kReciprocalSquareRoot:
      return false;
    default:
      return true;
  }
}

void CheckStages(Checker& check, const std::vector<Stage>& stages, const VectorProgram& program,
                 bool scalar) {
  check.Require(std::ssize(stages) <= std::min(kMaxStages, check.config().vector_stages),
                "a pass has {} stages, the vector unit {}", stages.size(),
                std::min(kMaxStages, check.config().vector_stages));
  for (size_t i = 0; i < stages.size() && check.ok(); ++i) {
    check.Require(HasStageFor(stages[i].op, static_cast<int>(i), check.config()),
                  "stage {} of a pass names {}, which that stage has not: {}", i,
                  IsDivision(stages[i].op) ? "a division" : "a function",
                  DescribeStages(check.config()));
  }
  for (const Stage& stage : stages) {
    const auto argument = [&](Argument a, float immediate, bool wanted) {
      check.Require(wanted == (a != Argument::kNone),
                    "a stage has {} arguments than its operation takes", wanted ? "fewer" : "more");
      check.Require(!std::isnan(immediate), "an immediate is not a number");
      if (IsOperand(a)) {
        check.Require(!scalar, "a scalar stage names a memory operand");
        check.Require(IndexOfOperand(a) < std::ssize(program.operands),
                      "a stage names operand {} of {}", IndexOfOperand(a), program.operands.size());
        check.Require(IndexOfOperand(a) != 0 || program.window.combine == Combine::kNone,
                      "operand 0 has a window and cannot be an argument");
      }
      check.Require(!scalar || (a != Argument::kSaved0 && a != Argument::kSaved1),
                    "a scalar stage names a saved lane value");
    };
    argument(stage.a, stage.immediate_a, TakesArgument(stage.op));
    argument(stage.b, stage.immediate_b, stage.op == StageOp::kFma);
    check.Require(stage.op != StageOp::kFunction || stage.function <= kLastFunction,
                  "{} is an operation, not a function of a stage", NameOf(stage.function));
    check.Require(!scalar || (stage.op != StageOp::kSave0 && stage.op != StageOp::kSave1),
                  "a scalar stage cannot save a lane value");
  }
}

// Checks the block scales of a stream of the vector unit.
void CheckBlocks(Checker& check, const std::string& what, const VectorProgram& v, const Stream& s,
                 bool windowed) {
  if (!s.blocks.present) return;
  const Config& config = check.config();
  check.Require(config.block_size > 0, "{} has block scales, this design point has none", what);
  check.Require(s.element == Element::kInput,
                "{} has block scales and is no code of the input format", what);
  if (!check.ok()) return;
  check.Require(s.element_stride == BytesOf(s.element, config),
                "{} has block scales and is not dense", what);
  const BlockScales& b = s.blocks;
  const Window& w = v.window;
  const int64_t blocks = (int64_t{v.length} + config.block_size - 1) / config.block_size;
  check.Range("the scales of " + what, b.base,
              {{v.outer[0], b.outer_stride[0]},
               {windowed ? w.height : v.outer[1], windowed ? b.row_stride : b.outer_stride[1]},
               {windowed ? w.width : v.outer[2], windowed ? b.column_stride : b.outer_stride[2]},
               {v.outer[3], b.outer_stride[3]}},
              blocks * config.scale_format.bytes());
  check.ScalesAligned("the scales of " + what, b.base,
                      {b.outer_stride[0], b.outer_stride[1], b.outer_stride[2], b.outer_stride[3],
                       b.row_stride, b.column_stride});
  // Strides that the program does not use are encoded as well, so they must fit too.
  for (const int64_t stride : b.outer_stride) check.Stride("the scales of " + what, stride);
  for (const int64_t stride : {b.row_stride, b.column_stride})
    check.Stride("the scales of " + what, stride);
}

// Checks the block scales of the array's operands.
void CheckOperandScales(Checker& check, const Instruction& instruction, const Geometry& g) {
  const Config& config = check.config();
  const Convolution& c = instruction.convolution;
  const OperandScales &input = c.input_scales, &weight = c.weight_scales;
  if (!input.present && !weight.present) return;
  check.Require(config.block_size > 0, "operands have block scales, this design point has none");
  check.Require(instruction.opcode == Opcode::kMatrix, "the depthwise unit takes no block scales");
  check.Require(instruction.tiling.packing == Packing::kChannels,
                "block scales need channel packing");
  if (!check.ok()) return;
  const int64_t bytes = config.scale_format.bytes();
  const int64_t blocks = (int64_t{c.channels} + config.block_size - 1) / config.block_size;
  for (const OperandScales& s : {input, weight}) {
    if (s.present) {
      check.ScalesAligned("block scales", s.base, {s.batch_stride, s.row_stride, s.column_stride});
    }
  }
  if (input.present) {
    check.Range("the scales of the input", input.base,
                {{c.batch, input.batch_stride},
                 {c.height, input.row_stride},
                 {c.width, input.column_stride}},
                blocks * bytes);
  }
  if (!weight.present) return;
  for (const int64_t stride : {weight.row_stride, weight.column_stride})
    check.Stride("the weights' scales", stride);
  if (c.weight_layout == WeightLayout::kTiled) {
    check.Range("the scales of the weights", weight.base, {{c.batch, weight.batch_stride}},
                int64_t{g.column_tiles} * g.row_tiles() * config.array_columns * bytes);
  } else {
    check.Require(c.weight_row_stride == config.weight_format.bytes(),
                  "strided weights with block scales must be dense along the reduction");
    check.Range("the scales of the weights", weight.base,
                {{c.batch, weight.batch_stride}, {c.out_channels, weight.column_stride}},
                blocks * bytes);
  }
}

// Checks that the design point has the streams' elements; later checks need the sizes of the
// elements.
void CheckElements(Checker& check, const VectorProgram& v) {
  const auto has = [&](std::string_view what, const Stream& s) {
    check.Require(check.config().integer_elements || !IsInteger(s.element),
                  "{} has integers, which this design point has not", what);
    check.Require(HasElement(check.config(), s.element),
                  "{} has codes of a precision that this design point has not", what);
  };
  for (const Stream& operand : v.operands) has("an operand", operand);
  has("the output", v.output);
}

void CheckVector(Checker& check, const VectorProgram& v, bool accumulators) {
  CheckElements(check, v);
  int64_t rows = 1;
  for (int32_t count : v.outer) {
    check.Between("a loop count", count, 1, kMaxExtent);
    if (check.ok()) rows = rows > kMaxIterations / count ? kMaxIterations + 1 : rows * count;
  }
  check.Between("the row length", v.length, 1, kMaxExtent);
  check.Require(rows <= kMaxIterations, "the loops make more than {} rows", kMaxIterations);
  check.Between("the number of operands", std::ssize(v.operands), 0, kMaxOperands);
  check.Between("the number of passes", std::ssize(v.passes), 1, accumulators ? 1 : kMaxPasses);
  if (!check.ok()) return;

  const Window& w = v.window;
  const bool window = w.combine != Combine::kNone;
  if (window) {
    check.Require(!accumulators, "a window needs operands from memory");
    check.Require(!v.operands.empty(), "a window needs operand 0");
    check.Require(v.passes[0].source == Source::kOperand0,
                  "a window needs pass 0 to read operand 0");
    for (int32_t size : {w.window_y, w.window_x, w.stride_y, w.stride_x, w.dilation_y, w.dilation_x,
                         w.height, w.width}) {
      check.Between("a size of the window", size, 1, kMaxExtent);
    }
    check.Between("the window's padding", std::min(w.pad_top, w.pad_left), 0, kMaxExtent);
    check.Between("the window's padding", std::max(w.pad_top, w.pad_left), 0, kMaxExtent);
    // A row whose window is entirely outside the image would have no value.
    check.Require(w.pad_top <= (w.window_y - 1) * int64_t{w.dilation_y} &&
                      w.pad_left <= (w.window_x - 1) * int64_t{w.dilation_x} &&
                      (v.outer[1] - 1) * int64_t{w.stride_y} - w.pad_top < w.height &&
                      (v.outer[2] - 1) * int64_t{w.stride_x} - w.pad_left < w.width,
                  "a window lies wholly outside the image");
  }

  bool row_buffer = false;
  int writers = 0;
  for (size_t p = 0; p < v.passes.size(); ++p) {
    const Pass& pass = v.passes[p];
    check.Require((pass.source == Source::kAccumulator) == accumulators,
                  "a pass reads accumulators where {}",
                  accumulators ? "it must and does not" : "there are none");
    check.Require(pass.source != Source::kOperand0 || !v.operands.empty(),
                  "a pass reads operand 0 and there is none");
    check.Require(pass.source != Source::kRowBuffer || row_buffer,
                  "pass {} reads a row buffer that nothing filled", p);
    check.Require(!window || p == 0 || pass.source != Source::kOperand0,
                  "only pass 0 can read through a window");
    check.Require(!std::isnan(pass.constant), "a constant is not a number");
    check.Between("a scalar register", pass.into, 0, kScalars - 1);
    check.Require(!accumulators || (pass.reduce == Reduce::kNone && !pass.to_row_buffer),
                  "accumulators pass through once: no reduction, no row buffer");
    CheckStages(check, pass.stages, v, /*scalar=*/false);
    CheckStages(check, pass.scalar_stages, v, /*scalar=*/true);
    row_buffer = row_buffer || pass.to_row_buffer;
    writers += pass.to_memory ? 1 : 0;
  }
  check.Require(writers == 1, "{} passes write to memory; exactly one must", writers);
  const int64_t row_limit =
      int64_t{check.config().vector_row_buffer_words} * check.config().lanes();
  check.Require(!row_buffer || v.length <= row_limit,
                "a row of {} elements does not fit the row buffer of {}", v.length, row_limit);

  for (size_t i = 0; i < v.operands.size(); ++i) {
    const Stream& s = v.operands[i];
    const bool windowed = window && i == 0;
    check.Scale("a scale", s.scale);
    CheckBlocks(check, fmt::format("operand {}", i), v, s, windowed);
    check.Range(fmt::format("operand {}", i), s.base,
                {{v.outer[0], s.outer_stride[0]},
                 {windowed ? w.height : v.outer[1], windowed ? w.row_stride : s.outer_stride[1]},
                 {windowed ? w.width : v.outer[2], windowed ? w.column_stride : s.outer_stride[2]},
                 {v.outer[3], s.outer_stride[3]},
                 {v.length, s.element_stride}},
                BytesOf(s.element, check.config()));
    for (const int64_t stride : s.outer_stride) check.Stride(fmt::format("operand {}", i), stride);
  }
  const Stream& out = v.output;
  check.Range("the output", out.base,
              {{v.outer[0], out.outer_stride[0]},
               {v.outer[1], out.outer_stride[1]},
               {v.outer[2], out.outer_stride[2]},
               {v.outer[3], out.outer_stride[3]},
               {v.length, out.element_stride}},
              BytesOf(out.element, check.config()));
  CheckBlocks(check, "the output", v, out, /*windowed=*/false);
  if (IsInteger(out.element) || IsCode(out.element)) {
    check.Scale("the inverse scale", v.quantise.inverse_scale);
  }
  if (IsInteger(out.element)) {
    int64_t low = INT32_MIN, high = INT32_MAX;
    if (out.element == Element::kInt8) low = -128, high = 127;
    if (out.element == Element::kUint8) low = 0, high = 255;
    if (out.element == Element::kInt16) low = -32768, high = 32767;
    check.Require(
        low <= v.quantise.low && v.quantise.low <= v.quantise.high && v.quantise.high <= high,
        "the output saturates at [{}, {}], outside its element", v.quantise.low, v.quantise.high);
  }
}

// Checks each size of a convolution, and that no product of sizes exceeds the range of its type.
void CheckSizes(Checker& check, const Instruction& instruction) {
  const Config& config = check.config();
  const Convolution& c = instruction.convolution;
  const Tiling& t = instruction.tiling;
  const bool depthwise = instruction.opcode == Opcode::kDepthwise;
  for (int32_t size :
       {c.height, c.width, c.channels, c.batch, c.kernel_y, c.kernel_x, c.stride_y, c.stride_x,
        c.dilation_y, c.dilation_x, c.out_height, c.out_width, c.out_channels}) {
    check.Between("a size of the convolution", size, 1, kMaxExtent);
  }
  for (int32_t pad : {c.pad_top, c.pad_left}) check.Between("the padding", pad, 0, kMaxExtent);
  check.Between("the precision", instruction.precision, 0, config.precisions() - 1);
  check.Require(instruction.precision == 0 || !depthwise,
                "the depthwise unit has precision 0 only");
  check.Require(instruction.precision == 0 || (!c.input_scales.present && !c.weight_scales.present),
                "block scales are of precision 0, the instruction is of {}", instruction.precision);
  if (!check.ok()) return;
  const Format& input = config.input_format_of(instruction.precision);
  // The range of the code as it is stored in memory.
  const int64_t least = input.bits == 32 ? INT32_MIN : 0;
  const int64_t greatest = input.bits == 32 ? INT32_MAX : (int64_t{1} << input.bits) - 1;
  check.Between("the padding's code", c.pad_code, input.is_integer() ? input.min_code() : least,
                input.is_integer() ? input.max_code() : greatest);
  check.Between("the tile's height", t.tile_height, 1, c.out_height);
  check.Between("the tile's width", t.tile_width, 1, c.out_width);
  check.Between("columns_per_block", t.columns_per_block, 1, kMaxExtent);
  check.Between("groups_per_bank", t.groups_per_bank, 1, kMaxExtent);
  check.Between("weight_tiles_per_bank", t.weight_tiles_per_bank, 1, kMaxExtent);
  if (!check.ok()) return;
  // From here on, every product below is less than 2^63.
  check.Require(int64_t{c.kernel_y} * c.kernel_x <= kMaxExtent &&
                    int64_t{c.kernel_y} * c.kernel_x * c.channels <= INT32_MAX &&
                    (int64_t{c.kernel_y} - 1) * c.dilation_y <= kMaxExtent &&
                    (int64_t{c.kernel_x} - 1) * c.dilation_x <= kMaxExtent &&
                    int64_t{t.tile_height} * c.stride_y <= INT32_MAX / 2 &&
                    int64_t{t.tile_width} * c.stride_x <= INT32_MAX / 2 &&
                    int64_t{c.out_height} * c.stride_y <= INT32_MAX / 2 &&
                    int64_t{c.out_width} * c.stride_x <= INT32_MAX / 2 &&
                    int64_t{t.tile_height} * c.kernel_y <= INT32_MAX &&
                    int64_t{t.tile_width} * c.kernel_x <= INT32_MAX,
                "the convolution is larger than a machine can count");
  const int64_t pixels = int64_t{t.tile_height} * t.tile_width;
  check.Require(pixels <= config.accumulation_buffer_words,
                "a tile of {} pixels does not fit {} accumulation words", pixels,
                config.accumulation_buffer_words);
}

// Checks the restrictions of the depthwise unit. `words` is the size of one column tile's input
// region, in words.
void CheckDepthwise(Checker& check, const Instruction& instruction, const Geometry& g,
                    int64_t words) {
  const Config& config = check.config();
  const Convolution& c = instruction.convolution;
  const Tiling& t = instruction.tiling;
  check.Require(config.depthwise_multipliers > 0, "this design point has no depthwise unit");
  check.Require(!instruction.user_unit || config.user_unit != nullptr,
                "this design point has no user unit");
  check.Require(c.channels == c.out_channels,
                "a depthwise instruction has {} input and {} output channels", c.channels,
                c.out_channels);
  check.Require(t.columns_per_block == 1 && t.weight_tiles_per_bank == 1,
                "a depthwise instruction has one column tile a block and one set of taps a bank");
  check.Require(t.groups_per_bank <= g.column_tiles,
                "a fill of {} column tiles, where there are {}", t.groups_per_bank, g.column_tiles);
  check.Require(t.groups_per_bank == 1 || t.order == Order::kInputOuter,
                "a fill of {} column tiles needs blocks as the inner loop", t.groups_per_bank);
  check.Require(words * t.groups_per_bank <= config.depthwise_buffer_words,
                "a region of {} words does not fit {} depthwise words", words * t.groups_per_bank,
                config.depthwise_buffer_words);
  check.Require(c.taps() <= config.weight_buffer_words, "{} taps do not fit {} weight words",
                c.taps(), config.weight_buffer_words);
  check.Require(c.weight_layout == WeightLayout::kTiled, "depthwise weights must be constants");
  check.Require(t.packing == Packing::kChannels, "a depthwise instruction packs channels");
  check.Require(
      !instruction.vector.output.blocks.present || config.block_size <= config.array_columns,
      "scale blocks of the output are wider than the depthwise unit");
}

// Checks the restrictions of the array. `words` is the size of one row group's input region, in
// words.
void CheckMatrix(Checker& check, const Instruction& instruction, const Geometry& g, int64_t words) {
  const Config& config = check.config();
  const Tiling& t = instruction.tiling;
  const int64_t pixels = int64_t{t.tile_height} * t.tile_width;
  check.Require(!instruction.user_unit, "a matrix instruction has no user unit");
  const int64_t columns = std::min(t.columns_per_block, g.column_tiles);
  check.Require(pixels * columns <= config.accumulation_buffer_words,
                "a block of {} pixels x {} column tiles does not fit {} accumulation words", pixels,
                columns, config.accumulation_buffer_words);
  check.Require(columns <= config.parameter_buffer_words,
                "a block of {} column tiles does not fit {} words of channel parameters", columns,
                config.parameter_buffer_words);
  const bool blocks =
      instruction.vector.output.blocks.present && config.block_size > config.array_columns;
  check.Require(!blocks || columns == g.column_tiles ||
                    columns * config.array_columns % config.block_size == 0,
                "a block of {} column tiles holds parts of the output's scale blocks", columns);
  check.Require(words * std::min(t.groups_per_bank, g.groups) <= config.input_buffer_words,
                "{} groups of {} words do not fit {} input words", t.groups_per_bank, words,
                config.input_buffer_words);
  check.Require(int64_t{t.weight_tiles_per_bank} * config.array_rows <= config.weight_buffer_words,
                "{} weight tiles do not fit {} weight words", t.weight_tiles_per_bank,
                config.weight_buffer_words);
}

// Checks the bits of packed weights: the codes of an integer may be narrower than their format.
void CheckPackedWeights(Checker& check, const Instruction& instruction) {
  const Config& config = check.config();
  const Convolution& c = instruction.convolution;
  if (c.weight_bits == 0) return;
  const Format& format = config.weight_format_of(instruction.precision);
  const bool narrows = format.is_integer() && format.is_signed;
  check.Require(config.packed_weights, "packed weights, which the design point does not have");
  check.Require(c.weight_layout == WeightLayout::kTiled, "strided weights cannot be packed");
  check.Require(
      c.weight_bits < 8 && (narrows ? c.weight_bits <= format.bits : c.weight_bits == format.bits),
      "weights of {} bits, packed, for codes of {}", c.weight_bits, format.name);
}

// Checks the addresses of the weights.
void CheckWeights(Checker& check, const Instruction& instruction, const Geometry& g) {
  const Config& config = check.config();
  const Convolution& c = instruction.convolution;
  const Tiling& t = instruction.tiling;
  const bool depthwise = instruction.opcode == Opcode::kDepthwise;
  const int64_t weight_bytes = config.weight_format.bytes();
  for (const int64_t stride : {c.weight_row_stride, c.weight_column_stride})
    check.Stride("the weights", stride);
  CheckPackedWeights(check, instruction);
  if (c.weight_layout == WeightLayout::kTiled) {
    const int64_t rows = depthwise ? int64_t{g.column_tiles} * c.taps()
                                   : int64_t{g.column_tiles} * g.row_tiles() * config.array_rows;
    check.Range("the weights", c.weight_base, {{c.batch, c.weight_batch_stride}},
                rows * WeightRowBytes(c, config));
  } else {
    check.Require(c.taps() == 1 || t.packing == Packing::kTaps,
                  "strided weights need a kernel of one tap or packed taps");
    check.Require(c.weight_row_stride == weight_bytes || c.weight_column_stride == weight_bytes,
                  "strided weights need one dense axis");
    check.Range("the weights", c.weight_base,
                {{c.batch, c.weight_batch_stride},
                 {c.taps() * c.channels, c.weight_row_stride},
                 {c.out_channels, c.weight_column_stride}},
                weight_bytes);
  }
}

// Joined runs may be partly inside the image, and the machine compares their positions, in bytes
// from the beginning of the image's row, as signed numbers.
void CheckJoinedRuns(Checker& check, const Instruction& instruction, const Geometry& g) {
  const Convolution& c = instruction.convolution;
  const bool packed = instruction.tiling.packing == Packing::kTaps;
  if (!g.joined_rows && !(packed && TapsAreJoined(c, check.config()))) return;
  const int64_t first = c.pad_left,
                last = int64_t{c.out_width} * c.stride_x + int64_t{c.kernel_x} * c.dilation_x;
  const int64_t positions = std::max({first, last, int64_t{c.width}});
  check.Require(Wide{positions} * c.input_column_stride < kMaxStride,
                "a row of {} positions of {} bytes is longer than {} bytes", positions,
                c.input_column_stride, kMaxStride - 1);
}

void CheckConvolution(Checker& check, const Instruction& instruction) {
  CheckSizes(check, instruction);
  if (!check.ok()) return;
  const Config& config = check.config();
  const Convolution& c = instruction.convolution;
  const Tiling& t = instruction.tiling;
  const int64_t reduction =
      t.packing == Packing::kTaps ? int64_t{c.taps()} * c.channels : c.channels;
  check.Between("the number of row groups", (reduction + config.array_rows - 1) / config.array_rows,
                1, kMaxExtent);
  const Geometry g = GeometryOf(instruction, config);
  const int64_t words = GroupWords(instruction, g, t.tile_height, t.tile_width);
  if (instruction.opcode == Opcode::kDepthwise) {
    CheckDepthwise(check, instruction, g, words);
  } else {
    CheckMatrix(check, instruction, g, words);
  }
  check.Range("the input", c.input_base,
              {{c.batch, c.input_batch_stride},
               {c.height, c.input_row_stride},
               {c.width, c.input_column_stride}},
              int64_t{c.channels} * config.input_format.bytes());
  CheckJoinedRuns(check, instruction, g);
  CheckWeights(check, instruction, g);
  CheckOperandScales(check, instruction, g);
  check.Range("the channel parameters", c.parameters.base, {{c.batch, c.parameter_batch_stride}},
              int64_t{c.out_channels} * 12);
  const VectorProgram& v = instruction.vector;
  const std::array<int32_t, kOuterLoops> loops{c.batch, c.out_height, c.out_width, 1};
  check.Require(v.outer == loops && v.length == c.out_channels,
                "the vector program does not walk the convolution's output");
}

}  // namespace

Status CheckInstruction(const Instruction& instruction, const Config& config) {
  Checker check(config);
  const bool vector = instruction.opcode == Opcode::kVector,
             end = instruction.opcode == Opcode::kEnd;
  if (vector || end) {
    const std::string_view what = vector ? "a vector instruction" : "the end of a program";
    check.Require(instruction.precision == 0, "{} names a precision", what);
    check.Require(!instruction.user_unit, "{} has no user unit", what);
  }
  if (end) return check.status();
  if (!vector) CheckConvolution(check, instruction);
  if (check.ok()) CheckVector(check, instruction.vector, /*accumulators=*/!vector);
  return check.status();
}

}  // namespace kiln::systolic
