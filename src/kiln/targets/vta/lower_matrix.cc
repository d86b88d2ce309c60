// Linear layers: convolutions, matrix products, average pools, padding of channels.
#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/ir/checked_math.h"
#include "kiln/support/check.h"
#include "kiln/targets/vta/lowering.h"

namespace kiln::vta {
namespace {

constexpr int64_t kMaxWeights = int64_t{1} << 28;  // bytes of one layer, padding included

// Constant weights as codes, with one scale for each index of an axis.
struct WeightCodes {
  Tensor codes;
  std::vector<double> scales;  // one, or one a channel
  double ScaleOf(int64_t channel) const { return scales[scales.size() == 1 ? 0 : static_cast<size_t>(channel)]; }
};

StatusOr<WeightCodes> ReadWeights(const Value* value, int channel_axis) {
  if (value == nullptr || !value->is_constant() || value->element() != ElementType::kFloat32) {
    return ToHost("weights that are no constant in fp32");
  }
  if (!value->quantisation().has_value()) return ToHost(fmt::format("weights '{}' are not quantised", value->name()));
  const Quantisation& q = *value->quantisation();
  const Format& format = q.type.format;
  const bool zeros = std::all_of(q.zero_points.begin(), q.zero_points.end(), [](int32_t z) { return z == 0; });
  if (!format.is_whole() || !format.is_signed || format.bits > 8 || !zeros || q.type.scheme == Scheme::kPerBlock) {
    return ToHost(fmt::format("weights '{}' are {}, the machine has signed integers of 8 bits without zero point",
                              value->name(), format.name));
  }
  if (q.scales.size() > 1 && q.axis != channel_axis) {
    return ToHost("weights have scales along something else than output channels");
  }
  WeightCodes weights;
  weights.codes = QuantiseTensor(value->constant(), q);
  weights.scales.assign(q.scales.begin(), q.scales.end());
  if (weights.scales.empty()) weights.scales = {1.0};
  return weights;
}

// Which input blocks each output block reads.
std::vector<BlockRange> ReadsOf(const LinearLayer& linear, int64_t block) {
  std::vector<BlockRange> reads;
  const int64_t out_group = linear.out_channels / linear.groups, in_group = linear.in_channels / linear.groups;
  for (int64_t first = 0; first < linear.out_channels; first += block) {
    const int64_t last = std::min(first + block, linear.out_channels) - 1;
    reads.push_back({first / out_group * in_group / block, CeilDivide((last / out_group + 1) * in_group, block)});
  }
  return reads;
}

// Least |weight| sums: a channel's weights, halved until sum and bias fit the accumulators.
struct Channel {
  ChannelScale scale;
  int halvings = 0;
};

int32_t Halved(int32_t weight, int halvings) {
  return static_cast<int32_t>(std::lround(std::ldexp(static_cast<double>(weight), -halvings)));
}

// Codes of one output channel's result.
struct Target {
  double factor = 1;  // of a unit of the weights: input scale over output scale
  double zero = 0;    // of the result
  int32_t input_zero = 0;
};

Channel ChannelOf(const LinearLayer& linear, int64_t o, const Target& target) {
  Channel channel;
  const double scale = linear.scales[static_cast<size_t>(o)];
  for (;; ++channel.halvings) {
    int64_t sum = 0, magnitude = 0;
    for (int64_t c = 0; c < linear.in_channels / linear.groups; ++c) {
      for (int64_t ky = 0; ky < linear.kernel.y; ++ky) {
        for (int64_t kx = 0; kx < linear.kernel.x; ++kx) {
          const int32_t w = Halved(linear.weight(o, c, ky, kx), channel.halvings);
          sum += w;
          magnitude += std::abs(w);
        }
      }
    }
    channel.scale.factor = target.factor * std::ldexp(scale, channel.halvings);
    channel.scale.greatest_sum = magnitude * 128;
    const double bias = linear.bias.empty() ? 0 : linear.bias[static_cast<size_t>(o)];
    channel.scale.offset = bias - channel.scale.factor * target.input_zero * static_cast<double>(sum) + target.zero;
    if (Fits(channel.scale)) return channel;
    if (magnitude == 0) {  // nothing but an offset: any factor will do
      channel.scale.factor = 1;
      return channel;
    }
  }
}

std::string Describe(const LinearLayer& l) {
  const KernelSize& k = l.kernel;
  std::string text = fmt::format("{}x{} {}->{} /{}", k.y, k.x, l.in_channels, l.out_channels, k.stride_y);
  if (k.stride_x != k.stride_y) text += fmt::format(",{}", k.stride_x);
  if (l.groups > 1) text += fmt::format(" in {} groups", l.groups);
  return text + fmt::format(" @{}x{}", l.out_height, l.out_width);
}

KernelSize KernelOf(const std::vector<WindowAxis>& axes) {
  const WindowAxis &y = axes[0], &x = axes[1];
  return {y.kernel, x.kernel, y.stride, x.stride, y.dilation, x.dilation, y.pad_begin, x.pad_begin};
}

// In the order of MatrixLayer::weights; zero where a block has no channel, or one of another group.
std::vector<int8_t> PackWeights(const LinearLayer& linear, const std::vector<BlockRange>& reads,
                                const std::vector<int>& halvings, int64_t block) {
  std::vector<int8_t> weights;
  const int64_t out_group = linear.out_channels / linear.groups, in_group = linear.in_channels / linear.groups;
  const auto weight_at = [&](int64_t o, int64_t c, int64_t ky, int64_t kx) {
    const bool there = o < linear.out_channels && c < linear.in_channels && c / in_group == o / out_group;
    return there ? Halved(linear.weight(o, c % in_group, ky, kx), halvings[static_cast<size_t>(o)]) : 0;
  };
  for (int64_t ob = 0; ob < std::ssize(reads); ++ob) {
    const BlockRange range = reads[static_cast<size_t>(ob)];
    for (int64_t ib = range.first; ib < range.last; ++ib) {
      for (int64_t tap = 0; tap < linear.kernel.taps(); ++tap) {
        for (int64_t lane = 0; lane < block * block; ++lane) {
          weights.push_back(static_cast<int8_t>(weight_at(ob * block + lane / block, ib * block + lane % block,
                                                          tap / linear.kernel.x, tap % linear.kernel.x)));
        }
      }
    }
  }
  return weights;
}

// GEMM steps for one output pixel of a dense layer over so many channels.
int64_t StepsFor(int64_t channels, int64_t taps, int64_t block) { return CeilDivide(channels, block) * taps; }

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
    if (!bias->is_constant() || bias->element() != ElementType::kFloat32) return ToHost("a bias that is no constant");
    for (size_t o = 0; o < linear.bias.size(); ++o) linear.bias[o] = bias->constant().ValueAt(static_cast<int64_t>(o));
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
  if (node.attributes().Int("transpose_a", 0) != 0) return ToHost("a product with its first operand transposed");
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
  bool padded = false, beyond = false;
  for (const WindowAxis& a : g.axes) {
    padded |= a.pad_begin > 0 || a.pad_end > 0;
    beyond |= (a.output - 1) * a.stride - a.pad_begin + a.Extent() > a.input + a.pad_end;
  }
  if (beyond || (padded && !g.count_include_pad)) return ToHost("an average over fewer elements at the edge");
  LinearLayer linear;
  linear.kernel = KernelOf(g.axes);
  linear.in_channels = linear.out_channels = linear.groups = g.channels;
  linear.out_height = g.axes[0].output;
  linear.out_width = g.axes[1].output;
  linear.weight = [](int64_t, int64_t, int64_t, int64_t) { return 1; };
  linear.identity = true;
  linear.scales.assign(static_cast<size_t>(g.channels), 1.0 / static_cast<double>(linear.kernel.taps()));
  Layer layer = NewLayer(group, "gemm", "average " + Describe(linear) + group.text);
  KILN_RETURN_IF_ERROR(FillLinear(group, std::move(linear), node.operand(0), &layer));
  return layer;
}

// Over all pixels: a global average pool.
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
  LinearLayer linear;
  linear.kernel.y = image->height;
  linear.kernel.x = image->width;
  linear.in_channels = linear.out_channels = linear.groups = image->channels;
  linear.weight = [](int64_t, int64_t, int64_t, int64_t) { return 1; };
  linear.identity = true;
  linear.scales.assign(static_cast<size_t>(image->channels), 1.0 / static_cast<double>(linear.kernel.taps()));
  Layer layer = NewLayer(group, "gemm", "mean " + Describe(linear) + group.text);
  KILN_RETURN_IF_ERROR(FillLinear(group, std::move(linear), x, &layer));
  return layer;
}

// Zeros beside the channels: a product with a matrix that has ones.
StatusOr<Layer> Lowering::EmitChannelPad(const Group& group) {
  const Node& node = *group.anchor;
  const Value *x = node.operand(0), *pads = node.operand(1), *value = node.operand(2);
  const Status other = ToHost("a Pad of something else than channels with zeros");
  if (node.attributes().String("mode", "constant") != "constant" || pads == nullptr || !pads->is_constant())
    return other;
  if (node.operand(3) != nullptr) return other;
  if (value != nullptr && (!value->is_constant() || value->constant().ValueAt(0) != 0)) return other;
  const std::vector<int64_t> amounts = pads->constant().ToInts();
  const int64_t rank = x->shape().rank();
  if (std::ssize(amounts) != 2 * rank) return other;
  for (int64_t i = 0; i < 2 * rank; ++i) {
    const int64_t amount = amounts[static_cast<size_t>(i)];
    if (amount < 0 || (amount > 0 && i % rank != rank - 1)) return other;
  }
  const auto image = ImageShapeOf(x->shape().dims());
  if (!image.has_value()) return other;
  const int64_t before = amounts[static_cast<size_t>(rank - 1)];
  LinearLayer linear;
  linear.in_channels = image->channels;
  linear.out_channels = node.result()->shape()[static_cast<int>(rank - 1)];
  linear.out_height = image->height;
  linear.out_width = image->width;
  linear.weight = [before](int64_t o, int64_t c, int64_t, int64_t) { return o == c + before ? 1 : 0; };
  linear.scales.assign(static_cast<size_t>(linear.out_channels), 1.0);
  Layer layer = NewLayer(group, "gemm", "channels " + Describe(linear));
  KILN_RETURN_IF_ERROR(FillLinear(group, std::move(linear), x, &layer));
  return layer;
}

Status Lowering::FillLinear(const Group& group, LinearLayer linear, const Value* input, Layer* layer) {
  const int64_t block = config_.block_in;
  KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*input));
  MatrixLayer matrix;

  // What the host writes may come as windows side by side, where channels then fill the blocks better.
  const KernelSize k = linear.kernel;
  int64_t best = StepsFor(linear.in_channels, k.taps(), block);
  std::optional<Patch> patch;
  if (IsOnHost(input) && linear.groups == 1) {
    const auto shape = ImageShapeOf(input->shape().dims());
    if (const int64_t steps = StepsFor(linear.in_channels * k.x, k.y, block); shape.has_value() && steps < best) {
      best = steps;
      patch = Patch{1, k.x, 1, k.stride_x, 1, k.dilation_x, k.top, k.left};
    }
    if (const int64_t steps = StepsFor(linear.in_channels * k.taps(), 1, block); shape.has_value() && steps < best) {
      best = steps;
      patch = Patch{k.y, k.x, k.stride_y, k.stride_x, k.dilation_y, k.dilation_x, k.top, k.left};
    }
  }
  if (patch.has_value()) {
    const bool rows = patch->kernel_y == 1 && k.y > 1;
    const int64_t height =
        rows ? (linear.out_height - 1) * k.stride_y + (k.y - 1) * k.dilation_y + 1 : linear.out_height;
    KILN_ASSIGN_OR_RETURN(matrix.input, AsPatches(input, *patch, height, linear.out_width, layer));
    const auto weight = linear.weight;
    const int64_t channels = linear.in_channels, kx = k.x;
    linear.weight = [weight, channels, kx](int64_t o, int64_t c, int64_t ky, int64_t) {
      const int64_t tap = c / channels;
      return weight(o, c % channels, ky + tap / kx, tap % kx);
    };
    linear.in_channels *= k.x * (rows ? 1 : k.y);
    linear.kernel = {};
    if (rows) {
      linear.kernel.y = k.y;
      linear.kernel.stride_y = k.stride_y;
      linear.kernel.dilation_y = k.dilation_y;
    }
  } else {
    KILN_ASSIGN_OR_RETURN(matrix.input, OnMachine(input, layer));
  }
  if (linear.kernel.taps() == 1 && matrix.input.height * matrix.input.width == linear.out_height * linear.out_width) {
    linear.out_height = matrix.input.height;  // pixels in a row may stand as an image
    linear.out_width = matrix.input.width;
  }
  if (matrix.input.channels != linear.in_channels) return ToHost("channels that do not stand side by side");
  matrix.kernel = linear.kernel;
  const FeatureMap& map = out_.maps[static_cast<size_t>(matrix.input.map)];
  const MapView& v = matrix.input;
  const KernelSize& q = matrix.kernel;
  const int64_t bottom = (linear.out_height - 1) * q.stride_y - q.top + (q.y - 1) * q.dilation_y + 1 - v.height;
  const int64_t right = (linear.out_width - 1) * q.stride_x - q.left + (q.x - 1) * q.dilation_x + 1 - v.width;
  if (q.top > 0 || q.left > 0 || bottom > 0 || right > 0) {
    const bool whole =
        v.y_step == 1 && v.x_step == 1 && v.y0 == 0 && v.x0 == 0 && v.height == map.height && v.width == map.width;
    const bool wide_enough = map.border.top >= q.top && map.border.left >= q.left && map.border.bottom >= bottom &&
                             map.border.right >= right;
    if (!whole || !wide_enough) return ToHost("padding around a part of an image");
    if (map.fill != codes.zero) return ToHost("padding with zeros of an image that is padded otherwise");
  }

  matrix.reads = ReadsOf(linear, block);
  int64_t elements = 0;
  for (const BlockRange& range : matrix.reads) elements += range.count() * linear.kernel.taps();
  if (SaturatingMul(elements, block * block) > kMaxWeights) return ToHost("more weights than the compiler takes");

  // The result's codes, or sums.
  const auto target = CodesOf(*group.result);
  if (!target.ok() && group.residual != nullptr) return target.status();
  KILN_ASSIGN_OR_RETURN(const int output,
                        ResultMap(group.result, linear.out_height, linear.out_width, linear.out_channels));
  matrix.output = output;
  const double out_scale = target.ok() ? double{target->scale} : 0;
  for (const Value* bias : group.bias) {
    for (size_t o = 0; o < linear.bias.size(); ++o) {
      linear.bias[o] += bias->constant().ValueAt(bias->constant().size() == 1 ? 0 : static_cast<int64_t>(o));
    }
  }
  Target t;
  t.input_zero = codes.zero;
  std::optional<double> residual_factor;
  double residual_zero = 0;
  if (group.residual != nullptr) {
    KILN_ASSIGN_OR_RETURN(const Codes residual, CodesOf(*group.residual));
    KILN_ASSIGN_OR_RETURN(matrix.residual, OnMachine(group.residual, layer));
    const MapView& r = *matrix.residual;
    if (r.x_step != 1 || r.height != linear.out_height || r.width != linear.out_width) {
      return ToHost("a residual that is no whole image");
    }
    residual_factor = double{residual.scale} / out_scale;
    if (*residual_factor > 64) return ToHost("a residual in far coarser steps than the result");
    residual_zero = -*residual_factor * residual.zero;
  }
  if (target.ok()) {
    t.factor = double{codes.scale} / out_scale;
    t.zero = target->zero + residual_zero;
    for (double& bias : linear.bias) bias /= out_scale;
  }

  std::vector<ChannelScale> channels;
  std::vector<int> halvings;
  for (int64_t o = 0; o < linear.out_channels; ++o) {
    if (!target.ok()) {
      // A sum's own unit: nothing but the bias to round.
      const double unit = double{codes.scale} * linear.scales[static_cast<size_t>(o)];
      t.factor = 1 / linear.scales[static_cast<size_t>(o)];
      if (!linear.bias.empty()) linear.bias[static_cast<size_t>(o)] /= unit;
    }
    const Channel channel = ChannelOf(linear, o, t);
    if (!target.ok()) {
      const double unit = double{codes.scale} * std::ldexp(linear.scales[static_cast<size_t>(o)], channel.halvings);
      out_.maps[static_cast<size_t>(output)].scales.push_back(unit);
    }
    channels.push_back(channel.scale);
    halvings.push_back(channel.halvings);
  }
  if (target.ok()) {
    int32_t low = target->low, high = target->high;
    const auto code = [&](double real) {
      return static_cast<int32_t>(std::clamp(std::nearbyint(real / out_scale) + target->zero, -128.0, 127.0));
    };
    if (std::isfinite(group.clamp.low)) low = std::max(low, code(group.clamp.low));
    if (std::isfinite(group.clamp.high)) high = std::max(low, std::min(high, code(group.clamp.high)));
    KILN_ASSIGN_OR_RETURN(matrix.requantisation, MakeRequantisation(channels, low, high, residual_factor));
  } else {
    Requantisation& r = matrix.requantisation;
    const FeatureMap& sums = out_.maps[static_cast<size_t>(output)];
    for (size_t o = 0; o < channels.size(); ++o) {
      // The offset stands in units of the sum before it was halved.
      r.bias.push_back(static_cast<int32_t>(std::llround(std::ldexp(channels[o].offset, -halvings[o]))));
      if (!group.clamp.any()) continue;
      const auto bound = [&](double real) {
        return static_cast<int32_t>(std::clamp(std::nearbyint(real / sums.scales[o]), -0x1p31, 0x1p31 - 1));
      };
      r.least.push_back(bound(group.clamp.low));
      r.most.push_back(bound(group.clamp.high));
    }
  }

  matrix.one_weight = linear.identity && std::all_of(halvings.begin(), halvings.end(), [](int h) { return h == 0; });
  if (matrix.one_weight) {
    matrix.weights.assign(static_cast<size_t>(block * block), 0);
    for (int64_t lane = 0; lane < block; ++lane) matrix.weights[static_cast<size_t>(lane * block + lane)] = 1;
  } else {
    matrix.weights = PackWeights(linear, matrix.reads, halvings, block);
  }
  locations_[group.result] = {-1, output, DenseView(group.result->shape())};
  layer->matrix = std::move(matrix);
  return OkStatus();
}

}  // namespace kiln::vta
