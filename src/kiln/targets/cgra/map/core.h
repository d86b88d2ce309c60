// Why there is no mapping: the core of a refutation in the user's terms.
#ifndef KILN_TARGETS_CGRA_MAP_CORE_H_
#define KILN_TARGETS_CGRA_MAP_CORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/targets/cgra/map/decide.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// A part of a problem that has no solution. Without any one of its instructions, groups, siblings
// or rule 2, the rest has a solution, or was not refuted with the effort.
struct Core {
  std::vector<int> instructions;  // of the problem
  std::vector<int> groups;        // of the problem, that the refutation needs
  std::vector<int> producers;     // whose consumers it needs on different tiles
  bool starts = false;            // whether it needs rule 2
  bool loops = false;             // whether it needs dependences on earlier threads
  std::string text;               // one sentence
};

// Finds a core of a problem without a solution at the interval within the latency, both in cycles
// (kAnyLatency: any latency), by deleting what the refutation does not need. `effort` is the number
// of steps of each attempt, which count in `budget`. If the problem itself is not refuted with this
// effort, the core is the whole problem, and `text` names all of its instructions. Depends on the
// arguments alone unless the budget limits the time.
Core FindCore(const Problem& problem, int initiation_interval, int most_latency, int64_t effort,
              StepBudget* budget);

// Returns the problem of a core: its instructions with the rules that its refutation needs.
Problem ProblemOfCore(const Problem& problem, const Core& core);

// Returns whether a problem has all instructions and rules of `part`, a part of another problem of
// the same graph: then it has no solution at an interval and latency at which the part has none.
// Instructions are the same if they compute the same nodes; pass-throughs of the part have no
// counterpart.
bool HasAllOf(const Problem& problem, const Problem& part);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_CORE_H_
