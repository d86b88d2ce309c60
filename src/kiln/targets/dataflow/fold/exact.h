// The exact folding search: dynamic programming over the pipeline at a fixed period, inside a
// search over the finite set of periods.
//
// At each period the search (1) removes candidates that others replace or that no fold within the
// limits contains, by shortest paths over each limited resource and by Lagrangian bounds whose
// multipliers cutting planes find; (2) keeps the undominated partial folds of each state of the
// plan (labels.h), first with few labels per level, which gives good folds quickly, then with more
// until nothing was left out. Before it keeps many labels it asks two easier questions that often
// settle the matter: whether some fold has the least objective that the bound allows, and whether
// there is a better fold without the limits that hardly count in the bound. Questions at one period
// begin with the candidates that the ones before left.
//
// The method is exact for every directed acyclic graph. If the work budget ends before any fold is
// found, or the graph has too many states (more than 65536 combinations of open lanes), the
// heuristics of finn_rule.h and samo.h provide the fold. The time of the search grows with the
// number of lanes that are open at the same time (plan.h) and with the number of resources that
// bind.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_EXACT_H_
#define KILN_TARGETS_DATAFLOW_FOLD_EXACT_H_

#include <cstdint>

#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

struct ExactOptions {
  // Budget of labels, comparisons included; about twenty million take a second. A search that
  // exceeds it returns the best fold found and a bound. One question (one period, one term) uses at
  // most half of the rest of the budget.
  int64_t most_work = 200000000;
  // Find why no fold is faster (BoundSource): one or a few more questions.
  bool explain = true;
};

// Finds the best fold. The result does not depend on the machine or on time. A problem without a
// valid fold is not an error: the result has no fold and says why (`infeasible`).
// Errors: CheckProblem's; a target below 1.
StatusOr<FoldResult> SolveExact(const FoldProblem& problem, const Objective& objective,
                                const ExactOptions& options = {});

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_EXACT_H_
