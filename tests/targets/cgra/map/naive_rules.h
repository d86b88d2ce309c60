// The rules of the mapping problem by exhaustive reading of map/problem.h, for tests: every rule is
// checked for every pair, without any of the mappers' data structures. And small random problems.
#ifndef KILN_TESTS_TARGETS_CGRA_MAP_NAIVE_RULES_H_
#define KILN_TESTS_TARGETS_CGRA_MAP_NAIVE_RULES_H_

#include <cstdint>
#include <span>
#include <string>

#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// Returns the first rule that placed instructions (tile >= 0) break, or "".
std::string NaiveFault(const Problem& problem, int initiation_interval,
                       std::span<const Place> places);

struct RandomShape {
  int least_nodes = 3, most_nodes = 8;
  int variables = 2;        // nodes that share tile memories
  double loop_share = 0.3;  // of graphs that have a value for a later thread
  double two_flows = 0.3;   // of graphs with a second flow
};
// Returns a random graph of integer operators.
ComputationGraph RandomTestGraph(uint64_t seed, const RandomShape& shape);
// Returns a random design point with few tiles; every rule's option occurs.
Config RandomTestConfig(uint64_t seed, int most_tiles);

}  // namespace kiln::cgra

#endif  // KILN_TESTS_TARGETS_CGRA_MAP_NAIVE_RULES_H_
