// The mappers that prove nothing: random search, list scheduling, simulated annealing and
// evolutionary search. All have the same interface, and take the same seeds and budgets; a step is
// one attempt to place all instructions.
#ifndef KILN_TARGETS_CGRA_MAP_HEURISTICS_H_
#define KILN_TARGETS_CGRA_MAP_HEURISTICS_H_

#include <memory>

#include "kiln/targets/cgra/map/mapper.h"

namespace kiln::cgra {

// Places instructions in topological order in random free cells.
std::unique_ptr<Mapper> MakeRandomMapper();
// Places instructions by the length of the path that they begin. After a failure it starts again
// with higher priorities for the instructions that found no place, then with random wishes.
std::unique_ptr<Mapper> MakeGreedyMapper();
// Varies wished tiles and priorities by simulated annealing.
std::unique_ptr<Mapper> MakeAnnealingMapper();
// Varies them by an evolution strategy with crossover.
std::unique_ptr<Mapper> MakeEvolutionaryMapper();

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_HEURISTICS_H_
