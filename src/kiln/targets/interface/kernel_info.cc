// Names and adds up what reports say about kernels.
#include "kiln/targets/interface/kernel_info.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/ir/work.h"

namespace kiln {

std::vector<std::string> ValuesWithin(std::span<const Node* const> nodes) {
  std::vector<std::string> within;
  for (const Node* node : nodes) {
    for (const Value* result : node->results()) {
      // An output of the graph ends its kernel, so that no other node of the kernel reads it.
      if (result == nullptr || result->users().empty()) continue;
      // An annotated Identity is a rounding that the network itself asks for.
      if (node->op() == Op::kIdentity && result->quantisation().has_value()) continue;
      const bool stays = std::ranges::all_of(result->users(), [&](const Node* user) {
        return std::ranges::find(nodes, user) != nodes.end();
      });
      if (stays) within.push_back(result->name());
    }
  }
  return within;
}

namespace {

KernelValue BorderValue(const Value& value) {
  return {value.name(),
          value.has_shape() ? fmt::format("{}", fmt::join(value.shape().dims(), " x ")) : ""};
}

// Adds the values at the border of the nodes, each once.
void AddBorder(std::span<const Node* const> nodes, KernelInfo* info) {
  const auto is_inside = [&](const Node* node) {
    return node != nullptr && std::ranges::find(nodes, node) != nodes.end();
  };
  std::unordered_set<const Value*> read;
  for (const Node* node : nodes) {
    for (const Value* operand : node->operands()) {
      if (operand == nullptr || operand->is_constant() || is_inside(operand->producer())) continue;
      if (read.insert(operand).second) info->reads.push_back(BorderValue(*operand));
    }
    for (const Value* result : node->results()) {
      if (result == nullptr) continue;
      const bool stays =
          !result->users().empty() && std::ranges::all_of(result->users(), is_inside);
      if (!stays) info->results.push_back(BorderValue(*result));
    }
  }
}

}  // namespace

KernelInfo KernelInfoOf(std::span<const Node* const> nodes, std::string_view unit,
                        std::string operation) {
  KernelInfo info;
  info.name = KernelName(nodes);
  for (const Node* node : nodes) {
    info.source_nodes.push_back(node->name());
    info.macs += MacsOf(*node);
    info.operations += OperationsOf(*node);
  }
  AddBorder(nodes, &info);
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
