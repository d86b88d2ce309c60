// Names and adds up what reports say about kernels.
#include "kiln/targets/interface/kernel_info.h"

#include <algorithm>
#include <utility>

#include "kiln/ir/work.h"

namespace kiln {

std::vector<std::string> ValuesWithin(std::span<const Node* const> nodes) {
  std::vector<std::string> within;
  for (const Node* node : nodes) {
    for (const Value* result : node->results()) {
      // An output of the graph ends its kernel, so that no other node of the kernel reads it.
      if (result == nullptr || result->users().empty()) continue;
      const bool stays = std::ranges::all_of(result->users(), [&](const Node* user) {
        return std::ranges::find(nodes, user) != nodes.end();
      });
      if (stays) within.push_back(result->name());
    }
  }
  return within;
}

KernelInfo KernelInfoOf(std::span<const Node* const> nodes, std::string_view unit,
                        std::string operation) {
  KernelInfo info;
  info.name = KernelName(nodes);
  for (const Node* node : nodes) {
    info.source_nodes.push_back(node->name());
    info.macs += MacsOf(*node);
    info.operations += OperationsOf(*node);
  }
  info.unit = unit;
  info.operation = std::move(operation);
  return info;
}

std::string OperatorsOf(std::span<const Node* const> nodes) {
  std::string text;
  for (const Node* node : nodes)
    text += (text.empty() ? "" : " + ") + std::string(node->info().text);
  return text;
}

void Accumulate(const Certificate& part, Certificate* sum) {
  const bool first = sum->unit.empty();
  sum->cost += part.cost;
  sum->lower_bound += part.lower_bound;
  sum->optimal = (first || sum->optimal) && part.optimal;
  sum->unit = part.unit;
  if (sum->bound_from.empty() || part.lower_bound > 0) sum->bound_from = part.bound_from;
}

}  // namespace kiln
