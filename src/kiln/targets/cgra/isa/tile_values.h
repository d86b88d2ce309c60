// Distributes the values that instructions read from tile memories over the two memories.
#ifndef KILN_TARGETS_CGRA_ISA_TILE_VALUES_H_
#define KILN_TARGETS_CGRA_ISA_TILE_VALUES_H_

#include <array>
#include <utility>
#include <vector>

namespace kiln::cgra {

// One value of a tile: how many entries of a memory it takes, and whether a second copy costs time
// in every thread (inputs) or none (constants, variables).
struct TileValue {
  int entries = 1;
  bool costly = false;
};

// Which memories hold each value: at least one.
using MemorySet = std::array<bool, 2>;

// Returns memories such that of every pair, one value is in memory 0 and the other in memory 1. The
// fewest pairs of odd cycles are not sought: a value that two neighbours force apart is held twice,
// one that is not costly if there is a choice. Among the ways that remain, the memories are filled
// evenly. A pair's values differ.
std::vector<MemorySet> DistributeValues(const std::vector<TileValue>& values,
                                        const std::vector<std::pair<int, int>>& pairs);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_ISA_TILE_VALUES_H_
