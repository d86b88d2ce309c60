// Implements recognise-rope.
#include "kiln/passes/recognise_rope.h"

#include <array>
#include <utility>
#include <vector>

#include "kiln/ir/indexing.h"
#include "kiln/passes/pattern.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// The elements [first, first + count) of x along its last axis.
struct LastSlice {
  Value* x;
  int64_t first, count;
};

// Matches a forward Slice of the last axis only.
std::optional<LastSlice> MatchSlice(const Value* value) {
  const Node* slice = ComputedBy(value, Op::kSlice);
  if (slice == nullptr || !HasKnownShape(slice->operand(0))) return std::nullopt;
  Value* x = slice->operand(0);
  const int last = x->shape().rank() - 1;
  const auto starts = IntConstant(slice->operand(1)), ends = IntConstant(slice->operand(2));
  const auto axes = IntConstant(slice->operand(3));
  if (!starts.has_value() || !ends.has_value() || starts->size() != 1 || ends->size() != 1)
    return std::nullopt;
  if (!axes.has_value() || axes->size() != 1 || NormaliseAxis((*axes)[0], last + 1) != last)
    return std::nullopt;
  if (slice->operand(4) != nullptr && IntConstant(slice->operand(4)) != std::vector<int64_t>{1})
    return std::nullopt;
  const SliceRange range = ResolveSlice(x->shape()[last], (*starts)[0], (*ends)[0], 1);
  return LastSlice{x, range.start, range.count};
}

// Returns v if value = -v, as Neg or as a product with -1; otherwise null.
Value* NegatedIn(const Value* value) {
  if (const Node* neg = ComputedBy(value, Op::kNeg)) return neg->operand(0);
  const auto product = OperandsOf(value, Op::kMul);
  if (!product.has_value()) return nullptr;
  if (ScalarConstant(product->second) == -1.0 && product->first->type() == value->type())
    return product->first;
  return nullptr;
}

// Returns x if value = concat(-x[h:], x[:h]) along the last axis, of length 2 h; otherwise null.
Value* MatchRotated(const Value* value) {
  const Node* concat = ComputedBy(value, Op::kConcat);
  if (concat == nullptr || concat->num_operands() != 2 || !HasKnownShape(value)) return nullptr;
  const int rank = value->shape().rank();
  if (NormaliseAxis(concat->attributes().Int("axis", 0), rank) != rank - 1) return nullptr;
  const Value* high = NegatedIn(concat->operand(0));
  const auto second = high == nullptr ? std::nullopt : MatchSlice(high);
  const auto first = MatchSlice(concat->operand(1));
  if (!first.has_value() || !second.has_value() || first->x != second->x) return nullptr;
  const int64_t half = value->shape()[rank - 1] / 2;
  const bool halves = value->shape() == first->x->shape() && value->shape()[rank - 1] == 2 * half &&
                      first->first == 0 && first->count == half && second->first == half &&
                      second->count == half;
  return halves ? first->x : nullptr;
}

// Matches v * c with a constant c that broadcasts to v; returns both.
std::optional<std::pair<Value*, const Tensor*>> MatchScaled(const Value* value) {
  const auto product = OperandsOf(value, Op::kMul);
  if (!product.has_value() || value->quantisation().has_value()) return std::nullopt;
  for (const auto& [v, c] : {*product, std::pair{product->second, product->first}}) {
    const Tensor* constant = FloatConstant(c);
    if (constant == nullptr || c->quantisation().has_value() || v->type() != value->type())
      continue;
    if (constant->shape().rank() == 0) continue;
    return std::pair{v, constant};
  }
  return std::nullopt;
}

// Returns the constant with its last axis, of length 2 h, split into [2, h]; the first half is
// multiplied by `sign`.
Tensor Halved(const Tensor& constant, float sign) {
  std::vector<int64_t> dims = constant.shape().dims();
  const int64_t length = dims.back();
  dims.back() = 2;
  dims.push_back(length / 2);
  std::vector<float> values = constant.ToFloats();
  for (size_t i = 0; i < values.size(); ++i) {
    if (static_cast<int64_t>(i) % length < length / 2) values[i] *= sign;
  }
  return Tensor::Of<float>(Shape(dims), values);
}

// Replaces one x * cos + rotated(x) * sin. Both products must have constants that span the last
// axis.
bool RecogniseRotation(Graph& g, Node& root) {
  if (root.op() != Op::kAdd || root.num_operands() != 2 ||
      root.result()->element() != ElementType::kFloat32) {
    return false;
  }
  for (const int i : {0, 1}) {
    const auto straight = MatchScaled(root.operand(i)), turned = MatchScaled(root.operand(1 - i));
    if (!straight.has_value() || !turned.has_value()) continue;
    Value* x = straight->first;
    if (MatchRotated(turned->first) != x || x->type() != root.result()->type()) continue;
    const int64_t length = x->shape()[x->shape().rank() - 1];
    const Shape &cosine = straight->second->shape(), &sine = turned->second->shape();
    if (cosine[cosine.rank() - 1] != length || sine[sine.rank() - 1] != length) continue;
    std::vector<int64_t> dims = x->shape().dims();
    dims.back() = 2;
    dims.push_back(length / 2);
    const std::string name = NamesOfPattern(g, root, std::array{x}), region = "rope " + root.name();
    const TensorType type{ElementType::kFloat32, Shape(dims)};
    const auto add = [&](Op op, std::vector<Value*> operands) {
      Node* node = InsertNode(g, &root, op, name, std::move(operands), {}, type);
      node->set_region(region);
      return node->result();
    };
    Value* cos = g.AddConstant(root.name() + ".cos", Halved(*straight->second, 1));
    Value* sin = g.AddConstant(root.name() + ".sin", Halved(*turned->second, -1));
    Value* halves = add(Op::kReshape, {x, AddIntConstant(g, root.name() + ".halves", dims)});
    const auto list = [&](int64_t number) {
      return AddIntConstant(g, root.name() + ".exchange", {number});
    };
    // Slicing the axis of halves with step -1 exchanges them.
    Value* exchanged = add(Op::kSlice, {halves, list(-1), list(INT64_MIN), list(-2), list(-1)});
    Value* sum = add(Op::kAdd, {add(Op::kMul, {halves, cos}), add(Op::kMul, {exchanged, sin})});
    Value* shape = AddIntConstant(g, root.name() + ".shape", x->shape().dims());
    // The old operands may have other users; only those without are erased.
    std::vector<Node*> before;
    for (const Value* operand : root.operands()) before.push_back(operand->producer());
    g.ReplaceNode(&root, Op::kReshape, {sum, shape}, {});
    root.set_name(name);
    root.set_region(region);
    for (Node* node : before) {
      if (node->result()->users().empty() && !IsOutput(g, node->result())) EraseUpwards(g, node);
    }
    return true;
  }
  return false;
}

}  // namespace

StatusOr<Changed> RecogniseRope::Run(Graph& graph, PassContext&) const {
  return ApplyRule(
      graph, [](Graph& g, Node& root) -> StatusOr<bool> { return RecogniseRotation(g, root); });
}

}  // namespace kiln
