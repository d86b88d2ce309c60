// The least latency of a small mapping problem by trying all places.
#ifndef KILN_TESTS_TARGETS_CGRA_MAP_BRUTE_FORCE_H_
#define KILN_TESTS_TARGETS_CGRA_MAP_BRUTE_FORCE_H_

#include <optional>

#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// Returns the least latency of the problem at an interval in cycles, or nothing if there is no
// solution. Takes exponential time: for at most five instructions and four tiles.
std::optional<int> LeastLatencyByTrial(const Problem& problem, int initiation_interval);

}  // namespace kiln::cgra

#endif  // KILN_TESTS_TARGETS_CGRA_MAP_BRUTE_FORCE_H_
