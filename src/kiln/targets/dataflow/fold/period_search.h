// The search over the period and over the terms of an objective, for any method that can answer
// questions at a fixed period.
//
// L_max takes only values in the finite set of the candidates' cycles. With the period fixed,
// everything else is additive (resources, idle time) or a longest path (latency), and the
// capacities of FIFOs are known functions. A method therefore implements PeriodOracle, and
// SearchPeriods asks it a sequence of questions: a search for the least period, then one question
// for each further term, with the terms before it as limits.
//
// FIFOs and the period. A shorter period makes the FIFO of a join larger, so a fold that is slower
// than needed may fit where its own L_max does not. A fold counts only with the FIFOs of its own
// L_max. The questions first leave this out (`reach_period` false: any fold within the period, with
// the FIFOs of the period), which gives bounds that never rise with the period, and then ask for
// folds whose L_max is exactly the period.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_PERIOD_SEARCH_H_
#define KILN_TARGETS_DATAFLOW_FOLD_PERIOD_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

struct TermLimit {
  Term term;
  int64_t limit = 0;
};

// One question: the fold with all cycles at most `period`, FIFOs sized for `period`, within the
// limits of the problem and these limits, that minimises a term.
struct PeriodQuery {
  int64_t period = 0;
  bool reach_period = false;      // some layer must take exactly `period` cycles
  std::vector<TermLimit> limits;  // terms other than kPeriod; kIdle is sum(period - C)
  std::optional<Term> minimise;   // other than kPeriod; absent: any fold
  std::optional<int> lifted;      // a resource whose limit in the problem does not count
  std::vector<int> compare;       // resources that folds must be told apart by (pareto.h)
  const Fold* start = nullptr;    // a fold that satisfies the question, if one is known
  int64_t start_value = 0;        // the value of `minimise` for it
};

// The answer to a question.
struct PeriodAnswer {
  bool complete = false;     // nothing was left out: without a fold there is none, else it is best
  std::optional<Fold> fold;  // the best found; `start` if nothing is better
  int64_t value = 0;         // of `minimise`, for `fold`
  int64_t bound = 0;         // no fold has a smaller value
};

// A method that answers questions about one problem.
class PeriodOracle {
 public:
  virtual ~PeriodOracle() = default;
  virtual PeriodAnswer Answer(const PeriodQuery& query) = 0;
  virtual int64_t work() const = 0;  // in units of the method, since its construction
};

// Searches for the best fold of an objective. The certificate has terms, bound and work; its source
// is kNone, kBottleneck or kExhausted (explain.h finds the others). Without a fold, `infeasible` is
// empty: optimal tells whether that is proved.
FoldResult SearchPeriods(const FoldModel& model, const Objective& objective, PeriodOracle& oracle);

// As above, for least L_max alone: the first term of Goal::kThroughput.
FoldResult SearchLeastPeriod(const FoldModel& model, PeriodOracle& oracle);

// Returns a lower bound of L_max that needs no search, for candidates that fit the limits one by
// one: the fastest candidate of the slowest layer, and for each limited resource the least product
// of cycles and amount of each layer, summed and divided by the limit. 0 if a layer has no such
// candidate. `layer` is the slowest layer.
struct SimpleBound {
  int64_t cycles = 0;
  int64_t bottleneck_cycles = 0;
  int layer = -1;
};
SimpleBound SimplePeriodBound(const FoldProblem& problem);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_PERIOD_SEARCH_H_
