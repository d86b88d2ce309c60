// Dynamic programming with labels: partial folds that no other partial fold beats.
//
// A label of a state holds the sums of all dimensions over the layers decided so far and, if times
// matter, the times of the layers whose consumers are undecided. One label replaces another of the
// same state if it is at most as large in every dimension that can matter, and if no future join
// can be worse. The FIFO of an input j of a join must hold what arrives while another input i is
// late, so its size grows with time(u) - time(w) for each open layer u before i and each open layer
// w before j. One label is therefore no worse than another in its times if these differences are at
// most as large. A pair (u, w) does not count if u is never late; so a skip connection from a fork
// needs one difference, and a chain none. For the end-to-end latency the times themselves count.
//
// Labels are dropped if a linear bound (relaxation.h) shows that no wanted fold completes them.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_LABELS_H_
#define KILN_TARGETS_DATAFLOW_FOLD_LABELS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "kiln/targets/dataflow/fold/relaxation.h"
#include "kiln/targets/dataflow/fold/state_graph.h"
#include "kiln/targets/dataflow/fold/subproblem.h"

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

  // Finds one fold for each undominated vector of sums among those that `unwanted` lets pass.
  // Returns false if the work budget ended. The sums of fold i are at sums[i * dimensions].
  bool RunAll(const LabelFilter& unwanted, int64_t most_work, int64_t* work,
              std::vector<Fold>* folds, std::vector<int64_t>* sums);

 private:
  // The time of `late` less the time of `early` must not grow.
  struct TimePair {
    int late = 0, early = 0;  // indices of slots; -1: time 0
    int64_t most_ahead = 0;   // what the paths from `late` to a join can be longer than those from
                              // `early`; kUnlimited: the difference counts in any case
  };
  // Times to the outputs of layers, -1 if there is no path.
  struct Reach {
    std::vector<int64_t> least, most;
  };
  struct Level {
    std::vector<int> slots;          // the layers whose time a label holds
    std::vector<int> slot_from;      // per slot: slot of the level before; -1: of the step's layer
    std::vector<int64_t> slot_rest;  // per slot: least time from it to the end
    std::vector<TimePair> pairs;
    bool can_reach = false;  // a layer not yet decided can take exactly the period
    size_t stride = 0;       // of rows
  };
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
    std::vector<int64_t> slack;  // per input
  };

  void MakeLevels();
  void MakePairs(size_t level);
  Reach ReachOf(int origin, const std::vector<char>& entered,
                const std::vector<char>& chosen) const;
  bool Search(int64_t width, int64_t most_work, int64_t* work);
  bool Expand(size_t stage_index, const Batch& from, int64_t most_work, Batch& to);
  void ExpandEnter(const StateGraph::Stage& stage, const Batch& from, size_t label, Batch& to);
  void ExpandChoose(const StateGraph::Stage& stage, const Batch& from, size_t label, Batch& to);
  void AddFifos(const EnterStep& step, size_t input, int64_t code, int64_t unit, Batch& to);
  void Push(const int64_t* row, int32_t node, int32_t parent, int64_t choice, Batch& to);
  bool Wanted(const int64_t* row, int32_t node) const;
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
  int dimensions_ = 0;
  bool tracks_reach_ = false, tracks_done_ = false;
  size_t reach_at_ = 0, done_at_ = 0, header_ = 0;  // positions in a row
  std::vector<int> compared_;                       // dimensions that dominance compares
  std::vector<Level> levels_;
  std::vector<int> dominators_;  // filled when FIFOs need them
  std::vector<int> slot_of_;     // per layer, at the level before a step
  size_t level_ = 0;             // of the labels that are being made
  int64_t made_ = 0;             // labels, wanted or not
  int64_t comparisons_ = 0;      // of labels
  std::vector<int64_t> row_;     // the label that is being made
  std::vector<Trace> traces_;
  Batch final_;
  double dropped_bound_ = 0;
  bool dropped_ = false;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_LABELS_H_
