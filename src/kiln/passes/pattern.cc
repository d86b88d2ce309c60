// Implements pattern.h.
#include "kiln/passes/pattern.h"

#include <algorithm>
#include <unordered_set>

#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Bounds the work on deep trees of products.
constexpr size_t kMaxTerms = 16;

// Multiplies `value` into `product`, recursing through products of constants, Mul, Div and Pow.
void MultiplyOut(Value* value, const Value* stop, Product& product) {
  if (const auto c = ScalarConstant(value); c.has_value()) {
    product.factor *= *c;
    return;
  }
  const Node* node = value->quantisation().has_value() ? nullptr : value->producer();
  if (value != stop && node != nullptr && product.terms.size() < kMaxTerms) {
    if (node->op() == Op::kMul) {
      MultiplyOut(node->operand(0), stop, product);
      MultiplyOut(node->operand(1), stop, product);
      return;
    }
    const auto c = ScalarConstant(node->operand(1));
    if (node->op() == Op::kDiv && c.has_value() && *c != 0) {
      product.factor /= *c;
      MultiplyOut(node->operand(0), stop, product);
      return;
    }
    if (node->op() == Op::kPow && c.has_value() && (*c == 2 || *c == 3 || *c == 4)) {
      for (int i = 0; i < static_cast<int>(*c); ++i) MultiplyOut(node->operand(0), stop, product);
      return;
    }
  }
  product.terms.push_back(value);
}

}  // namespace

Product ProductOf(Value* value, const Value* stop) {
  Product product;
  MultiplyOut(value, stop, product);
  return product;
}

std::optional<std::pair<Value*, Value*>> OperandsOf(const Value* value, Op op) {
  const Node* node = ComputedBy(value, op);
  if (node == nullptr || node->operand(0) == nullptr || node->operand(1) == nullptr)
    return std::nullopt;
  return std::pair{node->operand(0), node->operand(1)};
}

// Tries the constant on either side.
Value* SumWith(const Value* value, double constant) {
  const auto sum = OperandsOf(value, Op::kAdd);
  if (!sum.has_value()) return nullptr;
  for (const auto& [x, c] : {*sum, std::pair{sum->second, sum->first}}) {
    if (const auto scalar = ScalarConstant(c); scalar.has_value() && Near(*scalar, constant))
      return x;
  }
  return nullptr;
}

std::string NamesOfPattern(const Graph& graph, Node& root, std::span<Value* const> stops) {
  // Walks from the root against the edges until it meets `stops` or values without a producer.
  std::unordered_set<const Node*> inside = {&root};
  std::vector<Node*> waiting = {&root};
  while (!waiting.empty()) {
    Node* node = waiting.back();
    waiting.pop_back();
    for (Value* operand : node->operands()) {
      if (operand == nullptr || operand->producer() == nullptr) continue;
      if (std::find(stops.begin(), stops.end(), operand) != stops.end()) continue;
      if (inside.insert(operand->producer()).second) waiting.push_back(operand->producer());
    }
  }
  std::string names;
  for (const auto& node : graph.nodes()) {
    if (inside.count(node.get()) != 0) names = JoinNames(names, node->name());
  }
  return names;
}

}  // namespace kiln
