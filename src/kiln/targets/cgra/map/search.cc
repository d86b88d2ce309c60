// The walk over initiation intervals, and the budget of a search.

#include "kiln/targets/cgra/map/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/random.h"
#include "kiln/support/stable_sort.h"
#include "kiln/targets/cgra/map/branch.h"
#include "kiln/targets/cgra/map/variants.h"

namespace kiln::cgra {
namespace {

// Steps of a search without any limit in its options.
constexpr int64_t kDefaultSteps = 20000;

}  // namespace

Status CheckInterval(const Config& config, int interval) {
  constexpr const char* kPlace = "--ii";
  const int most = MostInterval(config);
  if (interval < 0 || interval > most) {
    return ErrorAt("", kPlace, fmt::format("an interval of {} cycles", interval),
                   fmt::format("1 to {} cycles on this machine", most));
  }
  if (interval % IntervalStep(config) != 0) {
    return ErrorAt("", kPlace, fmt::format("an interval of {} cycles", interval),
                   fmt::format("a multiple of the tiles' period of {} cycles", config.tile_period));
  }
  return OkStatus();
}

Bound LatencyBoundOver(std::span<const Problem> problems, int initiation_interval, Passes passes) {
  Bound least;
  for (const Problem& problem : problems) {
    if (LeastInterval(problem, passes).value > initiation_interval) continue;
    const Bound bound = LeastLatency(problem, initiation_interval, passes);
    if (least.value == 0 || bound.value < least.value) least = bound;
  }
  return least;
}

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
    limit_steps_ = steps_ + static_cast<int64_t>(std::ceil(left * share));
  }
  if (most_seconds_ > 0) {
    const double now = Seconds();
    limit_seconds_ = now + (most_seconds_ - now) * share;
  }
}

bool SearchState::Step() { return Take(1) > 0; }

bool SearchState::Over() const {
  if (HasInterval(goal_interval_) && latency() <= goal_latency_) return true;
  return (most_steps_ > 0 && steps_ >= limit_steps_) || SecondsLeft() <= 0;
}

int64_t SearchState::Take(int64_t steps) {
  if (Over()) return 0;
  if (most_steps_ > 0) steps = std::min(steps, limit_steps_ - steps_);
  steps_ += steps;
  return steps;
}

double SearchState::SecondsLeft() const {
  if (most_seconds_ <= 0) return std::numeric_limits<double>::infinity();
  return std::max(0.0, limit_seconds_ - Seconds());
}

double SearchState::ShareLeft() const {
  double share = 1;
  if (most_steps_ > 0) {
    share = static_cast<double>(most_steps_ - steps_) / static_cast<double>(most_steps_);
  }
  if (most_seconds_ > 0) share = std::min(share, 1 - Seconds() / most_seconds_);
  return std::max(share, 0.0);
}

StepBudget SearchState::BudgetOf(int64_t steps, double share_of_time) const {
  if (most_steps_ > 0) steps = std::min(steps, limit_steps_ - steps_);
  return StepBudget(steps, most_seconds_ > 0 ? SecondsLeft() * share_of_time : 0);
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

namespace {

// Builds the problems of a walk: all multiplications fused that can be, none, and, if more than two
// are asked for, choices in between by their bounds of interval and latency.
StatusOr<std::vector<Problem>> ProblemsOf(const ComputationGraph& graph, const Config& config,
                                          const MapOptions& options, int most) {
  std::vector<Problem> problems;
  ProblemOptions fused;
  if (options.fuse) fused.fusions = MostFusions(graph, config);
  KILN_ASSIGN_OR_RETURN(Problem first, BuildProblem(graph, config, fused));
  problems.push_back(std::move(first));
  if (fused.fusions.empty()) return problems;
  KILN_ASSIGN_OR_RETURN(Problem second, BuildProblem(graph, config));
  problems.push_back(std::move(second));
  if (most <= 2) return problems;
  constexpr double kShare = 0.1;  // of the time
  StepBudget budget(0, kShare * options.seconds);
  KILN_ASSIGN_OR_RETURN(VariantSet set, FusionVariants(graph, config, true, &budget, most));
  struct Candidate {
    Problem problem;
    int interval = 0, latency = 0;  // bounds
  };
  std::vector<Candidate> candidates;
  for (const std::unique_ptr<Variant>& variant : set.variants) {
    // The first two are known.
    const int size = variant->problem.size();
    if (variant->impossible || variant == set.variants[0] || size == problems[1].size()) continue;
    const int latency = LeastLatency(variant->problem, variant->interval.value).value;
    candidates.push_back({std::move(variant->problem), variant->interval.value, latency});
  }
  StableSort(&candidates, [](const Candidate& a, const Candidate& b) {
    return std::pair(a.interval, a.latency) < std::pair(b.interval, b.latency);
  });
  for (Candidate& candidate : candidates) {
    if (std::ssize(problems) < most) problems.push_back(std::move(candidate.problem));
  }
  return problems;
}

// Returns problems with the pass-throughs that lift what leaves none of `problems` a mapping, for
// the first intervals from `low` on at which that is possible.
StatusOr<std::vector<Problem>> LiftedProblems(const ComputationGraph& graph, const Config& config,
                                              const MapOptions& options, int low) {
  constexpr size_t kMost = 2;
  const int high =
      options.initiation_interval > 0 ? options.initiation_interval : MostInterval(config);
  const int step = IntervalStep(config);
  const std::vector<Fusion> fusions =
      options.fuse ? MostFusions(graph, config) : std::vector<Fusion>{};
  std::vector<Problem> problems;
  for (int at = std::max(low, options.initiation_interval); at <= high; at += step) {
    if (problems.size() == kMost) break;
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<Variant> variant,
                          LiftedVariant(graph, config, fusions, at));
    if (!variant || variant->impossible || variant->interval.value > at) continue;
    const bool known = std::ranges::any_of(problems, [&](const Problem& problem) {
      return problem.provider == variant->problem.provider;
    });
    if (!known) problems.push_back(std::move(variant->problem));
  }
  return problems;
}

// Returns why bounds leave no mapping of any of the problems, at the asked interval if it is not 0,
// or "". Of several reasons it is the one of the problem with the least bound of the interval.
std::string WhyNoneOf(std::span<const Problem> problems, int asked_interval, Passes passes) {
  std::string reason;
  int least = std::numeric_limits<int>::max();
  for (const Problem& problem : problems) {
    std::string why = WhyNone(problem, asked_interval, passes);
    if (why.empty()) return why;
    const int bound = LeastInterval(problem, passes).value;
    if (bound >= least) continue;
    least = bound;
    reason = std::move(why);
  }
  return reason;
}

// Adds the lower bounds to a walk's result; they hold however many pass-throughs are added.
void Conclude(std::span<const Problem> problems, int asked_interval, MapResult* result) {
  Bound interval = LeastInterval(problems[0], Passes::kAny);
  for (const Problem& problem : problems) {
    const Bound bound = LeastInterval(problem, Passes::kAny);
    if (bound.value < interval.value) interval = bound;
  }
  // Pass-throughs that rule 3 forces could have other consumers than these, so that bounds are not
  // those of all mappings. `problems` begins with one that lifts nothing.
  const std::vector<std::string> forced = PassNames(problems[0]);
  const std::string impossible = WhyNoneOf(problems, asked_interval, Passes::kAny);
  result->impossible = !impossible.empty();
  result->interval_bound = interval.value;
  result->interval_why = result->impossible ? impossible : interval.why;
  // With additional pass-throughs there may be a mapping where there is none without.
  if (!result->impossible) {
    result->none_without_passes = WhyNoneOf(problems, asked_interval, Passes::kOfProblem);
  }
  result->space = kAllMappings;
  if (problems.size() == 2) {
    result->space += ", with all multiplications fused that can be or none";
  } else if (problems.size() > 2) {
    result->space += fmt::format(", with {} choices of fused instructions", problems.size());
  }
  result->space += ForcedText(forced);
  if (!result->mapping) return;
  const int found = result->mapping->initiation_interval;
  const Bound latency = LatencyBoundOver(problems, found, Passes::kAny);
  result->latency_bound = latency.value;
  result->latency_why = latency.why;
  result->optimal = forced.empty() && result->latency == latency.value && found == interval.value;
}

}  // namespace

StatusOr<MapResult> MapByWalk(const ComputationGraph& graph, const Config& config,
                              const MapOptions& options, int most_problems,
                              const IntervalWalk& walk) {
  KILN_RETURN_IF_ERROR(CheckInterval(config, options.initiation_interval));
  SearchState state(graph, options);
  KILN_ASSIGN_OR_RETURN(const std::vector<Problem> problems,
                        ProblemsOf(graph, config, options, most_problems));
  const auto least = [](std::span<const Problem> all, Passes passes) {
    int value = std::numeric_limits<int>::max();
    for (const Problem& one : all) value = std::min(value, LeastInterval(one, passes).value);
    return value;
  };
  const int asked = options.initiation_interval;
  const auto possible = [asked](Passes passes) {
    return [asked, passes](const Problem& one) { return WhyNone(one, asked, passes).empty(); };
  };
  std::vector<Problem> lifted;
  if (std::ranges::none_of(problems, possible(Passes::kOfProblem)) &&
      std::ranges::any_of(problems, possible(Passes::kAny))) {
    KILN_ASSIGN_OR_RETURN(lifted,
                          LiftedProblems(graph, config, options, least(problems, Passes::kAny)));
  }
  const std::vector<Problem>& walked = lifted.empty() ? problems : lifted;
  int low = least(walked, Passes::kOfProblem), high = MostInterval(config);
  if (asked > 0) low = high = asked;
  if (std::ranges::any_of(walked, possible(Passes::kOfProblem))) walk(walked, low, high, &state);
  MapResult result = state.Finish();
  Conclude(problems, asked, &result);
  if (!options.fuse && !Fusions(graph, config).empty()) {
    result.space += ", without fused instructions";
  }
  return result;
}

namespace {

// Looks for the first mapping by branch and bound, which needs few steps at long intervals.
class FirstMapping {
 public:
  FirstMapping(std::span<const Problem> problems, uint64_t seed, SearchState* state)
      : problems_(problems), state_(state) {
    for (const Problem& problem : problems) deciders_.push_back(MakeBranchSearch(problem, seed));
  }

  // Bisects the intervals with little effort for each. Where that finds none, asks all of them with
  // efforts that grow, until there is a mapping, all are refuted, or the budget ends. Returns the
  // interval of the mapping that was handed in, or 0.
  int Find(int low, int high) {
    constexpr int64_t kEffortGrowth = 4;
    int found = 0;
    for (int first = low, last = high; first <= last;) {
      const int middle = first + (last - first) / 2;
      if (Try(middle)) {
        found = middle;
        last = middle - 1;
      } else {
        first = middle + 1;
      }
    }
    while (found == 0) {
      const int64_t before = state_->steps();
      effort_ *= kEffortGrowth;
      for (int ii = low; ii <= high && found == 0; ++ii) found = Try(ii) ? ii : 0;
      // Nothing is left that more effort would decide.
      if (state_->steps() == before) break;
    }
    return found;
  }

 private:
  // Asks for a mapping of any problem at an interval.
  bool Try(int interval) {
    constexpr double kShareOfTime = 1.0 / 8;  // of what is left, as steps may take long
    const int step = IntervalStep(problems_[0].config);
    for (size_t p = 0; p < problems_.size() && interval % step == 0; ++p) {
      if (state_->Over() || refuted_.contains({interval, p})) continue;
      const int64_t steps = effort_ * problems_[p].size();
      StepBudget budget = state_->BudgetOf(steps, kShareOfTime);
      std::vector<Place> places;
      const Answer answer = deciders_[p]->Decide(interval, kAnyLatency, steps, &budget, &places);
      state_->Take(budget.steps());
      if (answer == Answer::kNone) refuted_.emplace(interval, p);
      if (answer != Answer::kFound) continue;
      state_->Offer(problems_[p], interval, places);
      return true;
    }
    return false;
  }

  const std::span<const Problem> problems_;
  SearchState* const state_;
  std::vector<std::unique_ptr<Decider>> deciders_;
  std::set<std::pair<int, size_t>> refuted_;  // intervals and problems
  int64_t effort_ = 10;                       // steps for each instruction
};

}  // namespace

// Each attempt at an interval without a mapping gets a sixth of what is left, so that the budget
// lasts for several intervals; once an interval has a mapping, all of the rest improves it, half of
// it on the problem without fusions.
StatusOr<MapResult> MapByIntervals(const ComputationGraph& graph, const Config& config,
                                   const MapOptions& options, const IntervalSearch& search) {
  constexpr double kShareOfFirst = 0.25;  // that is left to branch and bound
  uint64_t seed = options.seed;
  const auto walk = [&](std::span<const Problem> problems, int low, int high, SearchState* state) {
    int found = 0;
    for (int ii = low; ii <= high && found == 0 && state->ShareLeft() > kShareOfFirst; ++ii) {
      if (ii % IntervalStep(config) != 0) continue;
      state->EndAt(ii, LatencyBoundOver(problems, ii).value);
      // An interval without a mapping gets a part of the budget only, unless it is the last.
      for (size_t p = 0; p < problems.size(); ++p) {
        const bool last = ii == high && p + 1 == problems.size();
        const double rest = last ? 1 - kShareOfFirst / state->ShareLeft() : 0;
        state->LimitTo(std::max(1.0 / 6, rest));
        search(problems[p], ii, MixBits(++seed), state);
        if (state->HasInterval(ii)) found = ii;
      }
    }
    if (found == 0) {
      state->LimitTo(1);
      found = FirstMapping(problems, MixBits(++seed), state).Find(low, high);
      if (found > 0) state->EndAt(found, LatencyBoundOver(problems, found).value);
    }
    for (size_t p = problems.size(); found > 0 && p-- > 0;) {
      state->LimitTo(p == 0 ? 1 : 0.5);
      search(problems[p], found, MixBits(++seed), state);
    }
  };
  return MapByWalk(graph, config, options, 2, walk);
}

}  // namespace kiln::cgra
