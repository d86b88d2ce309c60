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

// The least issue cycles in a thread: the longest path to each node, where a value takes the
// pipeline's latency and no hop. Two nodes that one instruction can compute issue at once.
std::vector<int64_t> LeastIssues(const ComputationGraph& graph, const Config& config,
                                 const std::vector<Fusion>& fusions) {
  std::set<std::pair<int, int>> together;
  for (const Fusion& fusion : fusions) together.emplace(fusion.multiply, fusion.logic);
  std::vector<int64_t> issues(graph.nodes.size(), 0);
  const std::vector<std::vector<int>> into = graph.EdgesInto();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int e : into[n]) {
      const GraphEdge& edge = graph.edges[static_cast<size_t>(e)];
      if (edge.distance > 0 || TimingOf(graph, config, edge) != EdgeTiming::kLink) continue;
      const bool at_once = together.contains({edge.source, edge.target});
      issues[n] = std::max(issues[n], issues[static_cast<size_t>(edge.source)] +
                                          (at_once ? 0 : config.pipeline_latency));
    }
  }
  return issues;
}

}  // namespace

double LeastCycles(const Launch& launch, const Config& config) {
  const ComputationGraph& graph = launch.mapped->graph;
  const CgraProgram& program = launch.mapped->program;
  const std::vector<Fusion> fusions = Fusions(graph, config);
  const int64_t instructions = LeastInstructions(graph, fusions);
  const std::vector<int64_t> issues = LeastIssues(graph, config, fusions);
  int64_t first_result = std::numeric_limits<int64_t>::max(), last_result = 0;  // issue cycles
  for (const GraphEdge& edge : graph.edges) {
    if (RowOf(graph.nodes[static_cast<size_t>(edge.target)].op).role != Role::kResult) continue;
    const int64_t issue = issues[static_cast<size_t>(edge.source)];
    first_result = std::min(first_result, issue);
    last_result = std::max(last_result, issue);
  }
  const auto beats =
      static_cast<int64_t>(std::set(program.beats.begin(), program.beats.end()).size());
  const int64_t outputs = std::ssize(program.outputs), threads = launch.threads;
  const int64_t latency = *std::ranges::max_element(issues) + config.pipeline_latency;
  // Cycles from the issue of a result to the cycle in which it leaves.
  const int64_t to_leave = config.pipeline_latency - 1 + kResultToQueueCycles;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t interval = IntervalStep(config); interval <= MostInterval(config);
       interval += IntervalStep(config)) {
    const int64_t used_tiles = CeilDivide(instructions, interval);
    if (used_tiles > config.tiles() || latency > config.ring_entries * interval) continue;
    // A header and all spoke entries of every tile, a header and an instruction of each used tile,
    // a header and the deliveries.
    const int64_t loading =
        config.tiles() * (1 + interval) + 3 * used_tiles + (beats > 0 ? 1 + beats : 0);
    // Of a run whose header is taken in cycle 0: when its last thread starts, and when its last
    // result leaves.
    int64_t last_start = 1 + kFirstFabricCycle + (threads - 1) * interval;
    if (beats > 0) last_start = std::max(last_start, 1 + threads * beats + kDeliveryToReady);
    const int64_t left =
        std::max(last_start + last_result + to_leave,
                 1 + kFirstFabricCycle + first_result + to_leave + threads * outputs - 1);
    // Dispatch takes the next header two cycles after the last result has left.
    least = std::min(least, loading + 1 + launch.runs * (left + 2));
  }
  return static_cast<double>(least);
}

}  // namespace kiln::cgra
