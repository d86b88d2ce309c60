// Implements canonicalise-arithmetic.
#include "kiln/passes/canonicalise_arithmetic.h"

#include <cmath>

#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns -c, or 1/c; nullopt if some 1/c is not a normal number and would lose precision.
std::optional<Tensor> Inverse(const Tensor& constant, bool reciprocal) {
  std::vector<float> values = constant.ToFloats();
  for (float& v : values) {
    v = reciprocal ? 1.0f / v : -v;
    if (reciprocal && !std::isnormal(v)) return std::nullopt;
  }
  return Tensor::Of<float>(constant.shape(), values);
}

}  // namespace

StatusOr<Changed> CanonicaliseArithmetic::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    if (root.op() == Op::kSum && root.num_operands() == 2) {
      g.ReplaceNode(&root, Op::kAdd, root.operands(), {});
      return true;
    }
    if (root.num_operands() != 2) return false;
    Value* a = root.operand(0);
    Value* b = root.operand(1);
    switch (root.op()) {
      case Op::kAdd:
      case Op::kMul:
      case Op::kMin:
      case Op::kMax:
        if (!a->is_constant() || b->is_constant()) return false;
        g.SetOperand(&root, 0, b);
        g.SetOperand(&root, 1, a);
        return true;
      case Op::kSub:
      case Op::kDiv: {
        const Tensor* c = FloatConstant(b);
        if (c == nullptr || a->is_constant()) return false;
        std::optional<Tensor> inverse = Inverse(*c, root.op() == Op::kDiv);
        if (!inverse.has_value()) return false;
        g.ReplaceNode(&root, root.op() == Op::kSub ? Op::kAdd : Op::kMul, {a, b}, {});
        SetConstantOperand(g, root, 1, *std::move(inverse));
        return true;
      }
      default:
        return false;
    }
  });
}

}  // namespace kiln
