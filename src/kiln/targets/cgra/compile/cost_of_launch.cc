// Adds up loading, runs and what no mapping can avoid.

#include "kiln/targets/cgra/compile/cost_of_launch.h"

#include <algorithm>

#include "kiln/support/integer.h"
#include "kiln/targets/cgra/isa/timing.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

int64_t CyclesOf(const Launch& launch) {
  const CgraProgram& program = launch.mapped->program;
  // Every run begins when dispatch takes its header.
  const RunTimes times = TimesOfRun(program, launch.threads, 0);
  return CyclesOf(program, launch.threads) + (launch.runs - 1) * times.next_header;
}

double LeastCycles(const Launch& launch, const Config& config) {
  const ComputationGraph& graph = launch.mapped->graph;
  const int64_t instructions = LeastInstructions(graph, Fusions(graph, config));
  const int64_t beats = std::max<int64_t>(std::ssize(launch.mapped->program.beats), 1);
  const int64_t period = std::max(beats, CeilDivide(instructions, config.tiles()));
  return static_cast<double>(launch.runs * launch.threads * period);
}

}  // namespace kiln::cgra
