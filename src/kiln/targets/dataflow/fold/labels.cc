// Labels: how they are made, compared, dropped and read back.
#include "kiln/targets/dataflow/fold/labels.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "kiln/targets/dataflow/fold/dominance.h"

namespace kiln::dataflow {
namespace {

constexpr size_t kCompactFrom = 1 << 17;     // labels of one level before they are compared
constexpr int64_t kComparisonsOfLabel = 64;  // that take about as long as a label
constexpr int64_t kOptionCodes = kMaxFifoOptions + 1;
constexpr int kOrigin = -1;  // the slot of time 0
constexpr int64_t kNever = -1;

// The value of the objective that a bound allows to a label whose weighted sum is `sum`.
double ObjectiveOf(const LinearBound& bound, const Subproblem& subproblem, double sum) {
  for (size_t d = 1; d < bound.weights.size(); ++d) {
    if (bound.weights[d] > 0) {
      sum -=
          bound.weights[d] * static_cast<double>(subproblem.dimension(static_cast<int>(d)).limit);
    }
  }
  return sum;
}

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
}

void LabelSearch::MakeLevels() {
  levels_.resize(plan_.steps.size() + 1);
  std::vector<int> waiting(static_cast<size_t>(model_.layers()), 0);  // consumers not entered
  for (size_t level = 0; level <= plan_.steps.size(); ++level) {
    Level& now = levels_[level];
    if (level > 0) {
      const PlanStep& step = plan_.steps[level - 1];
      const Level& before = levels_[level - 1];
      if (subproblem_.has_times()) {
        std::vector<int> leaving;
        if (step.kind == PlanStep::Kind::kEnter) {
          for (const int e : model_.layer(step.layer).in_edges) {
            const int from = model_.edge(e).from;
            if (--waiting[static_cast<size_t>(from)] == 0) leaving.push_back(from);
          }
        } else if (step.kind == PlanStep::Kind::kChoose) {
          waiting[static_cast<size_t>(step.layer)] =
              static_cast<int>(model_.layer(step.layer).out_edges.size());
          if (model_.layer(step.layer).out_edges.empty()) leaving.push_back(step.layer);
        }
        for (size_t i = 0; i < before.slots.size(); ++i) {
          const int layer = before.slots[i];
          if (std::find(leaving.begin(), leaving.end(), layer) != leaving.end()) continue;
          now.slots.push_back(layer);
          const bool changes = step.kind == PlanStep::Kind::kChoose && layer == step.layer;
          now.slot_from.push_back(changes ? -1 : static_cast<int>(i));
        }
        if (step.kind == PlanStep::Kind::kEnter) {
          now.slots.push_back(step.layer);
          now.slot_from.push_back(-1);
        }
        for (size_t i = 0; i < now.slots.size(); ++i) {
          const int layer = now.slots[i];
          const bool entered = step.kind == PlanStep::Kind::kEnter && layer == step.layer;
          now.slot_rest.push_back(subproblem_.tail(layer) +
                                  (entered ? subproblem_.least_latency(layer) : 0));
        }
      }
    }
    now.stride = header_ + now.slots.size();
    for (size_t s = level; s < plan_.steps.size() && !now.can_reach && tracks_reach_; ++s) {
      if (plan_.steps[s].kind != PlanStep::Kind::kChoose) continue;
      const int layer = plan_.steps[s].layer;
      for (const int c : subproblem_.active()[static_cast<size_t>(layer)]) {
        now.can_reach = now.can_reach || subproblem_.Reaches(layer, c);
      }
    }
    if (subproblem_.has_times()) MakePairs(level);
  }
}

// Finds the pairs of slots whose difference a later FIFO depends on. The FIFO of an input of a join
// depends on times that are known now only if the join's dominator is decided: otherwise all of its
// inputs start from a layer that is still to come. Inputs of the pipeline that are not decided start
// at time 0, which is one more slot here, kOrigin.
void LabelSearch::MakePairs(size_t level) {
  Level& now = levels_[level];
  if (tracks_done_) {
    for (int i = 0; i < static_cast<int>(now.slots.size()); ++i) {
      now.pairs.push_back({i, kOrigin, kUnlimited});
    }
  }
  if (!model_.has_fifo()) return;
  std::vector<char> entered(static_cast<size_t>(model_.layers()), 0), chosen = entered;
  for (size_t s = 0; s < level; ++s) {
    const PlanStep& step = plan_.steps[s];
    if (step.kind == PlanStep::Kind::kEnter) entered[static_cast<size_t>(step.layer)] = 1;
    if (step.kind == PlanStep::Kind::kChoose) chosen[static_cast<size_t>(step.layer)] = 1;
  }
  if (dominators_.empty()) dominators_ = ImmediateDominators(model_);
  const auto undecided_join = [&](int join) {
    const int fork = dominators_[static_cast<size_t>(join)];
    return !entered[static_cast<size_t>(join)] && model_.layer(join).has_fifo_input &&
           (fork < 0 || chosen[static_cast<size_t>(fork)]);
  };
  if (std::none_of(model_.order().begin(), model_.order().end(), undecided_join)) return;
  std::vector<int> slots = {kOrigin};
  for (size_t i = 0; i < now.slots.size(); ++i) slots.push_back(static_cast<int>(i));
  std::vector<Reach> reach;
  for (const int slot : slots) {
    reach.push_back(ReachOf(slot < 0 ? -1 : now.slots[static_cast<size_t>(slot)], entered, chosen));
  }
  for (size_t late = 0; late < slots.size(); ++late) {
    for (size_t early = 0; early < slots.size(); ++early) {
      if (late == early) continue;
      int64_t ahead = std::numeric_limits<int64_t>::min();
      for (const int join : model_.order()) {
        if (!undecided_join(join)) continue;
        for (const int j : model_.layer(join).in_edges) {
          const int64_t low = reach[early].least[static_cast<size_t>(model_.edge(j).from)];
          if (!model_.edge(j).fifo || low == kNever) continue;
          for (const int i : model_.layer(join).in_edges) {
            const int64_t high = reach[late].most[static_cast<size_t>(model_.edge(i).from)];
            if (i != j && high != kNever) ahead = std::max(ahead, high - low);
          }
        }
      }
      if (ahead != std::numeric_limits<int64_t>::min()) {
        now.pairs.push_back({slots[late], slots[early], ahead});
      }
    }
  }
}

// Computes the times from the output of a layer that is open (or, for -1, from the start of the
// inputs that are not entered) to the outputs of the layers that are not entered.
LabelSearch::Reach LabelSearch::ReachOf(int origin, const std::vector<char>& entered,
                                        const std::vector<char>& chosen) const {
  Reach reach;
  reach.least.assign(static_cast<size_t>(model_.layers()), kNever);
  reach.most = reach.least;
  if (origin >= 0) {
    const bool pending = !chosen[static_cast<size_t>(origin)];
    reach.least[static_cast<size_t>(origin)] = pending ? subproblem_.least_latency(origin) : 0;
    reach.most[static_cast<size_t>(origin)] = pending ? subproblem_.most_latency(origin) : 0;
  }
  for (const int layer : model_.order()) {
    if (entered[static_cast<size_t>(layer)]) continue;
    const std::vector<int>& inputs = model_.layer(layer).in_edges;
    int64_t low = origin < 0 && inputs.empty() ? 0 : kNever, high = low;
    for (const int e : inputs) {
      low = std::max(low, reach.least[static_cast<size_t>(model_.edge(e).from)]);
      high = std::max(high, reach.most[static_cast<size_t>(model_.edge(e).from)]);
    }
    if (low == kNever) continue;
    reach.least[static_cast<size_t>(layer)] = low + subproblem_.least_latency(layer);
    reach.most[static_cast<size_t>(layer)] = high + subproblem_.most_latency(layer);
  }
  return reach;
}

bool LabelSearch::Wanted(const int64_t* row, int32_t node) const {
  const Level& level = levels_[level_];
  if (tracks_reach_ && row[reach_at_] != 0 && !level.can_reach) return false;
  // The bounds below grant a tolerance; the sums themselves are exact.
  if (row[0] > subproblem_.cutoff()) return false;
  for (int d = 1; d < dimensions_; ++d) {
    if (row[d] > subproblem_.dimension(d).limit) return false;
  }
  if (tracks_done_) {
    int64_t limit = subproblem_.latency_limit();
    if (subproblem_.minimises_latency()) limit = std::min(limit, subproblem_.cutoff());
    if (row[done_at_] > limit) return false;
    for (size_t i = 0; i < level.slots.size(); ++i) {
      if (row[header_ + i] + level.slot_rest[i] > limit) return false;
    }
  }
  const size_t state = graph_.offset[level_] + static_cast<size_t>(node);
  for (const LinearBound& bound : bounds_) {
    double sum = bound.to_end[state];
    for (int d = 0; d < dimensions_; ++d) {
      sum += bound.weights[static_cast<size_t>(d)] * static_cast<double>(row[d]);
    }
    if (sum > bound.most) return false;
  }
  return unwanted_ == nullptr || !(*unwanted_)(row, level_, node);
}

void LabelSearch::Push(const int64_t* row, int32_t node, int32_t parent, int64_t choice,
                       Batch& to) {
  ++made_;
  if (!Wanted(row, node)) return;
  to.rows.insert(to.rows.end(), row, row + levels_[level_].stride);
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
  const int64_t elements =
      FifoElements(*model_.edge(e).fifo, step.slack[input], subproblem_.period());
  if (elements == 0) {
    AddFifos(step, input + 1, code, unit * kOptionCodes, to);
    return;
  }
  const std::vector<FifoOption>& options = model_.FifoOptions(e, step.in_index, elements);
  for (size_t o = 0; o < options.size(); ++o) {
    for (int d = 0; d < dimensions_; ++d) {
      row_[static_cast<size_t>(d)] += subproblem_.FifoValue(options[o].resources, d);
    }
    AddFifos(step, input + 1, code + (static_cast<int64_t>(o) + 1) * unit, unit * kOptionCodes, to);
    for (int d = 0; d < dimensions_; ++d) {
      row_[static_cast<size_t>(d)] -= subproblem_.FifoValue(options[o].resources, d);
    }
  }
}

void LabelSearch::ExpandEnter(const StateGraph::Stage& stage, const Batch& from, size_t label,
                              Batch& to) {
  const Level &before = levels_[level_ - 1], &now = levels_[level_];
  const int64_t* row = &from.rows[label * before.stride];
  const std::vector<int>& inputs = model_.layer(stage.step.layer).in_edges;
  EnterStep step;
  step.layer = stage.step.layer;
  step.parent = static_cast<int32_t>(label);
  row_.assign(row, row + header_);
  if (subproblem_.has_times()) {
    const auto time_of = [&](int layer) {
      return row[header_ + static_cast<size_t>(slot_of_[static_cast<size_t>(layer)])];
    };
    int64_t start = 0;
    for (const int e : inputs) start = std::max(start, time_of(model_.edge(e).from));
    for (const int e : inputs) step.slack.push_back(start - time_of(model_.edge(e).from));
    for (const int slot : now.slot_from) {
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

void LabelSearch::ExpandChoose(const StateGraph::Stage& stage, const Batch& from, size_t label,
                               Batch& to) {
  const Level &before = levels_[level_ - 1], &now = levels_[level_];
  const int64_t* row = &from.rows[label * before.stride];
  const int layer = stage.step.layer;
  const bool last = model_.layer(layer).out_edges.empty();
  const auto node = static_cast<size_t>(from.node[label]);
  row_.resize(now.stride);
  for (int32_t a = stage.begin[node]; a < stage.begin[node + 1]; ++a) {
    const StateArc& arc = stage.arcs[static_cast<size_t>(a)];
    const CandidateGroup& group = graph_.groups[static_cast<size_t>(arc.group)];
    for (int i = 0; i < group.count; ++i) {
      const int c = graph_.members[static_cast<size_t>(group.first + i)];
      const int64_t* values = subproblem_.values(layer, c);
      for (int d = 0; d < dimensions_; ++d) row_[static_cast<size_t>(d)] = row[d] + values[d];
      if (tracks_reach_) {
        row_[reach_at_] = subproblem_.Reaches(layer, c) ? 0 : row[reach_at_];
      }
      if (subproblem_.has_times()) {
        const auto slot = static_cast<size_t>(slot_of_[static_cast<size_t>(layer)]);
        const int64_t finish = row[header_ + slot] + model_.candidate(layer, c).latency;
        if (tracks_done_) row_[done_at_] = last ? std::max(row[done_at_], finish) : row[done_at_];
        for (size_t s = 0; s < now.slots.size(); ++s) {
          row_[header_ + s] =
              now.slot_from[s] < 0 ? finish : row[header_ + static_cast<size_t>(now.slot_from[s])];
        }
      }
      Push(row_.data(), arc.to, static_cast<int32_t>(label), c, to);
    }
  }
}

// Makes the labels of the next level. Returns false if the work budget ended.
bool LabelSearch::Expand(size_t stage_index, const Batch& from, int64_t most_work, Batch& to) {
  const StateGraph::Stage& stage = graph_.stages[stage_index];
  const Level& before = levels_[stage_index];
  level_ = stage_index + 1;
  for (size_t i = 0; i < before.slots.size(); ++i) {
    slot_of_[static_cast<size_t>(before.slots[i])] = static_cast<int>(i);
  }
  size_t compact_at = kCompactFrom;
  to.Clear();
  for (size_t label = 0; label < from.size(); ++label) {
    if (made_ + comparisons_ / kComparisonsOfLabel > most_work) return false;
    switch (stage.step.kind) {
      case PlanStep::Kind::kGuess: {
        const auto node = static_cast<size_t>(from.node[label]);
        for (int32_t a = stage.begin[node]; a < stage.begin[node + 1]; ++a) {
          Push(&from.rows[label * before.stride], stage.arcs[static_cast<size_t>(a)].to,
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
  const Level& level = levels_[level_];
  const auto row_of = [&](int member) {
    return &batch.rows[static_cast<size_t>(member) * level.stride];
  };
  const auto time_of = [&](const int64_t* row, int slot) {
    return slot < 0 ? 0 : row[header_ + static_cast<size_t>(slot)];
  };
  const auto difference = [&](const int64_t* row, const TimePair& pair) {
    return time_of(row, pair.late) - time_of(row, pair.early);
  };
  std::vector<const TimePair*> pairs;
  for (const TimePair& pair : level.pairs) {
    bool matters = pair.most_ahead == kUnlimited;
    for (size_t i = 0; i < members.size() && !matters; ++i) {
      matters = difference(row_of(members[i]), pair) + pair.most_ahead > 0;
    }
    if (matters) pairs.push_back(&pair);
  }
  columns->clear();
  for (const int member : members) {
    const int64_t* row = row_of(member);
    for (const int d : compared_) columns->push_back(row[d]);
    if (tracks_reach_) columns->push_back(row[reach_at_]);
    if (tracks_done_) columns->push_back(row[done_at_]);
    for (const TimePair* pair : pairs) columns->push_back(difference(row, *pair));
  }
  return static_cast<int>(compared_.size() + pairs.size()) + tracks_reach_ + tracks_done_;
}

// Removes the labels that others dominate and sorts the rest by state.
void LabelSearch::Compact(Batch& batch) {
  const Level& level = levels_[level_];
  const size_t stride = level.stride;
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

// Keeps the `width` labels of the least bound.
void LabelSearch::Truncate(int64_t width, Batch& batch) {
  if (static_cast<int64_t>(batch.size()) <= width) return;
  const size_t stride = levels_[level_].stride;
  const LinearBound& bound = bounds_.back();
  std::vector<std::pair<double, int>> ranks;
  for (size_t i = 0; i < batch.size(); ++i) {
    double sum = bound.to_end[graph_.offset[level_] + static_cast<size_t>(batch.node[i])];
    for (int d = 0; d < dimensions_; ++d) {
      sum += bound.weights[static_cast<size_t>(d)] *
             static_cast<double>(batch.rows[i * stride + static_cast<size_t>(d)]);
    }
    ranks.emplace_back(sum, static_cast<int>(i));
  }
  std::nth_element(ranks.begin(), ranks.begin() + width, ranks.end());
  dropped_ = true;
  dropped_bound_ = std::min(
      dropped_bound_, ObjectiveOf(bound, subproblem_, ranks[static_cast<size_t>(width)].first));
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
      std::min(dropped_bound_, ObjectiveOf(bounds_.back(), subproblem_, bounds_.back().root()));
  return false;
}

int64_t LabelSearch::FinalValue(const int64_t* row) const {
  return subproblem_.minimises_latency() ? row[done_at_] : row[0];
}

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
  const size_t stride = levels_.back().stride;
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
                         std::vector<Fold>* folds, std::vector<int64_t>* sums) {
  unwanted_ = &unwanted;
  const bool complete = Search(std::numeric_limits<int64_t>::max(), most_work, work);
  unwanted_ = nullptr;
  folds->clear();
  sums->clear();
  const size_t stride = levels_.back().stride;
  for (size_t i = 0; i < final_.size(); ++i) {
    folds->push_back(FoldOf(static_cast<int32_t>(i)));
    sums->insert(sums->end(), final_.rows.begin() + static_cast<int64_t>(i * stride),
                 final_.rows.begin() + static_cast<int64_t>(i * stride) + dimensions_);
  }
  return complete;
}

}  // namespace kiln::dataflow
