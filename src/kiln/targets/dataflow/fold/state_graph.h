// The states of a search plan and the transitions between them.
//
// Level n of the graph holds the combinations of lanes that may be open before step n of the plan;
// level 0 and the last level have one state each. A path from the first to the last level chooses a
// candidate for each layer so that all couplings are satisfied.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_STATE_GRAPH_H_
#define KILN_TARGETS_DATAFLOW_FOLD_STATE_GRAPH_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/plan.h"

namespace kiln::dataflow {

// The candidates of a layer with the same lanes: members[first] and the next count - 1.
struct CandidateGroup {
  int layer = 0, in_index = 0, out_index = 0;
  int first = 0, count = 0;
};

// A transition from a state of one level to a state of the next.
struct StateArc {
  int32_t from = 0, to = 0;
  int32_t group = -1;  // of a choice; -1 for other steps
};

struct StateGraph {
  struct Stage {
    PlanStep step;
    std::vector<StateArc> arcs;  // by state of origin
    std::vector<int32_t> begin;  // [state]: its first arc; one entry more than states
    std::vector<int32_t> input;  // of kEnter: [state after]: index of the layer's input lanes
  };
  std::vector<Stage> stages;
  std::vector<int> nodes;      // [level]: number of states
  std::vector<size_t> offset;  // [level]: number of states before, for arrays over all states
  std::vector<int32_t>
      released;  // [level]: with `allow_release`, the state whose open lanes are all
                 // released; -1 if the level follows no choice
  std::vector<CandidateGroup> groups;
  std::vector<int> members;  // candidates of groups
  bool too_wide = false;     // has more states than a search can visit; incomplete

  size_t states() const { return offset.back() + static_cast<size_t>(nodes.back()); }
};

// Builds the graph of the candidates in active[layer]. With `allow_release`, each level after a
// choice also has a state in which every open output lane is released: it couples with any input
// (for streams over links that convert widths). No arc leads there.
StateGraph BuildStateGraph(const FoldModel& model, const Plan& plan,
                           const std::vector<std::vector<int>>& active, bool allow_release = false);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_STATE_GRAPH_H_
