// Implements recognise-swiglu.
#include "kiln/passes/recognise_swiglu.h"

#include <algorithm>

#include "kiln/passes/pattern.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns true if the value is a matrix product, with or without a constant bias.
bool IsLinear(const Value* value) {
  const Node* node = value->producer();
  if (node != nullptr && node->op() == Op::kAdd) {
    const bool right = node->operand(1)->is_constant();
    if (!right && !node->operand(0)->is_constant()) return false;
    node = node->operand(right ? 0 : 1)->producer();
  }
  return node != nullptr && (node->op() == Op::kMatMul || node->op() == Op::kGemm);
}

// Matches a product of exactly three terms: gate, sigmoid(gate) and up.
bool RecogniseSwiGlu(Graph& g, Node& root) {
  if (root.op() != Op::kMul || !root.region().empty()) return false;
  const Product product = ProductOf(root.result(), nullptr);
  if (product.terms.size() != 3 || product.factor != 1) return false;
  for (Value* curve : product.terms) {
    Node* sigmoid = ComputedBy(curve, Op::kSigmoid);
    if (sigmoid == nullptr || !sigmoid->region().empty() || !HasOneUse(g, curve)) continue;
    Value* gate = sigmoid->operand(0);
    Value* up = nullptr;
    for (Value* term : product.terms) {
      if (term != curve && term != gate) up = term;
    }
    if (up == nullptr || std::count(product.terms.begin(), product.terms.end(), gate) != 1)
      continue;
    // Only a gate and an up projection make this product a gated unit.
    if (!IsLinear(gate) || !IsLinear(up) || gate->type() != root.result()->type() ||
        up->type() != gate->type()) {
      continue;
    }
    // The root multiplies two of the three terms' product with the third; `inner` is that product.
    Node* inner = nullptr;
    for (const Value* operand : root.operands()) {
      if (operand != gate && operand != up && operand != curve)
        inner = ProducedBy(operand, Op::kMul);
    }
    if (inner == nullptr || inner->result()->quantisation().has_value() ||
        !HasOneUse(g, inner->result()))
      continue;
    const std::string region = "swiglu " + root.name();
    Node* silu =
        InsertNode(g, &root, Op::kMul, inner->name(), {gate, curve}, {}, inner->result()->type());
    // Keeps `inner` on its side of the root.
    const bool swapped = root.operand(0) == inner->result();
    g.SetOperand(&root, swapped ? 0 : 1, silu->result());
    g.SetOperand(&root, swapped ? 1 : 0, up);
    EraseUpwards(g, inner);
    for (Node* node : {sigmoid, silu, &root}) node->set_region(region);
    return true;
  }
  return false;
}

}  // namespace

StatusOr<Changed> RecogniseSwiglu::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph,
                   [](Graph& g, Node& root) -> StatusOr<bool> { return RecogniseSwiGlu(g, root); });
}

}  // namespace kiln
