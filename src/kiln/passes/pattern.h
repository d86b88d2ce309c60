// Helpers to match patterns that exporters spell in many orders: products of factors, sums with a
// constant. The recognise-* passes use them. An annotated value is never decomposed, because it is
// rounded as a whole.
#ifndef KILN_PASSES_PATTERN_H_
#define KILN_PASSES_PATTERN_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// A value as a product: factor * terms[0] * terms[1] * ...
struct Product {
  double factor = 1;
  std::vector<Value*> terms;
};

// Decomposes a value into factors through Mul, Div by a scalar constant, and Pow by 2, 3 or 4.
// `stop` (may be null) is not decomposed. A value that is not a product is its own only term. After
// 16 terms, further products stay whole.
Product ProductOf(Value* value, const Value* stop);

// Returns both operands of the node that computes `value`; nullopt unless it has this operator.
std::optional<std::pair<Value*, Value*>> OperandsOf(const Value* value, Op op);
// Returns x if `value` is x + c or c + x with a scalar constant near `constant`; otherwise null.
Value* SumWith(const Value* value, double constant);

// Returns the names of the nodes that compute `root`'s result from `stops` and constants, in graph
// order, joined by '+'. The node that replaces a pattern gets this name.
std::string NamesOfPattern(const Graph& graph, Node& root, std::span<Value* const> stops);

}  // namespace kiln

#endif  // KILN_PASSES_PATTERN_H_
