// Answers questions at a fixed period by dynamic programming (exact.h).
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_EXACT_ORACLE_H_
#define KILN_TARGETS_DATAFLOW_FOLD_EXACT_ORACLE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kiln/targets/dataflow/fold/period_search.h"
#include "kiln/targets/dataflow/fold/plan.h"
#include "kiln/targets/dataflow/fold/relaxation.h"
#include "kiln/targets/dataflow/fold/subproblem.h"

namespace kiln::dataflow {

// Returns, per layer, the candidates that no other candidate can replace in every fold, at every
// period and under any limits.
std::vector<std::vector<int>> IrreplaceableCandidates(const FoldModel& model);

// Questions that follow from an earlier one (a shorter period, or the next term of an objective)
// begin with the candidates that it left.
class ExactOracle : public PeriodOracle {
 public:
  // `model` must outlive the oracle. `most_work` limits the labels of all questions together; one
  // question may use half of what is left.
  ExactOracle(const FoldModel& model, int64_t most_work);

  PeriodAnswer Answer(const PeriodQuery& query) override;
  int64_t work() const override { return work_; }

  // Finds one fold for each undominated combination of the resources query.compare, without the
  // folds that `unwanted` rejects; it is given lower bounds of these resources, in the same
  // order. The query minimises nothing. Returns false if the work budget ended.
  using Unwanted = std::function<bool(const std::vector<int64_t>& least)>;
  bool AnswerAll(const PeriodQuery& query, const Unwanted& unwanted, std::vector<Fold>* folds);

  const Plan& plan() const { return plan_; }
  int64_t work_left() const { return std::max<int64_t>(0, most_work_ - work_); }

 private:
  // Every fold that satisfies these limits at this period contains only these candidates.
  struct Known {
    int64_t period = 0;
    bool reach_period = false;
    std::vector<TermLimit> limits;  // beside the problem's
    std::vector<std::vector<int>> candidates;
  };
  const std::vector<std::vector<int>>& CandidatesOf(const PeriodQuery& query) const;
  void Remember(const PeriodQuery& query, const PeriodAnswer& answer, const Subproblem& subproblem);
  // Which easier questions a search may ask first.
  struct Detours {
    bool tighten = false, lift = false;
  };
  void Search(int64_t most_work, Detours detours, Subproblem* subproblem, PeriodAnswer* answer);
  bool SearchTightened(int64_t most_work, const Subproblem& subproblem, const LinearBound& bound,
                       PeriodAnswer* answer);
  bool SearchLifted(int64_t most_work, const Subproblem& subproblem, const LinearBound& bound,
                    PeriodAnswer* answer);

  const FoldModel& model_;
  const int64_t most_work_;
  Plan plan_;
  std::vector<std::vector<int>> candidates_;
  std::optional<Known> known_;  // from the last question with a fold
  int64_t work_ = 0;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_EXACT_ORACLE_H_
