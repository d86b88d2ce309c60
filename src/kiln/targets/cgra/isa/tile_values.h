// Distributes the values that instructions read from tile memories over the two memories.
#ifndef KILN_TARGETS_CGRA_ISA_TILE_VALUES_H_
#define KILN_TARGETS_CGRA_ISA_TILE_VALUES_H_

#include <array>
#include <utility>
#include <vector>

namespace kiln::cgra {

// One value of a tile: the entries of a memory that it takes, and whether a second copy costs time
// in every thread (inputs) or none (constants, variables).
struct TileValue {
  int entries = 1;
  bool costly = false;
};

// Which memories hold each value: at least one.
using MemorySet = std::array<bool, 2>;

// Returns the memories of each value, so that the two different values of each pair can be read at
// once, one from memory 0 and the other from memory 1: a two-colouring of the graph of pairs. On a
// cycle of odd length a value must be in both memories, one that is not costly if there is a
// choice; the number of such values is not minimised. Both memories are filled evenly as far as the
// pairs allow.
std::vector<MemorySet> DistributeValues(const std::vector<TileValue>& values,
                                        const std::vector<std::pair<int, int>>& pairs);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_ISA_TILE_VALUES_H_
