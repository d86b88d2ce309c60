// Changes of folds that keep couplings, and the best fold offered.
#include "kiln/targets/dataflow/fold/heuristic.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kiln/targets/dataflow/fold/exact_oracle.h"
#include "kiln/targets/dataflow/fold/period_search.h"

namespace kiln::dataflow {

Heuristic::Heuristic(const FoldModel& model, const Objective& objective)
    : model_(model), objective_(objective) {
  for (int layer = 0; layer < model.layers(); ++layer) {
    std::vector<int>& order =
        by_size_.emplace_back(model.problem().layers[static_cast<size_t>(layer)].candidates.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::pair(SizeOf(layer, a), a) < std::pair(SizeOf(layer, b), b);
    });
  }
}

double Heuristic::SizeOf(int layer, int candidate) const {
  const Resources& amounts = model_.candidate(layer, candidate).resources;
  double size = 0;
  for (size_t k = 0; k < amounts.size(); ++k) {
    const int64_t limit = model_.problem().limits[k];
    const double unit =
        limit == kUnlimited ? 1e9 : static_cast<double>(std::max<int64_t>(1, limit));
    size += static_cast<double>(amounts[k]) / unit;
  }
  return size;
}

std::optional<std::vector<int>> Heuristic::SmallestChoice() const {
  // The least sum of small integers in proportion to the sizes, without limits.
  FoldProblem sizes = model_.problem();
  sizes.limits.fill(kUnlimited);
  constexpr double kUnits = 1e6;
  for (size_t l = 0; l < sizes.layers.size(); ++l) {
    for (size_t c = 0; c < sizes.layers[l].candidates.size(); ++c) {
      const double size = SizeOf(static_cast<int>(l), static_cast<int>(c));
      sizes.layers[l].candidates[c].resources = {static_cast<int64_t>(std::min(size * kUnits, 1e9)),
                                                 0, 0, 0};
    }
  }
  for (Edge& edge : sizes.edges) edge.fifo.reset();
  const FoldModel model(sizes);
  ExactOracle oracle(model, 1000000);
  PeriodQuery query;
  query.period = model.periods().back();
  query.minimise = Term{Term::Kind::kResources, {1, 0, 0, 0}, "size"};
  PeriodAnswer answer = oracle.Answer(query);
  if (!answer.fold) return std::nullopt;
  return std::move(answer.fold->choice);
}

bool Heuristic::Change(int layer, int candidate, std::vector<int>* choice) const {
  std::vector<char> settled(static_cast<size_t>(model_.layers()), 0);
  const auto chosen = [&](int l) { return (*choice)[static_cast<size_t>(l)]; };
  // Whether candidate c of layer l couples with all neighbours that are settled.
  const auto fits = [&](int l, int c) {
    const LayerModel& lanes = model_.layer(l);
    return std::all_of(lanes.in_edges.begin(), lanes.in_edges.end(),
                       [&](int e) {
                         const int from = model_.edge(e).from;
                         return !settled[static_cast<size_t>(from)] ||
                                model_.CandidatesCouple(e, chosen(from), c);
                       }) &&
           std::all_of(lanes.out_edges.begin(), lanes.out_edges.end(), [&](int e) {
             const int to = model_.edge(e).to;
             return !settled[static_cast<size_t>(to)] || model_.CandidatesCouple(e, c, chosen(to));
           });
  };
  (*choice)[static_cast<size_t>(layer)] = candidate;
  settled[static_cast<size_t>(layer)] = 1;
  std::vector<int> pending = {layer};
  for (size_t next = 0; next < pending.size(); ++next) {
    std::vector<int> neighbours;
    for (const int e : model_.layer(pending[next]).in_edges) {
      neighbours.push_back(model_.edge(e).from);
    }
    for (const int e : model_.layer(pending[next]).out_edges) {
      neighbours.push_back(model_.edge(e).to);
    }
    for (const int l : neighbours) {
      if (fits(l, chosen(l))) continue;
      if (settled[static_cast<size_t>(l)]) return false;
      const std::vector<int>& order = by_size_[static_cast<size_t>(l)];
      const auto found =
          std::find_if(order.begin(), order.end(), [&](int c) { return fits(l, c); });
      if (found == order.end()) return false;
      (*choice)[static_cast<size_t>(l)] = *found;
      settled[static_cast<size_t>(l)] = 1;
      pending.push_back(l);
    }
  }
  return true;
}

bool Heuristic::Offer(const std::vector<int>& choice, FoldMetrics* metrics) {
  ++offered_;
  FifoChoice fold = ChooseFifos(model_.problem(), choice);
  *metrics = Evaluate(model_.problem(), fold.fold);
  if (!fold.fits || !Violations(model_.problem(), fold.fold).empty()) return false;
  if (metrics->l_max > objective_.target_cycles) return true;
  std::vector<int64_t> scores = ScoresOf(objective_, model_.problem().limits, *metrics);
  if (best_ && scores >= best_scores_) return true;
  best_ = std::move(fold.fold);
  best_scores_ = std::move(scores);
  return true;
}

FoldResult Heuristic::Result() const {
  FoldResult result;
  FoldCertificate& certificate = result.certificate;
  const SimpleBound bound = SimplePeriodBound(model_.problem());
  certificate.cycles_bound = bound.bottleneck_cycles;
  certificate.layer = bound.layer;
  certificate.source = BoundSource::kBottleneck;
  certificate.log10_folds = Log10Folds(model_.problem());
  certificate.work = offered_;
  if (!best_) return result;
  result.fold = best_;
  result.metrics = Evaluate(model_.problem(), *best_);
  for (const Term& term : TermsOf(objective_, model_.problem().limits)) {
    const int64_t least = term.kind == Term::Kind::kPeriod ? bound.bottleneck_cycles : 0;
    certificate.terms.push_back({term.name, ValueOf(term, result.metrics), least});
  }
  return result;
}

}  // namespace kiln::dataflow
