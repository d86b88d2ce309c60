// Adds up loading, runs and what no mapping can avoid.

#include "kiln/targets/cgra/compile/cost_of_launch.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "kiln/support/integer.h"
#include "kiln/targets/cgra/graph/timing.h"
#include "kiln/targets/cgra/isa/derived.h"
#include "kiln/targets/cgra/isa/timing.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

int64_t CyclesOf(const Launch& launch) {
  const CgraProgram& program = launch.mapped->program;
  // Every run begins when dispatch takes its header.
  const RunTimes times = TimesOfRun(program, launch.threads, 0);
  return CyclesOf(program, launch.threads) + (launch.runs - 1) * times.next_header;
}

namespace {

// The values that links carry in a thread, and what they take at least: the pipeline's latency and
// no hop, or nothing between two nodes that one instruction can compute.
class Paths {
 public:
  Paths(const ComputationGraph& graph, const Config& config, const std::vector<Fusion>& fusions)
      : graph_(graph), config_(config), into_(graph.EdgesInto()) {
    for (const Fusion& fusion : fusions) together_.emplace(fusion.multiply, fusion.logic);
  }

  // Returns, by node, the longest path from `from` to it in cycles, or kNone without one; from -1,
  // the longest path from any node.
  std::vector<int64_t> Longest(int from) const {
    std::vector<int64_t> cycles(graph_.nodes.size(), from < 0 ? 0 : kNone);
    if (from >= 0) cycles[static_cast<size_t>(from)] = 0;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const int e : into_[n]) {
        const GraphEdge& edge = graph_.edges[static_cast<size_t>(e)];
        const int64_t before = cycles[static_cast<size_t>(edge.source)];
        if (edge.distance > 0 || before == kNone || !IsLink(edge)) continue;
        const bool at_once = together_.contains({edge.source, edge.target});
        cycles[n] = std::max(cycles[n], before + (at_once ? 0 : config_.pipeline_latency));
      }
    }
    return cycles;
  }

  // Returns the least interval at which values of earlier threads arrive in time: those of d
  // threads before may take d intervals.
  int64_t LeastInterval() const {
    int64_t least = 1;
    for (const GraphEdge& edge : graph_.edges) {
      if (edge.distance == 0 || !IsLink(edge)) continue;
      const int64_t path = Longest(edge.target)[static_cast<size_t>(edge.source)];
      if (path == kNone) continue;
      least = std::max(least, CeilDivide(path + config_.pipeline_latency, edge.distance));
    }
    return least;
  }

 private:
  static constexpr int64_t kNone = -1;
  bool IsLink(const GraphEdge& edge) const {
    return TimingOf(graph_, config_, edge) == EdgeTiming::kLink;
  }

  const ComputationGraph& graph_;
  const Config& config_;
  const std::vector<std::vector<int>> into_;
  std::set<std::pair<int, int>> together_;
};

// What a thread of a graph takes from streams and gives to them.
struct Traffic {
  int64_t beats = 0;    // inputs that instructions read
  int64_t outputs = 0;  // results
  // The least issue cycles of the results' instructions, and the least latency.
  int64_t first_issue = std::numeric_limits<int64_t>::max(), last_issue = 0, latency = 0;
};

Traffic TrafficOf(const ComputationGraph& graph, const Config& config, const Paths& paths) {
  const std::vector<int64_t> issues = paths.Longest(-1);
  Traffic traffic;
  traffic.latency = *std::ranges::max_element(issues) + config.pipeline_latency;
  std::set<int> inputs;
  for (const GraphEdge& edge : graph.edges) {
    const GraphNode& source = graph.nodes[static_cast<size_t>(edge.source)];
    if (source.op == Op::kInput && graph.TakesSlot(edge.target)) inputs.insert(edge.source);
    if (RowOf(graph.nodes[static_cast<size_t>(edge.target)].op).role != Role::kResult) continue;
    const int64_t issue = issues[static_cast<size_t>(edge.source)];
    ++traffic.outputs;
    traffic.first_issue = std::min(traffic.first_issue, issue);
    traffic.last_issue = std::max(traffic.last_issue, issue);
  }
  traffic.beats = std::ssize(inputs);
  traffic.first_issue = std::min(traffic.first_issue, traffic.last_issue);
  return traffic;
}

}  // namespace

double LeastCycles(const ComputationGraph& graph, int64_t runs, int64_t threads,
                   const Config& config) {
  const std::vector<Fusion> fusions = Fusions(graph, config);
  const int64_t instructions = LeastInstructions(graph, fusions);
  const Paths paths(graph, config, fusions);
  const Traffic traffic = TrafficOf(graph, config, paths);
  const int64_t least_interval = paths.LeastInterval();
  // Cycles from the issue of a result to the cycle in which it leaves.
  const int64_t to_leave = config.pipeline_latency - 1 + kResultToQueueCycles;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t interval = IntervalStep(config); interval <= MostInterval(config);
       interval += IntervalStep(config)) {
    const int64_t used_tiles = CeilDivide(instructions, interval);
    if (interval < least_interval || used_tiles > config.tiles() ||
        traffic.latency > config.ring_entries * interval) {
      continue;
    }
    // A header and all spoke entries of every tile, a header and an instruction of each used tile,
    // a header and the deliveries.
    const int64_t loading = config.tiles() * (1 + interval) + 3 * used_tiles +
                            (traffic.beats > 0 ? 1 + traffic.beats : 0);
    // Of a run whose header is taken in cycle 0: when its last thread starts, and when its last
    // result leaves.
    int64_t last_start = 1 + kFirstFabricCycle + (threads - 1) * interval;
    if (traffic.beats > 0)
      last_start = std::max(last_start, 1 + threads * traffic.beats + kDeliveryToReady);
    const int64_t left = std::max(
        last_start + traffic.last_issue + to_leave,
        1 + kFirstFabricCycle + traffic.first_issue + to_leave + threads * traffic.outputs - 1);
    // Dispatch takes the next header two cycles after the last result has left.
    least = std::min(least, loading + 1 + runs * (left + 2));
  }
  return static_cast<double>(least);
}

}  // namespace kiln::cgra
