// Implements annotate-activations in three steps: turn each quantising node into an Identity with
// an annotated result (below: a rounding), move roundings below Relu, and remove the roundings
// whose operand can carry the annotation itself.
#include "kiln/passes/annotate_activations.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/numerics/quantise.h"
#include "kiln/passes/quantiser.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns true if an accelerator rounds values under the annotation as the node does: integer
// formats with one scale. A codebook has its own rule for ties.
bool CanAnnotate(const std::optional<Quantisation>& q) {
  return q.has_value() && q->axis < 0 && q->type.format.is_integer();
}

// Turns the node into an Identity with an annotated result: a rounding.
void BecomeRounding(Graph& graph, Node& root, Value* x, Quantisation annotation) {
  graph.ReplaceNode(&root, Op::kIdentity, {x}, {});
  root.result()->set_quantisation(std::move(annotation));
}

// Returns the type of a plain integer format's sign and at most its width whose codes are exactly
// `range`: int8 from -127 on is symmetric, and uint8 up to 15 is uint4. Returns nullopt if there is
// none, or if the format rounds or overflows in another way.
std::optional<QuantType> TypeOfCodes(const QuantType& type, CodeRange range) {
  if (type.format.rounding != Rounding::kNearestEven ||
      type.format.overflow != Overflow::kSaturate) {
    return std::nullopt;
  }
  for (int bits = 1; bits <= type.format.bits; ++bits) {
    const auto format = FindFormat((type.format.is_signed ? "int" : "uint") + std::to_string(bits));
    if (!format.ok()) continue;
    for (const bool symmetric : {false, true}) {
      if ((symmetric && !type.format.is_signed) || !(CodesOf(*format, symmetric) == range))
        continue;
      QuantType found = type;
      found.format = *format;
      found.symmetric = symmetric;
      return found;
    }
  }
  return std::nullopt;
}

// Returns the code of a whole format whose value is exactly `value`; nullopt if there is none.
std::optional<int64_t> CodeAt(std::optional<double> value, const Quantisation& q) {
  if (!value.has_value() || !std::isfinite(*value)) return std::nullopt;
  const int64_t code = std::llround(*value / static_cast<double>(q.scales[0])) + q.zero_points[0];
  return DequantiseCode(code, q.scales[0], q.zero_points[0]) == *value ? std::optional(code)
                                                                       : std::nullopt;
}

// Returns the value that a Clip, or a Max and then a Min, bounds to the values of some codes, if
// these are the codes of a narrower type; the annotation becomes one of that type. Otherwise
// returns `x`. Export writes such bounds, because ONNX's quantisers use all codes of their type.
Value* WithoutBounds(const Graph& graph, Value* x, Quantisation* annotation) {
  if (!annotation->type.format.is_whole() || annotation->scales.size() != 1) return x;
  Node *least = ProducedBy(x, Op::kClip), *greatest = least;
  const Value *low = nullptr, *high = nullptr;
  if (least != nullptr) {
    low = least->operand(1);
    high = least->operand(2);
  } else if (greatest = ProducedBy(x, Op::kMin); greatest != nullptr) {
    least = ProducedBy(greatest->operand(0), Op::kMax);
    if (least == nullptr || greatest->num_operands() != 2 || least->num_operands() != 2 ||
        !HasOneUse(graph, least->result()))
      return x;
    low = least->operand(1);
    high = greatest->operand(1);
  }
  if (least == nullptr || low == nullptr || high == nullptr || !HasOneUse(graph, x)) return x;
  // Bounds of more axes would change the shape, and a rounding between the bounds has to stay.
  Value* const bounded = least->operand(0);
  if (x->type() != bounded->type() || x->quantisation().has_value() ||
      least->result()->quantisation().has_value())
    return x;
  const std::optional<int64_t> from = CodeAt(ScalarConstant(low), *annotation),
                               to = CodeAt(ScalarConstant(high), *annotation);
  if (!from.has_value() || !to.has_value()) return x;
  const std::optional<QuantType> type = TypeOfCodes(annotation->type, {*from, *to});
  const int64_t zero = annotation->zero_points[0];
  if (!type.has_value() || zero < *from || zero > *to || (type->symmetric && zero != 0)) return x;
  annotation->type = *type;
  return bounded;
}

// Turns the node into a rounding of `x`, or of what x bounds to the codes of a narrower type.
void RoundWithoutBounds(Graph& graph, Node& root, Value* x, Quantisation annotation) {
  Value* unbounded = WithoutBounds(graph, x, &annotation);
  BecomeRounding(graph, root, unbounded, std::move(annotation));
  if (unbounded != x) EraseUpwards(graph, x->producer());
}

// Turns QONNX's Quant into a rounding.
bool TurnQuant(Graph& graph, Node& root) {
  std::optional<Quantisation> annotation = AnnotationOf(root);
  if (root.operand(0)->is_constant() || !CanAnnotate(annotation)) return false;
  BecomeRounding(graph, root, root.operand(0), *std::move(annotation));
  return true;
}

// Turns Kiln's own Quantise into a rounding. Quantise is defined by its annotation, so every format
// is allowed.
bool TurnQuantise(Graph& graph, Node& root) {
  std::optional<Quantisation> annotation = AnnotationOf(root);
  const bool can = annotation.has_value() && annotation->axis < 0 &&
                   annotation->type.scheme != Scheme::kPerBlock;
  if (root.operand(0)->is_constant() || !can) return false;
  RoundWithoutBounds(graph, root, root.operand(0), *std::move(annotation));
  return true;
}

// Turns BipolarQuant, +scale for x >= 0 and -scale otherwise, into operations of vector units.
// Multiplying by 2^100 twice takes every negative number, down to the least subnormal, below -2;
// the bound in between keeps large numbers finite. Adding 1 then takes 0 to the side of +1, and
// bounding to [-1, 1] yields exactly the sign.
bool TurnBipolarQuant(Graph& graph, Node& root) {
  Value* x = root.operand(0);
  const auto scale = ScalarConstant(root.operand(1));
  const auto format = FindFormat("int2");
  if (x->is_constant() || !scale.has_value() || !format.ok() ||
      x->element() != ElementType::kFloat32)
    return false;
  const auto size = static_cast<float>(*scale);
  if (!std::isfinite(size) || size <= 0 || !std::isfinite(InverseScale(size)) || !x->has_shape())
    return false;
  if (root.result()->type() != x->type()) return false;  // the scale has more axes and broadcasts x
  const auto number = [&](float value) {
    return graph.AddConstant(root.name() + ".c", Tensor::Scalar(value));
  };
  const auto add = [&](Op op, std::vector<Value*> operands) {
    Node* node = InsertNode(graph, &root, op, root.name(), std::move(operands), {}, x->type());
    node->set_region(root.region());
    return node->result();
  };
  const auto bounded = [&](Value* v) { return add(Op::kClip, {v, number(-1), number(1)}); };
  Value* far = add(Op::kMul, {bounded(add(Op::kMul, {x, number(0x1p100f)})), number(0x1p100f)});
  Value* sign = bounded(add(Op::kAdd, {far, number(1)}));
  graph.ReplaceNode(&root, Op::kMul, {sign, number(size)}, {});
  root.result()->set_quantisation(
      Quantisation{.type = {.format = *format, .scheme = Scheme::kPerTensor},
                   .axis = -1,
                   .scales = {size},
                   .zero_points = {0}});
  return true;
}

// Turns a QuantizeLinear and the DequantizeLinear after it into one rounding. A DequantizeLinear
// that reads other codes only gets its result annotated.
bool TurnDequantizeLinear(Graph& graph, Node& root) {
  std::optional<Quantisation> annotation = AnnotationOf(root);
  Value* codes = root.operand(0);
  if (codes->is_constant() || !CanAnnotate(annotation)) return false;
  Node* quantise = ProducedBy(codes, Op::kQuantizeLinear);
  if (quantise != nullptr && !quantise->operand(0)->is_constant() &&
      SameGrid(AnnotationOf(*quantise), annotation)) {
    RoundWithoutBounds(graph, root, quantise->operand(0), *std::move(annotation));
    EraseUpwards(graph, quantise);
    return true;
  }
  if (root.result()->quantisation().has_value()) return false;
  root.result()->set_quantisation(std::move(annotation));
  return true;
}

// Returns true for an Identity with an annotated result: a rounding that this pass has made.
bool IsRounding(const Node& node) {
  return node.op() == Op::kIdentity && node.result()->quantisation().has_value() &&
         !node.operand(0)->is_constant();
}

// Returns true if a kernel could fuse the users of `rounded` with the node that computes `x`, and
// so skip the rounding. Nodes that only move data are not kernels. A kernel that goes on after a
// value has all its users, so that a value which a convolution or another sum reads is stored.
bool MayBeJoined(const Value& x, const Value& rounded) {
  return x.producer() != nullptr && !x.producer()->info().Has(kMovesData) &&
         !rounded.users().empty() && std::ranges::all_of(rounded.users(), [](const Node* user) {
           return user->info().Has(kElementwise);
         });
}

// Returns true if a format has the value zero and keeps the order of numbers when it rounds them.
bool KeepsOrder(const Format& format) {
  return format.overflow != Overflow::kWrap && format.rounding != Rounding::kStochastic &&
         !(format.kind == FormatKind::kFloat && format.low_exponent == LowExponent::kNormal) &&
         format.kind != FormatKind::kCodebook;
}

// Moves a rounding below a Relu, where a kernel can end: relu(round(x)) equals round(relu(x)) on a
// grid that has zero and keeps the order. x may be rounded, too, without a difference, so that it
// keeps the annotation, which machines need that compute the Relu by itself.
StatusOr<bool> SinkBelowRelu(Graph& graph, Node& relu) {
  Node* rounding = relu.op() == Op::kRelu ? ProducedBy(relu.operand(0), Op::kIdentity) : nullptr;
  if (rounding == nullptr || !IsRounding(*rounding) || !HasOneUse(graph, rounding->result()))
    return false;
  if (relu.result()->quantisation().has_value() ||
      !KeepsOrder(rounding->result()->quantisation()->type.format))
    return false;
  relu.result()->set_quantisation(rounding->result()->quantisation());
  if (Value* x = rounding->operand(0); !x->quantisation().has_value() && HasOneUse(graph, x))
    x->set_quantisation(rounding->result()->quantisation());
  rounding->result()->set_quantisation(std::nullopt);
  // The nodes exchange operators instead of positions, so that values and names stay connected.
  const std::string name = rounding->name();
  rounding->set_name(relu.name());
  relu.set_name(name);
  graph.ReplaceNode(rounding, Op::kRelu, {rounding->operand(0)}, {});
  graph.ReplaceNode(&relu, Op::kIdentity, {relu.operand(0)}, {});
  return true;
}

// Merges roundings of one value to the same grid into the first of them.
bool MergeRoundings(Graph& graph) {
  bool changed = false;
  std::unordered_map<const Value*, std::vector<Node*>> seen;
  for (Node* node : graph.NodeList()) {
    if (!IsRounding(*node)) continue;
    std::vector<Node*>& earlier = seen[node->operand(0)];
    const auto same = std::find_if(earlier.begin(), earlier.end(), [&](const Node* other) {
      return SameGrid(other->result()->quantisation(), node->result()->quantisation()) &&
             !(IsOutput(graph, node->result()) && IsOutput(graph, other->result()));
    });
    if (same == earlier.end()) {
      earlier.push_back(node);
      continue;
    }
    graph.ReplaceAllUses(node->result(), (*same)->result());
    (*same)->set_name(JoinNames((*same)->name(), node->name()));
    graph.EraseNode(node);
    changed = true;
  }
  return changed;
}

// Moves the annotation of a rounding to its operand if the operand has no other use, and removes
// the rounding if no kernel could skip it. Returns true if the graph changed.
bool AnnotateOperand(Graph& graph, Node& root) {
  Value* x = root.operand(0);
  Value* rounded = root.result();
  if (!HasOneUse(graph, x)) return false;
  bool changed = false;
  if (!x->quantisation().has_value()) {
    x->set_quantisation(rounded->quantisation());
    changed = true;
  }
  if (!SameGrid(x->quantisation(), rounded->quantisation())) return changed;
  const bool name_can_move = !IsOutput(graph, rounded) || x->producer() != nullptr;
  if (!name_can_move || MayBeJoined(*x, *rounded)) return changed;
  if (x->producer() != nullptr)
    x->producer()->set_name(JoinNames(x->producer()->name(), root.name()));
  graph.ReplaceAllUses(rounded, x);
  graph.EraseNode(&root);
  return true;
}

}  // namespace

StatusOr<Changed> AnnotateActivations::Run(Graph& graph, PassContext&) const {
  KILN_ASSIGN_OR_RETURN(
      const Changed turned, ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
        if (root.op() == Op::kQuant) return TurnQuant(g, root);
        if (root.op() == Op::kQuantise) return TurnQuantise(g, root);
        if (root.op() == Op::kBipolarQuant) return TurnBipolarQuant(g, root);
        return root.op() == Op::kDequantizeLinear && TurnDequantizeLinear(g, root);
      }));
  const bool merged = MergeRoundings(graph);
  KILN_ASSIGN_OR_RETURN(const Changed sunk, ApplyRule(graph, SinkBelowRelu));
  KILN_ASSIGN_OR_RETURN(const Changed annotated,
                        ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
                          return IsRounding(root) && AnnotateOperand(g, root);
                        }));
  return turned == Changed::kYes || sunk == Changed::kYes || merged || annotated == Changed::kYes
             ? Changed::kYes
             : Changed::kNo;
}

}  // namespace kiln
