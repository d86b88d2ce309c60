// The sign of a value, +size from 0 on and -size below, which the passes write as several nodes
// (TurnBipolarQuant in passes/annotate_activations.cc), and the integer sums at which it changes.
#ifndef KILN_TARGETS_LOWER_SIGN_H_
#define KILN_TARGETS_LOWER_SIGN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// The number of nodes that compute a sign: x far away from 0, bounded, and again far away, so that
// no number but 0 is near 0; plus 1, bounded, and times the size.
inline constexpr size_t kSignNodes = 6;

// Returns the size of the sign that these nodes, each the only operand of the next, compute of
// operand 0 of the first node; nullopt if they compute something else.
std::optional<double> SizeOfSign(std::span<const Node* const> nodes);

// Returns the nodes of the sign that begins with `first`; none if no sign begins there, or if
// something else reads a value between its nodes.
std::vector<const Node*> SignFrom(const Graph& graph, const Node& first);

// Returns the least integer `sum` from `low` to `high` with sum * factor + offset >= 0, or high + 1
// if there is none. The comparison is exact.
//   factor  not negative
int64_t LeastNotNegative(double factor, double offset, int64_t low, int64_t high);

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_SIGN_H_
