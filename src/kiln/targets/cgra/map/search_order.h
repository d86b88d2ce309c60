// A search order ranks the places that a search may try next for one instruction. The learned
// policy provides one for the exact search; the order changes how fast the search ends, never what
// it proves.
#ifndef KILN_TARGETS_CGRA_MAP_SEARCH_ORDER_H_
#define KILN_TARGETS_CGRA_MAP_SEARCH_ORDER_H_

#include <functional>
#include <span>

#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// Writes a score for each candidate place of an instruction that is not placed; the search tries
// the highest first, and equal ones as it would without.
//   places      by instruction: what the search has decided so far; tile -1: not placed
//   candidates  tiles and issue cycles to choose from
//   scores      of the size of `candidates`
// The scores depend on the arguments alone. May be called from several threads at once.
using SearchOrder =
    std::function<void(std::span<const Place> places, int instruction,
                       std::span<const Place> candidates, std::span<double> scores)>;

// Returns the order for a problem, which must outlive it, at an initiation interval.
using MakeSearchOrder = std::function<SearchOrder(const Problem& problem, int initiation_interval)>;

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_SEARCH_ORDER_H_
