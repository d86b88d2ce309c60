// Implements recognise-gelu: finds the gate, 1 + erf(..) or 1 + tanh(..), and then matches the
// product around it.
#include "kiln/passes/recognise_gelu.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/passes/pattern.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns true if a product is factor * x^exponent.
bool IsPowerOf(const Product& product, const Value* x, size_t exponent) {
  return product.terms.size() == exponent && std::all_of(product.terms.begin(), product.terms.end(),
                                                         [&](const Value* t) { return t == x; });
}

// Returns x if u = x / sqrt(2), otherwise null.
Value* ErfArgument(Value* u) {
  const Node* node = u->producer();
  if (node == nullptr || (node->op() != Op::kMul && node->op() != Op::kDiv)) return nullptr;
  for (Value* x : node->operands()) {
    if (x == nullptr || x->is_constant()) continue;
    const Product product = ProductOf(u, x);
    if (IsPowerOf(product, x, 1) && Near(product.factor, std::numbers::sqrt2 / 2)) return x;
  }
  return nullptr;
}

// Returns x if u = sqrt(2/pi) * (x + 0.044715 x^3), or the same with x factored out; otherwise
// null.
Value* TanhArgument(Value* u) {
  constexpr double kCubic = 0.044715;
  const Product outer = ProductOf(u, nullptr);
  if (!Near(outer.factor, std::sqrt(2 / std::numbers::pi), 1e-3)) return nullptr;
  if (outer.terms.size() == 1) {
    const auto sum = OperandsOf(outer.terms[0], Op::kAdd);
    if (!sum.has_value()) return nullptr;
    for (const auto& [x, cube] : {*sum, std::pair{sum->second, sum->first}}) {
      const Product product = ProductOf(cube, x);
      if (IsPowerOf(product, x, 3) && Near(product.factor, kCubic)) return x;
    }
    return nullptr;
  }
  if (outer.terms.size() != 2) return nullptr;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    Value* x = outer.terms[i];
    Value* square = SumWith(outer.terms[1 - i], 1);
    if (square == nullptr) continue;
    const Product product = ProductOf(square, x);
    if (IsPowerOf(product, x, 2) && Near(product.factor, kCubic)) return x;
  }
  return nullptr;
}

// A GELU's argument and the value of its attribute `approximate`.
struct GateMatch {
  Value* x;
  const char* approximate;
};

// Matches 1 + erf(..) and 1 + tanh(..).
std::optional<GateMatch> MatchGate(const Value* value) {
  const Value* curve = SumWith(value, 1);
  if (const Node* erf = ComputedBy(curve, Op::kErf)) {
    if (Value* x = ErfArgument(erf->operand(0))) return GateMatch{x, "none"};
  }
  if (const Node* tanh = ComputedBy(curve, Op::kTanh)) {
    if (Value* x = TanhArgument(tanh->operand(0))) return GateMatch{x, "tanh"};
  }
  return std::nullopt;
}

// Looks for the gate among the factors of `value`, at most `depth` products deep.
std::optional<std::pair<GateMatch, Value*>> FindGate(Value* value, int depth) {
  if (value == nullptr || value->producer() == nullptr) return std::nullopt;
  if (const auto match = MatchGate(value)) return std::pair{*match, value};
  const Op op = value->producer()->op();
  if (depth == 0 || (op != Op::kMul && op != Op::kDiv)) return std::nullopt;
  for (Value* operand : value->producer()->operands()) {
    if (auto found = FindGate(operand, depth - 1)) return found;
  }
  return std::nullopt;
}

}  // namespace

StatusOr<Changed> RecogniseGelu::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    if (root.op() != Op::kMul && root.op() != Op::kDiv) return false;
    const auto found = FindGate(root.result(), 3);
    if (!found.has_value()) return false;
    const auto& [match, gate] = *found;
    const Product product = ProductOf(root.result(), match.x);
    if (product.terms.size() != 2 || !Near(product.factor, 0.5)) return false;
    if (std::count(product.terms.begin(), product.terms.end(), match.x) != 1) return false;
    if (std::count(product.terms.begin(), product.terms.end(), gate) != 1) return false;
    if (match.x->type() != root.result()->type())
      return false;  // a constant of higher rank has broadcast x
    Attributes attributes;
    attributes.Set("approximate", std::string(match.approximate));
    Node* gelu = InsertNode(g, &root, Op::kGelu, NamesOfPattern(g, root, std::array{match.x}),
                            {match.x}, std::move(attributes), root.result()->type());
    gelu->set_region(root.region());
    Replace(g, root, gelu->result());
    return true;
  });
}

}  // namespace kiln
