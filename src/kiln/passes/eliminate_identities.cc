// Implements eliminate-identities.
#include "kiln/passes/eliminate_identities.h"

#include <algorithm>

#include "kiln/passes/data_movement.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns true if two values certainly have the same shape. For a reshape, one unknown dimension is
// allowed, because the number of elements determines it.
bool SameShape(const Value* a, const Value* b, bool reshapes) {
  if (!a->has_shape() || !b->has_shape() || a->shape() != b->shape()) return false;
  const auto& dims = a->shape().dims();
  const auto unknown = std::count(dims.begin(), dims.end(), kUnknownDim);
  const bool has_zero = std::count(dims.begin(), dims.end(), 0) != 0;
  return unknown == 0 || (reshapes && unknown == 1 && !has_zero);
}

// Returns true if a value is a constant of integers that all equal `wanted`.
bool AllInts(const Value* value, int64_t wanted) {
  const auto ints = IntConstant(value);
  return ints.has_value() &&
         std::all_of(ints->begin(), ints->end(), [&](int64_t i) { return i == wanted; });
}

// Returns true if a value is absent or a constant of positive integers.
bool AllPositive(const Value* value) {
  if (value == nullptr) return true;
  const auto ints = IntConstant(value);
  return ints.has_value() &&
         std::all_of(ints->begin(), ints->end(), [](int64_t i) { return i > 0; });
}

// Returns true if a value is an fp32 constant whose elements all equal `wanted`.
bool AllFloats(const Value* value, float wanted) {
  const Tensor* tensor = FloatConstant(value);
  if (tensor == nullptr) return false;
  const auto data = tensor->data<float>();
  return std::all_of(data.begin(), data.end(), [&](float f) { return f == wanted; });
}

// Returns the operand that the node's only result copies, or null if the node computes anything.
Value* CopiedOperand(const Graph& graph, const Node& node) {
  Value* x = node.operand(0);
  const Value* y = node.result();
  if (x == nullptr || y == nullptr) return nullptr;
  switch (node.op()) {
    case Op::kIdentity:
      return x;
    case Op::kDropout: {
      // A mask that somebody reads must stay.
      const Value* mask = node.result(1);
      if (mask != nullptr && (!mask->users().empty() || IsOutput(graph, mask))) return nullptr;
      const Value* training = node.operand(2);
      if (training != nullptr && (!training->is_constant() || training->constant().ValueAt(0) != 0))
        return nullptr;
      return x;
    }
    case Op::kCast:
      return x->element() == y->element() ? x : nullptr;
    case Op::kConcat:
    case Op::kSum:
    case Op::kMin:
    case Op::kMax:
    case Op::kMean:
      return node.num_operands() == 1 ? x : nullptr;
    case Op::kSplit:
      return node.num_results() == 1 && SameShape(x, y, false) ? x : nullptr;
    case Op::kReshape:
    case Op::kFlatten:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
      return SameShape(x, y, true) ? x : nullptr;
    case Op::kExpand:
    case Op::kTile:
      return SameShape(x, y, false) ? x : nullptr;
    case Op::kSlice:
      return SameShape(x, y, false) && AllPositive(node.operand(4)) ? x : nullptr;
    case Op::kPad:
      return AllInts(node.operand(1), 0) ? x : nullptr;
    case Op::kTranspose: {
      const auto perm = PermutationOf(node);
      return perm.has_value() && IsIdentity(*perm) ? x : nullptr;
    }
    case Op::kAdd:
      // The constant must not broadcast x to a larger shape.
      if (AllFloats(node.operand(1), 0) && SameShape(x, y, false)) return x;
      return AllFloats(x, 0) && SameShape(node.operand(1), y, false) ? node.operand(1) : nullptr;
    case Op::kMul:
      if (AllFloats(node.operand(1), 1) && SameShape(x, y, false)) return x;
      return AllFloats(x, 1) && SameShape(node.operand(1), y, false) ? node.operand(1) : nullptr;
    case Op::kSub:
      return AllFloats(node.operand(1), 0) && SameShape(x, y, false) ? x : nullptr;
    case Op::kDiv:
      return AllFloats(node.operand(1), 1) && SameShape(x, y, false) ? x : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

StatusOr<Changed> EliminateIdentities::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    Value* copied = CopiedOperand(g, root);
    // An annotated Identity is a rounding that the network asks for; other annotated copies only
    // move codes.
    const bool replaces = copied != nullptr &&
                          (root.op() == Op::kIdentity ? CanReplace(g, root.result(), copied)
                                                      : CanReplaceMove(g, root.result(), copied));
    if (replaces) {
      Replace(g, root, copied);
      return true;
    }
    return MergeTransposes(g, root) || MergeReshapes(g, root);
  });
}

}  // namespace kiln
