// The least latency of a small graph by trying all places.
#ifndef KILN_TESTS_TARGETS_CGRA_MAP_BRUTE_FORCE_H_
#define KILN_TESTS_TARGETS_CGRA_MAP_BRUTE_FORCE_H_

#include <optional>

#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

// Returns the least latency of the graph's mappings at an interval in cycles, without fused
// instructions and with `passes` pass-throughs, or nothing if there is none. Reads the rules from
// the graph and the design point by itself, and asks the independent checker (check/check.h) of
// what it finds; it shares nothing with the mappers. The graph has variables and operators on
// values of links alone. Takes exponential time: for at most five instructions, pass-throughs
// included, and four tiles.
std::optional<int> LeastLatencyByTrial(const ComputationGraph& graph, const Config& config,
                                       int initiation_interval, int passes = 0);

}  // namespace kiln::cgra

#endif  // KILN_TESTS_TARGETS_CGRA_MAP_BRUTE_FORCE_H_
