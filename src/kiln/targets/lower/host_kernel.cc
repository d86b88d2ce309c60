// Merges refused nodes into host kernels and collects the reasons.

#include "kiln/targets/lower/host_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "kiln/ir/work.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/lower/index_text.h"

namespace kiln {
namespace {

// Reasons that a kernel has at most. Most kernels have one or two; the reasons of a format that the
// machine does not have are as many as the values in it.
constexpr size_t kMostReasons = 3;

// Returns the distinct reasons, joined by "; ", in order of decreasing operations.
std::string ReasonsOf(std::span<const HostNodes> groups) {
  struct Reason {
    std::string text;
    int64_t operations = 0;  // operations of the nodes with this reason
  };
  std::vector<Reason> reasons;
  for (const HostNodes& group : groups) {
    auto reason = std::find_if(reasons.begin(), reasons.end(),
                               [&](const Reason& r) { return r.text == group.reason; });
    if (reason == reasons.end()) reason = reasons.insert(reason, {group.reason});
    for (const Node* node : group.nodes) reason->operations += OperationsOf(*node);
  }
  std::sort(reasons.begin(), reasons.end(), [](const Reason& a, const Reason& b) {
    return a.operations != b.operations ? a.operations > b.operations : a.text < b.text;
  });
  std::string text;
  for (size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    text += (text.empty() ? "" : "; ") + reasons[i].text;
  }
  if (reasons.size() > kMostReasons) {
    text += fmt::format("; and {} more such reasons", reasons.size() - kMostReasons);
  }
  return text;
}

// Returns the nodes in the graph's order. The nodes of a group may be far apart in the graph, with
// nodes of other groups between them.
std::vector<const Node*> InGraphOrder(const Graph& graph, const std::vector<const Node*>& nodes) {
  if (nodes.size() == 1) return nodes;
  const std::unordered_set<const Node*> members(nodes.begin(), nodes.end());
  std::vector<const Node*> ordered;
  for (const auto& node : graph.nodes()) {
    if (members.contains(node.get())) ordered.push_back(node.get());
  }
  return ordered;
}

}  // namespace

HostKernel MakeHostKernel(const Graph& graph, std::span<const HostNodes> groups) {
  std::vector<const Node*> nodes;
  for (const HostNodes& group : groups)
    nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
  const std::vector<const Node*> ordered = InGraphOrder(graph, nodes);
  HostKernel kernel{KernelInfoOf(nodes, "host", OperatorsOf(ordered)), CopyForHost(graph, ordered)};
  kernel.info.host_reason = ReasonsOf(groups);
  return kernel;
}

DerivedValue DerivedByView(const Value* value, const Value* from, const StridedView& view) {
  return {
      .value = value,
      .from = from,
      .derive = [value, view](
                    const Tensor& tensor) { return Gather(tensor, view).Reshaped(value->shape()); },
      .text = PositionText("e", view)};
}

}  // namespace kiln
