// Matching of patterns that exporters spell out in many orders: products of factors, sums with a constant. An annotated
// value is not taken apart: it is rounded.
#ifndef KILN_PASSES_PATTERN_H_
#define KILN_PASSES_PATTERN_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// factor * terms[0] * terms[1] * ...
struct Product {
  double factor = 1;
  std::vector<Value*> terms;
};

// Multiplies out a value through Mul, Div by a scalar constant and Pow by 2, 3 or 4; `stop` (may be null) is not taken
// apart. A value that is no product is its own only term. At most 16 terms: then further products stay whole.
Product ProductOf(Value* value, const Value* stop);

// Both operands of a node; nullopt unless it has this operator and two operands.
std::optional<std::pair<Value*, Value*>> OperandsOf(const Value* value, Op op);
// For `value` = x + c or c + x with a scalar constant near `constant`: x. Null otherwise.
Value* SumWith(const Value* value, double constant);

// The names of the nodes that make `root`'s result out of `stops` and constants, in graph order, joined by '+'.
std::string NamesOfPattern(const Graph& graph, Node& root, std::span<Value* const> stops);

}  // namespace kiln

#endif  // KILN_PASSES_PATTERN_H_
