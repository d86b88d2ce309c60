// A folding problem at a fixed period: the candidates that are left, and linear functions of them.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_SUBPROBLEM_H_
#define KILN_TARGETS_DATAFLOW_FOLD_SUBPROBLEM_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/period_search.h"

namespace kiln::dataflow {

// A function that is the sum of one value of each candidate and of each FIFO.
struct Dimension {
  enum class Kind {
    kNone,       // 0
    kResources,  // sum of products of weights and amounts
    kIdle,       // period - cycles
    kPath,       // latency of the layers on one path: a lower bound of the end-to-end latency
  };
  Kind kind = Kind::kNone;
  Resources weights{};
  int64_t limit = kUnlimited;
  bool binding = false;   // the limit excludes some combination of the candidates that are left
  bool compared = false;  // folds must be told apart by it although it need not bind

  bool operator==(const Dimension& other) const {
    return kind == other.kind && weights == other.weights;
  }
};

inline constexpr int kMaxDimensions = 16;

class Subproblem {
 public:
  // Considers only these candidates of each layer.
  Subproblem(const FoldModel& model, const PeriodQuery& query,
             const std::vector<std::vector<int>>& candidates);

  // The dimensions: [0] is the objective (kNone if any fold will do), the others have limits.
  int dimensions() const { return static_cast<int>(dimensions_.size()); }
  const Dimension& dimension(int d) const { return dimensions_[static_cast<size_t>(d)]; }
  int64_t value(int layer, int candidate, int d) const {
    return values_[static_cast<size_t>(layer)]
                  [static_cast<size_t>(candidate) * dimensions_.size() + static_cast<size_t>(d)];
  }
  const int64_t* values(int layer, int candidate) const {
    return &values_[static_cast<size_t>(layer)]
                   [static_cast<size_t>(candidate) * dimensions_.size()];
  }
  // Returns the value of a FIFO that needs these resources.
  int64_t FifoValue(const Resources& resources, int d) const;

  // The candidates that are left, per layer. Remove returns false if a layer has none left.
  const std::vector<std::vector<int>>& active() const { return active_; }
  bool has_empty_layer() const { return empty_layer_; }
  // Keeps the candidates for which keep[layer][i] holds, i an index into active()[layer]. The
  // others must be in no fold with an objective of at most most_kept().
  void Keep(const std::vector<std::vector<char>>& keep);
  size_t candidates() const;
  // The candidates, per layer, that folds with an objective of at most most_kept() can contain:
  // those that are left, and those that others replace.
  std::vector<std::vector<int>> possible() const;
  // Removes the candidates that are too slow or that another one of the layer can always replace,
  // and recomputes ranges of times and which limits bind.
  void Reduce();

  // Lifts the limit of a dimension.
  void Lift(int d);

  // Only folds with objective at most `cutoff` are wanted.
  int64_t cutoff() const { return cutoff_; }
  void set_cutoff(int64_t cutoff) { cutoff_ = cutoff; }
  // One more than the cutoff, so that a later question, with the best value as a limit, can begin
  // with the candidates that this one leaves.
  int64_t most_kept() const { return cutoff_ == kUnlimited ? kUnlimited : cutoff_ + 1; }

  // Times of layers matter: for FIFOs, or for the latency.
  bool has_times() const { return has_times_; }
  bool limits_latency() const { return limits_latency_; }
  bool minimises_latency() const { return minimises_latency_; }
  int64_t latency_limit() const { return latency_limit_; }
  int64_t period() const { return period_; }
  bool reach_period() const { return reach_period_; }
  bool Reaches(int layer, int candidate) const {
    return model_.candidate(layer, candidate).cycles == period_;
  }
  // The dimension of kind kPath and the layers of the path, in order; -1 and empty without one.
  int path_dimension() const { return path_dimension_; }
  const std::vector<int>& path() const { return path_; }
  // The least and most latency of the candidates that are left.
  int64_t least_latency(int layer) const { return least_latency_[static_cast<size_t>(layer)]; }
  int64_t most_latency(int layer) const { return most_latency_[static_cast<size_t>(layer)]; }
  // The least time from the first output of a layer to the last layer's first output.
  int64_t tail(int layer) const { return tail_[static_cast<size_t>(layer)]; }

  // Labels and candidates are compared by this dimension: it is the objective, a limit that binds,
  // or a resource that the question compares.
  bool CountsInDominance(int d) const;

  // The least elements that the FIFO of an edge holds in any fold of the candidates left.
  int64_t least_elements(int edge) const { return least_elements_[static_cast<size_t>(edge)]; }

  const FoldModel& model() const { return model_; }

 private:
  void AddDimensions(const PeriodQuery& query);
  void AddLimit(Dimension dimension);
  void ChoosePath();
  void ComputeValues();
  void FilterCandidates();
  template <typename Impossible>
  void RemoveImpossible(int layer, const Impossible& impossible);
  void FilterByTime();
  void FindTimes();
  void FindElements();
  void FindBinding();
  int64_t MostOf(int d) const;
  int64_t MostOfFifos(int d) const;
  bool Replaces(int layer, int by, int candidate) const;

  const FoldModel& model_;
  const int64_t period_;
  const bool reach_period_;
  std::vector<Dimension> dimensions_;
  std::vector<std::vector<int64_t>> values_;  // [layer][candidate * dimensions + d]
  std::vector<std::vector<int>> active_;
  std::vector<std::vector<char>> possible_;  // [layer][candidate]
  std::vector<int> counting_;                // the dimensions that Reduce compares
  bool empty_layer_ = false;
  int64_t cutoff_ = 0;
  bool has_times_ = false, limits_latency_ = false, minimises_latency_ = false;
  int64_t latency_limit_ = kUnlimited;
  std::vector<char> on_path_;  // per layer: counts in kPath
  std::vector<int> path_;
  int path_dimension_ = -1;
  std::vector<int64_t> least_latency_, most_latency_, tail_;
  std::vector<int64_t> least_elements_, most_elements_;  // per edge
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_SUBPROBLEM_H_
