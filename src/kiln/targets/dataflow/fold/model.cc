// Prepares folding problems: indices of lanes, tables of couplings, dominators.
#include "kiln/targets/dataflow/fold/model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kiln/support/random.h"

namespace kiln::dataflow {
namespace {

// Above this number of distinct lanes the comparison of values is left out: each covers itself
// only.
constexpr size_t kMaxCompared = 512;

int IndexOf(const std::vector<int>& values, int value) {
  return static_cast<int>(std::lower_bound(values.begin(), values.end(), value) - values.begin());
}

void SortUnique(std::vector<int>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Merges the values with equal rows: `values` keeps the first of each, `index` refers to it.
void Merge(const std::vector<std::vector<char>>& rows, std::vector<int>& values,
           std::vector<int>& index) {
  std::map<std::vector<char>, int> first;  // row: its number
  std::vector<int> number, kept;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto [it, added] = first.emplace(rows[i], static_cast<int>(kept.size()));
    if (added) kept.push_back(values[i]);
    number.push_back(it->second);
  }
  for (int& i : index) i = number[static_cast<size_t>(i)];
  values = std::move(kept);
}

// Compares the rows of partners: rows[i] holds, for each neighbour's value, whether i couples.
std::vector<char> Covers(const std::vector<std::vector<char>>& rows) {
  const size_t count = rows.size();
  std::vector<char> covers(count * count, 0);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      bool all = i == j || count <= kMaxCompared;
      for (size_t n = 0; all && i != j && n < rows[i].size(); ++n) all = rows[i][n] >= rows[j][n];
      covers[i * count + j] = all;
    }
  }
  return covers;
}

// Returns the nearest layer that is an ancestor of both in the tree of dominators.
int Meet(const std::vector<int>& dominator, const std::vector<int>& position, int a, int b) {
  while (a != b) {
    if (a < 0 || b < 0) return -1;
    if (position[static_cast<size_t>(a)] > position[static_cast<size_t>(b)]) {
      a = dominator[static_cast<size_t>(a)];
    } else {
      b = dominator[static_cast<size_t>(b)];
    }
  }
  return a;
}

}  // namespace

size_t FoldModel::Hash::operator()(const Key& key) const {
  return MixBits(MixBits(static_cast<uint64_t>(key.place)) ^ static_cast<uint64_t>(key.elements));
}

FoldModel::FoldModel(const FoldProblem& problem)
    : problem_(problem), layers_(problem.layers.size()), order_(TopologicalOrder(problem)) {
  for (size_t l = 0; l < layers_.size(); ++l) {
    LayerModel& layer = layers_[l];
    for (const Candidate& candidate : problem.layers[l].candidates) {
      layer.in_values.push_back(candidate.in_lanes);
      layer.out_values.push_back(candidate.out_lanes);
      periods_.push_back(candidate.cycles);
    }
    SortUnique(layer.in_values);
    SortUnique(layer.out_values);
    for (const Candidate& candidate : problem.layers[l].candidates) {
      layer.in_index.push_back(IndexOf(layer.in_values, candidate.in_lanes));
      layer.out_index.push_back(IndexOf(layer.out_values, candidate.out_lanes));
    }
  }
  std::sort(periods_.begin(), periods_.end());
  periods_.erase(std::unique(periods_.begin(), periods_.end()), periods_.end());
  for (int e = 0; e < edges(); ++e) {
    layers_[static_cast<size_t>(edge(e).from)].out_edges.push_back(e);
    layers_[static_cast<size_t>(edge(e).to)].in_edges.push_back(e);
    if (!edge(e).fifo) continue;
    has_fifo_ = true;
    layers_[static_cast<size_t>(edge(e).to)].has_fifo_input = true;
  }
  MergeLanes();
  AddCouplings();
  if (has_fifo_) MarkLatencies();
}

FoldModel::CouplingRows FoldModel::Rows() const {
  CouplingRows rows;
  for (const LayerModel& layer : layers_) {
    rows.in.emplace_back(layer.in_values.size());
    rows.out.emplace_back(layer.out_values.size());
  }
  for (int e = 0; e < edges(); ++e) {
    const auto from = static_cast<size_t>(edge(e).from), to = static_cast<size_t>(edge(e).to);
    for (size_t b = 0; b < rows.out[from].size(); ++b) {
      for (size_t a = 0; a < rows.in[to].size(); ++a) {
        const bool couples = dataflow::Couples(edge(e).coupling, layers_[from].out_values[b],
                                               layers_[to].in_values[a]);
        rows.out[from][b].push_back(couples);
        rows.in[to][a].push_back(couples);
      }
    }
  }
  return rows;
}

// Merges the lanes of a layer that couple with the same lanes of all neighbours, because no search
// needs to distinguish them. Input lanes in front of a FIFO are kept: its words depend on them.
void FoldModel::MergeLanes() {
  const CouplingRows rows = Rows();
  for (size_t l = 0; l < layers_.size(); ++l) {
    LayerModel& layer = layers_[l];
    if (!layer.has_fifo_input) Merge(rows.in[l], layer.in_values, layer.in_index);
    Merge(rows.out[l], layer.out_values, layer.out_index);
  }
}

void FoldModel::AddCouplings() {
  const CouplingRows rows = Rows();
  std::vector<ptrdiff_t> taken(layers_.size(), 0);  // by producer: values of earlier edges
  for (int e = 0; e < edges(); ++e) {
    const auto from = static_cast<size_t>(edge(e).from);
    in_counts_.push_back(layer(edge(e).to).in_values.size());
    const auto count = static_cast<ptrdiff_t>(in_counts_.back());
    std::vector<char>& table = couples_.emplace_back();
    for (const std::vector<char>& row : rows.out[from]) {
      const auto begin = row.begin() + taken[from];
      table.insert(table.end(), begin, begin + count);
    }
    taken[from] += count;
  }
  for (size_t l = 0; l < layers_.size(); ++l) {
    layers_[l].in_covers = Covers(rows.in[l]);
    layers_[l].out_covers = Covers(rows.out[l]);
  }
}

void FoldModel::MarkLatencies() {
  const std::vector<int> dominator = ImmediateDominators(*this);
  std::vector<int> position(layers_.size(), 0);
  for (size_t i = 0; i < order_.size(); ++i)
    position[static_cast<size_t>(order_[i])] = static_cast<int>(i);
  for (const int join : order_) {
    if (!layer(join).has_fifo_input || layer(join).in_edges.size() < 2) continue;
    // Walks back from the join to its dominator, which every path passes.
    const int fork = dominator[static_cast<size_t>(join)];
    std::vector<int> pending = {join};
    std::vector<char> seen(layers_.size(), 0);
    while (!pending.empty()) {
      const int at = pending.back();
      pending.pop_back();
      for (const int e : layer(at).in_edges) {
        const int from = edge(e).from;
        if (from == fork || seen[static_cast<size_t>(from)]) continue;
        seen[static_cast<size_t>(from)] = 1;
        layers_[static_cast<size_t>(from)].latency_matters = true;
        pending.push_back(from);
      }
    }
  }
}

const std::vector<FifoOption>& FoldModel::FifoOptions(int edge_index, int in_index,
                                                      int64_t elements) const {
  const Key key{edge_index * (kMaxAmount + 1) + in_index, elements};
  const auto found = fifo_options_.find(key);
  if (found != fifo_options_.end()) return found->second;
  const Edge& e = edge(edge_index);
  std::vector<FifoOption> options =
      OptionsOf(*e.fifo, elements, layer(e.to).in_values[static_cast<size_t>(in_index)]);
  return fifo_options_.emplace(key, std::move(options)).first->second;
}

std::vector<int> ImmediateDominators(const FoldModel& model) {
  std::vector<int> position(static_cast<size_t>(model.layers()), 0);
  for (size_t i = 0; i < model.order().size(); ++i) {
    position[static_cast<size_t>(model.order()[i])] = static_cast<int>(i);
  }
  std::vector<int> dominator(static_cast<size_t>(model.layers()), -1);
  for (const int layer : model.order()) {
    bool first = true;
    int at = -1;
    for (const int e : model.layer(layer).in_edges) {
      const int from = model.edge(e).from;
      at = first ? from : Meet(dominator, position, at, from);
      first = false;
    }
    dominator[static_cast<size_t>(layer)] = at;
  }
  return dominator;
}

std::vector<SlackRange> SlackRanges(const FoldModel& model,
                                    const std::vector<int64_t>& least_latency,
                                    const std::vector<int64_t>& most_latency) {
  std::vector<SlackRange> ranges(static_cast<size_t>(model.edges()));
  const std::vector<int> dominator = ImmediateDominators(model);
  constexpr int64_t kUnreached = -1;
  for (const int join : model.order()) {
    const std::vector<int>& inputs = model.layer(join).in_edges;
    if (inputs.size() < 2) continue;
    const int fork = dominator[static_cast<size_t>(join)];
    // Per layer: the least and the greatest time of its first output after the fork's.
    std::vector<int64_t> least(static_cast<size_t>(model.layers()), kUnreached), most = least;
    const auto start_of = [&](int layer, const std::vector<int64_t>& finish, int64_t start) {
      for (const int e : model.layer(layer).in_edges) {
        start = std::max(start, finish[static_cast<size_t>(model.edge(e).from)]);
      }
      return start;
    };
    for (const int layer : model.order()) {
      if (layer == join) break;
      const auto l = static_cast<size_t>(layer);
      if (layer == fork) {
        least[l] = most[l] = 0;
        continue;
      }
      const int64_t first = fork < 0 && model.layer(layer).in_edges.empty() ? 0 : kUnreached;
      const int64_t low = start_of(layer, least, first);
      if (low == kUnreached) continue;
      least[l] = low + least_latency[l];
      most[l] = start_of(layer, most, first) + most_latency[l];
    }
    const int64_t start_least = start_of(join, least, 0), start_most = start_of(join, most, 0);
    for (const int e : inputs) {
      const auto u = static_cast<size_t>(model.edge(e).from);
      ranges[static_cast<size_t>(e)] = {std::max<int64_t>(0, start_least - most[u]),
                                        start_most - least[u]};
    }
  }
  return ranges;
}

}  // namespace kiln::dataflow
