// Cycles of launches without simulation: the compiler compares tilings by them.
#ifndef KILN_TARGETS_CGRA_COMPILE_COST_OF_LAUNCH_H_
#define KILN_TARGETS_CGRA_COMPILE_COST_OF_LAUNCH_H_

#include <cstdint>

#include "kiln/targets/cgra/compile/kernel.h"
#include "kiln/targets/cgra/config/config.h"

namespace kiln::cgra {

// Returns the cycles that the launch takes, its loading included, if the streams never stall. The
// closed form of isa/timing.h; every run but the first begins when dispatch is free again.
int64_t CyclesOf(const Launch& launch);
// Returns a bound that no mapping of a graph can beat, started `runs` times with `threads` threads
// each: the least beats that load it, and the least time of its runs, at the interval that
// minimises the sum. A run takes at least the beats of its streams, the intervals of its threads,
// which values of earlier threads prolong, and the longest path of a thread without hops.
// docs/cgra-machine.md is the source of the constants.
double LeastCycles(const ComputationGraph& graph, int64_t runs, int64_t threads,
                   const Config& config);
inline double LeastCycles(const Launch& launch, const Config& config) {
  return LeastCycles(launch.mapped->graph, launch.runs, launch.threads, config);
}

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_COST_OF_LAUNCH_H_
