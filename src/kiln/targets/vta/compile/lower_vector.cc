// Lowers the operators that the ALU computes alone: element-wise operators, maximum pools, and
// average pools that do not fit the GEMM unit.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/lower/constant_codes.h"
#include "kiln/targets/vta/compile/lowering.h"

namespace kiln::vta {
namespace {

// A constant operand in real numbers, rounded to its annotation.
struct RealConstant {
  bool of_pixels = false, of_channels = false;  // whether it varies with the pixel or the channel
  std::vector<double> numbers;  // [pixels][channels], without an axis that it does not vary with
};

StatusOr<RealConstant> RealsOf(const Value& constant, const Shape& result, bool channels_second) {
  Tensor tensor = constant.constant();
  if (constant.quantisation().has_value())
    tensor = RoundToAnnotation(tensor, *constant.quantisation());
  if (BroadcastShapes(tensor.shape(), result) != result)
    return ToHost("a constant operand that is larger than the other");
  StridedView view = Broadcast(RowMajorView(tensor.shape().dims()), result.dims());
  if (channels_second) view = Transposed(view, ToChannelsLast(view.rank()));
  RealConstant reals;
  reals.of_channels = view.strides.back() != 0;
  reals.of_pixels = std::any_of(view.strides.begin(), view.strides.end() - 1,
                                [](int64_t stride) { return stride != 0; });
  if (!reals.of_pixels) std::fill(view.shape.begin(), view.shape.end() - 1, 1);
  if (!reals.of_channels) view.shape.back() = 1;
  const Tensor numbers = Gather(tensor, view);
  for (int64_t i = 0; i < numbers.size(); ++i) reals.numbers.push_back(numbers.ValueAt(i));
  return reals;
}

double GreatestOf(const RealConstant& reals) {
  double greatest = 0;
  for (const double v : reals.numbers) greatest = std::max(greatest, std::abs(v));
  return greatest;
}

// Returns whether the operators that compute a value guarantee that it is not negative.
bool IsNotNegative(const Value& value) {
  const Node* node = value.producer();
  if (node == nullptr) return false;
  switch (node->op()) {
    case Op::kRelu:
    case Op::kSigmoid:
    case Op::kHardSigmoid:
      return true;
    case Op::kClip: {
      const Value* low = node->operand(1);
      const auto number = low != nullptr && low->is_constant() && low->constant().size() == 1
                              ? std::optional(low->constant().ValueAt(0))
                              : std::nullopt;
      return number.has_value() && *number >= 0;
    }
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kTranspose:
    case Op::kReshape:
      return IsNotNegative(*node->operand(0));
    case Op::kConcat:
      return std::all_of(node->operands().begin(), node->operands().end(),
                         [](const Value* operand) { return IsNotNegative(*operand); });
    default:
      return false;
  }
}

// Returns whether a shape is [N, C, 1, 1]: one number per channel if channels are the second axis.
bool IsOneNumberAChannel(const Shape& shape, const Shape& result) {
  return shape.rank() == 4 && result.rank() == 4 && shape[1] == result[1] && shape[1] > 1 &&
         shape[2] == 1 && shape[3] == 1 && result[2] * result[3] > 1;
}

}  // namespace

// Returns the order of the operands' axes. Operands on the machine determine it. If all operands
// are on the host, an operand with one number per channel does, or else a user that reads the
// result as an image.
Lowering::Order Lowering::OrderOfElementwise(const Group& group) const {
  const Node& node = *group.anchor;
  const Order order = OrderOf(node);
  const bool on_host =
      std::all_of(node.operands().begin(), node.operands().end(), [&](const Value* operand) {
        return operand == nullptr || operand->is_constant() || IsOnHost(operand);
      });
  if (!on_host) return order;
  for (const Value* operand : node.operands()) {
    if (operand != nullptr && IsOneNumberAChannel(operand->shape(), node.result()->shape()))
      return Order::kChannelsSecond;
  }
  const Value* result = group.result;
  while (result->users().size() == 1 &&
         (result->users()[0]->op() == Op::kRelu || result->users()[0]->op() == Op::kClip)) {
    result = result->users()[0]->result();
  }
  const std::vector<Node*>& users = result->users();
  const bool as_images =
      std::any_of(users.begin(), users.end(), [](const Node* user) { return MakesNhwc(*user); });
  return as_images ? Order::kChannelsSecond : order;
}

StatusOr<std::vector<MapView>> Lowering::PlaceOperands(const Node& node, const Formula& formula,
                                                       Order order, Layer* layer) {
  std::vector<MapView> views;
  for (const Term& term : formula.terms) {
    const Value* operand = node.operand(term.input);
    KILN_ASSIGN_OR_RETURN(const MapView view, OnMachine(operand, layer, order));
    if (view.x_step != 1) return ToHost("columns of an image that are left out");
    const bool whole = operand->shape() == node.result()->shape();
    if (views.empty() && !whole) return ToHost("operands of which none has the result's shape");
    if (!views.empty()) {
      const MapView& first = views[0];
      const bool same = whole && view.height == first.height && view.width == first.width;
      const bool for_all =
          !whole && view.height == 1 && view.width == 1 && view.channels == first.channels;
      if (!same && !for_all) return ToHost("operands in different layouts");
    }
    views.push_back(view);
  }
  return views;
}

StatusOr<Layer> Lowering::EmitElementwise(const Group& group) {
  const Node& node = *group.anchor;
  std::optional<Formula> formula =
      group.sign.has_value() ? SignFormula(*group.sign) : FormulaOf(node);
  if (!formula.has_value()) return ToHost(fmt::format("the ALU has no {}", node.info().text));
  const auto hold = [&](double v) {
    return std::min(std::max(v, group.clamp.low), group.clamp.high);
  };
  formula->clamp = {hold(formula->clamp.low), hold(formula->clamp.high)};
  // The first term must have a number for every pixel.
  const Shape& shape = group.result->shape();
  std::vector<Term>& terms = formula->terms;
  if (terms.size() == 2 && node.operand(terms[0].input)->shape() != shape)
    std::swap(terms[0], terms[1]);
  std::vector<Codes> inputs;
  for (const Term& term : formula->terms) {
    KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*node.operand(term.input)));
    inputs.push_back(codes);
  }
  const std::string_view operation = group.sign.has_value() ? "sign" : node.info().text;
  Layer layer = NewLayer(group, "alu", std::string(operation) + group.text);
  VectorLayer vector;
  const Order order = OrderOfElementwise(group);
  RealConstant constant;
  if (formula->constant.has_value()) {
    KILN_ASSIGN_OR_RETURN(
        constant, RealsOf(*formula->constant->value, shape, order == Order::kChannelsSecond));
  }
  KILN_ASSIGN_OR_RETURN(vector.inputs, PlaceOperands(node, *formula, order, &layer));
  const MapView image = vector.inputs[0];
  KILN_ASSIGN_OR_RETURN(vector.output,
                        ResultMap(group.result, image.height, image.width, image.channels));
  FeatureMap& map = out_.maps[static_cast<size_t>(vector.output)];
  Result result{map.wide, map.codes, 1};
  if (map.wide) {
    result.unit = UnitOf(*formula, inputs, GreatestOf(constant));
    map.scales.assign(static_cast<size_t>(image.channels), result.unit);
  }
  KILN_ASSIGN_OR_RETURN(FormulaCode code, CodeOf(*formula, inputs, constant.numbers, result));
  vector.steps = std::move(code.steps);
  if (formula->constant.has_value()) {
    const bool pixels = constant.of_pixels;
    vector.constants.push_back(
        {pixels ? image.height : 1, pixels ? image.width : 1, std::move(code.constant)});
  }
  locations_[group.result] = {-1, vector.output, StandingOf(shape, order)};
  layer.vector = std::move(vector);
  return layer;
}

// Locates the input of a layer with windows. The padding around it must hold one of the codes
// `fills`.
StatusOr<MapView> Lowering::PlaceWindows(const Value* input, const WindowAxis& y,
                                         const WindowAxis& x, const std::vector<int32_t>& fills,
                                         Layer* layer) {
  KILN_ASSIGN_OR_RETURN(const MapView view, OnMachine(input, layer));
  if (view.x_step != 1 || view.y_step != 1)
    return ToHost("windows over pixels that are not adjacent");
  const int64_t bottom = (y.output - 1) * y.stride - y.pad_begin + y.Extent() - view.height;
  const int64_t right = (x.output - 1) * x.stride - x.pad_begin + x.Extent() - view.width;
  if (y.pad_begin <= 0 && x.pad_begin <= 0 && bottom <= 0 && right <= 0) return view;
  const FeatureMap& from = out_.maps[static_cast<size_t>(view.map)];
  const Border& b = from.border;
  const bool whole =
      view.height == from.height && view.width == from.width && view.y0 == 0 && view.x0 == 0;
  if (!whole || b.top < y.pad_begin || b.left < x.pad_begin || b.bottom < bottom ||
      b.right < right) {
    return ToHost("padding around a part of an image");
  }
  if (std::find(fills.begin(), fills.end(), from.fill) == fills.end()) {
    return ToHost("padding of an image that is padded otherwise for another reader");
  }
  return view;
}

StatusOr<Layer> Lowering::EmitMaxPool(const Group& group) {
  const Node& node = *group.anchor;
  if (node.num_results() > 1 && node.result(1) != nullptr)
    return ToHost("a maximum pool that gives indices");
  KILN_ASSIGN_OR_RETURN(const PoolGeometry g, ResolvePool(node, graph_.source()));
  if (g.rank() != 2 || !g.nhwc) return ToHost(fmt::format("a pool over {} axes", g.rank()));
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  Layer layer = NewLayer(
      group, "alu",
      fmt::format("maximum {}x{} /{} @{}x{}", y.kernel, x.kernel, y.stride, y.output, x.output));
  KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*node.operand(0)));
  std::vector<int32_t> fills = {codes.low};
  if (IsNotNegative(*node.operand(0))) fills.push_back(codes.zero);  // maxima are at least zero
  VectorLayer vector;
  KILN_ASSIGN_OR_RETURN(const MapView view, PlaceWindows(node.operand(0), y, x, fills, &layer));
  vector.inputs = {view};
  vector.window = KernelSize{y.kernel,   x.kernel,   y.stride,    x.stride,
                             y.dilation, x.dilation, y.pad_begin, x.pad_begin};
  KILN_ASSIGN_OR_RETURN(vector.output, ResultMap(group.result, y.output, x.output, g.channels));
  FeatureMap& map = out_.maps[static_cast<size_t>(vector.output)];
  if (map.wide) {
    map.scales.assign(static_cast<size_t>(g.channels), codes.scale);
    if (codes.zero != 0)
      vector.steps.push_back({AluOp::kAdd, 0, VectorStep::Operand::kImmediate, -codes.zero});
  } else if (!(map.codes == codes)) {
    Formula same;
    same.terms = {{0}};
    KILN_ASSIGN_OR_RETURN(FormulaCode code, CodeOf(same, {codes}, {}, {false, map.codes, 1}));
    vector.steps = std::move(code.steps);
  }
  locations_[group.result] = {-1, vector.output, RowMajorView(group.result->shape().dims())};
  layer.vector = std::move(vector);
  return layer;
}

StatusOr<Layer> Lowering::EmitWindowMean(const Group& group, const WindowAxis& y,
                                         const WindowAxis& x, std::vector<int64_t> counts) {
  const Value* input = group.anchor->operand(0);
  const std::string operation =
      fmt::format("mean {}x{} /{} @{}x{}", y.kernel, x.kernel, y.stride, y.output, x.output);
  Layer layer = NewLayer(group, "alu", operation + group.text);
  KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*input));
  VectorLayer vector;
  KILN_ASSIGN_OR_RETURN(const MapView view, PlaceWindows(input, y, x, {codes.zero}, &layer));
  vector.inputs = {view};
  vector.window = KernelSize{y.kernel,   x.kernel,   y.stride,    x.stride,
                             y.dilation, x.dilation, y.pad_begin, x.pad_begin};
  vector.window_op = AluOp::kAdd;
  KILN_ASSIGN_OR_RETURN(vector.output, ResultMap(group.result, y.output, x.output, view.channels));
  FeatureMap& map = out_.maps[static_cast<size_t>(vector.output)];
  if (std::all_of(counts.begin(), counts.end(), [&](int64_t count) { return count == counts[0]; }))
    counts.resize(1);
  const int64_t taps = vector.window->taps();
  Result result{map.wide, map.codes, 1};
  if (map.wide) {
    result.unit = UnitOfMean(counts, codes);
    map.scales.assign(static_cast<size_t>(view.channels), result.unit);
  }
  KILN_ASSIGN_OR_RETURN(FormulaCode code, MeanOf(taps, counts, codes, group.clamp, result));
  vector.steps = std::move(code.steps);
  if (!code.constant.empty())
    vector.constants.push_back({y.output, x.output, std::move(code.constant)});
  locations_[group.result] = {-1, vector.output, RowMajorView(group.result->shape().dims())};
  layer.vector = std::move(vector);
  return layer;
}

}  // namespace kiln::vta
