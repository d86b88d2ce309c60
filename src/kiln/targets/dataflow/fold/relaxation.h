// Lower bounds of a subproblem: shortest paths in the state graph under weighted dimensions.
//
// With one dimension as weight, the shortest path is the least that the layers need of it together.
// With the objective plus multiples of the limited dimensions (Lagrangian relaxation), the shortest
// path less the multiples of the limits is a bound of the objective that knows about all limits.
// The distances from each state to the end bound all completions of a partial choice.
//
// Distances are computed in binary64. Their error is far below `tolerance`, which every comparison
// grants, so that no fold is excluded by rounding.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_RELAXATION_H_
#define KILN_TARGETS_DATAFLOW_FOLD_RELAXATION_H_

#include <optional>
#include <vector>

#include "kiln/targets/dataflow/fold/state_graph.h"
#include "kiln/targets/dataflow/fold/subproblem.h"

namespace kiln::dataflow {

// A linear inequality that every wanted fold satisfies: sum over dimensions of weight * value is at
// most `most`. to_end[state] is the least sum that the rest of the plan adds.
struct LinearBound {
  int primary = 0;  // the dimension that the multipliers were chosen for
  std::vector<double> weights;
  double most = 0;       // tolerance included
  double most_kept = 0;  // the same for folds with an objective of one more (Subproblem::Keep)
  std::vector<double> to_end;
  double root() const { return to_end[0]; }
  bool Excludes() const { return root() > most; }  // no fold is wanted
  // Returns the least objective of a fold whose weighted sum is `sum`, if the weight of the
  // objective is 1.
  double Objective(const Subproblem& subproblem, double sum) const;
};

class Relaxation {
 public:
  Relaxation(const Subproblem& subproblem, const StateGraph& graph);

  // Returns the bound that a limited dimension gives.
  LinearBound BoundOf(int dimension);

  // Returns the candidates of a fold with the least sum of a bound, FIFOs at their least.
  std::vector<int> WalkOf(const LinearBound& bound);

  // What OptimiseMultipliers found.
  struct Optimum {
    LinearBound bound;             // with the best multipliers
    std::optional<Fold> feasible;  // the best wanted fold that was met on the way
    int64_t feasible_value = 0;    // of the objective
  };
  // Improves the multipliers of the limits by cutting planes, so that the bound of the dimension
  // `primary` becomes large; `cutoff` is the most that is wanted of it. The objective is one more
  // limit if it is not the primary dimension. Stops as soon as the bound excludes every fold, or,
  // if there is no objective, a fold is found.
  //   start  the weights to begin with; empty: the limits do not count
  //   thorough  take more steps where there is no objective
  Optimum OptimiseMultipliers(int primary, int64_t cutoff, const std::vector<double>& start,
                              bool thorough);

  // Marks as 0 the candidates that no fold with an objective of at most Subproblem::most_kept can
  // contain, according to the bound. `keep` has the shape of the subproblem's active candidates.
  void Exclude(const LinearBound& bound, std::vector<std::vector<char>>* keep);

 private:
  // The FIFO of one input of a layer for one number of input lanes, at its least size.
  struct LeastFifo {
    size_t first = 0, count = 0;  // of its options in fifo_values_
  };
  void TakeValues();
  void TakeFifos();
  void SetWeights(const std::vector<double>& weights);
  void Backward(std::vector<double>* to_end) const;
  double StepWeight(const StateGraph::Stage& stage, const StateArc& arc) const;
  void Walk(const std::vector<double>& to_end);
  void AddFifosOfWalk(size_t input);
  LinearBound MakeBound(const std::vector<double>& weights, double most);
  bool CompleteWalk(const std::vector<double>& weights, int64_t cutoff, Fold* fold,
                    int64_t* value) const;
  Optimum Feasibility(int steps);

  const Subproblem& subproblem_;
  const StateGraph& graph_;
  const size_t dimensions_;
  // Values of the subproblem, in binary64 and in the order in which SetWeights reads them.
  std::vector<double> values_;       // [dimension][member of the graph]
  std::vector<size_t> first_input_;  // [layer]: of its numbers of input lanes in fifos_of_
  std::vector<std::vector<LeastFifo>> fifos_of_;  // [input]; empty if the layer has no FIFO
  std::vector<double> fifo_values_;               // [option][dimension]
  // The weights that were set last, and what follows from them.
  std::vector<double> weights_;
  std::vector<double> member_weight_;  // per member of the graph
  std::vector<double> group_weight_;   // per group: of its lightest candidate
  std::vector<int> group_lightest_;    // per group
  std::vector<double> input_weight_;   // [input]: of its FIFOs
  // The shortest path of the last Walk.
  std::vector<int> walk_choice_;  // per layer
  std::vector<double> walk_sum_;  // per dimension
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_RELAXATION_H_
