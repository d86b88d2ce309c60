// A folding problem prepared for the searches: lanes as small indices, couplings as tables, the set
// of periods, and the options of FIFOs, remembered.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_MODEL_H_
#define KILN_TARGETS_DATAFLOW_FOLD_MODEL_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kiln/targets/dataflow/fold/problem.h"

namespace kiln::dataflow {

// One layer: its distinct lanes in ascending order, and the index of each candidate's lanes. If
// several numbers of lanes couple with the same neighbours, the list contains only the first.
struct LayerModel {
  std::vector<int> in_values, out_values;
  std::vector<int> in_index, out_index;  // per candidate
  std::vector<int> in_edges, out_edges;
  // [i * size + j]: value i couples with each value of the neighbours that value j couples with.
  std::vector<char> in_covers, out_covers;
  bool has_fifo_input = false;
  // The layer is between a fork and a join with a FIFO, so that its latency changes a slack.
  bool latency_matters = false;
};

class FoldModel {
 public:
  // `problem` must be checked (CheckProblem) and outlive the model.
  explicit FoldModel(const FoldProblem& problem);

  const FoldProblem& problem() const { return problem_; }
  const LayerModel& layer(int index) const { return layers_[static_cast<size_t>(index)]; }
  const Edge& edge(int index) const { return problem_.edges[static_cast<size_t>(index)]; }
  const Candidate& candidate(int layer, int index) const {
    return problem_.layers[static_cast<size_t>(layer)].candidates[static_cast<size_t>(index)];
  }
  int layers() const { return static_cast<int>(layers_.size()); }
  int edges() const { return static_cast<int>(problem_.edges.size()); }
  const std::vector<int>& order() const { return order_; }  // topological
  // The distinct cycles of all candidates, ascending: each L_max is one of them.
  const std::vector<int64_t>& periods() const { return periods_; }
  bool has_fifo() const { return has_fifo_; }

  // Returns whether the edge couples these lanes, given by index.
  bool Couples(int edge, int out_index, int in_index) const {
    const size_t e = static_cast<size_t>(edge);
    return couples_[e][static_cast<size_t>(out_index) * in_counts_[e] +
                       static_cast<size_t>(in_index)] != 0;
  }

  // Returns whether the edge couples these candidates of its producer and its consumer.
  bool CandidatesCouple(int edge, int from, int to) const {
    const Edge& e = this->edge(edge);
    return Couples(edge, layer(e.from).out_index[static_cast<size_t>(from)],
                   layer(e.to).in_index[static_cast<size_t>(to)]);
  }

  // Returns the options of the FIFO of `edge` for `elements` elements in words of the consumer's
  // lanes, given by index. The reference stays valid.
  const std::vector<FifoOption>& FifoOptions(int edge, int in_index, int64_t elements) const;

 private:
  struct Key {
    int64_t place, elements;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  // [layer][value][i]: whether a value of the layer's input or output lanes couples with value i of
  // the neighbours, which follow one another in the order of the edges.
  struct CouplingRows {
    std::vector<std::vector<std::vector<char>>> in, out;
  };
  CouplingRows Rows() const;
  void MergeLanes();
  void AddCouplings();
  void MarkLatencies();

  const FoldProblem& problem_;
  std::vector<LayerModel> layers_;
  std::vector<int> order_;
  std::vector<int64_t> periods_;
  bool has_fifo_ = false;
  std::vector<std::vector<char>> couples_;  // [edge][out_index * in_count + in_index]
  std::vector<size_t> in_counts_;           // per edge
  mutable std::unordered_map<Key, std::vector<FifoOption>, Hash> fifo_options_;
};

// Returns the immediate dominator of each layer: the last layer that every path from an input of
// the pipeline to it passes; -1 if there is none.
std::vector<int> ImmediateDominators(const FoldModel& model);

// Cycles by which the first word on an edge can be too early for its consumer.
struct SlackRange {
  int64_t least = 0, most = 0;
};

// Returns the range of the slack of each edge, given the range of the latency of each layer: from
// the lengths of the paths that begin at the last layer that all inputs of a join have in common.
std::vector<SlackRange> SlackRanges(const FoldModel& model,
                                    const std::vector<int64_t>& least_latency,
                                    const std::vector<int64_t>& most_latency);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_MODEL_H_
