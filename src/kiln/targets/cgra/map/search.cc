// The walk over initiation intervals, and the budget of a search.

#include "kiln/targets/cgra/map/search.h"

#include <algorithm>
#include <vector>

#include "kiln/support/random.h"

namespace kiln::cgra {
namespace {

// Steps of a search without any limit in its options.
constexpr int64_t kDefaultSteps = 20000;

// Returns the least bound of the latency over problems that have mappings at this interval.
Bound BoundOver(const std::vector<Problem>& problems, int initiation_interval) {
  Bound least;
  for (const Problem& problem : problems) {
    if (LeastInterval(problem).value > initiation_interval) continue;
    const Bound bound = LeastLatency(problem, initiation_interval);
    if (least.value == 0 || bound.value < least.value) least = bound;
  }
  return least;
}

}  // namespace

SearchState::SearchState(const ComputationGraph& graph, const MapOptions& options)
    : graph_(graph),
      options_(options),
      begin_(std::chrono::steady_clock::now()),
      most_steps_(options.steps),
      most_seconds_(options.seconds) {
  if (most_steps_ == 0 && most_seconds_ == 0) most_steps_ = kDefaultSteps;
  LimitTo(1);
}

double SearchState::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void SearchState::LimitTo(double share) {
  if (most_steps_ > 0) {
    const auto left = static_cast<double>(most_steps_ - steps_);
    limit_steps_ = steps_ + static_cast<int64_t>(left * share);
    if (share == 1) limit_steps_ = most_steps_;
  }
  if (most_seconds_ > 0) {
    const double now = Seconds();
    limit_seconds_ = now + (most_seconds_ - now) * share;
  }
}

bool SearchState::Step() {
  if (HasInterval(goal_interval_) && latency() <= goal_latency_) return false;
  if (most_steps_ > 0 && steps_ >= limit_steps_) return false;
  if (most_seconds_ > 0 && Seconds() >= limit_seconds_) return false;
  ++steps_;
  return true;
}

void SearchState::Offer(const Problem& problem, int initiation_interval,
                        std::span<const Place> places) {
  int latency = 0;
  for (const Place& place : places) {
    latency = std::max(latency, place.issue + problem.config.pipeline_latency);
  }
  if (result_.mapping) {
    const int best = result_.mapping->initiation_interval;
    if (initiation_interval > best) return;
    if (initiation_interval == best && latency >= result_.latency) return;
  }
  result_.mapping = MappingOf(graph_, problem, initiation_interval, places);
  result_.latency = latency;
  const double now = Seconds();
  result_.progress.push_back({.seconds = now,
                              .steps = steps_,
                              .initiation_interval = initiation_interval,
                              .latency = latency});
  if (options_.on_better) options_.on_better(*result_.mapping, now);
}

MapResult SearchState::Finish() {
  result_.steps = steps_;
  result_.seconds = Seconds();
  return std::move(result_);
}

std::vector<Fusion> MostFusions(const ComputationGraph& graph, const Config& config) {
  std::vector<bool> used(graph.nodes.size(), false);
  std::vector<Fusion> chosen;
  for (const Fusion& fusion : Fusions(graph, config)) {
    if (used[static_cast<size_t>(fusion.multiply)] || used[static_cast<size_t>(fusion.logic)]) {
      continue;
    }
    used[static_cast<size_t>(fusion.multiply)] = used[static_cast<size_t>(fusion.logic)] = true;
    chosen.push_back(fusion);
  }
  return chosen;
}

StatusOr<MapResult> MapByIntervals(const ComputationGraph& graph, const Config& config,
                                   const MapOptions& options, const IntervalSearch& search) {
  std::vector<Problem> problems;
  ProblemOptions fused;
  if (options.fuse) fused.fusions = MostFusions(graph, config);
  KILN_ASSIGN_OR_RETURN(Problem first, BuildProblem(graph, config, fused));
  problems.push_back(std::move(first));
  if (!fused.fusions.empty()) {
    KILN_ASSIGN_OR_RETURN(Problem second, BuildProblem(graph, config));
    problems.push_back(std::move(second));
  }
  SearchState state(graph, options);
  Bound interval = LeastInterval(problems[0]);
  std::string impossible = WhyImpossible(problems[0]);
  for (const Problem& problem : problems) {
    const Bound bound = LeastInterval(problem);
    if (bound.value < interval.value) interval = bound;
    if (WhyImpossible(problem).empty()) impossible.clear();
  }
  int low = interval.value, high = MostInterval(config);
  if (options.initiation_interval > 0) low = high = options.initiation_interval;
  int found = 0;
  uint64_t seed = options.seed;
  for (int ii = low; ii <= high && found == 0 && impossible.empty(); ++ii) {
    if (config.tile_period > 0 && ii % config.tile_period != 0) continue;
    state.EndAt(ii, BoundOver(problems, ii).value);
    // An interval without a mapping gets a part of the budget only, unless it is the last.
    for (size_t p = 0; p < problems.size(); ++p) {
      state.LimitTo(ii == high && p + 1 == problems.size() ? 1 : 1.0 / 6);
      search(problems[p], ii, MixBits(++seed), &state);
      if (state.HasInterval(ii)) found = ii;
    }
  }
  for (size_t p = problems.size(); found > 0 && p-- > 0;) {
    state.LimitTo(p == 0 ? 1 : 0.5);
    search(problems[p], found, MixBits(++seed), &state);
  }
  MapResult result = state.Finish();
  result.interval_bound = interval.value;
  result.interval_why = interval.why;
  result.impossible = !impossible.empty();
  if (result.impossible) result.interval_why = impossible;
  if (found > 0) {
    const Bound latency = BoundOver(problems, found);
    result.latency_bound = latency.value;
    result.latency_why = latency.why;
    result.optimal = result.latency == latency.value && found == interval.value;
  }
  result.space =
      "mappings without additional pass-throughs, with all multiplications fused that "
      "can be or none";
  return result;
}

}  // namespace kiln::cgra
