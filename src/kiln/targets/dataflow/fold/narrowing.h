// Narrows a subproblem: removes candidates that no wanted fold contains, until little is removed.
//
// Bounds of one dimension each are cheap and remove most candidates. Bounds with multipliers cost
// tens of passes over the state graph, so they wait until the graph is small.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_NARROWING_H_
#define KILN_TARGETS_DATAFLOW_FOLD_NARROWING_H_

#include <vector>

#include "kiln/targets/dataflow/fold/plan.h"
#include "kiln/targets/dataflow/fold/relaxation.h"
#include "kiln/targets/dataflow/fold/state_graph.h"
#include "kiln/targets/dataflow/fold/subproblem.h"

namespace kiln::dataflow {

class Narrowing {
 public:
  enum class Outcome {
    kNothingWanted,  // no fold is better than the answer's
    kTooWide,        // the graph has too many states
    kReady,          // graph() and bounds() belong to the candidates that are left
  };

  // All arguments must outlive this. Folds that are found on the way become the answer and lower
  // the cutoff of the subproblem.
  Narrowing(const Plan& plan, Subproblem* subproblem, PeriodAnswer* answer);

  // Narrows the subproblem for its cutoff; `thorough` also uses a bound with multipliers for each
  // limit that binds.
  Outcome Run(bool thorough);

  const StateGraph& graph() const { return graph_; }
  // The last one is the objective's with multipliers.
  const std::vector<LinearBound>& bounds() const { return bounds_; }

 private:
  bool UseBound(LinearBound bound, Relaxation& relaxation);
  bool UseDimensions(Relaxation& relaxation);
  bool UseMultipliers(bool thorough, Relaxation& relaxation);
  bool Shrink();

  const Plan& plan_;
  Subproblem& subproblem_;
  PeriodAnswer& answer_;
  const bool any_;  // without an objective any fold will do
  StateGraph graph_;
  std::vector<LinearBound> bounds_;
  std::vector<std::vector<double>> multipliers_;  // [dimension]: the last ones of its bound
  std::vector<std::vector<char>> keep_;           // [layer][index of an active candidate]
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_NARROWING_H_
