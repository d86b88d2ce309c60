// Implements expand-integer-operators: one rule for QLinear*, one for *Integer before a Cast, and
// one that moves DequantizeLinear above moves of codes.
#include "kiln/passes/expand_integer_operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/numerics/quantise.h"
#include "kiln/passes/quantiser.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

TensorType FloatsLike(const Value& value) { return {ElementType::kFloat32, value.type().shape}; }

// Returns the element of a scale or zero point that applies to channel c.
double At(const Tensor& parameter, int64_t c) {
  return parameter.ValueAt(parameter.size() == 1 ? 0 : c);
}

// The parameters of a QuantizeLinear or DequantizeLinear, with as many scales as zero points.
struct Settings {
  std::vector<float> scales = {};
  std::vector<int64_t> zero_points = {};
  ElementType codes = ElementType::kInt8;
};

// Reads a scale and a zero point. A null `scale` means 1, a null `zero` 0. Returns nullopt if
// either is not constant or has neither one element nor `channels` (0: unknown, so only one).
std::optional<Settings> SettingsOf(const Value* scale, const Value* zero, int64_t channels,
                                   ElementType codes) {
  const auto fits = [&](const Value* v) {
    return v == nullptr ||
           (v->is_constant() && (v->constant().size() == 1 || v->constant().size() == channels));
  };
  if (!fits(scale) || !fits(zero) ||
      (scale != nullptr && scale->element() != ElementType::kFloat32)) {
    return std::nullopt;
  }
  const bool per_channel = (scale != nullptr && scale->constant().size() > 1) ||
                           (zero != nullptr && zero->constant().size() > 1);
  Settings s{.codes = codes};
  for (int64_t c = 0; c < (per_channel ? channels : 1); ++c) {
    s.scales.push_back(scale == nullptr ? 1.0f : static_cast<float>(At(scale->constant(), c)));
    s.zero_points.push_back(zero == nullptr ? 0 : static_cast<int64_t>(At(zero->constant(), c)));
  }
  return s;
}

// Returns the zero points as a tensor of the codes' type.
Tensor ZeroPoints(const Settings& s, const Shape& shape) {
  Tensor tensor(s.codes, shape);
  for (size_t i = 0; i < s.zero_points.size(); ++i) {
    if (s.codes == ElementType::kInt8) {
      tensor.data<int8_t>()[i] = static_cast<int8_t>(s.zero_points[i]);
    } else {
      tensor.data<uint8_t>()[i] = static_cast<uint8_t>(s.zero_points[i]);
    }
  }
  return tensor;
}

Shape ShapeOf(const Settings& s) {
  return s.scales.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(s.scales.size())};
}

// Adds scale and zero point as constants. A 32-bit bias has the zero point 0, which is left out.
std::vector<Value*> AddSettings(Graph& graph, const Node& root, std::string_view of,
                                const Settings& s) {
  const std::string name = root.name() + "." + std::string(of);
  std::vector<Value*> values = {
      graph.AddConstant(name + "_scale", Tensor::Of<float>(ShapeOf(s), s.scales))};
  if (s.codes != ElementType::kInt32)
    values.push_back(graph.AddConstant(name + "_zero", ZeroPoints(s, ShapeOf(s))));
  return values;
}

// Inserts a DequantizeLinear of `codes` before `root`.
Value* Dequantise(Graph& graph, Node& root, std::string_view of, Value* codes, const Settings& s,
                  int axis) {
  std::vector<Value*> operands = AddSettings(graph, root, of, s);
  operands.insert(operands.begin(), codes);
  Attributes attributes;
  if (s.scales.size() > 1) attributes.Set("axis", int64_t{axis});
  return InsertNode(graph, &root, Op::kDequantizeLinear, root.name(), std::move(operands),
                    std::move(attributes), FloatsLike(*codes))
      ->result();
}

// The number of output channels of some weights (0: unknown) and their axis.
struct Channels {
  int axis = 0;
  int64_t count = 0;
};
Channels ChannelsOf(const Node& root, const Value& weights) {
  if (!HasKnownShape(&weights)) return {};
  const bool conv = root.op() == Op::kQLinearConv || root.op() == Op::kConvInteger;
  const int rank = weights.shape().rank();
  if (rank < (conv ? 3 : 2)) return {};
  return {conv ? 0 : rank - 1, weights.shape()[conv ? 0 : rank - 1]};
}

// Writes QLinearConv or QLinearMatMul as DequantizeLinear, float operator and QuantizeLinear.
bool ExpandQLinear(Graph& graph, Node& root) {
  Value *x = root.operand(0), *w = root.operand(3), *bias = root.operand(8);
  const Channels channels = ChannelsOf(root, *w);
  const auto x_settings = SettingsOf(root.operand(1), root.operand(2), 0, x->element());
  const auto w_settings =
      SettingsOf(root.operand(4), root.operand(5), channels.count, w->element());
  const auto y_settings = SettingsOf(root.operand(6), root.operand(7), 0, root.result()->element());
  if (!x_settings.has_value() || !w_settings.has_value() || !y_settings.has_value()) return false;

  const Op op = root.op() == Op::kQLinearConv ? Op::kConv : Op::kMatMul;
  std::vector<Value*> operands = {Dequantise(graph, root, "x", x, *x_settings, 0),
                                  Dequantise(graph, root, "w", w, *w_settings, channels.axis)};
  if (bias != nullptr) {
    Settings b{.scales = w_settings->scales, .codes = ElementType::kInt32};
    for (float& scale : b.scales) scale *= x_settings->scales[0];
    operands.push_back(Dequantise(graph, root, "bias", bias, b, 0));
  }
  Node* linear = InsertNode(graph, &root, op, root.name(), std::move(operands), root.attributes(),
                            FloatsLike(*root.result()));
  linear->set_region(root.region());
  std::vector<Value*> quantise = AddSettings(graph, root, "y", *y_settings);
  quantise.insert(quantise.begin(), linear->result());
  graph.ReplaceNode(&root, Op::kQuantizeLinear, std::move(quantise), {});
  return true;
}

// Returns true if sums of products of byte codes fit 32 bits: each product is at most 255 * 255.
bool CannotWrap(const Value& weights, const Channels& channels) {
  if (channels.count < 1) return false;
  const Shape& shape = weights.shape();
  const auto elements = CheckedNumElements(shape);
  if (!elements.has_value()) return false;
  const int64_t terms = channels.axis == 0 ? *elements / channels.count : shape[shape.rank() - 2];
  return terms <= std::numeric_limits<int32_t>::max() / (255 * 255);
}

// Returns true for operators that move or select codes without changing them.
bool MovesCodes(const Node& node) {
  switch (node.op()) {
    case Op::kIdentity:
    case Op::kReshape:
    case Op::kFlatten:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
    case Op::kTranspose:
    case Op::kExpand:
    case Op::kSlice:
    case Op::kMaxPool:
    case Op::kGlobalMaxPool:
      return node.num_results() == 1;
    default:
      return false;
  }
}

// Returns the QuantizeLinear that the codes come from through moves only, or null.
const Node* QuantiserOf(const Value* codes) {
  const Node* node = codes->producer();
  while (node != nullptr && MovesCodes(*node)) node = node->operand(0)->producer();
  return node != nullptr && node->op() == Op::kQuantizeLinear ? node : nullptr;
}

// Writes cast(conv_integer(x, w)) as a float convolution or product of dequantised operands. The
// cast to fp32 must be the only user of the integers.
bool ExpandInteger(Graph& graph, Node& cast) {
  if (cast.result()->element() != ElementType::kFloat32) return false;
  Node* integer = ProducedBy(cast.operand(0), Op::kConvInteger);
  if (integer == nullptr) integer = ProducedBy(cast.operand(0), Op::kMatMulInteger);
  if (integer == nullptr || !HasOneUse(graph, cast.operand(0))) return false;
  Value *x = integer->operand(0), *w = integer->operand(1);
  const Channels channels = ChannelsOf(*integer, *w);
  auto x_settings = SettingsOf(nullptr, integer->operand(2), 0, x->element());
  auto w_settings = SettingsOf(nullptr, integer->operand(3), channels.count, w->element());
  if (!CannotWrap(*w, channels) || !x_settings.has_value() || !w_settings.has_value()) return false;
  // With the scale of the preceding QuantizeLinear, the pair of nodes can become an annotation. The
  // weights get the inverse scale, so the product still is the sum of codes.
  const Node* quantise = QuantiserOf(x);
  const auto annotation = quantise == nullptr ? std::nullopt : AnnotationOf(*quantise);
  if (annotation.has_value() && annotation->axis < 0) {
    x_settings->scales[0] = annotation->scales[0];
    for (float& scale : w_settings->scales) scale = InverseScale(annotation->scales[0]);
  }
  cast.set_name(JoinNames(integer->name(), cast.name()));
  cast.set_region(integer->region());
  const Attributes attributes = integer->attributes();
  const Op op = integer->op() == Op::kConvInteger ? Op::kConv : Op::kMatMul;
  std::vector<Value*> operands = {Dequantise(graph, cast, "x", x, *x_settings, 0),
                                  Dequantise(graph, cast, "w", w, *w_settings, channels.axis)};
  graph.ReplaceNode(&cast, op, std::move(operands), attributes);
  EraseUpwards(graph, integer);
  return true;
}

// Moves a DequantizeLinear above the move whose codes it reads, next to the node that quantises.
bool HoistDequantize(Graph& graph, Node& root) {
  Node* move = root.operand(0)->producer();
  if (move == nullptr || !MovesCodes(*move) || !HasOneUse(graph, move->result())) return false;
  const auto annotation = AnnotationOf(root);
  if (!annotation.has_value() || annotation->axis >= 0) return false;
  std::vector<Value*> settings(root.operands().begin() + 1, root.operands().end());
  settings.insert(settings.begin(), move->operand(0));
  Value* floats = InsertNode(graph, move, Op::kDequantizeLinear, root.name(), std::move(settings),
                             root.attributes(), FloatsLike(*move->operand(0)))
                      ->result();
  std::vector<Value*> operands = move->operands();
  operands[0] = floats;
  root.set_name(move->name());
  graph.ReplaceNode(&root, move->op(), std::move(operands), move->attributes());
  EraseUpwards(graph, move);
  return true;
}

}  // namespace

StatusOr<Changed> ExpandIntegerOperators::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    switch (root.op()) {
      case Op::kQLinearConv:
      case Op::kQLinearMatMul:
        return ExpandQLinear(g, root);
      case Op::kCast:
        return ExpandInteger(g, root);
      case Op::kDequantizeLinear:
        return HoistDequantize(g, root);
      default:
        return false;
    }
  });
}

}  // namespace kiln
