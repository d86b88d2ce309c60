// Lowers the operators that are linear layers: convolutions, matrix products, average pools and
// means over pixels. lower_linear.cc turns them into matrix layers.
#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "kiln/targets/lower/constant_codes.h"
#include "kiln/targets/vta/compile/lowering.h"

namespace kiln::vta {
namespace {

// Constant weights as codes, with one scale for each index of an axis.
struct WeightCodes {
  Tensor codes;
  std::vector<double> scales;  // one, or one per channel
  double ScaleOf(int64_t channel) const {
    return scales[scales.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
};

StatusOr<WeightCodes> ReadWeights(const Value* value, int channel_axis) {
  if (value == nullptr || !value->is_constant() || value->element() != ElementType::kFloat32) {
    return ToHost("weights that are no constant in fp32");
  }
  if (!value->quantisation().has_value())
    return ToHost(fmt::format("weights '{}' are not quantised", value->name()));
  const Quantisation& q = *value->quantisation();
  const Format& format = q.type.format;
  const bool zeros =
      std::all_of(q.zero_points.begin(), q.zero_points.end(), [](int32_t z) { return z == 0; });
  if (!format.is_whole() || !format.is_signed || format.bits > 8 || !zeros ||
      q.type.scheme == Scheme::kPerBlock) {
    return ToHost(fmt::format(
        "weights '{}' are {}, the machine has signed integers of 8 bits without zero point",
        value->name(), format.name));
  }
  if (q.scales.size() > 1 && q.axis != channel_axis) {
    return ToHost("weights have scales along something else than output channels");
  }
  WeightCodes weights;
  const Quantisation complete = CompleteAnnotation(q);
  weights.codes = QuantiseConstant(value->constant(), complete).codes;
  weights.scales.assign(complete.scales.begin(), complete.scales.end());
  return weights;
}

std::string Describe(const LinearLayer& l) {
  const KernelSize& k = l.kernel;
  std::string text =
      fmt::format("{}x{} {}->{} /{}", k.y, k.x, l.in_channels, l.out_channels, k.stride_y);
  if (k.stride_x != k.stride_y) text += fmt::format(",{}", k.stride_x);
  if (l.groups > 1) text += fmt::format(" in {} groups", l.groups);
  return text + fmt::format(" @{}x{}", l.out_height, l.out_width);
}

KernelSize KernelOf(const std::vector<WindowAxis>& axes) {
  const WindowAxis &y = axes[0], &x = axes[1];
  return {y.kernel, x.kernel, y.stride, x.stride, y.dilation, x.dilation, y.pad_begin, x.pad_begin};
}

// Returns the number of elements that each window of an average pool counts, [height][width].
std::vector<int64_t> CountsOf(const PoolGeometry& g) {
  std::vector<int64_t> along[2];
  for (size_t i = 0; i < 2; ++i) {
    const WindowAxis& a = g.axes[i];
    const int64_t first = g.count_include_pad ? -a.pad_begin : 0;
    const int64_t last = g.count_include_pad ? a.input + a.pad_end : a.input;
    for (int64_t o = 0; o < a.output; ++o) {
      int64_t count = 0;
      for (int64_t k = 0; k < a.kernel; ++k) {
        const int64_t at = a.InputPosition(o, k);
        count += at >= first && at < last ? 1 : 0;
      }
      along[i].push_back(std::max<int64_t>(count, 1));
    }
  }
  std::vector<int64_t> counts;
  for (const int64_t rows : along[0]) {
    for (const int64_t columns : along[1]) counts.push_back(rows * columns);
  }
  return counts;
}

// Returns whether the input of one output element and the micro-ops for it fit on chip.
bool HasPlaceForWindow(const WindowAxis& y, const WindowAxis& x, const Config& config) {
  return y.Extent() * x.Extent() <= config.inputs() && 2 * y.kernel * x.kernel <= config.uops();
}

}  // namespace

StatusOr<Layer> Lowering::EmitConvolution(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(const ConvGeometry g, ResolveConv(node, graph_.source()));
  if (g.rank() != 2 || !g.nhwc) return ToHost(fmt::format("a convolution over {} axes", g.rank()));
  KILN_ASSIGN_OR_RETURN(const WeightCodes weights, ReadWeights(node.operand(1), 0));
  LinearLayer linear;
  linear.kernel = KernelOf(g.axes);
  linear.in_channels = g.in_channels;
  linear.out_channels = g.out_channels;
  linear.groups = g.groups;
  linear.out_height = g.axes[0].output;
  linear.out_width = g.axes[1].output;
  const int64_t channels = g.in_channels / g.groups, ky = linear.kernel.y, kx = linear.kernel.x;
  linear.weight = [&weights, channels, ky, kx](int64_t o, int64_t c, int64_t y, int64_t x) {
    return static_cast<int32_t>(weights.codes.IntAt(((o * channels + c) * ky + y) * kx + x));
  };
  for (int64_t o = 0; o < g.out_channels; ++o) linear.scales.push_back(weights.ScaleOf(o));
  linear.bias.assign(static_cast<size_t>(g.out_channels), 0.0);
  if (const Value* bias = node.operand(2); bias != nullptr) {
    if (!bias->is_constant() || bias->element() != ElementType::kFloat32)
      return ToHost("a bias that is no constant");
    for (size_t o = 0; o < linear.bias.size(); ++o)
      linear.bias[o] = bias->constant().ValueAt(static_cast<int64_t>(o));
  }
  Layer layer = NewLayer(group, "gemm", "conv " + Describe(linear) + group.text);
  KILN_RETURN_IF_ERROR(FillLinear(group, std::move(linear), node.operand(0), &layer));
  return layer;
}

StatusOr<Layer> Lowering::EmitProduct(const Group& group) {
  const Node& node = *group.anchor;
  const Value *x = node.operand(0), *w = node.operand(1);
  if (!w->is_constant() || w->shape().rank() != 2)
    return ToHost("a product whose second operand is no constant matrix");
  if (node.attributes().Int("transpose_a", 0) != 0)
    return ToHost("a product with its first operand transposed");
  const bool transposed = node.attributes().Int("transpose_b", 0) != 0;
  KILN_ASSIGN_OR_RETURN(const WeightCodes weights, ReadWeights(w, transposed ? 0 : 1));
  const auto image = ImageShapeOf(x->shape().dims());
  if (!image.has_value()) return ToHost("a product of more than one image");
  LinearLayer linear;
  linear.in_channels = w->shape()[transposed ? 1 : 0];
  linear.out_channels = w->shape()[transposed ? 0 : 1];
  linear.out_height = image->height;
  linear.out_width = image->width;
  const int64_t in = linear.in_channels, out = linear.out_channels;
  linear.weight = [&weights, in, out, transposed](int64_t o, int64_t c, int64_t, int64_t) {
    return static_cast<int32_t>(weights.codes.IntAt(transposed ? o * in + c : c * out + o));
  };
  for (int64_t o = 0; o < out; ++o) linear.scales.push_back(weights.ScaleOf(o));
  linear.bias.assign(static_cast<size_t>(out), 0.0);
  Layer layer = NewLayer(group, "gemm", "dense " + Describe(linear) + group.text);
  KILN_RETURN_IF_ERROR(FillLinear(group, std::move(linear), x, &layer));
  return layer;
}

StatusOr<Layer> Lowering::EmitAveragePool(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(const PoolGeometry g, ResolvePool(node, graph_.source()));
  if (g.rank() != 2 || !g.nhwc) return ToHost(fmt::format("a pool over {} axes", g.rank()));
  const std::vector<int64_t> counts = CountsOf(g);
  const bool alike =
      std::all_of(counts.begin(), counts.end(), [&](int64_t count) { return count == counts[0]; });
  if (!alike || !HasPlaceForWindow(g.axes[0], g.axes[1], config_)) {
    return EmitWindowMean(group, g.axes[0], g.axes[1], counts);
  }
  LinearLayer linear;
  linear.kernel = KernelOf(g.axes);
  linear.in_channels = linear.out_channels = linear.groups = g.channels;
  linear.out_height = g.axes[0].output;
  linear.out_width = g.axes[1].output;
  linear.weight = [](int64_t, int64_t, int64_t, int64_t) { return 1; };
  linear.identity = true;
  linear.scales.assign(static_cast<size_t>(g.channels), 1.0 / static_cast<double>(counts[0]));
  Layer layer = NewLayer(group, "gemm", "average " + Describe(linear) + group.text);
  KILN_RETURN_IF_ERROR(FillLinear(group, std::move(linear), node.operand(0), &layer));
  return layer;
}

// Lowers a mean over all pixels, which is a global average pool.
StatusOr<Layer> Lowering::EmitMean(const Group& group) {
  const Node& node = *group.anchor;
  const Value* x = node.operand(0);
  const Value* axes = node.operand(1);
  const int64_t rank = x->shape().rank();
  const auto image = ImageShapeOf(x->shape().dims());
  if (axes == nullptr || !axes->is_constant() || !image.has_value() || rank < 3)
    return ToHost("a mean that is no average pool");
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes->constant().ToInts())
    reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  for (int64_t i = 1; i < rank; ++i) {
    const bool pixels = i + 1 < rank;
    if (x->shape()[static_cast<int>(i)] > 1 && reduced[static_cast<size_t>(i)] != pixels) {
      return ToHost("a mean that is no average over pixels");
    }
  }
  WindowAxis rows, columns;
  rows.input = rows.kernel = image->height;
  columns.input = columns.kernel = image->width;
  rows.output = columns.output = 1;
  if (!HasPlaceForWindow(rows, columns, config_)) {
    return EmitWindowMean(group, rows, columns, {rows.kernel * columns.kernel});
  }
  LinearLayer linear;
  linear.kernel.y = image->height;
  linear.kernel.x = image->width;
  linear.in_channels = linear.out_channels = linear.groups = image->channels;
  linear.weight = [](int64_t, int64_t, int64_t, int64_t) { return 1; };
  linear.identity = true;
  linear.scales.assign(static_cast<size_t>(image->channels),
                       1.0 / static_cast<double>(linear.kernel.taps()));
  Layer layer = NewLayer(group, "gemm", "mean " + Describe(linear) + group.text);
  KILN_RETURN_IF_ERROR(FillLinear(group, std::move(linear), x, &layer));
  return layer;
}

}  // namespace kiln::vta
