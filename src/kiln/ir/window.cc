// Resolves window attributes into numbers, with the output-size formulas of ONNX.

#include "kiln/ir/window.h"

#include <algorithm>
#include <string>

#include "fmt/format.h"
#include "kiln/ir/checked_math.h"
#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

// The largest accepted attribute. Products of two accepted numbers do not overflow.
constexpr int64_t kMaxWindowNumber = int64_t{1} << 30;

enum class AutoPad { kNotSet, kSameUpper, kSameLower, kValid };

// The window attributes of a node with defaults filled in and ranges checked. `pads` has all
// begins, then all ends.
struct WindowAttributes {
  AutoPad auto_pad = AutoPad::kNotSet;
  std::vector<int64_t> strides, dilations, pads;
};

// Creates errors about one node.
struct Errors {
  const Node& node;
  std::string_view source;
  Status operator()(std::string_view fault, std::string_view remedy) const {
    return ErrorAt(source, node.Describe(), fault, remedy);
  }
};

// Returns "[1,2,3]", for messages.
std::string ListText(const std::vector<int64_t>& list) {
  return fmt::format("[{}]", ListExcerpt(list));
}

// Returns the list attribute `name` with `count` numbers in [least, kMaxWindowNumber], or `count`
// times `fallback` if it is absent.
StatusOr<std::vector<int64_t>> ReadList(const Node& node, const Errors& error,
                                        std::string_view name, size_t count, int64_t least,
                                        int64_t fallback) {
  if (!node.attributes().Has(name)) return std::vector<int64_t>(count, fallback);
  std::vector<int64_t> list = node.attributes().Ints(name);
  if (list.size() != count) {
    return error(fmt::format("{} {} has {} numbers", name, ListText(list), list.size()),
                 fmt::format("{} numbers fit the input's {} spatial axes", count,
                             name == "pads" ? count / 2 : count));
  }
  for (int64_t number : list) {
    if (number < least || number > kMaxWindowNumber) {
      return error(fmt::format("{} {} has {}", name, ListText(list), number),
                   fmt::format("numbers from {} to {}", least, kMaxWindowNumber));
    }
  }
  return list;
}

// Reads the window attributes of a node with `axes` spatial axes.
StatusOr<WindowAttributes> ReadAttributes(const Node& node, const Errors& error, size_t axes) {
  WindowAttributes out;
  const std::string auto_pad = node.attributes().String("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER") {
    out.auto_pad = AutoPad::kSameUpper;
  } else if (auto_pad == "SAME_LOWER") {
    out.auto_pad = AutoPad::kSameLower;
  } else if (auto_pad == "VALID") {
    out.auto_pad = AutoPad::kValid;
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return error("auto_pad " + QuotedExcerpt(auto_pad) + " is unknown",
                 "one of: NOTSET, SAME_UPPER, SAME_LOWER, VALID");
  }
  KILN_ASSIGN_OR_RETURN(out.strides, ReadList(node, error, "strides", axes, 1, 1));
  KILN_ASSIGN_OR_RETURN(out.dilations, ReadList(node, error, "dilations", axes, 1, 1));
  // Exporters write zeros in `pads` together with auto_pad, which has priority in ONNX.
  if (out.auto_pad == AutoPad::kNotSet) {
    KILN_ASSIGN_OR_RETURN(out.pads, ReadList(node, error, "pads", 2 * axes, 0, 0));
  } else {
    out.pads.assign(2 * axes, 0);
  }
  return out;
}

// Rejects inputs so large that window arithmetic could overflow.
Status CheckInput(const Errors& error, int64_t input) {
  if (input > kMaxElements)
    return error(fmt::format("dimension {} of the input is too large", input), "");
  return OkStatus();
}

// Distributes padding over both ends; an odd total leaves one end with one position more.
void SplitPadding(int64_t total, bool begin_gets_less, WindowAxis& axis) {
  const int64_t less = total / 2;
  axis.pad_begin = begin_gets_less ? less : total - less;
  axis.pad_end = total - axis.pad_begin;
}

// Computes the output length of a convolution or pool axis and, under auto_pad, its pads.
Status ResolveForward(const Errors& error, AutoPad auto_pad, bool ceil_mode, int axis_index,
                      WindowAxis& axis) {
  KILN_RETURN_IF_ERROR(CheckInput(error, axis.input));
  if (axis.input < 0) {
    axis.output = kUnknownDim;
    return OkStatus();
  }
  if (axis.input == 0) {
    // ONNX does not define windows over an empty axis.
    return error(fmt::format("spatial axis {} of the input is empty", axis_index),
                 "at least one position");
  }
  if (auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower) {
    axis.output = CeilDiv(axis.input, axis.stride);
    // SAME: the output length is ceil(input / stride), and the padding is as large as that
    // requires.
    const int64_t needed = (axis.output - 1) * axis.stride + axis.Extent();
    SplitPadding(std::max<int64_t>(needed - axis.input, 0), auto_pad == AutoPad::kSameUpper, axis);
    return OkStatus();
  }
  const int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
  // The number of positions that the window can move within the padded input.
  const int64_t free = padded - axis.Extent();
  if (free < 0) {
    return error(
        fmt::format("the window covers {} positions of spatial axis {}, which has {} with padding",
                    axis.Extent(), axis_index, padded),
        "a smaller kernel or dilation, or more padding");
  }
  // The formula for VALID is the same with and without ceil_mode.
  const bool ceil = ceil_mode && auto_pad == AutoPad::kNotSet;
  axis.output = (ceil ? CeilDiv(free, axis.stride) : free / axis.stride) + 1;
  // A last window that would start in the end padding is dropped.
  if (ceil && (axis.output - 1) * axis.stride >= axis.input + axis.pad_begin) --axis.output;
  return OkStatus();
}

// Computes the output length of a ConvTranspose axis, or its pads if the output length is given.
Status ResolveTransposed(const Errors& error, AutoPad auto_pad, int64_t output_padding,
                         std::optional<int64_t> output_size, int axis_index, WindowAxis& axis) {
  KILN_RETURN_IF_ERROR(CheckInput(error, axis.input));
  if (axis.input < 0 && !output_size.has_value()) {
    axis.output = kUnknownDim;
    return OkStatus();
  }
  if (axis.input == 0)
    return error(fmt::format("spatial axis {} of the input is empty", axis_index), "");
  const bool same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  if (output_size.has_value() || same) {
    axis.output = output_size.has_value() ? *output_size : axis.input * axis.stride;
    if (axis.input < 0) return OkStatus();
    // A negative total means that no input position reaches the end of the output; only the bias is
    // added there.
    const int64_t full = axis.stride * (axis.input - 1) + output_padding + axis.Extent();
    SplitPadding(std::max<int64_t>(full - axis.output, 0), auto_pad == AutoPad::kSameUpper, axis);
    return OkStatus();
  }
  axis.output = axis.stride * (axis.input - 1) + output_padding + axis.Extent() - axis.pad_begin -
                axis.pad_end;
  if (axis.output <= 0) {
    return error(fmt::format("spatial axis {} of the result would have {} positions", axis_index,
                             axis.output),
                 "smaller pads");
  }
  return OkStatus();
}

// Returns whether all input and output lengths are known.
bool AxesKnown(const std::vector<WindowAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [](const WindowAxis& a) { return a.input >= 0 && a.output >= 0; });
}

// Returns the shape of activations in the given layout.
Shape ActivationShape(bool nhwc, int64_t batch, int64_t channels,
                      const std::vector<WindowAxis>& axes) {
  std::vector<int64_t> dims = {batch};
  if (!nhwc) dims.push_back(channels);
  for (const WindowAxis& axis : axes) dims.push_back(axis.output);
  if (nhwc) dims.push_back(channels);
  return Shape(std::move(dims));
}

// Returns whether the layout is "nhwc". Errors: unknown, or the operator has no layout.
StatusOr<bool> ReadLayout(const Node& node, const Errors& error) {
  const std::string layout = node.attributes().String("layout", "nchw");
  if (layout != "nchw" && layout != "nhwc")
    return error("layout " + QuotedExcerpt(layout) + " is unknown", "nchw or nhwc");
  if (layout == "nhwc" && !node.info().Has(kHasLayout)) return error("takes no layout", "nchw");
  return layout == "nhwc";
}

// Checks that the input has batch, channels and spatial axes.
Status CheckRank(const Errors& error, const Shape& input) {
  if (input.rank() >= 3 && input.rank() <= 10) return OkStatus();
  return error(fmt::format("the input has shape {}", input.ToString()),
               "batch, channels and one to eight spatial axes");
}

}  // namespace

bool ConvGeometry::IsKnown() const { return batch >= 0 && AxesKnown(axes); }

bool ConvGeometry::IsPointwise() const {
  return std::all_of(axes.begin(), axes.end(), [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0;
  });
}

int64_t ConvGeometry::KernelElements() const {
  int64_t product = 1;
  for (const WindowAxis& axis : axes) product *= axis.kernel;
  return product;
}

Shape ConvGeometry::OutputShape() const { return ActivationShape(nhwc, batch, out_channels, axes); }

bool PoolGeometry::IsKnown() const { return batch >= 0 && channels >= 0 && AxesKnown(axes); }

Shape PoolGeometry::OutputShape() const { return ActivationShape(nhwc, batch, channels, axes); }

// QLinearConv has scale and zero point after each of input and weights, and those of the output.
std::optional<ConvOperands> ConvOperandsOf(Op op) {
  switch (op) {
    case Op::kConv:
    case Op::kConvTranspose:
      return ConvOperands{0, 1, 2};
    case Op::kConvInteger:
      return ConvOperands{0, 1, -1};
    case Op::kQLinearConv:
      return ConvOperands{0, 3, 8};
    default:
      return std::nullopt;
  }
}

bool IsNhwc(const Node& node) { return node.attributes().String("layout", "nchw") == "nhwc"; }

StatusOr<ConvGeometry> ResolveConv(const Node& node, const Shape& input, const Shape& weights,
                                   std::string_view source) {
  const Errors error{node, source};
  KILN_CHECK(ConvOperandsOf(node.op()).has_value());
  KILN_RETURN_IF_ERROR(CheckRank(error, input));
  if (weights.rank() != input.rank()) {
    return error(
        fmt::format("weights {} do not fit an input {}", weights.ToString(), input.ToString()),
        "as many axes in both");
  }
  if (!weights.IsKnown() || !CheckedNumElements(weights).has_value()) {
    return error(fmt::format("weights have shape {}", weights.ToString()),
                 "a known shape of reasonable size");
  }
  ConvGeometry out;
  KILN_ASSIGN_OR_RETURN(out.nhwc, ReadLayout(node, error));
  out.transposed = node.op() == Op::kConvTranspose;
  const size_t spatial = static_cast<size_t>(input.rank() - 2);
  KILN_ASSIGN_OR_RETURN(const WindowAttributes attributes, ReadAttributes(node, error, spatial));

  out.batch = input[0];
  out.groups = node.attributes().Int("group", 1);
  if (out.groups < 1 || out.groups > kMaxWindowNumber)
    return error(fmt::format("group is {}", out.groups), "1 or more");
  const int64_t declared_channels = input[out.nhwc ? input.rank() - 1 : 1];
  if (out.transposed) {
    // ConvTranspose lists input channels in full and output channels per group.
    out.in_channels = weights[0];
    const auto channels = CheckedMul(weights[1], out.groups);
    if (!channels.has_value() || *channels > kMaxElements)
      return error(fmt::format("group is {}", out.groups), "");
    out.out_channels = *channels;
  } else {
    const auto channels = CheckedMul(weights[1], out.groups);
    if (!channels.has_value() || *channels > kMaxElements)
      return error(fmt::format("group is {}", out.groups), "");
    out.in_channels = *channels;
    out.out_channels = weights[0];
  }
  if (declared_channels >= 0 && declared_channels != out.in_channels) {
    return error(fmt::format("the input has {} channels, weights {} with group {} ask for {}",
                             declared_channels, weights.ToString(), out.groups, out.in_channels),
                 out.nhwc ? "channels are last under layout nhwc" : "");
  }
  // The channels that the weights list in full must be divisible by the number of groups.
  const int64_t grouped = out.transposed ? out.in_channels : out.out_channels;
  if (grouped % out.groups != 0) {
    return error(fmt::format("{} {} channels do not split into {} groups", grouped,
                             out.transposed ? "input" : "output", out.groups),
                 "");
  }
  // The weights determine the kernel; the attribute is redundant and must agree.
  if (node.attributes().Has("kernel_shape")) {
    const std::vector<int64_t> kernel = node.attributes().Ints("kernel_shape");
    if (!std::equal(kernel.begin(), kernel.end(), weights.dims().begin() + 2,
                    weights.dims().end())) {
      return error(fmt::format("kernel_shape {} differs from weights {}", ListText(kernel),
                               weights.ToString()),
                   "");
    }
  }
  // Only ConvTranspose has these: an extension of the output, or its size, from which pads follow.
  std::vector<int64_t> output_padding(spatial, 0), output_shape;
  if (out.transposed) {
    KILN_ASSIGN_OR_RETURN(output_padding, ReadList(node, error, "output_padding", spatial, 0, 0));
    if (node.attributes().Has("output_shape")) {
      KILN_ASSIGN_OR_RETURN(output_shape, ReadList(node, error, "output_shape", spatial, 1, 1));
    }
  }
  for (size_t i = 0; i < spatial; ++i) {
    WindowAxis axis;
    axis.input = input[static_cast<int>(i) + (out.nhwc ? 1 : 2)];
    axis.kernel = weights[static_cast<int>(i) + 2];
    axis.stride = attributes.strides[i];
    axis.dilation = attributes.dilations[i];
    axis.pad_begin = attributes.pads[i];
    axis.pad_end = attributes.pads[spatial + i];
    if (axis.kernel < 1 || axis.kernel > kMaxWindowNumber) {
      return error(
          fmt::format("weights {} have a kernel of {} positions", weights.ToString(), axis.kernel),
          "");
    }
    if (out.transposed) {
      std::optional<int64_t> size;
      if (!output_shape.empty()) size = output_shape[i];
      KILN_RETURN_IF_ERROR(ResolveTransposed(error, attributes.auto_pad, output_padding[i], size,
                                             static_cast<int>(i), axis));
    } else {
      KILN_RETURN_IF_ERROR(
          ResolveForward(error, attributes.auto_pad, false, static_cast<int>(i), axis));
    }
    out.axes.push_back(axis);
  }
  return out;
}

StatusOr<ConvGeometry> ResolveConv(const Node& node, std::string_view source) {
  const auto operands = ConvOperandsOf(node.op());
  KILN_CHECK(operands.has_value());
  const Value* input = node.operand(operands->input);
  const Value* weights = node.operand(operands->weights);
  if (input == nullptr || weights == nullptr || !input->has_shape() || !weights->has_shape()) {
    return ErrorAt(source, node.Describe(), "the shapes of input and weights are not known",
                   "run shape inference, and give the shapes of graph inputs");
  }
  return ResolveConv(node, input->shape(), weights->shape(), source);
}

// Global pools are ordinary pools with the input as kernel and one output position.
StatusOr<PoolGeometry> ResolvePool(const Node& node, const Shape& input, std::string_view source) {
  const Errors error{node, source};
  KILN_CHECK(node.op() == Op::kMaxPool || node.op() == Op::kAveragePool ||
             node.op() == Op::kGlobalAveragePool || node.op() == Op::kGlobalMaxPool);
  KILN_RETURN_IF_ERROR(CheckRank(error, input));
  PoolGeometry out;
  KILN_ASSIGN_OR_RETURN(out.nhwc, ReadLayout(node, error));
  out.batch = input[0];
  out.channels = input[out.nhwc ? input.rank() - 1 : 1];
  const size_t spatial = static_cast<size_t>(input.rank() - 2);
  const int first_spatial = out.nhwc ? 1 : 2;
  if (node.op() == Op::kGlobalAveragePool || node.op() == Op::kGlobalMaxPool) {
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t size = input[static_cast<int>(i) + first_spatial];
      KILN_RETURN_IF_ERROR(CheckInput(error, size));
      if (size == 0)
        return error(fmt::format("spatial axis {} of the input is empty", i),
                     "at least one position");
      out.axes.push_back({.input = size, .output = 1, .kernel = size});
    }
    return out;
  }
  KILN_ASSIGN_OR_RETURN(const WindowAttributes attributes, ReadAttributes(node, error, spatial));
  if (!node.attributes().Has("kernel_shape"))
    return error("has no kernel_shape", "one number a spatial axis");
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel,
                        ReadList(node, error, "kernel_shape", spatial, 1, 1));
  out.ceil_mode = node.attributes().Int("ceil_mode", 0) != 0;
  out.count_include_pad =
      node.op() == Op::kAveragePool && node.attributes().Int("count_include_pad", 0) != 0;
  for (size_t i = 0; i < spatial; ++i) {
    WindowAxis axis;
    axis.input = input[static_cast<int>(i) + first_spatial];
    axis.kernel = kernel[i];
    axis.stride = attributes.strides[i];
    axis.dilation = attributes.dilations[i];
    axis.pad_begin = attributes.pads[i];
    axis.pad_end = attributes.pads[spatial + i];
    KILN_RETURN_IF_ERROR(
        ResolveForward(error, attributes.auto_pad, out.ceil_mode, static_cast<int>(i), axis));
    out.axes.push_back(axis);
  }
  return out;
}

StatusOr<PoolGeometry> ResolvePool(const Node& node, std::string_view source) {
  const Value* input = node.operand(0);
  if (input == nullptr || !input->has_shape()) {
    return ErrorAt(source, node.Describe(), "the shape of the input is not known",
                   "run shape inference, and give the shapes of graph inputs");
  }
  return ResolvePool(node, input->shape(), source);
}

}  // namespace kiln
