// Splits over devices: dynamic programming with labels that know the index of their device.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "kiln/targets/dataflow/fold/dominance.h"
#include "kiln/targets/dataflow/fold/exact_oracle.h"
#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/period_search.h"
#include "kiln/targets/dataflow/fold/plan.h"
#include "kiln/targets/dataflow/fold/split.h"
#include "kiln/targets/dataflow/fold/state_graph.h"
#include "kiln/targets/dataflow/fold/subproblem.h"
#include "kiln/targets/dataflow/fold/time_slots.h"

namespace kiln::dataflow {
namespace {

constexpr int64_t kMaxDevices = 16;
constexpr int64_t kFirstSplitWidth = 256, kSplitWidthFactor = 8;

Status CheckRow(const DeviceRow& row) {
  const auto devices = static_cast<int64_t>(row.limits.size());
  if (devices < 1 || devices > kMaxDevices) {
    return ErrorAt("", "devices", fmt::format("there are {}", devices),
                   fmt::format("give 1 to {}", kMaxDevices));
  }
  if (static_cast<int64_t>(row.bits_per_cycle.size()) != devices - 1) {
    return ErrorAt("", "links",
                   fmt::format("{} devices have {} links", devices, row.bits_per_cycle.size()),
                   fmt::format("give {}", devices - 1));
  }
  for (const int64_t bits : row.bits_per_cycle) {
    if (bits < 1) {
      return ErrorAt("", "links", fmt::format("bits_per_cycle is {}", bits), "use 1 or more");
    }
  }
  for (size_t d = 0; d < row.limits.size(); ++d) {
    for (int kind = 0; kind < kResourceKinds; ++kind) {
      const int64_t limit = row.limits[d][static_cast<size_t>(kind)];
      if (limit >= 0) continue;
      return ErrorAt("", fmt::format("device {}", d),
                     fmt::format("the limit of {} is {}", ResourceName(kind), limit),
                     "use 0 or more");
    }
  }
  return OkStatus();
}

// The problem with the most of each resource that any device has as limits.
FoldProblem WithLargestLimits(const FoldProblem& problem, const DeviceRow& row) {
  FoldProblem relaxed = problem;
  relaxed.limits = row.limits[0];
  for (const Resources& limits : row.limits) {
    for (size_t k = 0; k < limits.size(); ++k) {
      relaxed.limits[k] = std::max(relaxed.limits[k], limits[k]);
    }
  }
  return relaxed;
}

// The sum of limits, unlimited if one is.
int64_t SumOfLimits(const DeviceRow& row, size_t first_device, size_t kind) {
  int64_t sum = 0;
  for (size_t d = first_device; d < row.limits.size(); ++d) {
    if (row.limits[d][kind] > kUnlimited - sum) return kUnlimited;
    sum += row.limits[d][kind];
  }
  return sum;
}

// What a probe at one period looks for.
struct SplitQuery {
  int64_t period = 0;
  bool reach_period = false;  // a layer or a link must take exactly the period
  bool minimise_idle = false;
  int64_t most_idle = kUnlimited;
};

struct SplitAnswer {
  bool complete = true;  // no label was left out
  bool found = false;
  Fold fold;
  std::vector<int> device;  // per layer
  int64_t idle = 0;
};

// Labels at one period. A row holds the resources of the current device, the idle time, whether
// nothing takes exactly the period so far, and the times of open layers.
class SplitLabels {
 public:
  SplitLabels(const FoldModel& model, const Plan& plan, const DeviceRow& row,
              const std::vector<int64_t>& cut_bits, const std::vector<std::vector<int>>& candidates,
              const SplitQuery& query)
      : model_(model),
        plan_(plan),
        row_(row),
        cut_bits_(cut_bits),
        query_(query),
        subproblem_(model, QueryOf(query), candidates) {}

  // Keeps at most `width` labels after each step.
  SplitAnswer Run(int64_t width, int64_t most_work, int64_t* work) {
    SplitAnswer answer;
    if (subproblem_.has_empty_layer()) return answer;
    graph_ = BuildStateGraph(model_, plan_, subproblem_.active(), row_.links_convert);
    if (graph_.too_wide || graph_.stages.size() < plan_.steps.size()) {
      answer.complete = !graph_.too_wide;
      return answer;
    }
    const TimeSlots times(subproblem_, plan_);
    times_ = &times;
    FindRest();
    labels_.rows.assign(kHeader, 0);
    labels_.rows[kMissing] = query_.reach_period;
    labels_.node = labels_.device = {0};
    for (size_t s = 0; s < graph_.stages.size(); s += 2) {
      for (const auto step : {&SplitLabels::Cut, &SplitLabels::Enter, &SplitLabels::Choose}) {
        next_ = {};
        (this->*step)(s);
        Compact();
        answer.complete = Truncate(width) && answer.complete;
        traces_.push_back({labels_.parent, labels_.choice});
        if (made_ + *work > most_work) {
          *work += made_;
          answer.complete = false;
          return answer;
        }
      }
    }
    *work += made_;
    ReadBest(&answer);
    return answer;
  }

 private:
  static constexpr size_t kIdle = kResourceKinds, kMissing = kIdle + 1, kHeader = kMissing + 1;

  struct Labels {
    std::vector<int64_t> rows;
    std::vector<int32_t> node, device, parent;
    std::vector<int64_t> choice;
    size_t size() const { return node.size(); }
  };
  struct Trace {
    std::vector<int32_t> parent;
    std::vector<int64_t> choice;
  };

  static PeriodQuery QueryOf(const SplitQuery& split) {
    PeriodQuery query;
    query.period = split.period;
    query.reach_period = split.reach_period;
    return query;
  }

  // Computes, for each position, the least resources that the layers from there on need with any
  // lanes.
  void FindRest() {
    const size_t layers = plan_.steps.size() / 2;
    rest_.assign(layers + 1, {});
    for (size_t p = layers; p > 0; --p) {
      const int layer = plan_.steps[2 * p - 2].layer;
      std::array<int64_t, kResourceKinds + 1> least;
      least.fill(kUnlimited);
      for (const int c : subproblem_.active()[static_cast<size_t>(layer)]) {
        const Candidate& candidate = model_.candidate(layer, c);
        for (size_t k = 0; k < candidate.resources.size(); ++k) {
          least[k] = std::min(least[k], candidate.resources[k]);
        }
        least[kIdle] = std::min(least[kIdle], query_.period - candidate.cycles);
      }
      for (size_t k = 0; k < least.size(); ++k) rest_[p - 1][k] = rest_[p][k] + least[k];
    }
  }

  // Adds a label at `level`, before which `decided` layers are decided, unless it cannot fit.
  void Push(const std::vector<int64_t>& row, int32_t node, int32_t device, int32_t parent,
            int64_t choice, size_t decided) {
    ++made_;
    const auto d = static_cast<size_t>(device);
    for (size_t k = 0; k < kResourceKinds; ++k) {
      if (row[k] > row_.limits[d][k]) return;
      if (row[k] + rest_[decided][k] > SumOfLimits(row_, d, k)) return;
    }
    if (row[kIdle] + rest_[decided][kIdle] > query_.most_idle) return;
    next_.rows.insert(next_.rows.end(), row.begin(), row.end());
    next_.node.push_back(node);
    next_.device.push_back(device);
    next_.parent.push_back(parent);
    next_.choice.push_back(choice);
  }

  std::vector<int64_t> RowOf(size_t label, size_t level) const {
    const size_t stride = kHeader + times_->level(level).slots.size();
    const auto first = labels_.rows.begin() + static_cast<int64_t>(label * stride);
    return {first, first + static_cast<int64_t>(stride)};
  }

  // Continues on the same device or on a later one. The trace holds the device.
  void Cut(size_t stage) {
    level_ = stage;
    const size_t cut = stage / 2;
    for (size_t i = 0; i < labels_.size(); ++i) {
      std::vector<int64_t> row = RowOf(i, level_);
      Push(row, labels_.node[i], labels_.device[i], static_cast<int32_t>(i), labels_.device[i],
           cut);
      std::fill(row.begin(), row.begin() + kResourceKinds, 0);
      const bool converts = row_.links_convert && graph_.released[level_] >= 0;
      const int32_t node = converts ? graph_.released[level_] : labels_.node[i];
      for (auto d = static_cast<size_t>(labels_.device[i]); d + 1 < row_.limits.size(); ++d) {
        const int64_t cycles = LinkCycles(cut_bits_[cut], row_.bits_per_cycle[d]);
        if (cycles > query_.period) break;
        if (cycles == query_.period) row[kMissing] = 0;
        Push(row, node, static_cast<int32_t>(d + 1), static_cast<int32_t>(i),
             static_cast<int64_t>(d + 1), cut);
      }
    }
  }

  // Fixes the input lanes of the next layer and the FIFOs of its inputs.
  void Enter(size_t stage) {
    const StateGraph::Stage& step = graph_.stages[stage];
    const std::vector<int>& inputs = model_.layer(step.step.layer).in_edges;
    level_ = stage + 1;
    for (size_t i = 0; i < labels_.size(); ++i) {
      const std::vector<int64_t> before = RowOf(i, stage);
      std::vector<int64_t> row(before.begin(), before.begin() + kHeader);
      std::vector<int64_t> slack;
      if (subproblem_.has_times()) {
        const auto finish = [&](int e) {
          return before[kHeader + static_cast<size_t>(times_->SlotOf(stage, model_.edge(e).from))];
        };
        int64_t start = 0;
        for (const int e : inputs) start = std::max(start, finish(e));
        for (const int e : inputs) slack.push_back(start - finish(e));
        for (const int slot : times_->level(level_).slot_from) {
          row.push_back(slot < 0 ? start : before[kHeader + static_cast<size_t>(slot)]);
        }
      }
      const auto node = static_cast<size_t>(labels_.node[i]);
      for (int32_t a = step.begin[node]; a < step.begin[node + 1]; ++a) {
        const int32_t to = step.arcs[static_cast<size_t>(a)].to;
        AddFifos(i, inputs, slack, 0, step.input[static_cast<size_t>(to)], to, 0, 1, row);
      }
    }
  }

  // Adds a label for each combination of options of the FIFOs from `input` on; `code` collects the
  // options as digits.
  void AddFifos(size_t label, const std::vector<int>& inputs, const std::vector<int64_t>& slack,
                size_t input, int in_index, int32_t node, int64_t code, int64_t unit,
                std::vector<int64_t>& row) {
    while (input < inputs.size() && !model_.edge(inputs[input]).fifo) ++input;
    if (input == inputs.size()) {
      Push(row, node, labels_.device[label], static_cast<int32_t>(label), code, level_ / 2);
      return;
    }
    const int e = inputs[input];
    const int64_t elements = FifoElements(*model_.edge(e).fifo, slack[input], query_.period);
    const int64_t next_unit = unit * (kMaxFifoOptions + 1);
    if (elements == 0) {
      AddFifos(label, inputs, slack, input + 1, in_index, node, code, next_unit, row);
      return;
    }
    const std::vector<FifoOption>& options = model_.FifoOptions(e, in_index, elements);
    for (size_t o = 0; o < options.size(); ++o) {
      for (size_t k = 0; k < kResourceKinds; ++k) row[k] += options[o].resources[k];
      AddFifos(label, inputs, slack, input + 1, in_index, node,
               code + (static_cast<int64_t>(o) + 1) * unit, next_unit, row);
      for (size_t k = 0; k < kResourceKinds; ++k) row[k] -= options[o].resources[k];
    }
  }

  void Choose(size_t stage) {
    const StateGraph::Stage& step = graph_.stages[stage + 1];
    const int layer = step.step.layer;
    level_ = stage + 2;
    for (size_t i = 0; i < labels_.size(); ++i) {
      const std::vector<int64_t> before = RowOf(i, stage + 1);
      const auto node = static_cast<size_t>(labels_.node[i]);
      for (int32_t a = step.begin[node]; a < step.begin[node + 1]; ++a) {
        const StateArc& arc = step.arcs[static_cast<size_t>(a)];
        const CandidateGroup& group = graph_.groups[static_cast<size_t>(arc.group)];
        for (int m = 0; m < group.count; ++m) {
          const int c = graph_.members[static_cast<size_t>(group.first + m)];
          const Candidate& candidate = model_.candidate(layer, c);
          std::vector<int64_t> row(before.begin(), before.begin() + kHeader);
          for (size_t k = 0; k < kResourceKinds; ++k) row[k] += candidate.resources[k];
          row[kIdle] += query_.period - candidate.cycles;
          if (candidate.cycles == query_.period) row[kMissing] = 0;
          for (const int slot : times_->level(level_).slot_from) {
            const auto from =
                static_cast<size_t>(slot < 0 ? times_->SlotOf(stage + 1, layer) : slot);
            row.push_back(before[kHeader + from] + (slot < 0 ? candidate.latency : 0));
          }
          Push(row, arc.to, labels_.device[i], static_cast<int32_t>(i), c, level_ / 2);
        }
      }
    }
  }

  // Moves the undominated labels of next_ to labels_.
  void Compact() {
    const size_t stride = kHeader + times_->level(level_).slots.size();
    std::vector<std::vector<int>> groups(static_cast<size_t>(graph_.nodes[level_]) *
                                         row_.limits.size());
    for (size_t i = 0; i < next_.size(); ++i) {
      groups[static_cast<size_t>(next_.node[i]) * row_.limits.size() +
             static_cast<size_t>(next_.device[i])]
          .push_back(static_cast<int>(i));
    }
    labels_ = {};
    for (const std::vector<int>& members : groups) {
      if (members.empty()) continue;
      std::vector<const int64_t*> times;
      for (const int i : members) {
        times.push_back(&next_.rows[static_cast<size_t>(i) * stride] + kHeader);
      }
      const std::vector<TimePair> pairs = times_->PairsThatMatter(level_, times);
      std::vector<int64_t> columns;
      for (const int64_t* time : times) {
        const int64_t* row = time - kHeader;
        columns.insert(columns.end(), row, row + kHeader);
        if (!query_.minimise_idle) columns[columns.size() - kHeader + kIdle] = 0;
        for (const TimePair& pair : pairs) columns.push_back(TimeSlots::Difference(time, pair));
      }
      int64_t comparisons = 0;
      for (const int index : Undominated(columns, static_cast<int>(kHeader + pairs.size()),
                                         static_cast<int>(members.size()), &comparisons)) {
        Copy(next_, static_cast<size_t>(members[static_cast<size_t>(index)]), stride, &labels_);
      }
      made_ += comparisons / 64;
    }
  }

  static void Copy(const Labels& from, size_t i, size_t stride, Labels* to) {
    const auto first = from.rows.begin() + static_cast<int64_t>(i * stride);
    to->rows.insert(to->rows.end(), first, first + static_cast<int64_t>(stride));
    to->node.push_back(from.node[i]);
    to->device.push_back(from.device[i]);
    to->parent.push_back(from.parent[i]);
    to->choice.push_back(from.choice[i]);
  }

  // Keeps the labels that have used the least of the row of devices. Returns false if some were
  // dropped.
  bool Truncate(int64_t width) {
    if (static_cast<int64_t>(labels_.size()) <= width) return true;
    const size_t stride = kHeader + times_->level(level_).slots.size();
    std::vector<std::pair<double, size_t>> ranks;
    for (size_t i = 0; i < labels_.size(); ++i) {
      const auto d = static_cast<size_t>(labels_.device[i]);
      double used = 0;
      for (size_t k = 0; k < kResourceKinds; ++k) {
        const int64_t limit = row_.limits[d][k];
        if (limit == kUnlimited || limit == 0) continue;
        used = std::max(
            used, static_cast<double>(labels_.rows[i * stride + k]) / static_cast<double>(limit));
      }
      ranks.emplace_back(static_cast<double>(d) + used, i);
    }
    std::nth_element(ranks.begin(), ranks.begin() + width, ranks.end());
    ranks.resize(static_cast<size_t>(width));
    std::sort(ranks.begin(), ranks.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    Labels kept;
    for (const auto& [rank, i] : ranks) Copy(labels_, i, stride, &kept);
    labels_ = std::move(kept);
    return false;
  }

  void ReadBest(SplitAnswer* answer) const {
    int32_t best = -1;
    int64_t least = 0;
    for (size_t i = 0; i < labels_.size(); ++i) {
      const int64_t* row = &labels_.rows[i * kHeader];
      if (row[kMissing] != 0 || (best >= 0 && row[kIdle] >= least)) continue;
      best = static_cast<int32_t>(i);
      least = row[kIdle];
    }
    if (best < 0) return;
    answer->found = true;
    answer->idle = least;
    Fold& fold = answer->fold;
    fold.choice.assign(static_cast<size_t>(model_.layers()), 0);
    answer->device = fold.choice;
    if (model_.has_fifo()) fold.fifo_option.assign(static_cast<size_t>(model_.edges()), -1);
    for (size_t t = traces_.size(); t > 0; --t) {
      const auto layer = plan_.steps[(t - 1) / 3 * 2].layer;
      int64_t choice = traces_[t - 1].choice[static_cast<size_t>(best)];
      if (t % 3 == 0) fold.choice[static_cast<size_t>(layer)] = static_cast<int>(choice);
      if (t % 3 == 1) answer->device[static_cast<size_t>(layer)] = static_cast<int>(choice);
      for (const int e : model_.layer(layer).in_edges) {
        if (t % 3 != 2 || !model_.edge(e).fifo) continue;
        fold.fifo_option[static_cast<size_t>(e)] =
            static_cast<int>(choice % (kMaxFifoOptions + 1)) - 1;
        choice /= kMaxFifoOptions + 1;
      }
      best = traces_[t - 1].parent[static_cast<size_t>(best)];
    }
  }

  const FoldModel& model_;
  const Plan& plan_;
  const DeviceRow& row_;
  const std::vector<int64_t>& cut_bits_;
  const SplitQuery query_;
  const Subproblem subproblem_;
  StateGraph graph_;
  const TimeSlots* times_ = nullptr;
  std::vector<std::array<int64_t, kResourceKinds + 1>> rest_;  // [position]
  Labels labels_, next_;
  std::vector<Trace> traces_;  // three per layer: cut, enter, choose
  size_t level_ = 0;
  int64_t made_ = 0;
};

// Bisects over the periods that layers and links can have, as period_search.h does for one device,
// and then minimises the idle time at the least period. The folding problem without devices, with
// the largest limit of each resource, gives the candidates and the first bound.
class DeviceSearch {
 public:
  DeviceSearch(const FoldProblem& problem, const DeviceRow& row, const SplitOptions& options)
      : problem_(problem),
        relaxed_(WithLargestLimits(problem, row)),
        row_(row),
        options_(options),
        model_(relaxed_),
        plan_(MakePlanInOrder(model_, model_.order())),
        candidates_(IrreplaceableCandidates(model_)),
        periods_(model_.periods()) {
    for (size_t cut = 0; cut < model_.order().size(); ++cut) {
      cut_bits_.push_back(BitsAcross(problem, model_.order(), cut));
      for (const int64_t bits_per_cycle : row.bits_per_cycle) {
        const int64_t cycles = LinkCycles(cut_bits_.back(), bits_per_cycle);
        if (cycles > 0) periods_.push_back(cycles);
      }
    }
    std::sort(periods_.begin(), periods_.end());
    periods_.erase(std::unique(periods_.begin(), periods_.end()), periods_.end());
  }

  DeviceSplit Run() {
    const auto last = std::upper_bound(periods_.begin(), periods_.end(), options_.target_cycles);
    const SimpleBound simple = SimplePeriodBound(relaxed_);
    const auto first = std::lower_bound(periods_.begin(), periods_.end(), simple.bottleneck_cycles);
    proved_ = true;
    if (simple.layer >= 0 && first < last)
      Search(first - periods_.begin(), last - periods_.begin());
    result_.optimal = proved_;
    result_.work = work_;
    if (!result_.fold && proved_) Explain();
    return std::move(result_);
  }

 private:
  // Answers a question with more and more labels, until none is left out or the budget ends.
  SplitAnswer Probe(int64_t index, bool reach, bool minimise_idle) {
    SplitQuery query;
    query.period = periods_[static_cast<size_t>(index)];
    query.reach_period = reach;
    query.minimise_idle = minimise_idle;
    const int64_t most_work = work_ + options_.most_work;
    SplitAnswer best;
    for (int64_t width = kFirstSplitWidth;; width *= kSplitWidthFactor) {
      SplitLabels labels(model_, plan_, row_, cut_bits_, candidates_, query);
      SplitAnswer answer = labels.Run(width, most_work, &work_);
      const bool complete = answer.complete;
      if (answer.found) best = std::move(answer);
      best.complete = complete;
      if (complete || work_ > most_work || (best.found && !minimise_idle)) return best;
      if (best.found) query.most_idle = best.idle - 1;
    }
  }

  // Finds the least period with index in [low, end), then the least idle time.
  void Search(int64_t low, int64_t end) {
    // With FIFOs, a fold within a period need not be valid at its own: see period_search.h.
    int64_t refuted = low - 1, high = end;
    const auto feasible = [&](int64_t index) {
      const SplitAnswer answer = Probe(index, false, false);
      if (!answer.found && answer.complete) refuted = std::max(refuted, index);
      return answer.found;
    };
    if (!feasible(end - 1)) {
      proved_ = refuted == end - 1;
      return;
    }
    high = end - 1;
    int64_t below = low - 1;
    while (below + 1 < high) {
      const int64_t middle = below + (high - below) / 2;
      (feasible(middle) ? high : below) = middle;
    }
    proved_ = refuted == high - 1;
    result_.period_bound = periods_[static_cast<size_t>(refuted + 1)];
    for (int64_t index = high; index < end; ++index) {
      const SplitAnswer answer = Probe(index, model_.has_fifo(), true);
      proved_ = proved_ && answer.complete;
      if (!answer.found) {
        if (!answer.complete) continue;
        if (proved_ && index + 1 < end) {
          result_.period_bound = periods_[static_cast<size_t>(index + 1)];
        }
        continue;
      }
      const int64_t work = result_.work, bound = result_.period_bound;
      result_ = *EvaluateSplit(problem_, row_, answer.fold, answer.device);
      result_.work = work;
      result_.period_bound = bound;
      return;
    }
  }

  void Explain() {
    result_.infeasible = "no split meets the limits of all devices";
    if (options_.target_cycles < periods_.back()) {
      result_.infeasible = fmt::format("no split within {} cycles meets the limits of all devices",
                                       options_.target_cycles);
    }
    const std::string beyond = LayerBeyond(problem_, relaxed_.limits, "the largest device");
    if (!beyond.empty()) {
      result_.infeasible = beyond;
      return;
    }
    for (int kind = 0; kind < kResourceKinds; ++kind) {
      const auto k = static_cast<size_t>(kind);
      int64_t least = 0;
      for (const Layer& layer : problem_.layers) least += LeastAmountOf(layer, k);
      if (least <= SumOfLimits(row_, 0, k)) continue;
      result_.infeasible =
          fmt::format("the layers need at least {} {}, the devices have {} together", least,
                      ResourceName(kind), SumOfLimits(row_, 0, k));
      return;
    }
  }

  const FoldProblem& problem_;
  const FoldProblem relaxed_;
  const DeviceRow& row_;
  const SplitOptions options_;
  const FoldModel model_;
  const Plan plan_;
  const std::vector<std::vector<int>> candidates_;
  std::vector<int64_t> periods_;   // of layers and links
  std::vector<int64_t> cut_bits_;  // per cut
  bool proved_ = false;
  int64_t work_ = 0;
  DeviceSplit result_;
};

}  // namespace

StatusOr<DeviceSplit> SplitOverDevices(const FoldProblem& problem, const DeviceRow& row,
                                       const SplitOptions& options) {
  KILN_RETURN_IF_ERROR(CheckProblem(problem));
  KILN_RETURN_IF_ERROR(CheckRow(row));
  Objective objective;
  objective.target_cycles = options.target_cycles;
  KILN_RETURN_IF_ERROR(CheckObjective(objective));
  return DeviceSearch(problem, row, options).Run();
}

}  // namespace kiln::dataflow
