// Implements onnx_schedule.h.
#include "kiln/frontend/onnx_schedule.h"
#include "kiln/support/excerpt.h"

#include <fmt/format.h>

#include <queue>
#include <unordered_map>

namespace kiln {

std::string NameOfNode(const onnx::NodeProto& node, int index) {
  return node.name().empty() ? fmt::format("{}_{}", node.op_type(), index) : node.name();
}

std::string PlaceOfNode(const onnx::NodeProto& node, int index) {
  return fmt::format("node {} ({})", QuotedExcerpt(NameOfNode(node, index)),
                     Excerpt(node.op_type()));
}

// Checks that each value has one definition while it collects the producers.
StatusOr<std::vector<int>> ScheduleNodes(const NodeProtos& nodes,
                                         const std::function<bool(const std::string&)>& known,
                                         const std::string& source) {
  std::unordered_map<std::string, int> producer;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& result : nodes[i].output()) {
      if (result.empty()) continue;
      if (known(result) || !producer.emplace(result, i).second) {
        return ErrorAt(source, PlaceOfNode(nodes[i], i),
                       "defines value " + QuotedExcerpt(result) + " a second time",
                       "every value has one definition");
      }
    }
  }
  std::vector<std::vector<int>> users(static_cast<size_t>(nodes.size()));
  std::vector<int> waiting(static_cast<size_t>(nodes.size()), 0);
  // Topological sort by Kahn's algorithm; among ready nodes the first in the file comes first.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    // Counts the operands that other nodes must produce first.
    for (const std::string& operand : nodes[i].input()) {
      if (operand.empty() || known(operand)) continue;
      const auto it = producer.find(operand);
      if (it == producer.end()) {
        return ErrorAt(source, PlaceOfNode(nodes[i], i),
                       "reads value " + QuotedExcerpt(operand) + ", which nothing defines",
                       "a value is an input, an initialiser or a result of a node");
      }
      users[static_cast<size_t>(it->second)].push_back(i);
      ++waiting[static_cast<size_t>(i)];
    }
    if (waiting[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  // Releases the users of each node that is placed.
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (int user : users[static_cast<size_t>(node)]) {
      if (--waiting[static_cast<size_t>(user)] == 0) ready.push(user);
    }
  }
  for (int i = 0; i < nodes.size(); ++i) {
    if (waiting[static_cast<size_t>(i)] > 0) {
      return ErrorAt(source, PlaceOfNode(nodes[i], i), "is in or behind a cycle of nodes",
                     "a graph has no cycles");
    }
  }
  return order;
}

}  // namespace kiln
