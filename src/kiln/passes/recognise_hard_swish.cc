// Implements recognise-hard-swish.
#include "kiln/passes/recognise_hard_swish.h"

#include <array>

#include "kiln/passes/pattern.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Matches the gate hard_sigmoid(x) {1/6, 0.5} or clip(x + 3, 0, 6). Returns x and the factor (1 or
// 1/6) that makes gate * x a hard swish.
std::optional<std::pair<Value*, double>> MatchHardGate(const Value* value) {
  if (const Node* sigmoid = ComputedBy(value, Op::kHardSigmoid)) {
    const bool fits = Near(double{sigmoid->attributes().Float("alpha", 0.2f)}, 1.0 / 6) &&
                      Near(double{sigmoid->attributes().Float("beta", 0.5f)}, 0.5);
    if (fits) return std::pair{sigmoid->operand(0), 1.0};
  }
  if (const Node* clip = ComputedBy(value, Op::kClip)) {
    const auto low = ScalarConstant(clip->operand(1)), high = ScalarConstant(clip->operand(2));
    Value* x = SumWith(clip->operand(0), 3);
    if (x != nullptr && low.has_value() && high.has_value() && *low == 0 && *high == 6)
      return std::pair{x, 1.0 / 6};
  }
  return std::nullopt;
}

}  // namespace

StatusOr<Changed> RecogniseHardSwish::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    if (root.op() != Op::kMul && root.op() != Op::kDiv) return false;
    for (Value* term : ProductOf(root.result(), nullptr).terms) {
      const auto gate = MatchHardGate(term);
      if (!gate.has_value()) continue;
      const auto& [x, factor] = *gate;
      const Product product = ProductOf(root.result(), x);
      if (product.terms.size() != 2 || !Near(product.factor, factor)) continue;
      if (product.terms != std::vector{x, term} && product.terms != std::vector{term, x}) continue;
      if (x->type() != root.result()->type()) continue;
      Node* swish = InsertNode(g, &root, Op::kHardSwish, NamesOfPattern(g, root, std::array{x}),
                               {x}, {}, root.result()->type());
      swish->set_region(root.region());
      Replace(g, root, swish->result());
      return true;
    }
    return false;
  });
}

}  // namespace kiln
