// Lowers a graph to kernels by pattern matching.
//
// A family lists its patterns in the order in which they are tried. The first pattern that matches
// a node plans a group: the node, called the anchor, and other nodes that the same kernel computes.
// Then the groups are emitted in the graph's order. Planning and emission may refuse a group
// (refusal.h); the host then runs the group's nodes, and the report states the reason.
#ifndef KILN_TARGETS_LOWER_PARTITION_H_
#define KILN_TARGETS_LOWER_PARTITION_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/check.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln {

// Nodes that become one kernel. Families derive from it and add the results of their patterns.
struct NodeGroup {
  const Node* anchor = nullptr;
  std::vector<const Node*> nodes;  // includes the anchor
};

// A rule that makes one kind of kernel. `Group` derives from NodeGroup.
template <typename Group>
struct Pattern {
  std::string_view name;
  std::function<bool(const Node&)> matches;
  // Adds nodes to a group that contains only the anchor.
  std::function<Status(Group*)> plan;
  // Makes the kernel of a planned group.
  std::function<Status(const Group&)> emit;
};

// Return matchers: of nodes with one of these operators, and of all nodes.
std::function<bool(const Node&)> AnyOf(std::vector<Op> ops);
std::function<bool(const Node&)> AnyNode();

// Returns whether a value is an fp32 constant that can be added to a product of this shape as a
// bias: one number, or one per index of the last axis.
bool IsConstantPerChannel(const Value* value, const Shape& product);

// Returns whether a value is an output of the graph.
bool IsGraphOutput(const Graph& graph, const Value* value);

// Fails unless the shapes of all values are known.
Status CheckKnownShapes(const Graph& graph);

// Returns the error for a group that the host must not run. It names the anchor as the user knows
// it.
Status NoHostFallback(const Graph& graph, const NodeGroup& group, const std::string& reason);

// The partition of a graph into groups, each of which becomes one kernel.
template <typename Group>
class Partition {
 public:
  // Assigns a group's nodes to the host and records the reason.
  using ToHostFunction = std::function<Status(const Group&, const std::string& reason)>;

  // The last pattern must match every node.
  Partition(const Graph& graph, std::vector<Pattern<Group>> patterns)
      : graph_(graph), patterns_(std::move(patterns)) {}

  // Returns whether a node is already in a group.
  bool IsTaken(const Node* node) const { return group_of_.contains(node); }

  // Returns the node that continues a group whose last value is `value`: its only reader, in no
  // group, with one result of the same shape. Returns null if there is none, or if the value is an
  // output of the graph.
  const Node* Follower(const Value* value) const {
    if (IsGraphOutput(graph_, value) || value->users().size() != 1) return nullptr;
    const Node* next = value->users()[0];
    if (IsTaken(next) || next->num_results() != 1 || next->result() == nullptr) return nullptr;
    return next->result()->shape() == value->shape() ? next : nullptr;
  }

  // Assigns every node to a group.
  //   errors  those of patterns, except refusals
  Status Plan() {
    for (const auto& node : graph_.nodes()) {
      if (IsTaken(node.get())) continue;
      Planned planned;
      planned.group.anchor = node.get();
      planned.group.nodes = {node.get()};
      planned.pattern = PatternOf(*node);
      const Status status = patterns_[planned.pattern].plan(&planned.group);
      if (!status.ok() && !IsRefusal(status)) return status;
      if (!status.ok()) {
        planned.refused = true;
        planned.reason = MessageOf(status);
      }
      for (const Node* member : planned.group.nodes) group_of_[member] = groups_.size();
      groups_.push_back(std::move(planned));
    }
    return OkStatus();
  }

  // Emits every group at the position of its last node in the graph, so that everything that it
  // reads has been emitted before.
  //   errors  those of patterns and of `to_host`; NoHostFallback for a refusal if
  //           options.host_fallback is false
  Status Emit(const CompileOptions& options, const ToHostFunction& to_host) const {
    std::vector<size_t> pending;
    for (const Planned& planned : groups_) pending.push_back(planned.group.nodes.size());
    for (const auto& node : graph_.nodes()) {
      const size_t index = group_of_.at(node.get());
      if (--pending[index] == 0) KILN_RETURN_IF_ERROR(EmitOne(groups_[index], options, to_host));
    }
    return OkStatus();
  }

 private:
  struct Planned {
    Group group;
    size_t pattern = 0;
    bool refused = false;
    std::string reason;
  };

  size_t PatternOf(const Node& node) const {
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (patterns_[i].matches(node)) return i;
    }
    KILN_CHECK(false && "the last pattern matches every node");
    return 0;
  }

  Status EmitOne(const Planned& planned, const CompileOptions& options,
                 const ToHostFunction& to_host) const {
    Status status =
        planned.refused ? ToHost(planned.reason) : patterns_[planned.pattern].emit(planned.group);
    if (status.ok() || !IsRefusal(status)) return status;
    const std::string reason = MessageOf(status);
    if (!options.host_fallback) return NoHostFallback(graph_, planned.group, reason);
    return to_host(planned.group, reason);
  }

  const Graph& graph_;
  std::vector<Pattern<Group>> patterns_;
  std::vector<Planned> groups_;
  std::unordered_map<const Node*, size_t> group_of_;
};

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_PARTITION_H_
