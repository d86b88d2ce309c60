// Classifies edges, and finds the flows that they connect.

#include "kiln/targets/cgra/graph/timing.h"

#include <algorithm>

#include "kiln/targets/cgra/graph/disjoint_sets.h"

namespace kiln::cgra {

EdgeTiming TimingOf(const ComputationGraph& graph, const Config& config, const GraphEdge& edge) {
  const Role source = RowOf(graph.nodes[static_cast<size_t>(edge.source)].op).role;
  if (!graph.TakesSlot(edge.target)) return EdgeTiming::kResult;
  if (source == Role::kValue) return EdgeTiming::kStored;
  if (config.asynchronous_loads && (source == Role::kMemory || source == Role::kControl)) {
    return EdgeTiming::kAsynchronous;
  }
  if (config.cut_loops && edge.distance > 0) return EdgeTiming::kAsynchronous;
  return edge.kind == EdgeKind::kOrder ? EdgeTiming::kOrder : EdgeTiming::kLink;
}

// The least node is the root of each flow, so that numbers follow the first nodes.
std::vector<int> FlowsOf(const ComputationGraph& graph, const Config& config) {
  DisjointSets sets(graph.nodes.size());
  for (const GraphEdge& edge : graph.edges) {
    const EdgeTiming timing = TimingOf(graph, config, edge);
    if (timing != EdgeTiming::kLink && timing != EdgeTiming::kOrder) continue;
    const int a = sets.RootOf(edge.source), b = sets.RootOf(edge.target);
    sets.Join(std::max(a, b), std::min(a, b));
  }
  std::vector<int> flow(graph.nodes.size(), -1);
  int flows = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!graph.TakesSlot(static_cast<int>(n))) continue;
    const auto first = static_cast<size_t>(sets.RootOf(static_cast<int>(n)));
    flow[n] = first == n ? flows++ : flow[first];
  }
  return flow;
}

std::vector<int> FlowStarts(const ComputationGraph& graph, const Config& config) {
  std::vector<bool> entered(graph.nodes.size(), false);
  for (const GraphEdge& edge : graph.edges) {
    const EdgeTiming timing = TimingOf(graph, config, edge);
    if (edge.distance == 0 && (timing == EdgeTiming::kLink || timing == EdgeTiming::kOrder)) {
      entered[static_cast<size_t>(edge.target)] = true;
    }
  }
  const std::vector<int> flow = FlowsOf(graph, config);
  std::vector<bool> has_start(graph.nodes.size(), false);
  std::vector<int> starts;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (flow[n] < 0 || entered[n]) continue;
    if (!config.every_source_starts && has_start[static_cast<size_t>(flow[n])]) continue;
    has_start[static_cast<size_t>(flow[n])] = true;
    starts.push_back(static_cast<int>(n));
  }
  return starts;
}

}  // namespace kiln::cgra
