// The times that a partial fold must remember, and how two partial folds compare in them.
//
// A label (labels.h) holds a time for each layer whose consumers are not all entered: of its first
// output, or of its start while the layer itself is being decided. The FIFO of an input j of a join
// must hold what arrives while another input i is late, so its size grows with time(u) - time(w)
// for each open layer u before i and each open layer w before j. A label is therefore no worse than
// another in its times if these differences are at most as large. A pair (u, w) does not count if u
// is never late: so a skip connection from a fork needs one difference, and a chain none. Inputs of
// the pipeline start at time 0. For the end-to-end latency the times themselves count.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_TIME_SLOTS_H_
#define KILN_TARGETS_DATAFLOW_FOLD_TIME_SLOTS_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/dataflow/fold/plan.h"
#include "kiln/targets/dataflow/fold/subproblem.h"

namespace kiln::dataflow {

// The time of `late` less the time of `early` must not grow.
struct TimePair {
  int late = 0, early = 0;  // indices of slots; -1: time 0
  int64_t most_ahead = 0;   // what the paths from `late` to a join can be longer than those from
                            // `early`; kUnlimited: the difference counts in any case
};

class TimeSlots {
 public:
  // Without times in the subproblem, no level has slots.
  TimeSlots(const Subproblem& subproblem, const Plan& plan);

  struct Level {
    std::vector<int> slots;          // the layers whose time a label holds before a step
    std::vector<int> slot_from;      // per slot: slot of the level before; -1: of the step's layer
    std::vector<int64_t> slot_rest;  // per slot: least time from it to the end
    std::vector<TimePair> pairs;
  };
  const Level& level(size_t index) const { return levels_[index]; }

  // Returns the slot of a layer at a level, which must have one.
  int SlotOf(size_t level, int layer) const;

  // Returns the pairs that can matter to some of these labels, given by their times.
  std::vector<TimePair> PairsThatMatter(size_t level,
                                        const std::vector<const int64_t*>& labels) const;

  static int64_t Difference(const int64_t* times, const TimePair& pair) {
    return (pair.late < 0 ? 0 : times[pair.late]) - (pair.early < 0 ? 0 : times[pair.early]);
  }

 private:
  // The least and the most cycles to the output of each layer; kNoPath if no path leads there.
  struct Reach {
    std::vector<int64_t> least, most;
  };
  void MakeSlots(const PlanStep& step, const Level& before, Level* now);
  void MakePairs(Level* now);
  Reach ReachOf(int origin) const;

  const Subproblem& subproblem_;
  const FoldModel& model_;
  std::vector<Level> levels_;
  std::vector<int> dominators_;
  std::vector<char> entered_, chosen_;  // per layer, while levels are made
  std::vector<int> waiting_;            // per layer: its consumers that are not entered
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_TIME_SLOTS_H_
