// Candidates and linear functions of a problem at one period.
#include "kiln/targets/dataflow/fold/subproblem.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "kiln/support/check.h"

namespace kiln::dataflow {
namespace {

constexpr int64_t kMostCompared = 1000;  // candidates with one other

Dimension OneResource(int kind, int64_t limit) {
  Dimension dimension{Dimension::Kind::kResources, {}, limit};
  dimension.weights[static_cast<size_t>(kind)] = 1;
  return dimension;
}

Dimension DimensionOf(const Term& term) {
  switch (term.kind) {
    case Term::Kind::kResources:
      return {Dimension::Kind::kResources, term.weights};
    case Term::Kind::kIdle:
      return {Dimension::Kind::kIdle};
    case Term::Kind::kLatency:
      return {Dimension::Kind::kPath};
    case Term::Kind::kPeriod:
      break;
  }
  KILN_CHECK(term.kind != Term::Kind::kPeriod);
  return {};
}

int64_t AddSaturated(int64_t a, int64_t b) { return a > kUnlimited - b ? kUnlimited : a + b; }

}  // namespace

Subproblem::Subproblem(const FoldModel& model, const PeriodQuery& query,
                       const std::vector<std::vector<int>>& candidates)
    : model_(model), period_(query.period), reach_period_(query.reach_period), active_(candidates) {
  AddDimensions(query);
  ChoosePath();
  ComputeValues();
  cutoff_ = dimensions_[0].limit;
  if (query.start != nullptr) cutoff_ = std::min(cutoff_, query.start_value - 1);
  for (int layer = 0; layer < model_.layers(); ++layer) {
    const auto l = static_cast<size_t>(layer);
    possible_.emplace_back(model_.problem().layers[l].candidates.size(), 0);
    for (const int c : active_[l]) possible_[l][static_cast<size_t>(c)] = 1;
  }
  FilterCandidates();
  if (empty_layer_) return;
  if (cutoff_ == kUnlimited) {
    cutoff_ = dimensions_[0].kind == Dimension::Kind::kNone ? 0 : MostOf(0);
  }
  FindBinding();
}

void Subproblem::AddLimit(Dimension dimension) {
  const auto same = std::find(dimensions_.begin(), dimensions_.end(), dimension);
  if (same != dimensions_.end()) {
    same->limit = std::min(same->limit, dimension.limit);
    same->compared = same->compared || dimension.compared;
  } else {
    dimensions_.push_back(dimension);
  }
}

void Subproblem::AddDimensions(const PeriodQuery& query) {
  dimensions_.push_back(query.minimise ? DimensionOf(*query.minimise) : Dimension{});
  minimises_latency_ = query.minimise && query.minimise->kind == Term::Kind::kLatency;
  for (int kind = 0; kind < kResourceKinds; ++kind) {
    const int64_t limit = model_.problem().limits[static_cast<size_t>(kind)];
    if (limit != kUnlimited && query.lifted != kind) AddLimit(OneResource(kind, limit));
  }
  for (const int kind : query.compare) {
    Dimension dimension = OneResource(kind, kUnlimited);
    dimension.compared = true;
    AddLimit(dimension);
  }
  for (const TermLimit& limit : query.limits) {
    Dimension dimension = DimensionOf(limit.term);
    dimension.limit = limit.limit;
    AddLimit(dimension);
    if (limit.term.kind != Term::Kind::kLatency) continue;
    limits_latency_ = true;
    latency_limit_ = std::min(latency_limit_, limit.limit);
  }
  KILN_CHECK(dimensions_.size() <= static_cast<size_t>(kMaxDimensions));
  has_times_ = model_.has_fifo() || limits_latency_ || minimises_latency_;
}

// Chooses the path from an input to an output that has the greatest sum of least latencies.
void Subproblem::ChoosePath() {
  const auto count = static_cast<size_t>(model_.layers());
  on_path_.assign(count, 0);
  if (!limits_latency_ && !minimises_latency_) return;
  std::vector<int64_t> reach(count, 0);
  std::vector<int> from(count, -1);
  int last = -1;
  for (const int layer : model_.order()) {
    const auto l = static_cast<size_t>(layer);
    for (const int e : model_.layer(layer).in_edges) {
      const int u = model_.edge(e).from;
      if (from[l] >= 0 && reach[static_cast<size_t>(u)] <= reach[static_cast<size_t>(from[l])]) {
        continue;
      }
      from[l] = u;
    }
    int64_t least = kUnlimited;
    for (const int c : active_[l]) least = std::min(least, model_.candidate(layer, c).latency);
    reach[l] = (from[l] < 0 ? 0 : reach[static_cast<size_t>(from[l])]) +
               (active_[l].empty() ? 0 : least) + 1;
    if (last < 0 || reach[l] > reach[static_cast<size_t>(last)]) last = layer;
  }
  for (int at = last; at >= 0; at = from[static_cast<size_t>(at)]) {
    on_path_[static_cast<size_t>(at)] = 1;
    path_.push_back(at);
  }
  std::reverse(path_.begin(), path_.end());
  const auto is_path = [](const Dimension& d) { return d.kind == Dimension::Kind::kPath; };
  path_dimension_ = static_cast<int>(std::find_if(dimensions_.begin(), dimensions_.end(), is_path) -
                                     dimensions_.begin());
}

// Fills in the value of each candidate in each dimension, which the searches then only add up.
void Subproblem::ComputeValues() {
  values_.resize(static_cast<size_t>(model_.layers()));
  for (int layer = 0; layer < model_.layers(); ++layer) {
    const auto l = static_cast<size_t>(layer);
    values_[l].assign(model_.problem().layers[l].candidates.size() * dimensions_.size(), 0);
    for (const int c : active_[l]) {
      const Candidate& candidate = model_.candidate(layer, c);
      for (size_t d = 0; d < dimensions_.size(); ++d) {
        int64_t& value = values_[l][static_cast<size_t>(c) * dimensions_.size() + d];
        switch (dimensions_[d].kind) {
          case Dimension::Kind::kNone:
            break;
          case Dimension::Kind::kResources:
            value = Weighted(dimensions_[d].weights, candidate.resources);
            break;
          case Dimension::Kind::kIdle:
            value = period_ - candidate.cycles;
            break;
          case Dimension::Kind::kPath:
            value = on_path_[l] ? candidate.latency : 0;
            break;
        }
      }
    }
  }
}

int64_t Subproblem::FifoValue(const Resources& resources, int d) const {
  const Dimension& dimension = dimensions_[static_cast<size_t>(d)];
  return dimension.kind == Dimension::Kind::kResources ? Weighted(dimension.weights, resources) : 0;
}

// Removes the candidates of a layer for which `impossible` holds.
template <typename Impossible>
void Subproblem::RemoveImpossible(int layer, const Impossible& impossible) {
  const auto l = static_cast<size_t>(layer);
  std::erase_if(active_[l], [&](int c) {
    if (!impossible(c)) return false;
    possible_[l][static_cast<size_t>(c)] = 0;
    return true;
  });
  if (active_[l].empty()) empty_layer_ = true;
}

// Removes the candidates that break a limit by themselves.
void Subproblem::FilterCandidates() {
  for (int layer = 0; layer < model_.layers(); ++layer) {
    RemoveImpossible(layer, [&](int c) {
      if (model_.candidate(layer, c).cycles > period_ || value(layer, c, 0) > most_kept()) {
        return true;
      }
      for (int d = 1; d < dimensions(); ++d) {
        if (value(layer, c, d) > dimension(d).limit) return true;
      }
      return false;
    });
  }
  if (!empty_layer_) FilterByTime();
}

// Removes candidates that make the pipeline slower than the limit, or whose input FIFO has no
// memory even at the least slack.
void Subproblem::FilterByTime() {
  if (!has_times_) return;
  FindTimes();
  FindElements();
  std::vector<int64_t> head(static_cast<size_t>(model_.layers()), 0);
  for (const int layer : model_.order()) {
    int64_t& start = head[static_cast<size_t>(layer)];
    for (const int e : model_.layer(layer).in_edges) {
      const int from = model_.edge(e).from;
      start = std::max(start, head[static_cast<size_t>(from)] + least_latency(from));
    }
  }
  const int64_t limit = minimises_latency_ ? std::min(most_kept(), latency_limit_) : latency_limit_;
  for (int layer = 0; layer < model_.layers(); ++layer) {
    RemoveImpossible(layer, [&](int c) {
      const int64_t path =
          head[static_cast<size_t>(layer)] + model_.candidate(layer, c).latency + tail(layer);
      if (path > limit) return true;
      const auto unbuildable = [&](int e) {
        return least_elements(e) > 0 &&
               model_
                   .FifoOptions(e, model_.layer(layer).in_index[static_cast<size_t>(c)],
                                least_elements(e))
                   .empty();
      };
      const std::vector<int>& inputs = model_.layer(layer).in_edges;
      return std::any_of(inputs.begin(), inputs.end(), unbuildable);
    });
  }
}

// Finds the range of each layer's latency and the least time from its output to the last output.
void Subproblem::FindTimes() {
  const auto count = static_cast<size_t>(model_.layers());
  least_latency_.assign(count, kUnlimited);
  most_latency_.assign(count, 0);
  tail_.assign(count, 0);
  for (size_t l = 0; l < count; ++l) {
    for (const int c : active_[l]) {
      const int64_t latency = model_.candidate(static_cast<int>(l), c).latency;
      least_latency_[l] = std::min(least_latency_[l], latency);
      most_latency_[l] = std::max(most_latency_[l], latency);
    }
  }
  for (auto it = model_.order().rbegin(); it != model_.order().rend(); ++it) {
    for (const int e : model_.layer(*it).out_edges) {
      const int to = model_.edge(e).to;
      tail_[static_cast<size_t>(*it)] =
          std::max(tail_[static_cast<size_t>(*it)], least_latency(to) + tail(to));
    }
  }
}

void Subproblem::FindElements() {
  const auto edges = static_cast<size_t>(model_.edges());
  least_elements_.assign(edges, 0);
  most_elements_.assign(edges, 0);
  if (!model_.has_fifo()) return;
  const std::vector<SlackRange> slack = SlackRanges(model_, least_latency_, most_latency_);
  for (size_t e = 0; e < edges; ++e) {
    const std::optional<Fifo>& fifo = model_.edge(static_cast<int>(e)).fifo;
    if (!fifo) continue;
    least_elements_[e] = FifoElements(*fifo, slack[e].least, period_);
    most_elements_[e] = FifoElements(*fifo, slack[e].most, period_);
  }
}

int64_t Subproblem::MostOfFifos(int d) const {
  if (!model_.has_fifo() || dimension(d).kind != Dimension::Kind::kResources) return 0;
  int64_t sum = 0;
  for (int e = 0; e < model_.edges(); ++e) {
    if (!model_.edge(e).fifo || most_elements_[static_cast<size_t>(e)] == 0) continue;
    const int to = model_.edge(e).to;
    int64_t most = 0;
    for (const int c : active_[static_cast<size_t>(to)]) {
      const std::vector<FifoOption>& options =
          model_.FifoOptions(e, model_.layer(to).in_index[static_cast<size_t>(c)],
                             most_elements_[static_cast<size_t>(e)]);
      const std::vector<FifoOption>& least =
          model_.FifoOptions(e, model_.layer(to).in_index[static_cast<size_t>(c)],
                             std::max<int64_t>(1, least_elements(e)));
      // An option that ends before the greatest capacity has no known maximum.
      if (options.size() < least.size()) return kUnlimited;
      for (const FifoOption& option : options) {
        most = std::max(most, FifoValue(option.resources, d));
      }
    }
    sum = AddSaturated(sum, most);
  }
  return sum;
}

int64_t Subproblem::MostOf(int d) const {
  int64_t sum = MostOfFifos(d);
  for (int layer = 0; layer < model_.layers(); ++layer) {
    int64_t most = 0;
    for (const int c : active_[static_cast<size_t>(layer)]) {
      most = std::max(most, value(layer, c, d));
    }
    sum = AddSaturated(sum, most);
  }
  if (dimension(d).kind != Dimension::Kind::kPath) return sum;
  // Any path is at most the sum of all layers.
  return std::accumulate(most_latency_.begin(), most_latency_.end(), int64_t{0});
}

// A limit that even the greatest sum of the candidates left does not exceed never excludes a fold,
// and labels are not compared by it unless the question asks for that.
void Subproblem::FindBinding() {
  for (int d = 1; d < dimensions(); ++d) {
    dimensions_[static_cast<size_t>(d)].binding = MostOf(d) > dimension(d).limit;
  }
}

void Subproblem::Lift(int d) {
  Dimension& dimension = dimensions_[static_cast<size_t>(d)];
  dimension.limit = kUnlimited;
  dimension.binding = false;
}

bool Subproblem::CountsInDominance(int d) const {
  const Dimension::Kind kind = dimension(d).kind;
  if (kind == Dimension::Kind::kNone || kind == Dimension::Kind::kPath) return false;
  return d == 0 || dimension(d).binding || dimension(d).compared;
}

// Returns whether each valid fold with `candidate` stays valid, and no worse, with `by`.
bool Subproblem::Replaces(int layer, int by, int candidate) const {
  const LayerModel& lanes = model_.layer(layer);
  const auto c = static_cast<size_t>(candidate), b = static_cast<size_t>(by);
  const auto in = static_cast<size_t>(lanes.in_index[b]) * lanes.in_values.size();
  const auto out = static_cast<size_t>(lanes.out_index[b]) * lanes.out_values.size();
  if (!lanes.in_covers[in + static_cast<size_t>(lanes.in_index[c])]) return false;
  if (!lanes.out_covers[out + static_cast<size_t>(lanes.out_index[c])]) return false;
  const int64_t *values_by = values(layer, by), *of_candidate = values(layer, candidate);
  for (const int d : counting_) {
    if (values_by[d] > of_candidate[d]) return false;
  }
  if (lanes.has_fifo_input && lanes.in_index[b] != lanes.in_index[c]) return false;
  if (reach_period_ && Reaches(layer, candidate) && !Reaches(layer, by)) return false;
  if (!has_times_) return true;
  const int64_t latency_by = model_.candidate(layer, by).latency;
  const int64_t latency = model_.candidate(layer, candidate).latency;
  if (latency_by == latency) return true;
  const bool shorter = latency_by < latency || !(limits_latency_ || minimises_latency_);
  return shorter && !lanes.latency_matters;
}

// Removing a candidate can make limits slack and ranges narrower, which lets further candidates
// replace others, so a later call may remove more.
void Subproblem::Reduce() {
  FilterByTime();
  if (empty_layer_) return;
  counting_.clear();
  for (int d = 0; d < dimensions(); ++d) {
    if (CountsInDominance(d)) counting_.push_back(d);
  }
  for (int layer = 0; layer < model_.layers(); ++layer) {
    std::vector<int>& active = active_[static_cast<size_t>(layer)];
    std::vector<int> kept;
    for (const int c : active) {
      // Of very many candidates, only a part is compared.
      const auto first = kept.end() - std::min(std::ssize(kept), kMostCompared);
      const auto replaces = [&](int by) { return Replaces(layer, by, c); };
      if (std::any_of(first, kept.end(), replaces)) continue;
      kept.erase(
          std::remove_if(first, kept.end(), [&](int other) { return Replaces(layer, c, other); }),
          kept.end());
      kept.push_back(c);
    }
    active = std::move(kept);
  }
  FindBinding();
}

void Subproblem::Keep(const std::vector<std::vector<char>>& keep) {
  for (size_t l = 0; l < active_.size(); ++l) {
    size_t i = 0;
    RemoveImpossible(static_cast<int>(l), [&](int) { return keep[l][i++] == 0; });
  }
}

std::vector<std::vector<int>> Subproblem::possible() const {
  std::vector<std::vector<int>> candidates(possible_.size());
  for (size_t l = 0; l < possible_.size(); ++l) {
    for (size_t c = 0; c < possible_[l].size(); ++c) {
      if (possible_[l][c]) candidates[l].push_back(static_cast<int>(c));
    }
  }
  return candidates;
}

size_t Subproblem::candidates() const {
  size_t sum = 0;
  for (const std::vector<int>& active : active_) sum += active.size();
  return sum;
}

}  // namespace kiln::dataflow
