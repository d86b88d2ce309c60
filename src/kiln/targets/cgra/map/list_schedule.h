// Turns priorities and wished tiles of instructions into a placement: the decoder of the heuristic
// searches.
#ifndef KILN_TARGETS_CGRA_MAP_LIST_SCHEDULE_H_
#define KILN_TARGETS_CGRA_MAP_LIST_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/cgra/map/placement.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// What a search varies.
struct Wishes {
  std::vector<double> priority;  // by instruction: of those that are ready, the highest comes first
  std::vector<int> tile;         // by instruction: the tile to try first; -1: no wish
};

// Returns the length of the longest path from each instruction to the end, in cycles without hops:
// the priorities of list scheduling.
std::vector<double> PathPriorities(const Problem& problem);

// How close instructions should be: the two ends of a moving value, and two instructions with a
// common consumer.
class Affinity {
 public:
  explicit Affinity(const Problem& problem);
  // Returns how far an instruction on `tile` would be from what belongs close to it and is placed;
  // 0 if nothing close to it is placed. The unit is tiles of distance, each weighted by the number
  // of dependences that join the two.
  double Cost(const Placement& placement, int instruction, int tile) const;

 private:
  struct Neighbour {
    int instruction = 0;
    double weight = 0;
    int near = 0;  // tiles of distance that cost nothing
  };
  std::vector<std::vector<Neighbour>> neighbours_;
  int columns_;
};

// Places ready instructions in the order of their priorities, each as early as it can be: on its
// wished tile if the rules allow it, else on the tile with the earliest issue, corrected by
// distances. Leaves out an instruction that fits on no tile, and all instructions that depend on
// it. Returns the instructions that fit on no tile. Deterministic; equal priorities are ordered by
// number.
std::vector<int> ListSchedule(const Wishes& wishes, const Affinity& affinity, Placement* placement);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_LIST_SCHEDULE_H_
