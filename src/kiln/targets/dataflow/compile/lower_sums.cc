// Lowers layers of sums: convolutions, matrix products, pools and means.

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/ir/describe.h"
#include "kiln/ir/window.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/compile/lowering.h"
#include "kiln/targets/dataflow/compile/requantise.h"
#include "kiln/targets/dataflow/compile/stage_name.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/lower/constant_codes.h"
#include "kiln/targets/lower/sign.h"
#include "kiln/targets/lower/view_steps.h"

namespace kiln::dataflow {
namespace {

// The largest window of a maximum pool, which compares all of its pixels at once.
constexpr int64_t kMostPoolTaps = 64;

// The integer weights of a layer.
struct Weights {
  std::vector<int32_t> codes;  // [out channel][tap][channel of the group]
  std::vector<double> scales;  // by output channel
};

// Checks that weights are constants in whole codes without zero points.
Status CheckWeights(const Value& weights) {
  const std::string who = NameForUser(weights);
  if (!weights.is_constant()) return ToHost(fmt::format("{} is not constant", who));
  if (!weights.quantisation().has_value()) return ToHost(fmt::format("{} is not quantised", who));
  const Quantisation& q = *weights.quantisation();
  const Format& format = q.type.format;
  if (!format.is_whole() || format.bits > 16 || q.type.scheme == Scheme::kPerBlock ||
      std::ranges::any_of(q.zero_points, [](int32_t zero) { return zero != 0; })) {
    return ToHost(
        fmt::format("{} is {}, the machine has integers of at most 16 bits without zero "
                    "points",
                    who, format.name));
  }
  return OkStatus();
}

// Reads weights; `index(out channel, tap, channel)` is an element's place in the tensor.
template <typename Index>
Weights ReadWeights(const Value& value, int64_t channels, int64_t taps, int64_t depth,
                    const Index& index) {
  const Quantisation q = CompleteAnnotation(*value.quantisation());
  const Tensor codes = QuantiseConstant(value.constant(), q).codes;
  Weights weights;
  weights.scales = ScalesOfWeights(q, channels);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t i = 0; i < depth; ++i)
        weights.codes.push_back(static_cast<int32_t>(codes.IntAt(index(c, t, i))));
    }
  }
  return weights;
}

// The real value of a sum of products: scales of both, and the zero point of the operand.
ChannelLine LineOf(const Weights& weights, const ValueCodes& operand) {
  ChannelLine line;
  const auto per_channel = static_cast<int64_t>(weights.codes.size()) / std::ssize(weights.scales);
  for (size_t c = 0; c < weights.scales.size(); ++c) {
    int64_t sum = 0;
    for (int64_t i = 0; i < per_channel; ++i)
      sum += weights.codes[c * static_cast<size_t>(per_channel) + static_cast<size_t>(i)];
    const double factor = operand.scale * weights.scales[c];
    line.factors.push_back(factor);
    line.offsets.push_back(-factor * static_cast<double>(operand.zero) * static_cast<double>(sum));
  }
  return line;
}

// Returns the least width of weights that has all codes: 1 if they are -1 and +1 only.
int BitsOfWeights(const std::vector<int32_t>& codes) {
  const auto [low, high] = std::ranges::minmax_element(codes);
  const bool binary =
      std::ranges::all_of(codes, [](int32_t code) { return code == 1 || code == -1; });
  return binary ? 1 : std::max(2, SignedBits(*low, *high));
}

std::string Shortly(const Window& w, const MapShape& in, const MapShape& out) {
  return fmt::format("{}x{} {}->{} /{} @{}x{}", w.kernel_y, w.kernel_x, in.channels, out.channels,
                     w.stride_y, in.height, in.width);
}

}  // namespace

// Takes the sign that begins with a node into the group, if there is one and its result is codes.
bool Lowering::TakeSign(const Node& first, Group* group) const {
  const std::vector<const Node*> sign = SignFrom(graph_, first);
  if (sign.empty() || !CodesOf(*sign.back()->result()).ok()) return false;
  group->nodes.insert(group->nodes.end(), sign.begin(), sign.end());
  group->result = sign.back()->result();
  group->sign = SizeOfSign(sign);
  return true;
}

Status Lowering::PlanSums(Group* group) {
  const Shape& shape = group->result->shape();
  const int64_t channels = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  bool bounded = false;
  while (const Node* next = partition_.Follower(group->result)) {
    if (!SignFrom(graph_, *next).empty()) {
      TakeSign(*next, group);
      break;
    }
    if (!ContinuesLine(*next, group->result, channels) || (bounded && !IsBound(*next))) break;
    bounded = bounded || IsBound(*next);
    group->nodes.push_back(next);
    group->result = next->result();
  }
  return OkStatus();
}

Status Lowering::EmitSums(const Group& group, Stage stage, Operand operand, ChannelLine line,
                          const MapShape& map, StridedView view, const std::string& operation) {
  std::span<const Node* const> of_line = group.nodes;
  if (group.sign.has_value()) of_line = of_line.first(of_line.size() - kSignNodes);
  if (!of_line.empty())
    KILN_RETURN_IF_ERROR(ApplyToLine(of_line.subspan(1), group.anchor->result(), &line));
  // Sums grow with their values: a negative factor changes the signs of its weights.
  const auto channels = std::ssize(line.factors);
  const auto per_channel = static_cast<size_t>(std::ssize(stage.weights) / channels);
  for (size_t c = 0; c < line.factors.size(); ++c) {
    if (line.factors[c] >= 0) continue;
    if (stage.weights.empty()) return ToHost("a negative factor of a sum without weights");
    line.factors[c] = -line.factors[c];
    for (size_t i = 0; i < per_channel; ++i)
      stage.weights[c * per_channel + i] = -stage.weights[c * per_channel + i];
  }
  if (!stage.weights.empty()) {
    stage.weight_bits = BitsOfWeights(stage.weights);
    if (stage.weight_bits > 16) return ToHost("weights of more than 16 bits");
  }
  // A pipeline of the stage alone gives the range of its sums.
  Pipeline alone;
  alone.channels.resize(2);
  alone.channels[0].map = operand.map;
  alone.channels[0].type = TypeOf(operand.codes);
  alone.channels[1].map = map;
  Stage measured = stage;
  measured.inputs = {0};
  measured.outputs = {1};
  const SumRange range = RangeOfSums(alone, measured);
  stage.sum_bits = SignedBits(range.low, range.high + 1);  // thresholds lie one above, too
  if (stage.sum_bits > kMostSumBits) return ToHost("sums of more than 48 bits");
  if (!group.result->quantisation().has_value()) {
    if (stage.sum_bits > 32) return ToHost("unquantised sums of more than 32 bits");
    stage.requantise = Requantise();
    AddLayer(group, std::move(stage), {std::move(operand)}, map,
             {SignedBits(range.low, range.high + 1), true}, std::move(view), std::move(line),
             operation);
    return OkStatus();
  }
  KILN_ASSIGN_OR_RETURN(const ValueCodes codes, CodesOf(*group.result));
  if (group.sign.has_value()) {
    KILN_ASSIGN_OR_RETURN(stage.requantise,
                          MakeSigns(line, *group.sign, codes, range, config_.threshold_bits));
  } else {
    KILN_ASSIGN_OR_RETURN(stage.requantise,
                          MakeRequantisation(line, codes, range, config_.threshold_bits));
  }
  AddLayer(group, std::move(stage), {std::move(operand)}, map, TypeOf(codes), std::move(view),
           std::nullopt, operation);
  return OkStatus();
}

StatusOr<Operand> Lowering::WithPadding(const Group& group, Operand operand, Window* w) {
  const MapShape& map = operand.seen;
  const int64_t last_column = (w->out_width - 1) * w->stride_x - w->pad_left + w->columns() - 1;
  const bool fits = w->pad_left <= w->columns() - 1 && w->pad_top <= w->rows() - 1 &&
                    (w->out_width - 1) * w->stride_x <= map.width - 1 &&
                    (w->out_height - 1) * w->stride_y <= map.height - 1 &&
                    last_column <= 2 * map.width - 1;
  if (fits) return operand;
  if (operand.seen != operand.map) return ToHost("wide padding of a map that changes its shape");
  Stage pad;
  pad.kind = StageKind::kPad;
  pad.pad_top = w->pad_top;
  pad.pad_left = w->pad_left;
  pad.pad_value = w->pad_value;
  const MapShape padded = {
      std::max(map.height + w->pad_top, (w->out_height - 1) * w->stride_y + w->rows()),
      std::max(map.width + w->pad_left, (w->out_width - 1) * w->stride_x + w->columns()),
      map.channels};
  w->pad_top = w->pad_left = 0;
  // A layer without nodes of its own.
  PendingLayer pending;
  const std::string kernel = KernelName(group.nodes);
  pending.layer.info.name = kernel + "_pad";
  pending.layer.info.unit = "pad";
  pending.layer.info.operation = "pad";
  pad.name = StageName(kernel) + "_pad";
  pending.layer.stage = std::move(pad);
  pending.map = padded;
  pending.type = TypeOf(operand.codes);
  Operand result = operand;
  pending.operands = {std::move(operand)};
  result.place = {static_cast<int>(layers_.size()), nullptr, {}, {}};
  result.map = result.seen = padded;
  layers_.push_back(std::move(pending));
  return result;
}

namespace {

// Returns the window of two spatial axes, or of one as a map of a single row.
StatusOr<Window> WindowOf(const std::vector<WindowAxis>& axes) {
  if (axes.size() > 2 || axes.empty())
    return ToHost(fmt::format("a window with {} axes", axes.size()));
  const WindowAxis row;
  const WindowAxis& y = axes.size() == 2 ? axes[0] : row;
  const WindowAxis& x = axes.back();
  Window w;
  w.kernel_y = y.kernel;
  w.kernel_x = x.kernel;
  w.stride_y = y.stride;
  w.stride_x = x.stride;
  w.pad_top = y.pad_begin;
  w.pad_left = x.pad_begin;
  w.dilation_y = y.dilation;
  w.dilation_x = x.dilation;
  w.out_height = axes.size() == 2 ? y.output : 1;
  w.out_width = x.output;
  if (w.pad_top < 0 || w.pad_left < 0) return ToHost("negative padding");
  return w;
}

}  // namespace

Status Lowering::EmitConvolution(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(const ConvGeometry geometry, ResolveConv(node, graph_.source()));
  if (!geometry.nhwc || geometry.batch != 1) return ToHost("a convolution of several images");
  KILN_ASSIGN_OR_RETURN(Window window, WindowOf(geometry.axes));
  KILN_ASSIGN_OR_RETURN(Operand operand, RowMajorOperand(*node.operand(0)));
  KILN_RETURN_IF_ERROR(CheckWeights(*node.operand(1)));
  const int64_t co = geometry.out_channels, depth = geometry.in_channels / geometry.groups,
                taps = window.taps();
  // Of the tensor [out channel][channel][ky][kx].
  Weights weights =
      ReadWeights(*node.operand(1), co, taps, depth,
                  [&](int64_t c, int64_t t, int64_t i) { return (c * depth + i) * taps + t; });
  ChannelLine line = LineOf(weights, operand.codes);
  if (node.operand(2) != nullptr) {
    const auto bias = PerChannel(node.operand(2), co);
    if (!bias.has_value()) return ToHost("a bias that is not constant");
    for (size_t c = 0; c < line.offsets.size(); ++c) line.offsets[c] += (*bias)[c];
  }
  window.pad_value = operand.codes.zero;
  if (window.pad_value < TypeOf(operand.codes).low() ||
      window.pad_value > TypeOf(operand.codes).high())
    return ToHost("padding with a zero point that is not a code");
  const MapShape map = {window.out_height, window.out_width, co};
  const std::string operation = "conv " + Shortly(window, operand.seen, map);
  KILN_ASSIGN_OR_RETURN(operand, WithPadding(group, std::move(operand), &window));
  Stage stage;
  stage.kind = geometry.IsDepthwise() && co == geometry.in_channels ? StageKind::kDepthwise
                                                                    : StageKind::kConvolution;
  stage.groups = stage.kind == StageKind::kDepthwise ? 1 : geometry.groups;
  stage.window = window;
  stage.map = operand.seen;
  stage.weights = std::move(weights.codes);
  return EmitSums(group, std::move(stage), std::move(operand), std::move(line), map,
                  RowMajorView(group.result->shape().dims()), operation);
}

Status Lowering::EmitProduct(const Group& group) {
  const Node& node = *group.anchor;
  const Value &left = *node.operand(0), &right = *node.operand(1);
  if (node.attributes().Float("alpha", 1.0f) != 1.0f) return ToHost("a product with a factor");
  if (!right.is_constant()) return ToHost("a product of two activations");
  if (right.shape().rank() != 2) return ToHost("a product with several matrices");
  KILN_RETURN_IF_ERROR(CheckWeights(right));
  const bool transposed = node.attributes().Int("transpose_b", 0) != 0;
  const int64_t depth = right.shape()[transposed ? 1 : 0],
                columns = right.shape()[transposed ? 0 : 1];
  const Quantisation& q = *right.quantisation();
  if (q.scales.size() > 1 && q.axis != (transposed ? 0 : 1))
    return ToHost("weights with scales along the axis of the sum");
  KILN_ASSIGN_OR_RETURN(Operand operand, RowMajorOperand(left));
  Weights weights = ReadWeights(right, columns, 1, depth, [&](int64_t c, int64_t, int64_t i) {
    return transposed ? c * depth + i : i * columns + c;
  });
  ChannelLine line = LineOf(weights, operand.codes);
  Stage stage;
  stage.kind = StageKind::kConvolution;
  stage.map = {1, operand.map.elements() / depth, depth};
  if (depth * stage.map.width != operand.map.elements()) return ToHost("a product that broadcasts");
  stage.window.out_width = stage.map.width;
  stage.weights = std::move(weights.codes);
  const MapShape map = {1, stage.map.width, columns};
  const std::string operation = fmt::format("product {}x{} -> {}", map.width, depth, columns);
  return EmitSums(group, std::move(stage), std::move(operand), std::move(line), map,
                  RowMajorView(group.result->shape().dims()), operation);
}

Status Lowering::EmitMean(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(Operand operand, AnyOperand(*node.operand(0)));
  const auto axes = MapAxes(operand.view, operand.map);
  if (!axes.has_value()) return ToHost("a mean of elements in another order");
  if (node.op() == Op::kReduceMean) {
    const auto reduced = ConstantInts(node.operand(1));
    if (!reduced.has_value()) return ToHost("a mean over axes that are not constant");
    const int rank = node.operand(0)->shape().rank();
    std::vector<bool> is_reduced(static_cast<size_t>(rank), reduced->empty());
    for (const int64_t axis : *reduced) {
      const auto index = NormaliseAxis(axis, rank);
      if (!index.has_value()) return ToHost("a mean over an axis out of range");
      is_reduced[static_cast<size_t>(*index)] = true;
    }
    for (size_t k = 0; k < 3; ++k) {
      const bool pixels = k < 2;
      if ((*axes)[k] >= 0 && is_reduced[static_cast<size_t>((*axes)[k])] != pixels)
        return ToHost("a mean that is not over all pixels");
    }
  }
  const int64_t channels = operand.map.channels, pixels = operand.map.pixels();
  ChannelLine line;
  line.factors.assign(static_cast<size_t>(channels),
                      operand.codes.scale / static_cast<double>(pixels));
  line.offsets.assign(static_cast<size_t>(channels),
                      -operand.codes.scale * static_cast<double>(operand.codes.zero));
  Stage stage;
  stage.kind = StageKind::kGlobalSum;
  const std::string operation =
      fmt::format("mean {}x{}x{}", operand.map.height, operand.map.width, channels);
  return EmitSums(group, std::move(stage), std::move(operand), std::move(line), {1, 1, channels},
                  RowMajorView(group.result->shape().dims()), operation);
}

Status Lowering::EmitPool(const Group& group) {
  const Node& node = *group.anchor;
  if (node.num_results() > 1 && node.result(1) != nullptr) return ToHost("a pool with indices");
  KILN_ASSIGN_OR_RETURN(const PoolGeometry geometry, ResolvePool(node, graph_.source()));
  if (!geometry.nhwc || geometry.batch != 1) return ToHost("a pool of several images");
  KILN_ASSIGN_OR_RETURN(Window window, WindowOf(geometry.axes));
  KILN_ASSIGN_OR_RETURN(Operand operand, RowMajorOperand(*node.operand(0)));
  const MapShape map = {window.out_height, window.out_width, operand.seen.channels};
  Stage stage;
  stage.window = window;
  if (node.op() == Op::kAveragePool) {
    const bool dense = window.rows() == window.kernel_y && window.columns() == window.kernel_x;
    const bool whole = map.pixels() == 1 && dense && window.kernel_y == operand.seen.height &&
                       window.kernel_x == operand.seen.width && window.pad_top == 0 &&
                       window.pad_left == 0;
    const bool padded =
        window.pad_top > 0 || window.pad_left > 0 ||
        (window.out_height - 1) * window.stride_y + window.rows() > operand.seen.height ||
        (window.out_width - 1) * window.stride_x + window.columns() > operand.seen.width;
    // With ceil_mode, windows that extend beyond the padding count only what is within it.
    const bool beyond = std::ranges::any_of(geometry.axes, [](const WindowAxis& axis) {
      return (axis.output - 1) * axis.stride + axis.Extent() >
             axis.pad_begin + axis.input + axis.pad_end;
    });
    if (beyond || (padded && !geometry.count_include_pad))
      return ToHost("an average of fewer elements at the edge");
    const auto taps = static_cast<double>(window.taps());
    ChannelLine line;
    const auto channels = static_cast<size_t>(map.channels);
    line.factors.assign(channels, operand.codes.scale / taps);
    line.offsets.assign(channels, -operand.codes.scale * static_cast<double>(operand.codes.zero));
    const std::string operation = "average pool " + Shortly(window, operand.seen, map);
    if (whole && operand.map == operand.seen) {
      stage.kind = StageKind::kGlobalSum;
    } else {
      stage.window.pad_value = operand.codes.zero;
      KILN_ASSIGN_OR_RETURN(operand, WithPadding(group, std::move(operand), &stage.window));
      stage.kind = StageKind::kDepthwise;
      stage.map = operand.seen;
      stage.weights.assign(channels * static_cast<size_t>(window.taps()), 1);
    }
    return EmitSums(group, std::move(stage), std::move(operand), std::move(line), map,
                    RowMajorView(group.result->shape().dims()), operation);
  }
  if (window.taps() > kMostPoolTaps)
    return ToHost(fmt::format("a maximum over {} pixels", window.taps()));
  const ValueCodes codes = operand.codes;
  KILN_ASSIGN_OR_RETURN(std::optional<ChannelLine> line, SameCodes(*group.result, codes));
  const std::string operation = "max pool " + Shortly(window, operand.seen, map);
  stage.kind = StageKind::kMaxPool;
  stage.window.pad_value = TypeOf(codes).low();
  KILN_ASSIGN_OR_RETURN(operand, WithPadding(group, std::move(operand), &stage.window));
  stage.map = operand.seen;
  AddLayer(group, std::move(stage), {std::move(operand)}, map, TypeOf(codes),
           RowMajorView(group.result->shape().dims()), std::move(line), operation);
  return OkStatus();
}

}  // namespace kiln::dataflow
