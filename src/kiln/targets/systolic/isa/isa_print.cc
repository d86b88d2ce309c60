// Prints instructions as readable text; also defines the sizes and formats of memory elements.
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/support/check.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {

int BytesOf(Element element, const Config& config) {
  switch (element) {
    case Element::kInt8:
    case Element::kUint8:
      return 1;
    case Element::kInt16:
      return 2;
    case Element::kInt32:
    case Element::kFloat32:
      return 4;
    default:
      return FormatOf(element, config).bytes();
  }
}

bool HasElement(const Config& config, Element element) {
  return (config.integer_elements || !IsInteger(element)) &&
         static_cast<int>(element) < static_cast<int>(InputElement(config.precisions()));
}

const Format& FormatOf(Element element, const Config& config) {
  static const auto* const kFloat32 = new Format(*FindFormat("fp32"));
  if (element == Element::kVector) return config.vector_format;
  if (!IsCode(element)) {
    KILN_CHECK(element == Element::kFloat32);
    return *kFloat32;
  }
  KILN_CHECK(HasElement(config, element));
  const int place = static_cast<int>(element) - static_cast<int>(Element::kInput),
            precision = place / 2;
  return place % 2 == 0 ? config.input_format_of(precision) : config.weight_format_of(precision);
}

namespace {

constexpr std::string_view kElementNames[] = {"i8",  "u8",     "i16",   "i32",
                                              "f32", "vector", "input", "weight"};
constexpr std::string_view kOps[] = {
    "add",    "sub",   "rsub",  "mul",      "fma",        "max",   "min",        "abs",
    "square", "save0", "save1", "function", "reciprocal", "rsqrt", "select_neg", "div"};
constexpr std::string_view kSources[] = {"accumulators", "operand0", "row_buffer", "constant"};
constexpr std::string_view kReductions[] = {"none", "sum", "max"};

// Codes of other precisions have a number: "input1", "weight1".
std::string NameOf(Element e) {
  const auto number = static_cast<size_t>(e), input = static_cast<size_t>(Element::kInput);
  if (number < std::size(kElementNames)) return std::string(kElementNames[number]);
  return fmt::format("{}{}", kElementNames[input + number % 2], (number - input) / 2);
}

std::string PrintArgument(Argument a, float immediate) {
  if (a == Argument::kNone) return "";
  if (a == Argument::kImmediate) return fmt::format(" {}", immediate);
  const int code = static_cast<int>(a);
  if (a <= Argument::kOperand2)
    return fmt::format(" operand{}", code - static_cast<int>(Argument::kOperand0));
  if (a <= Argument::kScalar3)
    return fmt::format(" s{}", code - static_cast<int>(Argument::kScalar0));
  return fmt::format(" x{}", code - static_cast<int>(Argument::kSaved0));
}

std::string PrintStages(const std::vector<Stage>& stages) {
  std::string out;
  for (const Stage& s : stages) {
    out += out.empty() ? "" : "; ";
    out += s.op == StageOp::kFunction ? NameOf(s.function) : kOps[static_cast<size_t>(s.op)];
    out += PrintArgument(s.a, s.immediate_a) + PrintArgument(s.b, s.immediate_b);
  }
  return out;
}

std::string PrintStream(const Stream& s, bool scaled) {
  std::string out = fmt::format("{} @{:#x} strides [{}] x {}", NameOf(s.element), s.base,
                                fmt::join(s.outer_stride, ","), s.element_stride);
  if (scaled && (IsInteger(s.element) || IsCode(s.element)))
    out += fmt::format(" scale {}", s.scale);
  if (scaled && s.zero_point != 0) out += fmt::format(" zero {}", s.zero_point);
  if (s.blocks.present) {
    out += fmt::format(" block scales @{:#x} strides [{}]", s.blocks.base,
                       fmt::join(s.blocks.outer_stride, ","));
  }
  return out;
}

std::string PrintWindow(const Window& w) {
  std::string out = fmt::format("{} {}x{} stride {}x{}",
                                w.combine == Combine::kMax ? "max"
                                : w.average                ? "mean"
                                                           : "sum",
                                w.window_y, w.window_x, w.stride_y, w.stride_x);
  if (w.dilation_y != 1 || w.dilation_x != 1)
    out += fmt::format(" dilation {}x{}", w.dilation_y, w.dilation_x);
  if (w.pad_top != 0 || w.pad_left != 0) out += fmt::format(" pad {},{}", w.pad_top, w.pad_left);
  out += fmt::format(" of {}x{} strides {},{}", w.height, w.width, w.row_stride, w.column_stride);
  if (w.average) out += w.divide_by_valid ? " over places inside" : " over all places";
  return out;
}

std::string PrintVector(const VectorProgram& v) {
  std::string out = fmt::format("  rows      [{}] x {}\n", fmt::join(v.outer, ","), v.length);
  for (size_t i = 0; i < v.operands.size(); ++i) {
    out += fmt::format("  operand{}  {}\n", i, PrintStream(v.operands[i], true));
  }
  if (v.window.combine != Combine::kNone)
    out += fmt::format("  window    {}\n", PrintWindow(v.window));
  for (size_t p = 0; p < v.passes.size(); ++p) {
    const Pass& pass = v.passes[p];
    out += fmt::format("  pass {}    {}", p, kSources[static_cast<size_t>(pass.source)]);
    if (pass.source == Source::kConstant) out += fmt::format(" {}", pass.constant);
    if (!pass.stages.empty()) out += " | " + PrintStages(pass.stages);
    if (pass.to_row_buffer) out += " | keep";
    if (pass.reduce != Reduce::kNone) {
      out +=
          fmt::format(" | {} into s{}", kReductions[static_cast<size_t>(pass.reduce)], pass.into);
      if (!pass.scalar_stages.empty()) out += fmt::format(" ({})", PrintStages(pass.scalar_stages));
    }
    if (pass.to_memory) out += " | write";
    out += "\n";
  }
  out += fmt::format("  output    {}", PrintStream(v.output, false));
  const QuantiseOut& q = v.quantise;
  if (IsInteger(v.output.element)) {
    out += fmt::format(" x {} + {} in [{}, {}]", q.inverse_scale, q.zero_point, q.low, q.high);
  } else if (IsCode(v.output.element) && !v.output.blocks.present) {
    out += fmt::format(" x {}", q.inverse_scale);
  }
  return out + "\n";
}

std::string PrintScales(std::string_view what, const OperandScales& s) {
  if (!s.present) return "";
  return fmt::format("\n  {} scales @{:#x} strides {},{},{}", what, s.base, s.batch_stride,
                     s.row_stride, s.column_stride);
}

std::string PrintConvolution(const Instruction& instruction, const Config& config) {
  const Convolution& c = instruction.convolution;
  const Tiling& t = instruction.tiling;
  std::string out = fmt::format("  input     @{:#x} {}x{}x{}x{} strides {},{},{}\n", c.input_base,
                                c.batch, c.height, c.width, c.channels, c.input_batch_stride,
                                c.input_row_stride, c.input_column_stride);
  out +=
      fmt::format("  kernel    {}x{} stride {}x{}", c.kernel_y, c.kernel_x, c.stride_y, c.stride_x);
  if (c.dilation_y != 1 || c.dilation_x != 1)
    out += fmt::format(" dilation {}x{}", c.dilation_y, c.dilation_x);
  if (c.pad_top != 0 || c.pad_left != 0)
    out += fmt::format(" pad {},{} code {}", c.pad_top, c.pad_left, c.pad_code);
  out += fmt::format(" -> {}x{}x{}\n", c.out_height, c.out_width, c.out_channels);
  out += fmt::format("  weights   @{:#x} ", c.weight_base);
  if (c.weight_layout == WeightLayout::kTiled) {
    out += c.weight_bits == 0 ? "tiled" : fmt::format("tiled, {} bits a code", c.weight_bits);
  } else {
    out += fmt::format("strides {},{}", c.weight_row_stride, c.weight_column_stride);
  }
  if (c.weight_batch_stride != 0) out += fmt::format(" batch {}", c.weight_batch_stride);
  out += fmt::format(", parameters @{:#x}", c.parameters.base);
  if (c.parameter_batch_stride != 0) out += fmt::format(" batch {}", c.parameter_batch_stride);
  out += PrintScales("input", c.input_scales) + PrintScales("weight", c.weight_scales);
  const Geometry g = GeometryOf(instruction, config);
  out += fmt::format("\n  tiling    {}x{} pixels ({}x{} tiles)", t.tile_height, t.tile_width,
                     g.tiles_y, g.tiles_x);
  if (instruction.opcode == Opcode::kMatrix) {
    out += fmt::format(", {} packed, {} row tiles, {} column tiles in blocks of {}",
                       t.packing == Packing::kTaps ? "taps" : "channels", g.row_tiles(),
                       g.column_tiles, t.columns_per_block);
    out += fmt::format(", {} groups a bank{}, {} weight tiles a bank{}", t.groups_per_bank,
                       g.inputs_resident ? " (inputs stay)" : "", t.weight_tiles_per_bank,
                       g.weights_resident ? " (weights stay)" : "");
  } else if (t.groups_per_bank > 1) {
    out += fmt::format(", fills of {} column tiles", t.groups_per_bank);
  }
  return out + fmt::format(", {} outer\n", t.order == Order::kInputOuter ? "input" : "weight");
}

}  // namespace

std::string Describe(const Tiling& tiling) {
  std::string out = fmt::format("tiles of {}x{} pixels", tiling.tile_height, tiling.tile_width);
  if (tiling.columns_per_block > 1)
    out += fmt::format(", {} column tiles a block", tiling.columns_per_block);
  return out;
}

std::string Print(const Instruction& instruction, const Config& config) {
  constexpr std::string_view kOpcodes[] = {"end", "matrix", "depthwise", "vector"};
  std::string out(kOpcodes[static_cast<size_t>(instruction.opcode)]);
  if (instruction.opcode == Opcode::kEnd) return out + "\n";
  out += fmt::format("  kernel {}", instruction.kernel);
  if (instruction.wait_distance == 1) out += ", after previous";
  if (instruction.wait_distance > 1)
    out += fmt::format(", after the instruction {} before", instruction.wait_distance);
  if (instruction.user_unit) out += ", user unit";
  out += "\n";
  if (instruction.precision != 0) {
    out += fmt::format("  precision {}: {} x {}\n", instruction.precision,
                       config.input_format_of(instruction.precision).name,
                       config.weight_format_of(instruction.precision).name);
  }
  if (instruction.opcode != Opcode::kVector) out += PrintConvolution(instruction, config);
  return out + PrintVector(instruction.vector);
}

}  // namespace kiln::systolic
