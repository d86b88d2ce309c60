// Reads the numbers of a layer from its nodes, and turns them into the numbers of a stage.

#include "kiln/targets/binary/compile/layer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "kiln/ir/describe.h"
#include "kiln/ir/window.h"
#include "kiln/targets/binary/isa/derived.h"
#include "kiln/targets/binary/tables/planes.h"
#include "kiln/targets/lower/refusal.h"
#include "kiln/targets/lower/sign.h"

namespace kiln::binary {
namespace {

constexpr int kMostWeightBits = 16;

// Sets the sizes of a convolution, and returns its output axis of weights.
Status SetConvolution(const Node& node, std::string_view source, Layer* layer) {
  KILN_ASSIGN_OR_RETURN(const ConvGeometry geometry, ResolveConv(node, source));
  if (!geometry.nhwc || geometry.batch != 1) return ToHost("a convolution of several images");
  if (geometry.groups != 1) return ToHost("tables are of all input channels, and it has groups");
  if (geometry.axes.size() > 2 || geometry.axes.empty())
    return ToHost(fmt::format("a window with {} axes", geometry.axes.size()));
  const WindowAxis row;
  const WindowAxis& y = geometry.axes.size() == 2 ? geometry.axes[0] : row;
  const WindowAxis& x = geometry.axes.back();
  if ((y.dilation != 1 && y.kernel > 1) || (x.dilation != 1 && x.kernel > 1))
    return ToHost("a dilated window");
  if (geometry.axes.size() == 2 && y.stride != x.stride && y.kernel > 1 && x.kernel > 1)
    return ToHost("strides that differ");
  if (std::max({y.kernel, x.kernel, y.stride, x.stride}) > 15)
    return ToHost("a window or a stride longer than 15");
  if (y.pad_begin < 0 || x.pad_begin < 0) return ToHost("negative padding");
  layer->kernel_height = static_cast<int>(y.kernel);
  layer->kernel_width = static_cast<int>(x.kernel);
  layer->stride = static_cast<int>(x.stride);
  if (geometry.axes.size() == 2 && y.stride != x.stride) return ToHost("strides that differ");
  layer->pad_top = static_cast<int>(y.pad_begin);
  layer->pad_left = static_cast<int>(x.pad_begin);
  layer->height = geometry.axes.size() == 2 ? static_cast<int>(y.input) : 1;
  layer->width = static_cast<int>(x.input);
  layer->out_height = geometry.axes.size() == 2 ? static_cast<int>(y.output) : 1;
  layer->out_width = static_cast<int>(x.output);
  layer->in_channels = static_cast<int>(geometry.in_channels);
  layer->out_channels = static_cast<int>(geometry.out_channels);
  return OkStatus();
}

Status SetProduct(const Node& node, Layer* layer) {
  const Value &left = *node.operand(0), &right = *node.operand(1);
  if (!right.is_constant()) return ToHost("a product of two activations");
  if (right.shape().rank() != 2) return ToHost("a product with several matrices");
  if (node.attributes().Float("alpha", 1.0f) != 1.0f) return ToHost("a product with a factor");
  const bool transposed = node.attributes().Int("transpose_b", 0) != 0;
  const int64_t depth = right.shape()[transposed ? 1 : 0],
                columns = right.shape()[transposed ? 0 : 1];
  const int64_t rows = left.shape().NumElements() / std::max<int64_t>(depth, 1);
  if (rows > 16383 || depth > 65535) return ToHost("a product of more rows than a map has");
  layer->height = layer->out_height = 1;
  layer->width = layer->out_width = static_cast<int>(rows);
  layer->in_channels = static_cast<int>(depth);
  layer->out_channels = static_cast<int>(columns);
  return OkStatus();
}

// Sets the weights, their bits, and the factors and offsets of sums.
Status SetWeights(const Node& node, Layer* layer) {
  const bool convolution = node.op() == Op::kConv;
  const bool transposed = !convolution && node.attributes().Int("transpose_b", 0) != 0;
  const Value& value = *node.operand(1);
  KILN_ASSIGN_OR_RETURN(
      const WeightCodes weights,
      IntegerWeightsOf(value, convolution || transposed ? 0 : 1, kMostWeightBits));
  const int64_t taps = layer->taps(), window = int64_t{layer->kernel_height} * layer->kernel_width;
  layer->weights.resize(static_cast<size_t>(layer->out_channels * taps));
  for (int64_t n = 0; n < layer->out_channels; ++n) {
    for (int64_t t = 0; t < taps; ++t) {
      // Of the tensors [out][in][ky][kx], [in][out] and [out][in].
      const int64_t place = t / layer->in_channels, channel = t % layer->in_channels;
      int64_t at = (n * layer->in_channels + channel) * window + place;
      if (!convolution && !transposed) at = channel * layer->out_channels + n;
      layer->weights[static_cast<size_t>(n * taps + t)] = weights.codes[static_cast<size_t>(at)];
    }
  }
  for (int64_t n = 0; n < layer->out_channels; ++n) {
    layer->line.factors.push_back(layer->in.scale * weights.ScaleOf(n));
    layer->line.offsets.push_back(0);
  }
  return OkStatus();
}

// Makes factors positive, and weights that differ in their sign only signs. The zero point of the
// input goes to the offsets.
Status Simplify(Layer* layer) {
  const auto taps = static_cast<size_t>(layer->taps());
  bool signs = true;
  int32_t low = 0, high = 0;
  for (size_t n = 0; n < layer->line.factors.size(); ++n) {
    const auto of_channel = std::span(layer->weights).subspan(n * taps, taps);
    if (layer->line.factors[n] < 0) {
      layer->line.factors[n] = -layer->line.factors[n];
      for (int32_t& weight : of_channel) weight = -weight;
    }
    const int32_t magnitude = std::abs(of_channel[0]);
    signs = signs && magnitude != 0 && std::ranges::all_of(of_channel, [&](int32_t weight) {
              return std::abs(weight) == magnitude;
            });
    const auto [least, most] = std::ranges::minmax_element(of_channel);
    low = std::min(low, *least);
    high = std::max(high, *most);
    if (!std::isfinite(layer->line.factors[n]) || !std::isfinite(layer->line.offsets[n]))
      return ToHost(fmt::format("the scale or bias of channel {} is not a finite number", n));
  }
  for (size_t n = 0; n < layer->line.factors.size(); ++n) {
    const auto of_channel = std::span(layer->weights).subspan(n * taps, taps);
    int64_t sum = 0;
    for (const int32_t weight : of_channel) sum += weight;
    layer->line.offsets[n] -= layer->line.factors[n] * layer->in.zero * static_cast<double>(sum);
    if (!signs) continue;
    layer->line.factors[n] *= std::abs(of_channel[0]);
    for (int32_t& weight : of_channel) weight = weight < 0 ? -1 : 1;
  }
  layer->bits = signs ? 1 : 2;  // a plane alone has no 0
  if (signs) return OkStatus();
  while (low < -(1 << (layer->bits - 1)) || high > (1 << (layer->bits - 1)) - 1) ++layer->bits;
  return layer->bits <= kMostWeightBits ? OkStatus() : ToHost("weights of more than 16 bits");
}

// Returns the quotient rounded up; b > 0.
int64_t QuotientAbove(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

// Sets the numbers of a sign: 2 (sum - t) + 1, an odd number, within -1 and 1, where t is the least
// sum whose value is not negative.
Status SetSigns(const Layer& layer, const LayerPart& part, const Config& config, StageProgram* s) {
  s->low = -1;
  s->high = 1;
  s->shift = 0;
  const int64_t most = (int64_t{1} << (config.accumulator_bits - 1)) - 1;
  for (size_t n = 0; n < s->multipliers.size(); ++n) {
    s->limits[n] = -most;
    if (n >= static_cast<size_t>(part.channels)) continue;
    const size_t of = static_cast<size_t>(part.first_channel) + n;
    const double factor = layer.line.factors[of] * (s->subtract_base ? 0.5 : 1);
    if (!(factor > 0)) {
      s->addends[n] = layer.line.offsets[of] >= 0 ? 1 : -1;
      continue;
    }
    s->limits[n] = LeastNotNegative(factor, layer.line.offsets[of], -most, most - 1);
    s->multipliers[n] = 2;
    s->addends[n] = 1 - 2 * s->limits[n];
  }
  return OkStatus();
}

// Sets multipliers, addends, bounds and limits.
Status SetRequantisation(const Layer& layer, const LayerPart& part, const Config& config,
                         StageProgram* s) {
  if (layer.sign) return SetSigns(layer, part, config, s);
  s->low = NearestCode(layer.line.low, layer.out);
  s->high = NearestCode(layer.line.high, layer.out);
  if (s->low > 0 || s->high < 0) return ToHost("bounds without zero");
  const double halves = s->subtract_base ? 0.5 : 1;  // sums of planes are doubled
  double largest = 0;
  for (const double factor : layer.line.factors) largest = std::max(largest, factor * halves);
  const auto shift = ShiftOf(largest / layer.out.scale, kMultiplierBits - 1, kMostShift);
  if (!shift.has_value()) return ToHost("its sums would be scaled up beyond 16 bits");
  s->shift = *shift;
  const int64_t most = (int64_t{1} << (config.accumulator_bits - 1)) - 1;
  const int64_t most_addend = (int64_t{1} << (kAddendBits - 1)) - 1;
  for (size_t n = 0; n < s->multipliers.size(); ++n) {
    s->limits[n] = -most;
    if (n >= static_cast<size_t>(part.channels)) continue;
    const size_t of = static_cast<size_t>(part.first_channel) + n;
    const double factor = layer.line.factors[of] * halves / layer.out.scale;
    const double offset = layer.line.offsets[of] / layer.out.scale + layer.out.zero + 0.5;
    const double addend = std::floor(std::ldexp(offset, s->shift) + 0.5);
    if (!(std::abs(addend) < static_cast<double>(most_addend)))
      return ToHost(fmt::format("the bias of channel {} is too large for its scale", of));
    s->multipliers[n] = std::llround(std::ldexp(factor, s->shift));
    s->addends[n] = static_cast<int64_t>(addend);
    if (s->multipliers[n] > 0) {
      s->limits[n] =
          std::clamp(QuotientAbove(((s->low + 1) << s->shift) - s->addends[n], s->multipliers[n]),
                     -most, most);
    }
  }
  return OkStatus();
}

// Returns whether a test after a step makes the stage faster. A decision comes with the sum, some
// cycles after the look-up, so that the round behind the test takes at least as long; the others
// take as long as their look-ups, or as building their tables. Thresholds and limits are loaded for
// every output channel.
bool SavesTime(const StageProgram& s, const Config& config, int number, int steps_behind) {
  const int64_t of_step = LayoutOf(s, config, number).rounds, rounds = steps_behind * of_step;
  const int least = config.steps + 1;
  // Nothing is saved where the pixel waits for its results to be requantised.
  if (std::ssize(s.steps) * of_step * std::max(s.list, least) <=
      int64_t{s.list} * config.requantiser_share(number))
    return false;
  // The share of outputs that is decided early, as measured on trained networks
  // (docs/measurements-binary.md).
  const double share = config.prediction == Prediction::kExact ? 1.0 / 3 : 1.0 / 2;
  const double before = std::max(s.list, least),
               after = std::max((1 - share) * s.list, 1.0 * least);
  const auto decided_after = static_cast<double>(DrainCycles(config.tables(number)));
  const double saved =
      before - std::max(after, decided_after) + static_cast<double>(rounds - 1) * (before - after);
  const auto loaded = static_cast<double>(2 * s.channels(config, number));
  return saved * s.out_height * s.out_width > loaded;
}

// Sets steps in the order of their weight, and tests.
void SetSteps(const Layer& layer, const Config& config, int number, StageProgram* s) {
  for (int plane = layer.bits - 1; plane >= 0; --plane) {
    for (int digit = s->top_digit; digit >= 0; --digit) s->steps.push_back({plane, digit, false});
  }
  std::ranges::sort(s->steps, [](const LookupStep& a, const LookupStep& b) {
    return std::pair(-a.shift(), a.plane) < std::pair(-b.shift(), b.plane);
  });
  if (config.prediction == Prediction::kNone) return;
  // A wrong decision is a small error where the layer ends in a bound, such as a ReLU, or a sign.
  // Without one the low bound is the least code, which no result is near.
  if (config.prediction == Prediction::kPredicted && !layer.sign && !std::isfinite(layer.line.low))
    return;
  const auto steps = static_cast<int>(s->steps.size());
  for (int test = 1; test <= kMostTests; ++test) {
    const int after = steps - 1 - test;
    if (after >= 0 && SavesTime(*s, config, number, test))
      s->steps[static_cast<size_t>(after)].test = true;
  }
  s->bound_by_sum = config.prediction == Prediction::kExact && s->planes() == 1 && s->tests() > 0;
}

// Returns the least sum that a trained threshold does not decide; nullopt if the test has none.
std::optional<int64_t> TrainedThreshold(const Layer& layer, int steps_done, size_t channel) {
  const auto found = layer.trained.find(steps_done);
  if (found == layer.trained.end()) return std::nullopt;
  const SumScale scale = ScaleOfSum(layer, channel);
  const double least = (found->second.at(channel) - scale.offset) / scale.factor;
  // Sums have at most 48 bits; `least` is infinite where the factor is too small.
  constexpr double kMost = 1e18;
  return static_cast<int64_t>(std::ceil(std::clamp(least, -kMost, kMost)));
}

// Sets the thresholds: the limit less the most that the steps behind a test can add; with
// prediction the trained ones, or the limit, as if nothing were to come.
void SetThresholds(const Layer& layer, const LayerPart& part, const Config& config,
                   StageProgram* s) {
  const size_t channels = s->multipliers.size();
  const auto taps = static_cast<size_t>(s->kernel_height) * static_cast<size_t>(s->kernel_width) *
                    static_cast<size_t>(s->in_channels);
  const int64_t most = (int64_t{1} << (config.accumulator_bits - 1)) - 1;
  for (size_t i = 0; i < s->steps.size(); ++i) {
    if (!s->steps[i].test) continue;
    for (size_t n = 0; n < channels; ++n) {
      int64_t rest = 0;
      for (size_t j = i + 1; j < s->steps.size() && config.prediction == Prediction::kExact; ++j) {
        const auto plane = static_cast<size_t>(s->steps[j].plane);
        const auto begin = s->signs.begin() + static_cast<int64_t>((plane * channels + n) * taps);
        const int64_t positive = std::count(begin, begin + static_cast<int64_t>(taps), 1);
        // A signed digit reaches from -8 to 7, so that both signs can add.
        const bool is_signed = s->signed_codes && s->steps[j].digit == s->top_digit;
        const int64_t sum = is_signed ? 8 * static_cast<int64_t>(taps) : int64_t{15} * positive;
        rest += sum << s->steps[j].shift();
      }
      const bool exists = n < static_cast<size_t>(part.channels) && s->multipliers[n] > 0;
      int64_t threshold = s->limits[n] - rest;
      if (exists && config.prediction == Prediction::kPredicted) {
        threshold = TrainedThreshold(layer, static_cast<int>(i) + 1,
                                     static_cast<size_t>(part.first_channel) + n)
                        .value_or(threshold);
      }
      s->thresholds.push_back(exists ? std::clamp(threshold, -most, most) : -most);
    }
  }
}

}  // namespace

StatusOr<MachineCodes> MachineCodesOf(const Value& value, const Config& config) {
  MachineCodes codes;
  KILN_ASSIGN_OR_RETURN(static_cast<ValueCodes&>(codes),
                        IntegerCodesOf(value, config.activation_bits));
  if (codes.zero == 0 || codes.low < codes.zero) return codes;
  codes.shift = codes.zero;
  codes.low -= codes.shift;
  codes.high -= codes.shift;
  codes.zero = 0;
  codes.is_signed = false;
  return codes;
}

StatusOr<Layer> LayerOf(std::span<const Node* const> nodes, const Config& config,
                        std::string_view source) {
  const Node& node = *nodes[0];
  Layer layer;
  layer.input = node.operand(0);
  layer.result = nodes.back()->result();
  KILN_ASSIGN_OR_RETURN(layer.in, MachineCodesOf(*layer.input, config));
  KILN_RETURN_IF_ERROR(node.op() == Op::kConv ? SetConvolution(node, source, &layer)
                                              : SetProduct(node, &layer));
  KILN_RETURN_IF_ERROR(SetWeights(node, &layer));
  if (node.op() == Op::kConv && node.operand(2) != nullptr) {
    const auto bias = PerChannel(node.operand(2), layer.out_channels);
    if (!bias.has_value()) return ToHost("a bias that is not constant");
    for (size_t n = 0; n < bias->size(); ++n) layer.line.offsets[n] += (*bias)[n];
  }
  std::span<const Node* const> behind = nodes.subspan(1);
  std::optional<double> size;
  if (behind.size() >= kSignNodes) size = SizeOfSign(behind.last(kSignNodes));
  layer.sign = size.has_value();
  if (layer.sign) behind = behind.first(behind.size() - kSignNodes);
  KILN_RETURN_IF_ERROR(ApplyToLine(behind, node.result(), &layer.line));
  KILN_ASSIGN_OR_RETURN(layer.out, MachineCodesOf(*layer.result, config));
  if (layer.sign && (NearestCode(*size, layer.out) != 1 || NearestCode(-*size, layer.out) != -1))
    return ToHost("the codes of a sign are -1 and 1");
  KILN_RETURN_IF_ERROR(Simplify(&layer));
  return layer;
}

SumScale ScaleOfSum(const Layer& layer, size_t channel) {
  return {.factor = layer.line.factors[channel] * (layer.bits > 1 ? 0.5 : 1),
          .offset = layer.line.offsets[channel]};
}

StatusOr<StageProgram> StageOf(const Layer& layer, const LayerPart& part, const Config& config,
                               int number) {
  StageProgram s;
  const int places = part.folded_rows ? layer.kernel_width : 1;  // of the window, in a pixel
  s.in_channels = std::max(places * layer.in_channels, part.in_channels);
  s.kernel_height = layer.kernel_height;
  s.kernel_width = layer.kernel_width / places;
  s.stride = layer.stride;
  s.out_height = layer.out_height;
  s.out_width = part.columns;
  const int rows = (layer.out_height - 1) * layer.stride + layer.kernel_height;
  const int columns = (part.columns - 1) * layer.stride + s.kernel_width;
  s.height = rows;
  s.width = columns;
  if (!part.padded_input) {
    s.pad_top = layer.pad_top;
    s.height = std::min(layer.height, rows - layer.pad_top);
  }
  if (!part.padded_input && !part.folded_rows) {
    s.pad_left = layer.pad_left;
    s.width = std::min(layer.width, columns - layer.pad_left);
  }
  const int unit = config.columns(number);
  s.list = (part.channels + unit - 1) / unit;
  s.signed_codes = layer.in.low < 0;
  s.top_digit = (layer.in.bits - 1) / kDigitBits;
  s.subtract_base = layer.bits > 1;
  SetSteps(layer, config, number, &s);
  const auto channels = static_cast<size_t>(s.list * unit);
  s.multipliers.assign(channels, 0);
  s.addends.assign(channels, 0);
  s.limits.assign(channels, 0);
  // Weights are in the order of places and channels, whether or not places are folded.
  const auto own = static_cast<size_t>(places * layer.in_channels);
  const size_t pixels = static_cast<size_t>(layer.taps()) / own;  // of the window
  const size_t taps = pixels * static_cast<size_t>(s.in_channels);
  const WeightFormat format = {layer.bits == 1 ? WeightCoding::kOdd : WeightCoding::kSigned,
                               layer.bits};
  for (int plane = 0; plane < layer.bits; ++plane) {
    for (size_t n = 0; n < channels; ++n) {
      for (size_t t = 0; t < taps; ++t) {
        uint8_t sign = 1;
        const size_t pixel = t / static_cast<size_t>(s.in_channels);
        const size_t channel = t % static_cast<size_t>(s.in_channels);
        if (n < static_cast<size_t>(part.channels) && channel < own) {
          const size_t row = (static_cast<size_t>(part.first_channel) + n) * pixels + pixel;
          const int32_t weight = layer.weights[row * own + channel];
          sign = format.PlanesOf(weight) >> plane & 1;
        }
        s.signs.push_back(sign);
      }
    }
  }
  KILN_RETURN_IF_ERROR(SetRequantisation(layer, part, config, &s));
  SetThresholds(layer, part, config, &s);
  s.emits = true;
  return s;
}

StatusOr<SkipSum> SkipOf(const ValueCodes& result, const ValueCodes& added, const ValueCodes& sum,
                         const ChannelLine& bounds) {
  SkipSum skip;
  skip.signed_codes = added.low < 0;
  const double result_factor = result.scale / sum.scale, added_factor = added.scale / sum.scale;
  constexpr int kMostSkipShift = 31;
  const auto shift =
      ShiftOf(std::max(result_factor, added_factor), kSkipFactorBits - 1, kMostSkipShift);
  if (!shift.has_value()) return ToHost("its scale is too small for those of its operands");
  skip.shift = *shift;
  skip.result_factor = std::llround(std::ldexp(result_factor, skip.shift));
  skip.added_factor = std::llround(std::ldexp(added_factor, skip.shift));
  const double offset = sum.zero + 0.5 - result_factor * result.zero - added_factor * added.zero;
  skip.addend = std::llround(std::floor(std::ldexp(offset, skip.shift) + 0.5));
  skip.low = NearestCode(bounds.low, sum);
  skip.high = NearestCode(bounds.high, sum);
  return skip;
}

int64_t RoundCycles(const StageProgram& stage, const Config& config, int number) {
  const StageLayout layout = LayoutOf(stage, config, number);
  // A round takes a cycle for each channel of the list; building its tables, one for each group and
  // one to hand them over.
  const int64_t round = std::max(stage.list, config.steps + 1);
  const int64_t rounds = std::ssize(stage.steps) * layout.rounds * round;
  // The sums of a pixel are read while the rounds of the next ones go on. Its buffer is in use from
  // its first round to its last read.
  const int64_t reads = int64_t{stage.list} * config.requantiser_share(number);
  const int64_t pixels = int64_t{stage.out_height} * stage.out_width;
  const int64_t idle = std::max(0, config.steps + 1 - stage.list);  // of the last round
  const int64_t held = rounds - idle + DrainCycles(config.tables(number)) + 2 + reads -
                       config.requantiser_share(number) + 1;
  return std::max(pixels * std::max(rounds, reads), pixels / kSumBuffers * held);
}

}  // namespace kiln::binary
