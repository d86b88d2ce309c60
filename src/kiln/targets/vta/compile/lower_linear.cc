// Turns a LinearLayer, whatever operator it comes from, into a MatrixLayer: locates its input,
// packs its weights, and derives its requantisation.
#include <algorithm>
#include <cmath>

#include "kiln/ir/checked_math.h"
#include "kiln/support/check.h"
#include "kiln/targets/vta/compile/lowering.h"

namespace kiln::vta {
namespace {

constexpr int64_t kMaxWeights = int64_t{1} << 28;  // bytes of one layer, padding included
constexpr double kMaxResidualFactor = 64;
constexpr double kMostBias = 0x1p30;  // in units of the sums

// Returns the input blocks that each output block reads.
std::vector<BlockRange> ReadsOf(const LinearLayer& linear, int64_t block) {
  std::vector<BlockRange> reads;
  const int64_t out_group = linear.out_channels / linear.groups,
                in_group = linear.in_channels / linear.groups;
  for (int64_t first = 0; first < linear.out_channels; first += block) {
    const int64_t last = std::min(first + block, linear.out_channels) - 1;
    reads.push_back({first / out_group * in_group / block,
                     CeilDivide((last / out_group + 1) * in_group, block)});
  }
  return reads;
}

// The scale of a channel, whose weights are halved until sum and bias fit in the accumulators.
struct Channel {
  ChannelScale scale;
  int halvings = 0;
};

int32_t Halved(int32_t weight, int halvings) {
  return static_cast<int32_t>(std::lround(std::ldexp(static_cast<double>(weight), -halvings)));
}

// The codes of one output channel's result.
struct Target {
  double factor = 1;  // input scale over output scale, for weights in units of their scale
  double zero = 0;    // the result's zero point
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
    channel.scale.offset =
        bias - channel.scale.factor * target.input_zero * static_cast<double>(sum) + target.zero;
    if (Fits(channel.scale)) return channel;
    if (magnitude == 0) {  // without weights there is only the offset, and any factor is right
      channel.scale.factor = 1;
      return channel;
    }
  }
}

// Returns the weights in the order of MatrixLayer::weights. They are zero where a block has no
// channel or one of another group.
std::vector<int8_t> PackWeights(const LinearLayer& linear, const std::vector<BlockRange>& reads,
                                const std::vector<int>& halvings, int64_t block) {
  std::vector<int8_t> weights;
  const int64_t out_group = linear.out_channels / linear.groups,
                in_group = linear.in_channels / linear.groups;
  const auto weight_at = [&](int64_t o, int64_t c, int64_t ky, int64_t kx) {
    const bool there =
        o < linear.out_channels && c < linear.in_channels && c / in_group == o / out_group;
    return there ? Halved(linear.weight(o, c % in_group, ky, kx), halvings[static_cast<size_t>(o)])
                 : 0;
  };
  for (int64_t ob = 0; ob < std::ssize(reads); ++ob) {
    const BlockRange range = reads[static_cast<size_t>(ob)];
    for (int64_t ib = range.first; ib < range.last; ++ib) {
      for (int64_t tap = 0; tap < linear.kernel.taps(); ++tap) {
        for (int64_t lane = 0; lane < block * block; ++lane) {
          weights.push_back(
              static_cast<int8_t>(weight_at(ob * block + lane / block, ib * block + lane % block,
                                            tap / linear.kernel.x, tap % linear.kernel.x)));
        }
      }
    }
  }
  return weights;
}

// Returns the GEMM steps for one output pixel and output block of a dense layer over `channels`
// input channels.
int64_t StepsFor(int64_t channels, int64_t taps, int64_t block) {
  return CeilDivide(channels, block) * taps;
}

// Returns windows that are stored as channels, if channels then fill the blocks better: rows of the
// kernel's window or whole windows. Returns nullopt if they do not.
std::optional<Patch> PatchFor(const LinearLayer& linear, int64_t block) {
  const KernelSize& k = linear.kernel;
  const int64_t apart = StepsFor(linear.in_channels, k.taps(), block);
  const int64_t rows = StepsFor(linear.in_channels * k.x, k.y, block);
  const int64_t all = StepsFor(linear.in_channels * k.taps(), 1, block);
  if (linear.groups > 1 || apart <= std::min(rows, all)) return std::nullopt;
  if (rows <= all) return Patch{1, k.x, 1, k.stride_x, 1, k.dilation_x, k.top, k.left};
  return Patch{k.y, k.x, k.stride_y, k.stride_x, k.dilation_y, k.dilation_x, k.top, k.left};
}

// Returns the layer that reads such windows instead of the image.
LinearLayer OverPatches(LinearLayer linear, const Patch& patch) {
  const KernelSize k = linear.kernel;
  const bool rows = patch.kernel_y < k.y;
  linear.weight = [weight = linear.weight, channels = linear.in_channels, kx = k.x](
                      int64_t o, int64_t c, int64_t ky, int64_t) {
    const int64_t tap = c / channels;
    return weight(o, c % channels, ky + tap / kx, tap % kx);
  };
  linear.in_channels *= patch.kernel_y * patch.kernel_x;
  linear.kernel = {};
  if (rows) {
    linear.kernel.y = k.y;
    linear.kernel.stride_y = k.stride_y;
    linear.kernel.dilation_y = k.dilation_y;
  }
  return linear;
}

// Return the number of rows or columns from the first to the last that the kernel reads, padding
// included.
int64_t RowsOf(const LinearLayer& linear) {
  const KernelSize& k = linear.kernel;
  return (linear.out_height - 1) * k.stride_y + (k.y - 1) * k.dilation_y + 1;
}
int64_t ColumnsOf(const LinearLayer& linear) {
  const KernelSize& k = linear.kernel;
  return (linear.out_width - 1) * k.stride_x + (k.x - 1) * k.dilation_x + 1;
}

// Checks that padding surrounds the whole map and holds the code of zero.
Status CheckBorder(const LinearLayer& linear, const MapView& view, const FeatureMap& map) {
  const KernelSize& k = linear.kernel;
  const int64_t bottom = RowsOf(linear) - k.top - view.height,
                right = ColumnsOf(linear) - k.left - view.width;
  if (k.top <= 0 && k.left <= 0 && bottom <= 0 && right <= 0) return OkStatus();
  const Border& b = map.border;
  const bool whole = view.y_step == 1 && view.x_step == 1 && view.y0 == 0 && view.x0 == 0 &&
                     view.height == map.height && view.width == map.width;
  if (!whole || b.top < k.top || b.left < k.left || b.bottom < bottom || b.right < right) {
    return ToHost("padding around a part of an image");
  }
  if (map.fill != map.codes.zero)
    return ToHost("padding with zeros of an image that is padded otherwise");
  return OkStatus();
}

// Returns the code of a bound, rounded to nearest even and clamped to 8 bits.
int32_t CodeOf(double real, const Codes& codes) {
  return static_cast<int32_t>(
      std::clamp(std::nearbyint(real / codes.scale) + codes.zero, -128.0, 127.0));
}

// Returns the requantisation of a layer whose result is 32-bit sums. Sums have their own unit for
// each channel, so only the bias and the bounds are rounded.
StatusOr<Requantisation> SumsOf(LinearLayer* linear, const Codes& input, const Clamp& clamp,
                                FeatureMap* sums, std::vector<int>* halvings) {
  Requantisation r;
  for (size_t o = 0; o < linear->scales.size(); ++o) {
    const double unit = double{input.scale} * linear->scales[o];
    if (!linear->bias.empty()) linear->bias[o] /= unit;
    const Channel channel =
        ChannelOf(*linear, static_cast<int64_t>(o), {1 / linear->scales[o], 0, input.zero});
    sums->scales.push_back(std::ldexp(unit, channel.halvings));
    halvings->push_back(channel.halvings);
    // The offset is in units of the sum before its weights were halved.
    const double bias = std::ldexp(channel.scale.offset, -channel.halvings);
    const bool vanished = channel.halvings > 0 && channel.scale.greatest_sum == 0;
    if (!(std::abs(bias) <= kMostBias) || vanished)
      return ToHost("sums and bias do not fit the accumulators of 32 bits");
    r.bias.push_back(static_cast<int32_t>(std::llround(bias)));
    if (!clamp.any()) continue;
    const auto bound = [&](double real) {
      return static_cast<int32_t>(
          std::clamp(std::nearbyint(real / sums->scales[o]), -0x1p31, 0x1p31 - 1));
    };
    r.least.push_back(bound(clamp.low));
    r.most.push_back(bound(clamp.high));
  }
  return r;
}

}  // namespace

StatusOr<MapView> Lowering::PlaceInput(const Value* input, LinearLayer* linear, Layer* layer) {
  const std::optional<Patch> patch =
      IsOnHost(input) ? PatchFor(*linear, config_.block_in) : std::nullopt;
  MapView view;
  if (patch.has_value() && ImageShapeOf(input->shape().dims()).has_value()) {
    const int64_t height =
        patch->kernel_y < linear->kernel.y ? RowsOf(*linear) : linear->out_height;
    KILN_ASSIGN_OR_RETURN(view, AsPatches(input, *patch, height, linear->out_width, layer));
    *linear = OverPatches(std::move(*linear), *patch);
  } else {
    const Order order = linear->channels_second ? Order::kChannelsSecond : Order::kChannelsLast;
    KILN_ASSIGN_OR_RETURN(view, OnMachine(input, layer, order));
  }
  if (linear->kernel.taps() == 1 &&
      view.height * view.width == linear->out_height * linear->out_width) {
    linear->out_height = view.height;  // a single row of pixels may be stored as an image
    linear->out_width = view.width;
  }
  if (view.channels != linear->in_channels)
    return ToHost("channels that do not stand side by side");
  KILN_RETURN_IF_ERROR(CheckBorder(*linear, view, out_.maps[static_cast<size_t>(view.map)]));
  return view;
}

StatusOr<MapView> Lowering::PlaceResidual(const Value* residual, const LinearLayer& linear,
                                          Layer* layer) {
  KILN_ASSIGN_OR_RETURN(const MapView view, OnMachine(residual, layer));
  if (view.x_step != 1 || view.height != linear.out_height || view.width != linear.out_width) {
    return ToHost("a residual that is no whole image");
  }
  return view;
}

StatusOr<Requantisation> Lowering::CodesFrom(const Group& group, LinearLayer* linear,
                                             const Codes& input, std::vector<int>* halvings) const {
  KILN_ASSIGN_OR_RETURN(const Codes result, CodesOf(*group.result));
  Target target{double{input.scale} / result.scale, static_cast<double>(result.zero), input.zero};
  std::optional<double> residual_factor;
  if (group.residual != nullptr) {
    KILN_ASSIGN_OR_RETURN(const Codes residual, CodesOf(*group.residual));
    residual_factor = double{residual.scale} / result.scale;
    if (*residual_factor > kMaxResidualFactor)
      return ToHost("a residual in far coarser steps than the result");
    target.zero += -*residual_factor * residual.zero;
  }
  for (double& bias : linear->bias) bias /= result.scale;
  std::vector<ChannelScale> channels;
  for (int64_t o = 0; o < linear->out_channels; ++o) {
    const Channel channel = ChannelOf(*linear, o, target);
    channels.push_back(channel.scale);
    halvings->push_back(channel.halvings);
  }
  int32_t low = result.low, high = result.high;
  if (std::isfinite(group.clamp.low)) low = std::max(low, CodeOf(group.clamp.low, result));
  if (std::isfinite(group.clamp.high))
    high = std::max(low, std::min(high, CodeOf(group.clamp.high, result)));
  return MakeRequantisation(channels, low, high, residual_factor);
}

Status Lowering::FillLinear(const Group& group, LinearLayer linear, const Value* input,
                            Layer* layer) {
  const int64_t block = config_.block_in;
  KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*input));
  MatrixLayer matrix;
  KILN_ASSIGN_OR_RETURN(matrix.input, PlaceInput(input, &linear, layer));
  matrix.kernel = linear.kernel;
  matrix.reads = ReadsOf(linear, block);
  int64_t elements = 0;
  for (const BlockRange& range : matrix.reads) elements += range.count() * linear.kernel.taps();
  if (SaturatingMul(elements, block * block) > kMaxWeights)
    return ToHost("more weights than the compiler takes");

  for (const Value* bias : group.bias) {
    for (size_t o = 0; o < linear.bias.size(); ++o) {
      linear.bias[o] +=
          bias->constant().ValueAt(bias->constant().size() == 1 ? 0 : static_cast<int64_t>(o));
    }
  }
  if (group.residual != nullptr) {
    KILN_ASSIGN_OR_RETURN(matrix.residual, PlaceResidual(group.residual, linear, layer));
  }
  KILN_ASSIGN_OR_RETURN(matrix.output, ResultMap(group.result, linear.out_height, linear.out_width,
                                                 linear.out_channels));
  FeatureMap& output = out_.maps[static_cast<size_t>(matrix.output)];
  std::vector<int> halvings;
  if (output.wide) {
    KILN_CHECK(group.residual == nullptr);
    KILN_ASSIGN_OR_RETURN(matrix.requantisation,
                          SumsOf(&linear, codes, group.clamp, &output, &halvings));
  } else {
    KILN_ASSIGN_OR_RETURN(matrix.requantisation, CodesFrom(group, &linear, codes, &halvings));
  }

  matrix.one_weight = linear.identity &&
                      std::all_of(halvings.begin(), halvings.end(), [](int h) { return h == 0; });
  if (matrix.one_weight) {
    matrix.weights.assign(static_cast<size_t>(block * block), 0);
    for (int64_t lane = 0; lane < block; ++lane)
      matrix.weights[static_cast<size_t>(lane * block + lane)] = 1;
  } else {
    matrix.weights = PackWeights(linear, matrix.reads, halvings, block);
  }
  const Order order = linear.channels_second ? Order::kChannelsSecond : Order::kChannelsLast;
  locations_[group.result] = {-1, matrix.output, StandingOf(group.result->shape(), order)};
  layer->matrix = std::move(matrix);
  return OkStatus();
}

}  // namespace kiln::vta
