// Dynamic programming with labels: partial folds that no other partial fold beats.
//
// A label of a state holds the sums of all dimensions over the layers decided so far and, if times
// matter, the times of open layers (time_slots.h). One label replaces another of the same state if
// it is at most as large in every dimension that can matter and no worse in its times.
//
// Labels are dropped if a linear bound (relaxation.h) shows that no wanted fold completes them.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_LABELS_H_
#define KILN_TARGETS_DATAFLOW_FOLD_LABELS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "kiln/targets/dataflow/fold/relaxation.h"
#include "kiln/targets/dataflow/fold/state_graph.h"
#include "kiln/targets/dataflow/fold/subproblem.h"
#include "kiln/targets/dataflow/fold/time_slots.h"

namespace kiln::dataflow {

// Says whether a label is unwanted: its sums per dimension, and its level and state.
using LabelFilter = std::function<bool(const int64_t* sums, size_t level, int state)>;

struct LabelResult {
  bool found = false;
  Fold fold;
  int64_t value = 0;      // of the objective
  bool complete = false;  // no label was dropped for its width or for the budget
  // If labels were dropped: no fold that they could have become has a smaller objective.
  double dropped_bound = 0;
};

class LabelSearch {
 public:
  // All arguments must outlive the search. `bounds` are inequalities of wanted folds; labels are
  // ranked by the last one.
  LabelSearch(const Subproblem& subproblem, const Plan& plan, const StateGraph& graph,
              const std::vector<LinearBound>& bounds);

  // Finds the fold of least objective that satisfies the bounds, keeping at most `width` labels per
  // level. Adds the labels made to *work and stops, incomplete, when it exceeds `most_work`.
  LabelResult Run(int64_t width, int64_t most_work, int64_t* work);

  // Finds one fold for each undominated combination of the dimensions that count in dominance,
  // among the labels that `unwanted` lets pass. Returns false if the work budget ended.
  bool RunAll(const LabelFilter& unwanted, int64_t most_work, int64_t* work,
              std::vector<Fold>* folds);

 private:
  // Labels of one level. Rows are kept only for the current level.
  struct Batch {
    std::vector<int64_t> rows;
    std::vector<int32_t> node, parent;
    std::vector<int64_t> choice;
    size_t size() const { return node.size(); }
    void Clear();
  };
  struct Trace {
    std::vector<int32_t> parent;
    std::vector<int64_t> choice;
  };

  // What ExpandEnter knows about one label and one state that it leads to.
  struct EnterStep {
    int layer = 0, in_index = 0;
    int32_t node = 0, parent = 0;
    std::vector<int64_t> elements;  // per input: of its FIFO
  };

  void MakeLevels();
  void WeighMembers();
  std::vector<int> PathSlots(size_t level) const;
  bool Search(int64_t width, int64_t most_work, int64_t* work);
  bool Expand(size_t stage_index, const Batch& from, int64_t most_work, Batch& to);
  void ExpandEnter(const StateGraph::Stage& stage, const Batch& from, size_t label, Batch& to);
  void ExpandChoose(const StateGraph::Stage& stage, const Batch& from, size_t label, Batch& to);
  void AddFifos(const EnterStep& step, size_t input, int64_t code, int64_t unit, Batch& to);
  void Push(const int64_t* row, int32_t node, int32_t parent, int64_t choice, Batch& to,
            bool within_bounds = false);
  bool Wanted(const int64_t* row, int32_t node, bool within_bounds) const;
  bool WithinBounds(int32_t node, size_t member) const;
  double WeightedSum(const LinearBound& bound, const int64_t* row, int32_t node) const;
  int Coordinates(const Batch& batch, const std::vector<int>& members,
                  std::vector<int64_t>* columns) const;
  void Compact(Batch& batch);
  void Truncate(int64_t width, Batch& batch);
  Fold FoldOf(int32_t label) const;
  int64_t FinalValue(const int64_t* row) const;

  const Subproblem& subproblem_;
  const FoldModel& model_;
  const Plan& plan_;
  const StateGraph& graph_;
  const std::vector<LinearBound>& bounds_;
  const LabelFilter* unwanted_ = nullptr;
  const TimeSlots times_;
  int dimensions_ = 0;
  bool tracks_reach_ = false, tracks_done_ = false;
  size_t reach_at_ = 0, done_at_ = 0, header_ = 0;  // positions in a row
  std::vector<int> compared_;                       // dimensions that dominance compares
  std::vector<size_t> stride_;                      // [level]: of rows
  std::vector<char> can_reach_;                     // [level]: a layer not decided can take exactly
                                                    // the period
  std::vector<std::vector<int>> path_slots_;  // [level]: slots that the rest of the path, whose
                                              // latency is a dimension, must wait for
  std::vector<int> slot_of_;                  // per layer, at the level before a step
  size_t level_ = 0;                          // of the labels that are being made
  int64_t made_ = 0;                          // labels, wanted or not
  int64_t comparisons_ = 0;                   // of labels
  std::vector<int64_t> row_;                  // the label that is being made
  EnterStep enter_;
  std::vector<double> member_weight_;  // [member of the graph][bound]: its weighted sum
  std::vector<double> parent_weight_;  // [bound]: of the label that is being expanded
  std::vector<Trace> traces_;
  Batch final_;
  double dropped_bound_ = 0;
  bool dropped_ = false;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_LABELS_H_
