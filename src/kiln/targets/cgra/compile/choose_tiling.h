// Chooses the tiling of a problem of sums by the cycles that its launches take.
#ifndef KILN_TARGETS_CGRA_COMPILE_CHOOSE_TILING_H_
#define KILN_TARGETS_CGRA_COMPILE_CHOOSE_TILING_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/compile/cost_of_launch.h"
#include "kiln/targets/cgra/compile/mapped_graph.h"
#include "kiln/targets/cgra/compile/sums.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln::cgra {

// The best of several tilings of a problem.
struct Choice {
  Launch launch;
  Tiling tiling;
  double least_cycles = std::numeric_limits<double>::infinity();  // of all tilings
};

// Returns the tiling whose launch takes the fewest cycles; results go to the buffer `sums`. Errors:
// a refusal, if no tiling has a mapping.
template <typename Problem>
StatusOr<Choice> Choose(const Problem& problem, const Config& config, int sums,
                        const std::string& name,
                        ComputationGraph (*graph_of)(const Problem&, const Tiling&,
                                                     std::string_view),
                        Launch (*launch_of)(const Problem&, const Tiling&, int64_t, int)) {
  std::optional<Choice> best;
  int64_t best_cycles = 0;
  double least = std::numeric_limits<double>::infinity();
  Status refusal = ToHost("no mapping of its sums was found");
  for (const Tiling& tiling : TilingsOf(problem, config.lanes, config.outputs)) {
    ComputationGraph graph = graph_of(problem, tiling, name);
    Launch launch = launch_of(problem, tiling, config.lanes, sums);
    // Also of a tiling for which no mapping is found, as it may have one.
    least = std::min(least, LeastCycles(graph, launch.runs, launch.threads, config));
    auto mapped = MapGraph(std::move(graph), config);
    if (!mapped.ok()) {
      if (!IsRefusal(mapped.status())) return mapped.status();
      refusal = mapped.status();
      continue;
    }
    launch.mapped = *std::move(mapped);
    const int64_t cycles = CyclesOf(launch);
    if (best.has_value() && cycles >= best_cycles) continue;
    best_cycles = cycles;
    best = Choice{std::move(launch), tiling, 0};
  }
  if (!best.has_value()) return refusal;
  best->least_cycles = least;
  return *std::move(best);
}

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_CHOOSE_TILING_H_
