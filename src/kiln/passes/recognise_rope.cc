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

// The values of x * cosine + rotated(x) * sine.
struct Rotation {
  Value *x, *cosine, *sine;
};

// Returns whether the value can be the cosine or sine of angles: constant or computed, fp32, one
// for each element of the last axis, of length `length`.
bool AreAngles(const Value* value, int64_t length) {
  if (value->quantisation().has_value() || value->element() != ElementType::kFloat32) return false;
  if (!HasKnownShape(value) || value->shape().rank() == 0) return false;
  return value->shape()[value->shape().rank() - 1] == length;
}

// Returns both operands of the product that computes `value`, in both orders; none if it is no
// product or is rounded.
std::vector<std::pair<Value*, Value*>> FactorsOf(const Value* value) {
  const auto product = OperandsOf(value, Op::kMul);
  if (!product.has_value() || value->quantisation().has_value()) return {};
  return {*product, {product->second, product->first}};
}

// Matches the sum of both products, in any order of terms and factors.
std::optional<Rotation> MatchRotation(const Node& root) {
  for (const int i : {0, 1}) {
    for (const auto& [turned, sine] : FactorsOf(root.operand(1 - i))) {
      Value* x = MatchRotated(turned);
      if (x == nullptr || x->type() != root.result()->type()) continue;
      const int64_t length = x->shape()[x->shape().rank() - 1];
      if (!AreAngles(sine, length) || turned->type() != root.operand(1 - i)->type()) continue;
      for (const auto& [straight, cosine] : FactorsOf(root.operand(i))) {
        if (straight != x || !AreAngles(cosine, length)) continue;
        if (straight->type() == root.operand(i)->type()) return Rotation{x, cosine, sine};
      }
    }
  }
  return std::nullopt;
}

// Returns the shape with its last axis, of length 2 h, split into [2, h].
std::vector<int64_t> SplitHalves(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  const int64_t length = dims.back();
  dims.back() = 2;
  dims.push_back(length / 2);
  return dims;
}

// Returns the constant with its last axis split into [2, h]. The first half is multiplied by
// `sign`.
Tensor Halved(const Tensor& constant, float sign) {
  const int64_t length = constant.shape().dims().back();
  std::vector<float> values = constant.ToFloats();
  for (size_t i = 0; i < values.size(); ++i) {
    if (static_cast<int64_t>(i) % length < length / 2) values[i] *= sign;
  }
  return Tensor::Of<float>(Shape(SplitHalves(constant.shape())), values);
}

// Replaces one x * cos + rotated(x) * sin.
bool RecogniseRotation(Graph& g, Node& root) {
  if (root.op() != Op::kAdd || root.num_operands() != 2 ||
      root.result()->element() != ElementType::kFloat32) {
    return false;
  }
  const std::optional<Rotation> match = MatchRotation(root);
  if (!match.has_value()) return false;
  Value* x = match->x;
  const std::vector<int64_t> dims = SplitHalves(x->shape());
  const std::string name = NamesOfPattern(g, root, std::array{x, match->cosine, match->sine}),
                    region = "rope " + root.name();
  const auto add = [&](Op op, std::vector<Value*> operands, const std::vector<int64_t>& shape) {
    Node* node = InsertNode(g, &root, op, name, std::move(operands), {},
                            TensorType{ElementType::kFloat32, Shape(shape)});
    node->set_region(region);
    return node->result();
  };
  // Returns cosine or sine with halves. The sign of a constant is in its values.
  const auto halve = [&](Value* angles, const char* kind, float sign) -> Value* {
    const std::string own = root.name() + "." + kind;
    if (const Tensor* constant = FloatConstant(angles))
      return g.AddConstant(own, Halved(*constant, sign));
    const std::vector<int64_t> split = SplitHalves(angles->shape());
    Value* halves = add(Op::kReshape, {angles, AddIntConstant(g, own + ".halves", split)}, split);
    if (sign == 1) return halves;
    Value* signs = g.AddConstant(own + ".signs", Tensor::Of<float>(Shape{2, 1}, {sign, 1}));
    return add(Op::kMul, {halves, signs}, split);
  };
  Value* cos = halve(match->cosine, "cos", 1);
  Value* sin = halve(match->sine, "sin", -1);
  Value* halves = add(Op::kReshape, {x, AddIntConstant(g, root.name() + ".halves", dims)}, dims);
  const auto list = [&](int64_t number) {
    return AddIntConstant(g, root.name() + ".exchange", {number});
  };
  // Slicing the axis of halves with step -1 exchanges them.
  Value* exchanged = add(Op::kSlice, {halves, list(-1), list(INT64_MIN), list(-2), list(-1)}, dims);
  Value* sum = add(
      Op::kAdd, {add(Op::kMul, {halves, cos}, dims), add(Op::kMul, {exchanged, sin}, dims)}, dims);
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

}  // namespace

StatusOr<Changed> RecogniseRope::Run(Graph& graph, PassContext&) const {
  return ApplyRule(
      graph, [](Graph& g, Node& root) -> StatusOr<bool> { return RecogniseRotation(g, root); });
}

}  // namespace kiln
