// The exact mapper: least initiation interval, then least latency, by Kiln's own branch and bound
// and, for what that leaves open, a SAT solver.
#ifndef KILN_TARGETS_CGRA_MAP_EXACT_H_
#define KILN_TARGETS_CGRA_MAP_EXACT_H_

#include <cstdint>
#include <memory>

#include "kiln/targets/cgra/map/decide.h"
#include "kiln/targets/cgra/map/mapper.h"
#include "kiln/targets/cgra/map/search_order.h"

namespace kiln::cgra {

// A step is a node of the search, or a conflict of the solver.
std::unique_ptr<Mapper> MakeExactMapper();
// The same search, which tries tiles and issue cycles of an instruction in this order. It proves
// the same, in another number of steps.
std::unique_ptr<Mapper> MakeExactMapperInOrder(MakeSearchOrder make_order);

// Returns what makes the deciders of these mappers: a branch and bound (branch.h) and, in questions
// with at least `least_effort` steps, or with few thousands of steps and literals, the solver
// (sat.h) beside it. The order may be empty.
MakeDecider MakeRace(MakeSearchOrder make_order, int64_t least_effort);
inline constexpr int64_t kSolverEffort = 256'000;

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_EXACT_H_
