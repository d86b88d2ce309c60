// Searches for the simplest reason: one layer, one edge, one resource, then limits together.
#include "kiln/targets/dataflow/fold/explain.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/targets/dataflow/fold/period_search.h"
#include "kiln/targets/dataflow/fold/relaxation.h"
#include "kiln/targets/dataflow/fold/state_graph.h"
#include "kiln/targets/dataflow/fold/subproblem.h"

namespace kiln::dataflow {
namespace {

class Explainer {
 public:
  Explainer(const FoldModel& model, ExactOracle& oracle, int64_t period, bool named_period)
      : model_(model), problem_(model.problem()), oracle_(oracle), period_(period) {
    if (named_period) within_ = fmt::format(" within {} cycles", period);
  }

  Obstacle Find() {
    for (const auto find : {&Explainer::OneLayer, &Explainer::OneEdge, &Explainer::OneResource,
                            &Explainer::OneFifo, &Explainer::LimitsTogether}) {
      if ((this->*find)()) return std::move(obstacle_);
    }
    obstacle_.text = fmt::format("no fold{} meets all limits together{}", within_,
                                 model_.has_fifo() ? ", with the FIFOs that it needs" : "");
    return std::move(obstacle_);
  }

 private:
  const std::string& Name(int layer) const {
    return problem_.layers[static_cast<size_t>(layer)].name;
  }

  // A layer that no candidate of its own suits.
  bool OneLayer() {
    for (int layer = 0; layer < model_.layers(); ++layer) {
      const std::vector<Candidate>& candidates =
          problem_.layers[static_cast<size_t>(layer)].candidates;
      const int64_t fastest =
          std::min_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
            return a.cycles < b.cycles;
          })->cycles;
      obstacle_.layer = layer;
      if (fastest > period_) {
        obstacle_.source = BoundSource::kBottleneck;
        obstacle_.text = fmt::format(
            "layer {}: even its fastest fold takes {} cycles, the target "
            "is {}",
            Name(layer), fastest, period_);
        return true;
      }
      std::vector<int>& active = active_.emplace_back();
      for (int c = 0; c < static_cast<int>(candidates.size()); ++c) {
        const Candidate& candidate = candidates[static_cast<size_t>(c)];
        if (candidate.cycles <= period_ && Fits(candidate.resources, problem_.limits)) {
          active.push_back(c);
        }
      }
      if (!active.empty()) continue;
      for (size_t kind = 0; kind < problem_.limits.size(); ++kind) {
        int64_t least = kUnlimited;
        for (const Candidate& candidate : candidates) {
          if (candidate.cycles <= period_) least = std::min(least, candidate.resources[kind]);
        }
        if (least <= problem_.limits[kind]) continue;
        SetResource(static_cast<int>(kind), least);
        obstacle_.text = fmt::format(
            "layer {}: even its smallest fold{} needs {} {}, the device "
            "has {}",
            Name(layer), within_, least, ResourceName(static_cast<int>(kind)),
            problem_.limits[kind]);
        return true;
      }
      if (OneLimit(layer, candidates)) return true;
      obstacle_.source = BoundSource::kCombination;
      obstacle_.text =
          fmt::format("layer {}: none of its folds{} meets all limits", Name(layer), within_);
      return true;
    }
    return false;
  }

  // A limit that all folds of a layer exceed that meet the other limits.
  bool OneLimit(int layer, const std::vector<Candidate>& candidates) {
    for (size_t kind = 0; kind < problem_.limits.size(); ++kind) {
      Resources others = problem_.limits;
      others[kind] = kUnlimited;
      int64_t least = kUnlimited;
      for (const Candidate& candidate : candidates) {
        if (candidate.cycles <= period_ && Fits(candidate.resources, others))
          least = std::min(least, candidate.resources[kind]);
      }
      if (least == kUnlimited) continue;
      SetResource(static_cast<int>(kind), least);
      obstacle_.text = fmt::format(
          "layer {}: its folds{} that meet the other limits need at least {} {}, the device has {}",
          Name(layer), within_, least, ResourceName(static_cast<int>(kind)), problem_.limits[kind]);
      return true;
    }
    return false;
  }

  // Two neighbours of which no folds couple, after the folds without a partner are removed.
  bool OneEdge() {
    obstacle_.source = BoundSource::kCoupling;
    std::vector<std::vector<int>> active = active_;
    for (bool changed = true; changed;) {
      changed = false;
      for (int e = 0; e < model_.edges(); ++e) {
        const Edge& edge = model_.edge(e);
        const auto from = static_cast<size_t>(edge.from), to = static_cast<size_t>(edge.to);
        const auto couples = [&](int u, int v) { return model_.CandidatesCouple(e, u, v); };
        const size_t before = active[from].size() + active[to].size();
        std::erase_if(active[from], [&](int u) {
          return std::none_of(active[to].begin(), active[to].end(),
                              [&](int v) { return couples(u, v); });
        });
        std::erase_if(active[to], [&](int v) {
          return std::none_of(active[from].begin(), active[from].end(),
                              [&](int u) { return couples(u, v); });
        });
        changed = changed || active[from].size() + active[to].size() != before;
        if (!active[from].empty()) continue;
        obstacle_.layer = edge.to;
        obstacle_.text = fmt::format("no fold of {}{} gives {} a word it can take", Name(edge.from),
                                     within_, Name(edge.to));
        return true;
      }
    }
    // A graph with joins can fail although each edge by itself does not.
    graph_ = BuildStateGraph(model_, oracle_.plan(), active);
    if (graph_.too_wide) return false;
    for (size_t level = 0; level < graph_.nodes.size(); ++level) {
      if (graph_.nodes[level] > 0) continue;
      obstacle_.layer = graph_.stages[level - 1].step.layer;
      obstacle_.text = fmt::format("no folds of the layers before {}{} give it words it can take",
                                   Name(obstacle_.layer), within_);
      return true;
    }
    return false;
  }

  // A resource of which the layers need too much together, whatever else they need.
  bool OneResource() {
    if (graph_.too_wide) return false;
    PeriodQuery query;
    query.period = period_;
    const Subproblem subproblem(model_, query, active_);
    if (subproblem.has_empty_layer()) return false;
    Relaxation relaxation(subproblem, graph_);
    for (int d = 1; d < subproblem.dimensions(); ++d) {
      const LinearBound bound = relaxation.BoundOf(d);
      if (!bound.Excludes() || std::isinf(bound.root())) continue;
      const Resources& weights = subproblem.dimension(d).weights;
      const auto kind =
          static_cast<int>(std::find(weights.begin(), weights.end(), 1) - weights.begin());
      const std::vector<int> choice = relaxation.WalkOf(bound);
      const auto need = [&](int layer) {
        return model_.candidate(layer, choice[static_cast<size_t>(layer)])
            .resources[static_cast<size_t>(kind)];
      };
      obstacle_.layer = 0;
      for (int layer = 1; layer < model_.layers(); ++layer) {
        if (need(layer) > need(obstacle_.layer)) obstacle_.layer = layer;
      }
      SetResource(kind, static_cast<int64_t>(bound.root()));
      obstacle_.text = fmt::format(
          "the layers{} need at least {} {}, the device has {}; layer {} needs most, {}", within_,
          obstacle_.needs, ResourceName(kind), obstacle_.limit, Name(obstacle_.layer),
          need(obstacle_.layer));
      return true;
    }
    return false;
  }

  // A FIFO that no memory can hold.
  bool OneFifo() {
    if (!model_.has_fifo()) return false;
    PeriodQuery query;
    query.period = period_;
    FoldProblem unlimited = problem_;
    unlimited.limits.fill(kUnlimited);
    const FoldModel model(unlimited);
    const Subproblem subproblem(model, query, active_);
    if (!subproblem.has_empty_layer()) return false;
    for (int e = 0; e < model.edges(); ++e) {
      if (!model.edge(e).fifo || subproblem.least_elements(e) == 0) continue;
      const int to = model.edge(e).to;
      const auto unbuildable = [&](int c) {
        return model
            .FifoOptions(e, model.layer(to).in_index[static_cast<size_t>(c)],
                         subproblem.least_elements(e))
            .empty();
      };
      const std::vector<int>& active = active_[static_cast<size_t>(to)];
      if (!std::all_of(active.begin(), active.end(), unbuildable)) continue;
      obstacle_.source = BoundSource::kCombination;
      obstacle_.layer = to;
      obstacle_.text =
          fmt::format("layer {}: no memory holds the {} elements of the FIFO from {}", Name(to),
                      subproblem.least_elements(e), Name(model.edge(e).from));
      return true;
    }
    return false;
  }

  // A resource of which the layers need too much if they meet all other limits.
  bool LimitsTogether() {
    obstacle_.layer = -1;
    for (int kind = 0; kind < kResourceKinds; ++kind) {
      const auto k = static_cast<size_t>(kind);
      if (problem_.limits[k] == kUnlimited) continue;
      const std::optional<int64_t> needs = LeastAmount(oracle_, period_, kind);
      if (!needs || *needs <= problem_.limits[k]) continue;
      SetResource(kind, *needs);
      obstacle_.text = fmt::format(
          "the folds{} that meet the other limits need at least {} {}, the device has {}", within_,
          *needs, ResourceName(kind), problem_.limits[k]);
      return true;
    }
    obstacle_.source = BoundSource::kCombination;
    return false;
  }

  void SetResource(int kind, int64_t needs) {
    obstacle_.source = BoundSource::kResource;
    obstacle_.resource = kind;
    obstacle_.needs = needs;
    obstacle_.limit = problem_.limits[static_cast<size_t>(kind)];
  }

  const FoldModel& model_;
  const FoldProblem& problem_;
  ExactOracle& oracle_;
  const int64_t period_;
  std::string within_;
  Obstacle obstacle_;
  std::vector<std::vector<int>> active_;  // within the period and each limit by itself
  StateGraph graph_;
};

}  // namespace

Obstacle FindObstacle(const FoldModel& model, ExactOracle& oracle, int64_t period,
                      bool named_period) {
  return Explainer(model, oracle, period, named_period).Find();
}

std::optional<int64_t> LeastAmount(ExactOracle& oracle, int64_t period, int kind) {
  PeriodQuery query;
  query.period = period;
  query.lifted = kind;
  Term term{Term::Kind::kResources, {}, ResourceName(kind)};
  term.weights[static_cast<size_t>(kind)] = 1;
  query.minimise = term;
  const PeriodAnswer answer = oracle.Answer(query);
  if (!answer.fold || !answer.complete) return std::nullopt;
  return answer.value;
}

}  // namespace kiln::dataflow
