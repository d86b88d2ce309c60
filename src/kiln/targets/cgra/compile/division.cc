// Builds the graphs of division steps, and chooses how many of them a launch has.

#include "kiln/targets/cgra/compile/division.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/support/integer.h"
#include "kiln/targets/cgra/compile/cost_of_launch.h"
#include "kiln/targets/cgra/compile/element_index.h"
#include "kiln/targets/cgra/compile/graph_builder.h"
#include "kiln/targets/cgra/compile/mapped_graph.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln::cgra {
namespace {

// Steps of one launch that are tried. More of them find no mapping on small machines.
constexpr int kStepsOfLaunch[] = {1, 2, 3, 4, 6};

// Returns the graph of some steps. The first steps of a division have no quotient yet, and after
// the last ones nobody reads the remainder.
ComputationGraph GraphOfSteps(int steps, bool first, bool last) {
  GraphBuilder graph("division");
  int remainder = graph.Input("remainder");
  const int divisor = graph.Input("divisor");
  int quotient = first ? -1 : graph.Input("quotient");
  for (int i = 0; i < steps; ++i) {
    const int twice = graph.AddLiteral(Op::kShl, "twice", remainder, 1);
    const int bit = graph.Add(Op::kLt, "bit", divisor, twice);
    if (quotient < 0) {
      quotient = bit;
    } else {
      const int doubled = graph.AddLiteral(Op::kShl, "quotient doubled", quotient, 1);
      quotient = graph.Add(Op::kAdd, "quotient", doubled, bit);
    }
    if (last && i + 1 == steps) break;
    const int taken = graph.Add(Op::kMul, "taken", divisor, bit);
    remainder = graph.Add(Op::kSub, "remainder", twice, taken);
  }
  // A launch of one step whose quotient is its bit has a use of the bit beside the output.
  graph.Output(quotient, "quotient out");
  if (!last) graph.Output(remainder, "remainder out");
  return graph.Finish();
}

// The launches of a division with a number of steps each.
struct Plan {
  std::vector<Launch> launches;
  int64_t cycles = 0;
};

// Returns the threads of each launch.
int64_t ThreadsOf(const Division& division, const Config& config) {
  return CeilDivide(division.elements, int64_t{config.lanes});
}

// Returns the graphs of launches with `steps` steps each, the last one with the rest.
std::vector<ComputationGraph> GraphsOf(const Division& division, int steps) {
  std::vector<ComputationGraph> graphs;
  for (int done = 0; done < division.bits; done += steps) {
    const int now = std::min(steps, division.bits - done);
    graphs.push_back(GraphOfSteps(now, done == 0, done + now == division.bits));
  }
  return graphs;
}

StatusOr<Plan> PlanOf(const Division& division, std::vector<ComputationGraph> graphs,
                      const Config& config, int remainder) {
  Plan plan;
  const ElementIndex at = ElementsInOrder(division.elements, config.lanes);
  const ElementIndex one = {{.position = {"0"}},
                            [](int64_t, int64_t, int64_t) { return int64_t{0}; }};
  for (size_t g = 0; g < graphs.size(); ++g) {
    const bool first = g == 0, last = g + 1 == graphs.size();
    Launch launch;
    KILN_ASSIGN_OR_RETURN(launch.mapped, MapGraph(std::move(graphs[g]), config));
    launch.threads = ThreadsOf(division, config);
    const bool same = first && division.one_dividend;
    launch.feeds = {{first ? division.dividend : remainder, same ? one : at, 0, same},
                    {division.divisor, at, 1}};
    if (!first) launch.feeds.push_back({division.quotient, at, 0});
    launch.drains = {{division.quotient, at}};
    if (!last) launch.drains.push_back({remainder, at});
    plan.cycles += CyclesOf(launch);
    plan.launches.push_back(std::move(launch));
  }
  return plan;
}

}  // namespace

StatusOr<double> AppendDivision(const Division& division, const Config& config,
                                MachineKernel* kernel) {
  if (config.outputs < 2) return ToHost("a division on a machine with one output");
  const auto remainder = static_cast<int>(kernel->buffers.size());
  std::optional<Plan> best;
  double least = std::numeric_limits<double>::infinity();
  Status refusal = OkStatus();
  for (const int steps : kStepsOfLaunch) {
    std::vector<ComputationGraph> graphs = GraphsOf(division, steps);
    // Also of launches for which no mapping is found, as they may have one.
    double of_graphs = 0;
    for (const ComputationGraph& graph : graphs)
      of_graphs += LeastCycles(graph, 1, ThreadsOf(division, config), config);
    least = std::min(least, of_graphs);
    auto plan = PlanOf(division, std::move(graphs), config, remainder);
    if (!plan.ok()) {
      if (!IsRefusal(plan.status())) return plan.status();
      refusal = plan.status();
      continue;
    }
    if (!best.has_value() || plan->cycles < best->cycles) best = *std::move(plan);
  }
  if (!best.has_value()) return refusal;
  kernel->buffers.push_back({.size = division.elements});
  for (Launch& launch : best->launches) kernel->launches.push_back(std::move(launch));
  return least;
}

}  // namespace kiln::cgra
