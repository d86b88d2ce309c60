// Enumerates all folds: the oracle of the other searches, for small problems.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_BRUTE_FORCE_H_
#define KILN_TARGETS_DATAFLOW_FOLD_BRUTE_FORCE_H_

#include <cstdint>
#include <functional>

#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

inline constexpr int64_t kMaxEnumerated = int64_t{1} << 26;

// Calls `visit` with each valid fold of the problem, with every choice of FIFO options, and its
// measures, in ascending order of the choices of layers and then of FIFOs. Returns the number of
// choices of candidates. Errors: CheckProblem's; more than kMaxEnumerated choices of candidates.
StatusOr<int64_t> EnumerateFolds(
    const FoldProblem& problem,
    const std::function<void(const Fold& fold, const FoldMetrics& metrics)>& visit);

// Finds the best fold by enumeration; among equals, the first. The certificate says optimal, its
// bounds are the values. Errors: as above, and CheckObjective's.
StatusOr<FoldResult> SolveByEnumeration(const FoldProblem& problem, const Objective& objective);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_BRUTE_FORCE_H_
