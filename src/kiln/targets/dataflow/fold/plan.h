// The order in which a search decides the layers of a pipeline.
//
// A search walks a plan step by step. Between two steps only the open lanes matter: the output
// lanes of decided layers whose consumers are undecided, and the input lanes of layers that are
// being decided. The combinations of open lanes are the states of the search, so a plan with few
// open lanes is a fast one. A chain has one open lane at a time. Inside a residual block the output
// of the fork is open as well. The input lanes of a join with many branches may be guessed before
// its branches are decided: then the branches no longer depend on each other.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_PLAN_H_
#define KILN_TARGETS_DATAFLOW_FOLD_PLAN_H_

#include <vector>

#include "kiln/targets/dataflow/fold/model.h"

namespace kiln::dataflow {

struct PlanStep {
  enum class Kind {
    kGuess,   // fix the input lanes of a join early
    kEnter,   // fix the input lanes of a layer; all its producers are decided
    kChoose,  // choose a candidate with these input lanes
  };
  Kind kind = Kind::kEnter;
  int layer = 0;
};

// The lanes that are open: 2 * layer for the input of a layer, 2 * layer + 1 for its output.
inline int InputLane(int layer) { return 2 * layer; }
inline int OutputLane(int layer) { return 2 * layer + 1; }

struct Plan {
  std::vector<PlanStep> steps;
  std::vector<std::vector<int>> open;  // [level]: lanes open before step `level`; one level more
                                       // than steps
  double work = 0;                     // estimated transitions between states
};

// Returns the plan of least estimated work among several orders and choices of guesses.
Plan MakePlan(const FoldModel& model);

// Returns the plan that decides the layers in the given topological order without guesses.
Plan MakePlanInOrder(const FoldModel& model, const std::vector<int>& order);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_PLAN_H_
