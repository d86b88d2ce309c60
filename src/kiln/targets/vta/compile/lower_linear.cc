// Turns a LinearLayer, whatever operator it comes from, into a MatrixLayer: locates its input,
// packs its weights, and derives its requantisation.
#include <algorithm>
#include <cmath>
#include <span>

#include "kiln/ir/checked_math.h"
#include "kiln/support/check.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/lower/sign.h"
#include "kiln/targets/vta/compile/lowering.h"

namespace kiln::vta {
namespace {

constexpr int64_t kMaxWeights = int64_t{1} << 28;  // bytes of one layer, padding included
constexpr double kMaxResidualFactor = 64;
constexpr double kMostBias = 0x1p30;  // in units of the sums
// Sums less the least sum that is not negative stay below twice this number.
constexpr int64_t kMostSignSum = INT64_C(1) << 29;

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

// Returns weight / 2^halvings, rounded to nearest, ties away from zero.
int32_t Halved(int32_t weight, int halvings) {
  if (halvings == 0) return weight;
  if (halvings > 8) return 0;  // of codes of 8 bits
  const int32_t magnitude = (std::abs(weight) + (1 << (halvings - 1))) >> halvings;
  return weight < 0 ? -magnitude : magnitude;
}

// The weights of a layer, [out_channels, in_channels / groups, kernel.y, kernel.x].
struct Weights {
  std::vector<int8_t> codes;
  int64_t inputs = 0;  // channels of a group
  int64_t taps = 0;

  std::span<const int8_t> OfChannel(int64_t o) const {
    const size_t count = static_cast<size_t>(inputs * taps);
    return std::span(codes).subspan(static_cast<size_t>(o) * count, count);
  }
  int8_t At(int64_t o, int64_t c, int64_t tap) const {
    return codes[static_cast<size_t>((o * inputs + c) * taps + tap)];
  }
};

Weights WeightsOf(const LinearLayer& linear) {
  Weights weights;
  weights.inputs = linear.in_channels / linear.groups;
  weights.taps = linear.kernel.taps();
  const int64_t count = weights.inputs * weights.taps;
  weights.codes.resize(static_cast<size_t>(linear.out_channels * count));
  ParallelFor(linear.out_channels, 1, [&](int64_t begin, int64_t end) {
    auto at = weights.codes.begin() + begin * count;
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t c = 0; c < weights.inputs; ++c) {
        for (int64_t ky = 0; ky < linear.kernel.y; ++ky) {
          for (int64_t kx = 0; kx < linear.kernel.x; ++kx)
            *at++ = static_cast<int8_t>(linear.weight(o, c, ky, kx));
        }
      }
    }
  });
  return weights;
}

// The codes of one output channel's result.
struct Target {
  double factor = 1;  // input scale over output scale, for weights in units of their scale
  double zero = 0;    // the result's zero point
  int32_t input_zero = 0;
};

Channel ChannelOf(const LinearLayer& linear, const Weights& weights, int64_t o,
                  const Target& target) {
  Channel channel;
  const double scale = linear.scales[static_cast<size_t>(o)];
  for (;; ++channel.halvings) {
    int64_t sum = 0, magnitude = 0;
    for (const int8_t code : weights.OfChannel(o)) {
      const int32_t w = Halved(code, channel.halvings);
      sum += w;
      magnitude += std::abs(w);
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
std::vector<int8_t> PackWeights(const LinearLayer& linear, const Weights& weights,
                                const std::vector<BlockRange>& reads,
                                const std::vector<int>& halvings, int64_t block) {
  const int64_t out_group = linear.out_channels / linear.groups, in_group = weights.inputs,
                element = block * block;
  std::vector<int64_t> first_element;  // of each output block; then the number of all elements
  first_element.push_back(0);
  for (const BlockRange& range : reads)
    first_element.push_back(first_element.back() + range.count() * weights.taps);
  std::vector<int8_t> packed(static_cast<size_t>(first_element.back() * element));
  ParallelFor(std::ssize(reads), 1, [&](int64_t begin, int64_t end) {
    auto at = packed.begin() + first_element[static_cast<size_t>(begin)] * element;
    for (int64_t ob = begin; ob < end; ++ob) {
      const BlockRange range = reads[static_cast<size_t>(ob)];
      for (int64_t ib = range.first; ib < range.last; ++ib) {
        for (int64_t tap = 0; tap < weights.taps; ++tap) {
          for (int64_t o = ob * block; o < (ob + 1) * block; ++o, at += block) {
            if (o >= linear.out_channels) continue;
            // The channels of this block that are in the group of `o`.
            const int64_t group = o / out_group * in_group, from = ib * block;
            const int64_t first = std::max(from, group),
                          last = std::min(from + block, group + in_group);
            for (int64_t c = first; c < last; ++c) {
              at[c - from] = static_cast<int8_t>(
                  Halved(weights.At(o, c - group, tap), halvings[static_cast<size_t>(o)]));
            }
          }
        }
      }
    }
  });
  return packed;
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

// Returns whether a dense layer reads all pixels of a map, in the map's order, as channels. It has
// one pixel, and nothing around it.
bool IsFlattened(const LinearLayer& linear, const StridedView& view, const FeatureMap& map) {
  const int64_t elements = map.height * map.width * map.channels;
  const auto image = ImageShapeOf(view.shape);
  const bool one_pixel = linear.out_height == 1 && linear.out_width == 1 &&
                         linear.kernel.top == 0 && linear.kernel.left == 0;
  return one_pixel && map.height * map.width > 1 && linear.kernel.taps() == 1 &&
         linear.groups == 1 && linear.in_channels == elements && image.has_value() &&
         image->channels == elements && view.elements() == elements && view.offset == 0 &&
         view.strides.back() == 1;
}

// Returns the convolution of the whole map that such a dense layer is.
LinearLayer OverImage(LinearLayer linear, const FeatureMap& map) {
  linear.weight = [weight = linear.weight, width = map.width, channels = map.channels](
                      int64_t o, int64_t c, int64_t ky, int64_t kx) {
    return weight(o, (ky * width + kx) * channels + c, 0, 0);
  };
  linear.in_channels = map.channels;
  linear.kernel.y = map.height;
  linear.kernel.x = map.width;
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

// Returns the requantisation of a layer whose result is 32-bit sums. Sums have their own unit for
// each channel, so only the bias and the bounds are rounded.
StatusOr<Requantisation> SumsOf(LinearLayer* linear, const Weights& weights, const Codes& input,
                                const Clamp& clamp, FeatureMap* sums, std::vector<int>* halvings) {
  Requantisation r;
  for (size_t o = 0; o < linear->scales.size(); ++o) {
    const double unit = double{input.scale} * linear->scales[o];
    if (!linear->bias.empty()) linear->bias[o] /= unit;
    const Channel channel = ChannelOf(*linear, weights, static_cast<int64_t>(o),
                                      {1 / linear->scales[o], 0, input.zero});
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

// Returns the requantisation of a layer whose result is codes. `residual` is null without one.
StatusOr<Requantisation> CodesFrom(LinearLayer* linear, const Weights& weights, const Codes& input,
                                   const Codes* residual, const Codes& result, const Clamp& clamp,
                                   std::vector<int>* halvings) {
  Target target{double{input.scale} / result.scale, static_cast<double>(result.zero), input.zero};
  std::optional<double> residual_factor;
  if (residual != nullptr) {
    residual_factor = double{residual->scale} / result.scale;
    if (*residual_factor > kMaxResidualFactor)
      return ToHost("a residual in far coarser steps than the result");
    target.zero += -*residual_factor * residual->zero;
  }
  for (double& bias : linear->bias) bias /= result.scale;
  std::vector<ChannelScale> channels(static_cast<size_t>(linear->out_channels));
  halvings->resize(channels.size());
  ParallelFor(linear->out_channels, 16, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const Channel channel = ChannelOf(*linear, weights, o, target);
      channels[static_cast<size_t>(o)] = channel.scale;
      (*halvings)[static_cast<size_t>(o)] = channel.halvings;
    }
  });
  int32_t low = result.low, high = result.high;
  if (std::isfinite(clamp.low)) low = NearestCode(clamp.low, result);
  if (std::isfinite(clamp.high)) high = std::max(low, NearestCode(clamp.high, result));
  return MakeRequantisation(channels, low, high, residual_factor);
}

// Returns the requantisation of a layer whose result is the sign of its sums.
StatusOr<Requantisation> SignsFrom(const LinearLayer& linear, const Weights& weights,
                                   const Codes& input, const SignCodes& sign) {
  Requantisation r;
  r.sign = sign;
  for (int64_t o = 0; o < linear.out_channels; ++o) {
    int64_t sum = 0, magnitude = 0;
    for (const int8_t code : weights.OfChannel(o)) {
      sum += code;
      magnitude += std::abs(code);
    }
    // Of sums of codes less their zero point, which is of 8 bits, too.
    const int64_t greatest = magnitude * 256;
    if (greatest >= kMostSignSum)
      return ToHost("the sums whose sign it computes do not fit the accumulators of 32 bits");
    const auto channel = static_cast<size_t>(o);
    const int64_t least =
        LeastNotNegative(double{input.scale} * linear.scales[channel],
                         linear.bias.empty() ? 0 : linear.bias[channel], -greatest, greatest);
    r.bias.push_back(static_cast<int32_t>(-(least + input.zero * sum)));
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
    const Location& at = locations_.at(input);
    const FeatureMap* map = at.map < 0 ? nullptr : &out_.maps[static_cast<size_t>(at.map)];
    if (map != nullptr && !map->wide && IsFlattened(*linear, ViewOf(input, order), *map)) {
      view = {at.map, 0, 0, 1, 1, map->height, map->width, map->channels};
      *linear = OverImage(std::move(*linear), *map);
    } else {
      KILN_ASSIGN_OR_RETURN(view, OnMachine(input, layer, order));
    }
  }
  if (linear->kernel.taps() == 1 &&
      view.height * view.width == linear->out_height * linear->out_width) {
    linear->out_height = view.height;  // a single row of pixels may be stored as an image
    linear->out_width = view.width;
  }
  if (view.channels != linear->in_channels) return ToHost("channels that are not adjacent");
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
  const Weights weights = WeightsOf(linear);
  std::vector<int> halvings;
  if (output.wide) {
    KILN_CHECK(group.residual == nullptr);
    KILN_ASSIGN_OR_RETURN(matrix.requantisation,
                          SumsOf(&linear, weights, codes, group.clamp, &output, &halvings));
  } else {
    KILN_ASSIGN_OR_RETURN(const Codes result, CodesOf(*group.result));
    Codes residual;
    if (group.residual != nullptr) {
      KILN_ASSIGN_OR_RETURN(residual, CodesOf(*group.residual));
    }
    if (group.sign.has_value()) {
      halvings.assign(static_cast<size_t>(linear.out_channels), 0);
      KILN_ASSIGN_OR_RETURN(matrix.requantisation,
                            SignsFrom(linear, weights, codes, SignCodesOf(*group.sign, result)));
    } else {
      KILN_ASSIGN_OR_RETURN(
          matrix.requantisation,
          CodesFrom(&linear, weights, codes, group.residual == nullptr ? nullptr : &residual,
                    result, group.clamp, &halvings));
    }
  }

  matrix.one_weight = linear.identity &&
                      std::all_of(halvings.begin(), halvings.end(), [](int h) { return h == 0; });
  if (matrix.one_weight) {
    matrix.weights.assign(static_cast<size_t>(block * block), 0);
    for (int64_t lane = 0; lane < block; ++lane)
      matrix.weights[static_cast<size_t>(lane * block + lane)] = 1;
  } else {
    matrix.weights = PackWeights(linear, weights, matrix.reads, halvings, block);
  }
  const Order order = linear.channels_second ? Order::kChannelsSecond : Order::kChannelsLast;
  locations_[group.result] = {-1, matrix.output, StandingOf(group.result->shape(), order)};
  layer->matrix = std::move(matrix);
  return OkStatus();
}

}  // namespace kiln::vta
