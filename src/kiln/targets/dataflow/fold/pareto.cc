// Walks the periods in ascending order and keeps the points that no faster one dominates.
#include "kiln/targets/dataflow/fold/pareto.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "kiln/targets/dataflow/fold/dominance.h"
#include "kiln/targets/dataflow/fold/exact_oracle.h"
#include "kiln/targets/dataflow/fold/explain.h"
#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/period_search.h"

namespace kiln::dataflow {
namespace {

class FrontSearch {
 public:
  FrontSearch(const FoldModel& model, const ParetoOptions& options)
      : model_(model), options_(options), oracle_(model, options.most_work) {
    for (int kind = 0; kind < kResourceKinds; ++kind) {
      if (options.compare[static_cast<size_t>(kind)]) kinds_.push_back(kind);
    }
  }

  ParetoFront Run() {
    front_.complete = true;
    const SimpleBound simple = SimplePeriodBound(model_.problem());
    for (const int64_t period : model_.periods()) {
      if (simple.layer < 0 || period < simple.cycles) continue;
      if (period > options_.target_cycles) break;
      if (!AddPeriod(period)) break;
    }
    SortPoints();
    for (size_t i = 0; i < front_.points.size(); ++i) FindNext(i);
    if (front_.points.empty() && front_.complete) Explain();
    front_.work += oracle_.work();
    return std::move(front_);
  }

 private:
  // The compared resources.
  std::vector<int64_t> Key(const FoldMetrics& metrics) const {
    std::vector<int64_t> key;
    for (const int kind : kinds_) key.push_back(metrics.resources[static_cast<size_t>(kind)]);
    return key;
  }

  bool Dominated(const std::vector<int64_t>& key) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const std::vector<int64_t>& other) {
      for (size_t i = 0; i < key.size(); ++i) {
        if (other[i] > key[i]) return false;
      }
      return true;
    });
  }

  // Adds the points of one period; returns false if there are too many.
  bool AddPeriod(int64_t period) {
    PeriodQuery query;
    query.period = period;
    query.reach_period = model_.has_fifo();
    std::vector<Fold> folds;
    if (kinds_.size() == 1) {
      AnswerOne(query, &folds);
    } else {
      query.compare = kinds_;
      const auto dominated = [&](const std::vector<int64_t>& least) { return Dominated(least); };
      if (!oracle_.AnswerAll(query, dominated, &folds)) front_.complete = false;
    }
    std::vector<int64_t> rows;
    std::vector<ParetoPoint> points;
    for (Fold& fold : folds) {
      ParetoPoint point;
      point.metrics = Evaluate(model_.problem(), fold);
      point.proved = front_.complete;
      point.fold = std::move(fold);
      const std::vector<int64_t> key = Key(point.metrics);
      rows.insert(rows.end(), key.begin(), key.end());
      points.push_back(std::move(point));
    }
    int64_t comparisons = 0;
    for (const int i : Undominated(rows, static_cast<int>(kinds_.size()),
                                   static_cast<int>(points.size()), &comparisons)) {
      if (static_cast<int64_t>(front_.points.size()) >= options_.most_points) {
        front_.complete = false;
        return false;
      }
      keys_.push_back(Key(points[static_cast<size_t>(i)].metrics));
      front_.points.push_back(std::move(points[static_cast<size_t>(i)]));
    }
    return true;
  }

  // With one compared resource, its least amount at a period is the objective.
  void AnswerOne(PeriodQuery query, std::vector<Fold>* folds) {
    Term term{Term::Kind::kResources, {}, ResourceName(kinds_[0])};
    term.weights[static_cast<size_t>(kinds_[0])] = 1;
    query.minimise = term;
    if (!keys_.empty()) {
      if (keys_.back()[0] == 0) return;
      query.limits.push_back({term, keys_.back()[0] - 1});
    }
    PeriodAnswer answer = oracle_.Answer(query);
    if (!answer.complete) front_.complete = false;
    if (answer.fold) folds->push_back(std::move(*answer.fold));
  }

  void SortPoints() {
    std::sort(front_.points.begin(), front_.points.end(),
              [](const ParetoPoint& a, const ParetoPoint& b) {
                return std::pair(a.metrics.l_max, a.metrics.resources) <
                       std::pair(b.metrics.l_max, b.metrics.resources);
              });
  }

  // Finds the next smaller L_max and what it needs: from the front, or, for the fastest points,
  // from the smaller periods with one limit lifted at a time.
  void FindNext(size_t index) {
    ParetoPoint& point = front_.points[index];
    size_t first = index;
    while (first > 0 && front_.points[first - 1].metrics.l_max == point.metrics.l_max) --first;
    if (first > 0) {
      point.next.cycles = front_.points[first - 1].metrics.l_max;
      for (size_t i = 0; i < first; ++i) {
        const FoldMetrics& metrics = front_.points[i].metrics;
        for (const int kind : kinds_) {
          const auto k = static_cast<size_t>(kind);
          std::optional<int64_t>& needs = point.next.needs[k];
          needs = std::min(needs.value_or(kUnlimited), metrics.resources[k]);
        }
      }
      return;
    }
    if (index > 0) {
      point.next = front_.points[0].next;
      return;
    }
    const std::vector<int64_t>& periods = model_.periods();
    auto period = std::lower_bound(periods.begin(), periods.end(), point.metrics.l_max);
    while (period != periods.begin()) {
      --period;
      if (NeedsBeyond(*period, &point.next)) return;
    }
  }

  bool NeedsBeyond(int64_t period, NextStep* next) {
    bool any = false;
    for (const int kind : kinds_) {
      const auto k = static_cast<size_t>(kind);
      if (model_.problem().limits[k] == kUnlimited) continue;
      ExactOracle oracle(model_, options_.most_work);
      next->needs[k] = LeastAmount(oracle, period, kind);
      front_.work += oracle.work();
      any = any || next->needs[k].has_value();
    }
    if (!any) return false;
    next->cycles = period;
    next->beyond_device = true;
    return true;
  }

  void Explain() {
    const std::vector<int64_t>& periods = model_.periods();
    const bool named = options_.target_cycles < periods.back();
    front_.infeasible =
        FindObstacle(model_, oracle_, named ? options_.target_cycles : periods.back(), named).text;
  }

  const FoldModel& model_;
  const ParetoOptions options_;
  ExactOracle oracle_;
  std::vector<int> kinds_;                  // the compared resources
  std::vector<std::vector<int64_t>> keys_;  // per point, in the order found
  ParetoFront front_;
};

}  // namespace

StatusOr<ParetoFront> SolvePareto(const FoldProblem& problem, const ParetoOptions& options) {
  KILN_RETURN_IF_ERROR(CheckProblem(problem));
  Objective objective;
  objective.target_cycles = options.target_cycles;
  KILN_RETURN_IF_ERROR(CheckObjective(objective));
  if (std::none_of(options.compare.begin(), options.compare.end(), [](bool b) { return b; })) {
    return ErrorAt("", "front", "compares no resource", "compare at least one");
  }
  const FoldModel model(problem);
  return FrontSearch(model, options).Run();
}

std::string Describe(const FoldProblem& problem, const ParetoPoint& point) {
  std::string text = fmt::format("{} cycles", point.metrics.l_max);
  for (int kind = 0; kind < kResourceKinds; ++kind) {
    const int64_t amount = point.metrics.resources[static_cast<size_t>(kind)];
    if (amount > 0) text += fmt::format(", {} {}", amount, ResourceName(kind));
  }
  if (point.next.cycles == 0) return text + "; no fold is faster";
  const double gain = 100.0 * (1 - static_cast<double>(point.next.cycles) /
                                       static_cast<double>(point.metrics.l_max));
  for (int kind = 0; kind < kResourceKinds; ++kind) {
    const auto k = static_cast<size_t>(kind);
    if (!point.next.needs[k]) continue;
    const int64_t more = *point.next.needs[k] - point.metrics.resources[k];
    if (more <= 0) continue;
    const std::string_view name = ResourceName(kind);
    text += "; ";
    if (more > 1) text += fmt::format("the next {} {} buy nothing, ", more - 1, name);
    text += fmt::format("{} more {} would buy {:.1f} % ({} cycles)", more, name, gain,
                        point.next.cycles);
    if (point.next.beyond_device) {
      text +=
          fmt::format(", the device has {} more", problem.limits[k] - point.metrics.resources[k]);
    }
  }
  return text;
}

}  // namespace kiln::dataflow
