// Labels: how they are made, compared, dropped and read back. A label is a row of numbers: a sum
// for each dimension, then, where they count, whether no layer has taken the period yet, the latest
// end of a layer without consumers, and the times of the open layers (time_slots.h). Traces keep
// only the parent and the choice of each label of each level, from which FoldOf reads the fold.
#include "kiln/targets/dataflow/fold/labels.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "kiln/targets/dataflow/fold/dominance.h"

namespace kiln::dataflow {
namespace {

constexpr size_t kCompactFrom = 1 << 17;     // labels of one level before they are compared
constexpr int64_t kComparisonsOfLabel = 64;  // that take about as long as a label
constexpr int64_t kOptionCodes = kMaxFifoOptions + 1;

}  // namespace

void LabelSearch::Batch::Clear() {
  rows.clear();
  node.clear();
  parent.clear();
  choice.clear();
}

LabelSearch::LabelSearch(const Subproblem& subproblem, const Plan& plan, const StateGraph& graph,
                         const std::vector<LinearBound>& bounds)
    : subproblem_(subproblem),
      model_(subproblem.model()),
      plan_(plan),
      graph_(graph),
      bounds_(bounds),
      times_(subproblem, plan),
      dimensions_(subproblem.dimensions()),
      tracks_reach_(subproblem.reach_period()),
      tracks_done_(subproblem.limits_latency() || subproblem.minimises_latency()) {
  header_ = static_cast<size_t>(dimensions_);
  reach_at_ = header_;
  if (tracks_reach_) ++header_;
  done_at_ = header_;
  if (tracks_done_) ++header_;
  // A weighted sum of resources that are all compared need not be compared itself.
  std::array<bool, kResourceKinds> single{};
  const auto kinds_of = [&](int d) {
    std::vector<int> kinds;
    for (int kind = 0; kind < kResourceKinds; ++kind) {
      if (subproblem.dimension(d).weights[static_cast<size_t>(kind)] > 0) kinds.push_back(kind);
    }
    return kinds;
  };
  for (const bool singles : {true, false}) {
    for (int d = 0; d < dimensions_; ++d) {
      if (!subproblem.CountsInDominance(d)) continue;
      const std::vector<int> kinds = kinds_of(d);
      if ((kinds.size() == 1) != singles) continue;
      const auto known = [&](int kind) { return single[static_cast<size_t>(kind)]; };
      if (!kinds.empty() && std::all_of(kinds.begin(), kinds.end(), known)) continue;
      if (singles) single[static_cast<size_t>(kinds[0])] = true;
      compared_.push_back(d);
    }
  }
  std::sort(compared_.begin(), compared_.end());
  MakeLevels();
  WeighMembers();
}

// Computes the weighted sums of all candidates once, so that a label is tested by one addition per
// bound (WithinBounds).
void LabelSearch::WeighMembers() {
  member_weight_.assign(graph_.members.size() * bounds_.size(), 0);
  parent_weight_.assign(bounds_.size(), 0);
  for (const CandidateGroup& group : graph_.groups) {
    for (int m = group.first; m < group.first + group.count; ++m) {
      const int64_t* values =
          subproblem_.values(group.layer, graph_.members[static_cast<size_t>(m)]);
      double* weight = &member_weight_[static_cast<size_t>(m) * bounds_.size()];
      for (const LinearBound& bound : bounds_) {
        for (size_t d = 0; d < bound.weights.size(); ++d) {
          *weight += bound.weights[d] * static_cast<double>(values[d]);
        }
        ++weight;
      }
    }
  }
}

void LabelSearch::MakeLevels() {
  for (size_t level = 0; level <= plan_.steps.size(); ++level) {
    stride_.push_back(header_ + times_.level(level).slots.size());
    bool can_reach = false;
    for (size_t s = level; s < plan_.steps.size() && !can_reach && tracks_reach_; ++s) {
      if (plan_.steps[s].kind != PlanStep::Kind::kChoose) continue;
      const int layer = plan_.steps[s].layer;
      const std::vector<int>& active = subproblem_.active()[static_cast<size_t>(layer)];
      can_reach = std::any_of(active.begin(), active.end(),
                              [&](int c) { return subproblem_.Reaches(layer, c); });
    }
    can_reach_.push_back(can_reach);
    path_slots_.push_back(PathSlots(level));
  }
}

// Returns the slots whose times the path's next undecided layer starts after, if all layers of the
// path before it are decided.
std::vector<int> LabelSearch::PathSlots(size_t level) const {
  if (subproblem_.path_dimension() < 0) return {};
  std::vector<char> entered(static_cast<size_t>(model_.layers()), 0), chosen = entered;
  for (size_t s = 0; s < level; ++s) {
    const PlanStep& step = plan_.steps[s];
    if (step.kind == PlanStep::Kind::kEnter) entered[static_cast<size_t>(step.layer)] = 1;
    if (step.kind == PlanStep::Kind::kChoose) chosen[static_cast<size_t>(step.layer)] = 1;
  }
  const std::vector<int>& slots = times_.level(level).slots;
  std::vector<int> found;
  for (const int layer : subproblem_.path()) {
    if (chosen[static_cast<size_t>(layer)]) continue;
    for (size_t i = 0; i < slots.size(); ++i) {
      const std::vector<int>& inputs = model_.layer(layer).in_edges;
      const bool waits = entered[static_cast<size_t>(layer)]
                             ? slots[i] == layer
                             : std::any_of(inputs.begin(), inputs.end(),
                                           [&](int e) { return model_.edge(e).from == slots[i]; });
      if (waits) found.push_back(static_cast<int>(i));
    }
    break;
  }
  return found;
}

// Returns the sum of a bound for a label and its completions. The latency of the path so far is at
// least the time that the path's next layer has to wait for.
double LabelSearch::WeightedSum(const LinearBound& bound, const int64_t* row, int32_t node) const {
  double sum = bound.to_end[graph_.offset[level_] + static_cast<size_t>(node)];
  for (int d = 0; d < dimensions_; ++d) {
    sum += bound.weights[static_cast<size_t>(d)] * static_cast<double>(row[d]);
  }
  const int path = subproblem_.path_dimension();
  if (path < 0) return sum;
  int64_t wait = row[path];
  for (const int slot : path_slots_[level_]) {
    wait = std::max(wait, row[header_ + static_cast<size_t>(slot)]);
  }
  return sum + bound.weights[static_cast<size_t>(path)] * static_cast<double>(wait - row[path]);
}

// Returns whether the label that is being expanded satisfies the bounds with one more candidate.
bool LabelSearch::WithinBounds(int32_t node, size_t member) const {
  const size_t state = graph_.offset[level_] + static_cast<size_t>(node);
  const double* weight = &member_weight_[member * bounds_.size()];
  for (size_t b = 0; b < bounds_.size(); ++b) {
    if (parent_weight_[b] + weight[b] + bounds_[b].to_end[state] > bounds_[b].most) return false;
  }
  return true;
}

// Returns whether a label can still become a wanted fold: it is within the exact limits so far, the
// period can still be reached, and the bounds on its completions hold.
bool LabelSearch::Wanted(const int64_t* row, int32_t node, bool within_bounds) const {
  if (tracks_reach_ && row[reach_at_] != 0 && !can_reach_[level_]) return false;
  // The bounds below grant a tolerance; the sums themselves are exact.
  if (row[0] > subproblem_.cutoff()) return false;
  for (int d = 1; d < dimensions_; ++d) {
    if (row[d] > subproblem_.dimension(d).limit) return false;
  }
  if (tracks_done_) {
    int64_t limit = subproblem_.latency_limit();
    if (subproblem_.minimises_latency()) limit = std::min(limit, subproblem_.cutoff());
    if (row[done_at_] > limit) return false;
    const std::vector<int64_t>& rest = times_.level(level_).slot_rest;
    for (size_t i = 0; i < rest.size(); ++i) {
      if (row[header_ + i] + rest[i] > limit) return false;
    }
  }
  // A path's wait is not in the sums that WithinBounds compares.
  if (!within_bounds || subproblem_.path_dimension() >= 0) {
    for (const LinearBound& bound : bounds_) {
      if (WeightedSum(bound, row, node) > bound.most) return false;
    }
  }
  return unwanted_ == nullptr || !(*unwanted_)(row, level_, node);
}

void LabelSearch::Push(const int64_t* row, int32_t node, int32_t parent, int64_t choice, Batch& to,
                       bool within_bounds) {
  if (!within_bounds) ++made_;
  if (!Wanted(row, node, within_bounds)) return;
  to.rows.insert(to.rows.end(), row, row + stride_[level_]);
  to.node.push_back(node);
  to.parent.push_back(parent);
  to.choice.push_back(choice);
}

// Tries each option of the FIFOs from input `input` on. The row that is being made holds the sums.
void LabelSearch::AddFifos(const EnterStep& step, size_t input, int64_t code, int64_t unit,
                           Batch& to) {
  const std::vector<int>& inputs = model_.layer(step.layer).in_edges;
  while (input < inputs.size() && !model_.edge(inputs[input]).fifo) ++input;
  if (input == inputs.size()) {
    Push(row_.data(), step.node, step.parent, code, to);
    return;
  }
  const int e = inputs[input];
  const int64_t elements = step.elements[input];
  if (elements == 0) {
    AddFifos(step, input + 1, code, unit * kOptionCodes, to);
    return;
  }
  const std::vector<FifoOption>& options = model_.FifoOptions(e, step.in_index, elements);
  std::array<int64_t, kMaxDimensions> values{};
  const auto dimensions = static_cast<size_t>(dimensions_);
  for (size_t o = 0; o < options.size(); ++o) {
    for (size_t d = 0; d < dimensions; ++d) {
      values[d] = subproblem_.FifoValue(options[o].resources, static_cast<int>(d));
      row_[d] += values[d];
    }
    AddFifos(step, input + 1, code + (static_cast<int64_t>(o) + 1) * unit, unit * kOptionCodes, to);
    for (size_t d = 0; d < dimensions; ++d) row_[d] -= values[d];
  }
}

// The layer starts when its last input arrives; that fixes the slack of every input and so the
// sizes of their FIFOs. One label is made for each combination of FIFO options.
void LabelSearch::ExpandEnter(const StateGraph::Stage& stage, const Batch& from, size_t label,
                              Batch& to) {
  const int64_t* row = &from.rows[label * stride_[level_ - 1]];
  const std::vector<int>& inputs = model_.layer(stage.step.layer).in_edges;
  EnterStep& step = enter_;
  step.layer = stage.step.layer;
  step.elements.clear();
  step.parent = static_cast<int32_t>(label);
  row_.assign(row, row + header_);
  if (subproblem_.has_times()) {
    const auto time_of = [&](int layer) {
      return row[header_ + static_cast<size_t>(slot_of_[static_cast<size_t>(layer)])];
    };
    int64_t start = 0;
    for (const int e : inputs) start = std::max(start, time_of(model_.edge(e).from));
    for (const int e : inputs) {
      const Edge& edge = model_.edge(e);
      const int64_t slack = start - time_of(edge.from);
      step.elements.push_back(edge.fifo ? FifoElements(*edge.fifo, slack, subproblem_.period())
                                        : 0);
    }
    for (const int slot : times_.level(level_).slot_from) {
      row_.push_back(slot < 0 ? start : row[header_ + static_cast<size_t>(slot)]);
    }
  }
  const auto node = static_cast<size_t>(from.node[label]);
  for (int32_t a = stage.begin[node]; a < stage.begin[node + 1]; ++a) {
    step.node = stage.arcs[static_cast<size_t>(a)].to;
    step.in_index = stage.input[static_cast<size_t>(step.node)];
    if (model_.layer(step.layer).has_fifo_input) {
      AddFifos(step, 0, 0, 1, to);
    } else {
      Push(row_.data(), step.node, step.parent, 0, to);
    }
  }
}

// One label for each candidate with the input lanes of the state. The bounds are tested before the
// label is made, since most labels fail them.
void LabelSearch::ExpandChoose(const StateGraph::Stage& stage, const Batch& from, size_t label,
                               Batch& to) {
  const std::vector<int>& slot_from = times_.level(level_).slot_from;
  const int64_t* row = &from.rows[label * stride_[level_ - 1]];
  const int layer = stage.step.layer;
  const bool last = model_.layer(layer).out_edges.empty();
  const auto node = static_cast<size_t>(from.node[label]);
  row_.resize(stride_[level_]);
  for (size_t b = 0; b < bounds_.size(); ++b) {
    parent_weight_[b] = 0;
    for (int d = 0; d < dimensions_; ++d) {
      parent_weight_[b] += bounds_[b].weights[static_cast<size_t>(d)] * static_cast<double>(row[d]);
    }
  }
  for (int32_t a = stage.begin[node]; a < stage.begin[node + 1]; ++a) {
    const StateArc& arc = stage.arcs[static_cast<size_t>(a)];
    const CandidateGroup& group = graph_.groups[static_cast<size_t>(arc.group)];
    made_ += group.count;
    for (int i = group.first; i < group.first + group.count; ++i) {
      if (!WithinBounds(arc.to, static_cast<size_t>(i))) continue;
      const int c = graph_.members[static_cast<size_t>(i)];
      const int64_t* values = subproblem_.values(layer, c);
      for (int d = 0; d < dimensions_; ++d) row_[static_cast<size_t>(d)] = row[d] + values[d];
      if (tracks_reach_) {
        row_[reach_at_] = subproblem_.Reaches(layer, c) ? 0 : row[reach_at_];
      }
      if (subproblem_.has_times()) {
        const auto slot = static_cast<size_t>(slot_of_[static_cast<size_t>(layer)]);
        const int64_t finish = row[header_ + slot] + model_.candidate(layer, c).latency;
        if (tracks_done_) row_[done_at_] = last ? std::max(row[done_at_], finish) : row[done_at_];
        for (size_t s = 0; s < slot_from.size(); ++s) {
          row_[header_ + s] =
              slot_from[s] < 0 ? finish : row[header_ + static_cast<size_t>(slot_from[s])];
        }
      }
      Push(row_.data(), arc.to, static_cast<int32_t>(label), c, to, true);
    }
  }
}

// Makes the labels of the next level. Returns false if the work budget ended.
bool LabelSearch::Expand(size_t stage_index, const Batch& from, int64_t most_work, Batch& to) {
  const StateGraph::Stage& stage = graph_.stages[stage_index];
  level_ = stage_index + 1;
  const std::vector<int>& slots = times_.level(stage_index).slots;
  for (size_t i = 0; i < slots.size(); ++i) {
    slot_of_[static_cast<size_t>(slots[i])] = static_cast<int>(i);
  }
  size_t compact_at = kCompactFrom;
  to.Clear();
  for (size_t label = 0; label < from.size(); ++label) {
    if (made_ + comparisons_ / kComparisonsOfLabel > most_work) return false;
    switch (stage.step.kind) {
      case PlanStep::Kind::kGuess: {
        const auto node = static_cast<size_t>(from.node[label]);
        for (int32_t a = stage.begin[node]; a < stage.begin[node + 1]; ++a) {
          Push(&from.rows[label * stride_[stage_index]], stage.arcs[static_cast<size_t>(a)].to,
               static_cast<int32_t>(label), 0, to);
        }
        break;
      }
      case PlanStep::Kind::kEnter:
        ExpandEnter(stage, from, label, to);
        break;
      case PlanStep::Kind::kChoose:
        ExpandChoose(stage, from, label, to);
        break;
    }
    if (to.size() > compact_at) {
      Compact(to);
      compact_at = std::max(kCompactFrom, 2 * to.size());
    }
  }
  Compact(to);
  return true;
}

// Fills the columns in which the labels `members`, of one state, are compared.
int LabelSearch::Coordinates(const Batch& batch, const std::vector<int>& members,
                             std::vector<int64_t>* columns) const {
  std::vector<const int64_t*> times;
  for (const int member : members) {
    times.push_back(&batch.rows[static_cast<size_t>(member) * stride_[level_]] + header_);
  }
  const std::vector<TimePair> pairs = times_.PairsThatMatter(level_, times);
  columns->clear();
  for (const int64_t* time : times) {
    const int64_t* row = time - header_;
    for (const int d : compared_) columns->push_back(row[d]);
    if (tracks_reach_) columns->push_back(row[reach_at_]);
    if (tracks_done_) columns->push_back(row[done_at_]);
    for (const TimePair& pair : pairs) columns->push_back(TimeSlots::Difference(time, pair));
  }
  return static_cast<int>(compared_.size() + pairs.size()) + tracks_reach_ + tracks_done_;
}

// Removes the labels that others of the same state dominate and sorts the rest by state. A label
// that is at most as large in every compared column can be completed in the same ways at no higher
// cost, so one best fold survives.
void LabelSearch::Compact(Batch& batch) {
  const size_t stride = stride_[level_];
  std::vector<std::vector<int>> by_state(static_cast<size_t>(graph_.nodes[level_]));
  for (size_t i = 0; i < batch.size(); ++i) {
    by_state[static_cast<size_t>(batch.node[i])].push_back(static_cast<int>(i));
  }
  Batch kept;
  std::vector<int64_t> columns;
  for (const std::vector<int>& members : by_state) {
    if (members.empty()) continue;
    const int width = Coordinates(batch, members, &columns);
    const std::vector<int> undominated =
        Undominated(columns, width, static_cast<int>(members.size()), &comparisons_);
    for (const int index : undominated) {
      const auto i = static_cast<size_t>(members[static_cast<size_t>(index)]);
      kept.rows.insert(kept.rows.end(), batch.rows.begin() + static_cast<int64_t>(i * stride),
                       batch.rows.begin() + static_cast<int64_t>((i + 1) * stride));
      kept.node.push_back(batch.node[i]);
      kept.parent.push_back(batch.parent[i]);
      kept.choice.push_back(batch.choice[i]);
    }
  }
  batch = std::move(kept);
}

// Keeps the `width` labels of the least bound. The least bound of a dropped label bounds every fold
// that the search can have missed.
void LabelSearch::Truncate(int64_t width, Batch& batch) {
  if (static_cast<int64_t>(batch.size()) <= width) return;
  const size_t stride = stride_[level_];
  const LinearBound& bound = bounds_.back();
  std::vector<std::pair<double, int>> ranks;
  for (size_t i = 0; i < batch.size(); ++i) {
    ranks.emplace_back(WeightedSum(bound, &batch.rows[i * stride], batch.node[i]),
                       static_cast<int>(i));
  }
  std::nth_element(ranks.begin(), ranks.begin() + width, ranks.end());
  dropped_ = true;
  dropped_bound_ = std::min(dropped_bound_,
                            bound.Objective(subproblem_, ranks[static_cast<size_t>(width)].first));
  ranks.resize(static_cast<size_t>(width));
  std::sort(ranks.begin(), ranks.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  Batch kept;
  for (const auto& [rank, index] : ranks) {
    const auto i = static_cast<size_t>(index);
    kept.rows.insert(kept.rows.end(), batch.rows.begin() + static_cast<int64_t>(i * stride),
                     batch.rows.begin() + static_cast<int64_t>((i + 1) * stride));
    kept.node.push_back(batch.node[i]);
    kept.parent.push_back(batch.parent[i]);
    kept.choice.push_back(batch.choice[i]);
  }
  batch = std::move(kept);
}

// Makes all levels; the labels of the last are in final_. Returns false if the budget ended.
bool LabelSearch::Search(int64_t width, int64_t most_work, int64_t* work) {
  dropped_ = false;
  dropped_bound_ = std::numeric_limits<double>::infinity();
  made_ = *work;
  comparisons_ = 0;
  traces_.clear();
  slot_of_.assign(static_cast<size_t>(model_.layers()), 0);
  Batch now, next;
  now.rows.assign(header_, 0);
  if (tracks_reach_) now.rows[reach_at_] = 1;
  now.node = {0};
  now.parent = {-1};
  now.choice = {0};
  bool complete = true;
  for (size_t s = 0; s < graph_.stages.size() && complete; ++s) {
    complete = Expand(s, now, most_work, next);
    Truncate(width, next);
    traces_.push_back({next.parent, next.choice});
    std::swap(now, next);
  }
  *work = made_ + comparisons_ / kComparisonsOfLabel;
  final_ = std::move(now);
  if (complete) return true;
  final_.Clear();
  dropped_ = true;
  dropped_bound_ =
      std::min(dropped_bound_, bounds_.back().Objective(subproblem_, bounds_.back().root()));
  return false;
}

int64_t LabelSearch::FinalValue(const int64_t* row) const {
  return subproblem_.minimises_latency() ? row[done_at_] : row[0];
}

// Walks back over the traces. The options of a layer's FIFOs are the digits of one number in base
// kOptionCodes; digit 0 means no FIFO.
Fold LabelSearch::FoldOf(int32_t label) const {
  Fold fold;
  fold.choice.assign(static_cast<size_t>(model_.layers()), 0);
  if (model_.has_fifo()) fold.fifo_option.assign(static_cast<size_t>(model_.edges()), -1);
  for (size_t s = traces_.size(); s > 0; --s) {
    const Trace& trace = traces_[s - 1];
    const PlanStep& step = plan_.steps[s - 1];
    int64_t choice = trace.choice[static_cast<size_t>(label)];
    if (step.kind == PlanStep::Kind::kChoose) {
      fold.choice[static_cast<size_t>(step.layer)] = static_cast<int>(choice);
    } else if (step.kind == PlanStep::Kind::kEnter) {
      for (const int e : model_.layer(step.layer).in_edges) {
        if (!model_.edge(e).fifo) continue;
        fold.fifo_option[static_cast<size_t>(e)] = static_cast<int>(choice % kOptionCodes) - 1;
        choice /= kOptionCodes;
      }
    }
    label = trace.parent[static_cast<size_t>(label)];
  }
  return fold;
}

LabelResult LabelSearch::Run(int64_t width, int64_t most_work, int64_t* work) {
  unwanted_ = nullptr;
  Search(width, most_work, work);
  LabelResult result;
  const size_t stride = stride_.back();
  int32_t best = -1;
  for (size_t i = 0; i < final_.size(); ++i) {
    const int64_t value = FinalValue(&final_.rows[i * stride]);
    if (best >= 0 && value >= result.value) continue;
    best = static_cast<int32_t>(i);
    result.value = value;
  }
  result.found = best >= 0;
  if (result.found) result.fold = FoldOf(best);
  result.complete = !dropped_;
  result.dropped_bound = dropped_bound_;
  return result;
}

bool LabelSearch::RunAll(const LabelFilter& unwanted, int64_t most_work, int64_t* work,
                         std::vector<Fold>* folds) {
  unwanted_ = &unwanted;
  const bool complete = Search(std::numeric_limits<int64_t>::max(), most_work, work);
  unwanted_ = nullptr;
  folds->clear();
  for (size_t i = 0; i < final_.size(); ++i) folds->push_back(FoldOf(static_cast<int32_t>(i)));
  return complete;
}

}  // namespace kiln::dataflow
