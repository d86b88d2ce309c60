// Answers questions at a fixed period by dynamic programming (exact.h).
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_EXACT_ORACLE_H_
#define KILN_TARGETS_DATAFLOW_FOLD_EXACT_ORACLE_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/dataflow/fold/labels.h"
#include "kiln/targets/dataflow/fold/period_search.h"
#include "kiln/targets/dataflow/fold/plan.h"
#include "kiln/targets/dataflow/fold/relaxation.h"

namespace kiln::dataflow {

class ExactOracle : public PeriodOracle {
 public:
  // `model` must outlive the oracle. `most_work` is the number of labels for one question.
  ExactOracle(const FoldModel& model, int64_t most_work);

  PeriodAnswer Answer(const PeriodQuery& query) override;
  int64_t work() const override { return work_; }

  // The candidates of each layer that no other candidate replaces at any period.
  const std::vector<std::vector<int>>& candidates() const { return candidates_; }
  const Plan& plan() const { return plan_; }
  int64_t most_work() const { return most_work_; }

 private:
  void Search(Subproblem* subproblem, PeriodAnswer* answer);
  enum class Prepared { kNothingWanted, kTooWide, kReady };
  Prepared Prepare(bool thorough, Subproblem* subproblem, StateGraph* graph,
                   std::vector<LinearBound>* bounds, PeriodAnswer* answer);
  Prepared PrepareRound(bool thorough, Subproblem* subproblem, StateGraph* graph,
                        std::vector<LinearBound>* bounds, PeriodAnswer* answer, bool* shrunk);

  const FoldModel& model_;
  const int64_t most_work_;
  Plan plan_;
  std::vector<std::vector<int>> candidates_;
  int64_t work_ = 0;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_EXACT_ORACLE_H_
