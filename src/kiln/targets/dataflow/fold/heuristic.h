// What the heuristic searches share: a smallest fold to begin with, changes of one layer with the
// neighbours following, and results without proof.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_HEURISTIC_H_
#define KILN_TARGETS_DATAFLOW_FOLD_HEURISTIC_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

class Heuristic {
 public:
  // `model` must outlive the object.
  Heuristic(const FoldModel& model, const Objective& objective);

  // Returns the choice that couples and needs the least of the device, limits left aside; absent if
  // nothing couples.
  std::optional<std::vector<int>> SmallestChoice() const;

  // Changes one layer and lets its neighbours follow: a layer that no longer couples takes its
  // smallest candidate that does, and so on. Returns false, with *choice unspecified, if that
  // fails.
  bool Change(int layer, int candidate, std::vector<int>* choice) const;

  // Adds FIFOs and keeps the fold if it is valid and better than the best so far. Returns whether
  // it is valid, the target left aside.
  bool Offer(const std::vector<int>& choice, FoldMetrics* metrics);

  // Returns what a candidate needs of the device: the sum of its shares of the limits, and for
  // unlimited resources a small weight each.
  double SizeOf(int layer, int candidate) const;

  // The best fold that was offered, as a result without proof.
  FoldResult Result() const;

  const std::optional<Fold>& best() const { return best_; }

 private:
  const FoldModel& model_;
  const Objective objective_;
  std::vector<std::vector<int>> by_size_;  // per layer: candidates, smallest first
  std::optional<Fold> best_;
  std::vector<int64_t> best_scores_;
  int64_t offered_ = 0;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_HEURISTIC_H_
