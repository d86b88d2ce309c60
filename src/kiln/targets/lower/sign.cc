// Recognises the nodes of a sign, and finds where sums change theirs.

#include "kiln/targets/lower/sign.h"

#include <cmath>

#include "kiln/targets/lower/channel_line.h"
#include "kiln/targets/lower/partition.h"

namespace kiln {
namespace {

// The least number that takes the least subnormal of fp32, 2^-149, to 2 or above.
constexpr double kFar = 0x1p150;

double NumberAt(const Node& node, int operand) {
  return NumberOf(node.operand(operand)).value_or(0);
}

bool IsBoundedToOne(const Node& node) {
  return node.op() == Op::kClip && NumberAt(node, 1) == -1 && NumberAt(node, 2) == 1;
}

}  // namespace

std::optional<double> SizeOfSign(std::span<const Node* const> nodes) {
  if (nodes.size() != kSignNodes) return std::nullopt;
  for (size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i]->operand(0) != nodes[i - 1]->result()) return std::nullopt;
  }
  for (const size_t i : {size_t{0}, size_t{2}, size_t{5}}) {
    if (nodes[i]->op() != Op::kMul || !(NumberAt(*nodes[i], 1) > 0)) return std::nullopt;
  }
  const double first = NumberAt(*nodes[0], 1), second = NumberAt(*nodes[2], 1);
  const bool is_far = second >= 2 && first * second >= kFar;
  const bool is_shifted = nodes[3]->op() == Op::kAdd && NumberAt(*nodes[3], 1) == 1;
  if (!is_far || !is_shifted || !IsBoundedToOne(*nodes[1]) || !IsBoundedToOne(*nodes[4]))
    return std::nullopt;
  return NumberAt(*nodes[5], 1);
}

std::vector<const Node*> SignFrom(const Graph& graph, const Node& first) {
  std::vector<const Node*> nodes = {&first};
  while (nodes.size() < kSignNodes) {
    const Value* inner = nodes.back()->num_results() == 1 ? nodes.back()->result() : nullptr;
    if (inner == nullptr || inner->users().size() != 1 || IsGraphOutput(graph, inner)) return {};
    nodes.push_back(inner->users()[0]);
  }
  if (!SizeOfSign(nodes).has_value()) return {};
  return nodes;
}

int64_t LeastNotNegative(double factor, double offset, int64_t low, int64_t high) {
  int64_t least = low, above = high + 1;
  while (least < above) {
    const int64_t middle = least + (above - least) / 2;
    // Rounding once, to nearest, leaves the sign as it is.
    if (std::fma(static_cast<double>(middle), factor, offset) >= 0) {
      above = middle;
    } else {
      least = middle + 1;
    }
  }
  return above;
}

}  // namespace kiln
