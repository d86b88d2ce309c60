// The table of operators, and the checks that every graph passes.

#include "kiln/targets/cgra/graph/graph.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <unordered_set>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"

namespace kiln::cgra {
namespace {

constexpr OperatorRow kOperators[] = {
#define KILN_CGRA_OPERATOR(id, name, role, operands, unit, aliases) \
  {Op::k##id, name, Role::role, operands, Unit::unit, aliases},
#include "kiln/targets/cgra/graph/operators.def"
#undef KILN_CGRA_OPERATOR
};

std::string PlaceOf(const GraphNode& node) {
  return fmt::format("node '{}' ({})", Excerpt(node.name), RowOf(node.op).name);
}

Status VerifyNodes(const ComputationGraph& graph) {
  if (graph.nodes.empty()) {
    return ErrorAt(graph.source, "", "the graph has no nodes", "at least one node");
  }
  if (std::ssize(graph.nodes) > budgets::kComputationNodes) {
    return ErrorAt(graph.source, "", fmt::format("the graph has {} nodes", graph.nodes.size()),
                   fmt::format("at most {}", budgets::kComputationNodes));
  }
  if (std::ssize(graph.edges) > budgets::kComputationEdges) {
    return ErrorAt(graph.source, "", fmt::format("the graph has {} edges", graph.edges.size()),
                   fmt::format("at most {}", budgets::kComputationEdges));
  }
  std::unordered_set<std::string_view> names;
  for (const GraphNode& node : graph.nodes) {
    const auto bad = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (node.name.empty() || node.name.size() > 256 || std::ranges::any_of(node.name, bad)) {
      return ErrorAt(graph.source, PlaceOf(node), "its name is not usable",
                     "1 to 256 bytes without control characters");
    }
    if (!names.insert(node.name).second) {
      return ErrorAt(graph.source, PlaceOf(node), "another node has this name",
                     "a name of its own for each node");
    }
  }
  return OkStatus();
}

Status VerifyEdge(const ComputationGraph& graph, const GraphEdge& edge,
                  std::set<std::pair<int, int>>* operands) {
  const auto count = static_cast<int>(graph.nodes.size());
  for (const int end : {edge.source, edge.target}) {
    if (end < 0 || end >= count) {
      return ErrorAt(graph.source, "", fmt::format("an edge names node {}", end),
                     fmt::format("a node from 0 to {}", count - 1));
    }
  }
  const GraphNode& source = graph.nodes[static_cast<size_t>(edge.source)];
  const GraphNode& target = graph.nodes[static_cast<size_t>(edge.target)];
  const OperatorRow& row = RowOf(target.op);
  if (RowOf(source.op).role == Role::kResult) {
    return ErrorAt(graph.source, PlaceOf(source), "an edge leaves it",
                   "an output is the last of its values");
  }
  if (row.role == Role::kValue) {
    return ErrorAt(graph.source, PlaceOf(target), "an edge goes into it",
                   "constants, inputs and variables have no operands");
  }
  if (edge.distance < 0 || edge.distance > kMostDistance) {
    return ErrorAt(
        graph.source, PlaceOf(target),
        fmt::format("its edge from '{}' has distance {}", Excerpt(source.name), edge.distance),
        fmt::format("0 to {} threads", kMostDistance));
  }
  if (edge.kind != EdgeKind::kData) return OkStatus();
  if (edge.operand < 0 || edge.operand >= row.operands) {
    return ErrorAt(
        graph.source, PlaceOf(target),
        fmt::format("its edge from '{}' is operand {}", Excerpt(source.name), edge.operand),
        row.operands == 1 ? "operand 0" : fmt::format("an operand from 0 to {}", row.operands - 1));
  }
  if (!operands->emplace(edge.target, edge.operand).second) {
    return ErrorAt(graph.source, PlaceOf(target),
                   fmt::format("operand {} is given twice", edge.operand),
                   "one edge for each operand");
  }
  return OkStatus();
}

// Returns the names of nodes on a cycle of edges with distance 0 among those that `left` marks.
std::string CycleIn(const ComputationGraph& graph, const std::vector<bool>& left) {
  // Every marked node has a marked producer, so that going back ends in a cycle.
  const auto producer = [&](int node) {
    for (const GraphEdge& edge : graph.edges) {
      if (edge.target == node && edge.distance == 0 && left[static_cast<size_t>(edge.source)]) {
        return edge.source;
      }
    }
    return -1;
  };
  int at = static_cast<int>(std::ranges::find(left, true) - left.begin());
  std::vector<int> seen(graph.nodes.size(), -1), path;
  while (seen[static_cast<size_t>(at)] < 0) {
    seen[static_cast<size_t>(at)] = static_cast<int>(path.size());
    path.push_back(at);
    at = producer(at);
  }
  path.erase(path.begin(), path.begin() + seen[static_cast<size_t>(at)]);
  std::ranges::reverse(path);
  path.push_back(path.front());
  constexpr size_t kShown = 8;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(path.size(), kShown); ++i) {
    names.push_back(Excerpt(graph.nodes[static_cast<size_t>(path[i])].name));
  }
  if (path.size() > kShown) names.emplace_back("...");
  return absl::StrJoin(names, " -> ");
}

}  // namespace

const OperatorRow& RowOf(Op op) { return kOperators[static_cast<size_t>(op)]; }

std::optional<Op> FindOperator(std::string_view name) {
  static const std::map<std::string, Op, std::less<>> names = [] {
    std::map<std::string, Op, std::less<>> all;
    for (const OperatorRow& row : kOperators) {
      all.emplace(row.name, row.op);
      for (const std::string& alias : std::vector<std::string>(
               absl::StrSplit(std::string(row.aliases), ' ', absl::SkipEmpty()))) {
        all.emplace(alias, row.op);
      }
    }
    return all;
  }();
  const auto at = names.find(name);
  return at == names.end() ? std::nullopt : std::optional<Op>(at->second);
}

bool IsFloat(Op op) { return op == Op::kFMul || op == Op::kFAdd || op == Op::kFSub; }

std::string OperatorNames() {
  std::vector<std::string> names;
  for (const OperatorRow& row : kOperators) names.emplace_back(row.name);
  return absl::StrJoin(names, ", ");
}

bool ComputationGraph::TakesSlot(int node) const {
  const Role role = RowOf(nodes[static_cast<size_t>(node)].op).role;
  return role != Role::kValue && role != Role::kResult;
}

std::vector<std::vector<int>> ComputationGraph::EdgesInto() const {
  std::vector<std::vector<int>> lists(nodes.size());
  for (size_t e = 0; e < edges.size(); ++e) {
    lists[static_cast<size_t>(edges[e].target)].push_back(static_cast<int>(e));
  }
  return lists;
}

std::vector<std::vector<int>> ComputationGraph::EdgesFrom() const {
  std::vector<std::vector<int>> lists(nodes.size());
  for (size_t e = 0; e < edges.size(); ++e) {
    lists[static_cast<size_t>(edges[e].source)].push_back(static_cast<int>(e));
  }
  return lists;
}

// The heap takes the ready node with the least number, so that nodes that are in order keep it.
Status VerifyAndSort(ComputationGraph* graph) {
  KILN_RETURN_IF_ERROR(VerifyNodes(*graph));
  std::set<std::pair<int, int>> operands;
  for (const GraphEdge& edge : graph->edges) {
    KILN_RETURN_IF_ERROR(VerifyEdge(*graph, edge, &operands));
  }
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    const GraphNode& node = graph->nodes[n];
    if (RowOf(node.op).role == Role::kResult && !operands.contains({static_cast<int>(n), 0})) {
      return ErrorAt(graph->source, PlaceOf(node), "no value goes into it",
                     "an edge from the value that leaves the graph");
    }
  }
  // Takes the first node whose producers are all taken, again and again.
  const size_t count = graph->nodes.size();
  const std::vector<std::vector<int>> from = graph->EdgesFrom();
  std::vector<int> producers(count, 0);
  for (const GraphEdge& edge : graph->edges) {
    if (edge.distance == 0) ++producers[static_cast<size_t>(edge.target)];
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t n = 0; n < count; ++n) {
    if (producers[n] == 0) ready.push(static_cast<int>(n));
  }
  std::vector<int> order, number(count, -1);
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    number[static_cast<size_t>(node)] = static_cast<int>(order.size());
    order.push_back(node);
    for (const int e : from[static_cast<size_t>(node)]) {
      const GraphEdge& edge = graph->edges[static_cast<size_t>(e)];
      if (edge.distance == 0 && --producers[static_cast<size_t>(edge.target)] == 0) {
        ready.push(edge.target);
      }
    }
  }
  if (order.size() < count) {
    std::vector<bool> left(count);
    for (size_t n = 0; n < count; ++n) left[n] = number[n] < 0;
    return ErrorAt(
        graph->source, "",
        fmt::format("nodes depend on each other in the same thread: {}", CycleIn(*graph, left)),
        "an edge with a distance of at least 1 in every cycle");
  }
  std::vector<GraphNode> nodes;
  nodes.reserve(count);
  for (const int node : order) nodes.push_back(std::move(graph->nodes[static_cast<size_t>(node)]));
  graph->nodes = std::move(nodes);
  for (GraphEdge& edge : graph->edges) {
    edge.source = number[static_cast<size_t>(edge.source)];
    edge.target = number[static_cast<size_t>(edge.target)];
  }
  return OkStatus();
}

}  // namespace kiln::cgra
