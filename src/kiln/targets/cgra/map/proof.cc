// Closes the interval and the latency of a graph's mappings.

#include "kiln/targets/cgra/map/proof.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <limits>
#include <set>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
#include "kiln/targets/cgra/map/core.h"
#include "kiln/targets/cgra/map/search.h"
#include "kiln/targets/cgra/map/variants.h"

namespace kiln::cgra {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();
constexpr int kEffortGrowth = 4;
// After this effort a round learns nothing: deciders that do not refute have been tried in full.
constexpr int64_t kMostEffort = int64_t{1} << 40;

// A part of some problem of the graph that has no solution.
struct Refutation {
  Problem part;
  int interval = 0;
  int latency = 0;  // the greatest without a solution
};

class Prover {
 public:
  Prover(const ComputationGraph& graph, const Config& config, const MapOptions& options,
         const ProofOptions& proof)
      : graph_(graph),
        config_(config),
        options_(options),
        proof_(proof),
        budget_(options.steps, options.seconds) {}

  StatusOr<MapResult> Map();

 private:
  Status Start();
  Answer Ask(Variant* variant, int interval, int latency, int64_t effort);
  bool IsCovered(const Variant& variant, int interval, int latency) const;
  void LearnCore(const Variant& variant, int interval, int latency, int64_t steps);
  Answer AskAll(const VariantSet& set, int interval, int latency, int64_t effort);
  void Offer(const Variant& variant, int interval, const std::vector<Place>& places);
  const Bound& LatencyBound(Variant* variant, int interval) const;
  // Returns the least latency at the best interval that is not refuted.
  int LeastOpenLatency();
  Bound LeastOverVariants(bool latency);
  bool TooManyForTiles() const;
  void CloseInterval();
  void CloseLatency();
  Status TryPasses();
  bool TryPasses(VariantSet* more, int64_t effort);
  void Explain();
  void Finish();

  bool has_mapping() const { return result_.mapping.has_value(); }
  int best_interval() const {
    return has_mapping() ? result_.mapping->initiation_interval : kNoLimit;
  }

  const ComputationGraph& graph_;
  const Config& config_;
  const MapOptions& options_;
  const ProofOptions& proof_;
  StepBudget budget_;
  VariantSet set_;
  const Bound weak_bound_{config_.pipeline_latency, "the time was over before it was bounded"};
  std::map<int, bool> refuted_intervals_;
  std::vector<Refutation> refutations_;
  int64_t core_steps_ = 0;  // that cores took
  int low_ = 1, high_ = 1;
  bool latency_closed_ = false;
  bool interval_closed_ = false;
  bool best_has_pass_ = false;  // the best mapping has an additional pass-through
  bool passes_proved_ = false;  // one additional pass-through gains nothing
  MapResult result_;
};

// Takes the first mapping from a heuristic mapper.
Status Prover::Start() {
  constexpr int64_t kSteps = 1000;
  if (proof_.start == nullptr) return OkStatus();
  MapOptions quick = options_;
  quick.steps = options_.steps > 0 ? std::min(kSteps, options_.steps) : kSteps;
  if (options_.seconds > 0) quick.seconds = std::max(budget_.SecondsLeft(), 1e-3);
  quick.on_better = nullptr;
  KILN_ASSIGN_OR_RETURN(MapResult first, proof_.start()->Map(graph_, config_, quick));
  budget_.Spend(first.steps);
  if (!first.mapping) return OkStatus();
  const int interval = first.mapping->initiation_interval;
  if (interval > high_) return OkStatus();
  result_.mapping = std::move(first.mapping);
  result_.latency = first.latency;
  result_.progress.push_back({budget_.Seconds(), budget_.steps(), interval, result_.latency});
  if (options_.on_better) options_.on_better(*result_.mapping, budget_.Seconds());
  return OkStatus();
}

const Bound& Prover::LatencyBound(Variant* variant, int interval) const {
  const auto at = variant->latency.find(interval);
  if (at != variant->latency.end()) return at->second;
  // Bounds of many problems of a large graph would take long after the end.
  constexpr double kGrace = 0.1;  // seconds
  if (variant != set_.variants[0].get() && budget_.SecondsOver() > kGrace) return weak_bound_;
  return variant->latency.emplace(interval, LeastLatency(variant->problem, interval)).first->second;
}

void Prover::Offer(const Variant& variant, int interval, const std::vector<Place>& places) {
  Mapping mapping = MappingOf(graph_, variant.problem, interval, places);
  const int latency = LatencyOf(config_, mapping);
  if (has_mapping() &&
      (interval > best_interval() || (interval == best_interval() && latency >= result_.latency))) {
    return;
  }
  if (interval != best_interval()) latency_closed_ = false;
  result_.mapping = std::move(mapping);
  result_.latency = latency;
  result_.progress.push_back({budget_.Seconds(), budget_.steps(), interval, latency});
  if (options_.on_better) options_.on_better(*result_.mapping, budget_.Seconds());
}

Answer Prover::Ask(Variant* variant, int interval, int latency, int64_t effort) {
  if (variant->impossible || variant->interval.value > interval) return Answer::kNone;
  const int limit = latency == kAnyLatency ? kNoLimit : latency;
  if (limit < LatencyBound(variant, interval).value) return Answer::kNone;
  const auto refuted = variant->refuted.find(interval);
  if (refuted != variant->refuted.end() && limit <= refuted->second) return Answer::kNone;
  if (budget_.spent()) return Answer::kUnknown;
  Answer answer = Answer::kNone;
  if (!IsCovered(*variant, interval, limit)) {
    const int64_t before = budget_.steps();
    std::vector<Place> places;
    if (!variant->decider) variant->decider = proof_.make(variant->problem, options_.seed);
    answer = variant->decider->Decide(interval, latency, effort, &budget_, &places);
    if (answer == Answer::kFound) Offer(*variant, interval, places);
    if (answer == Answer::kNone) LearnCore(*variant, interval, latency, budget_.steps() - before);
  }
  if (answer == Answer::kNone) {
    int& most = variant->refuted[interval];
    most = std::max(most, limit);
  }
  return answer;
}

// Returns whether a problem contains a part that is known to have no solution.
bool Prover::IsCovered(const Variant& variant, int interval, int latency) const {
  return std::ranges::any_of(refutations_, [&](const Refutation& known) {
    return known.interval == interval && latency <= known.latency &&
           HasAllOf(variant.problem, known.part);
  });
}

// Finds a core of a problem that took `steps` steps to refute, as other problems of the graph may
// contain it.
void Prover::LearnCore(const Variant& variant, int interval, int latency, int64_t steps) {
  constexpr int64_t kLeastSteps = 100, kTimes = 20;
  constexpr size_t kMostRefutations = 64;
  // Problems with different fusions have few parts in common.
  if (!best_has_pass_ || steps < kLeastSteps || refutations_.size() >= kMostRefutations) return;
  // Cores take at most a third of all steps.
  if (3 * core_steps_ > budget_.steps() || budget_.spent()) return;
  const double seconds = budget_.SecondsLeft();
  StepBudget budget(budget_.Left(kTimes * steps),
                    seconds == std::numeric_limits<double>::infinity() ? 0 : seconds);
  const Core core = FindCore(variant.problem, interval, latency, 2 * steps, &budget);
  refutations_.push_back({ProblemOfCore(variant.problem, core), interval,
                          latency == kAnyLatency ? kNoLimit : latency});
  core_steps_ += budget.steps();
  budget_.Spend(budget.steps());
}

Answer Prover::AskAll(const VariantSet& set, int interval, int latency, int64_t effort) {
  bool all = true;
  for (const std::unique_ptr<Variant>& variant : set.variants) {
    const Answer answer = Ask(variant.get(), interval, latency, effort);
    if (answer == Answer::kFound) return answer;
    all = all && answer == Answer::kNone;
  }
  return all ? Answer::kNone : Answer::kUnknown;
}

// Returns whether there are more flows or instructions than tiles hold, whatever is fused.
bool Prover::TooManyForTiles() const {
  // A flow stays one, and has at least one start.
  if (std::ssize(set_.variants[0]->problem.starts) > config_.tiles() &&
      !config_.every_source_starts) {
    return true;
  }
  std::set<int> fused;
  if (options_.fuse) {
    for (const Fusion& fusion : Fusions(graph_, config_)) fused.insert(fusion.multiply);
  }
  int64_t least = -std::ssize(fused);
  for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n) least += graph_.TakesSlot(n);
  const int slots = std::min(MostInterval(config_), config_.instruction_depth);
  return least > int64_t{config_.tiles()} * slots;
}

void Prover::CloseInterval() {
  const int step = std::max(1, config_.tile_period);
  for (int64_t effort = proof_.first_effort;; effort *= kEffortGrowth) {
    bool open = false;
    for (int interval = low_; interval <= high_ && interval < best_interval(); interval += step) {
      if (interval % step != 0 || refuted_intervals_.contains(interval)) continue;
      const Answer answer = AskAll(set_, interval, kAnyLatency, effort);
      if (answer == Answer::kNone) refuted_intervals_[interval] = true;
      open = open || answer == Answer::kUnknown;
    }
    if (!open) interval_closed_ = true;
    if (!open || budget_.spent() || effort >= kMostEffort) return;
  }
}

int Prover::LeastOpenLatency() {
  int least = kNoLimit;
  const int interval = best_interval();
  for (const std::unique_ptr<Variant>& variant : set_.variants) {
    if (variant->impossible || variant->interval.value > interval) continue;
    int open = LatencyBound(variant.get(), interval).value;
    const auto refuted = variant->refuted.find(interval);
    if (refuted != variant->refuted.end()) {
      if (refuted->second == kNoLimit) continue;
      open = std::max(open, refuted->second + 1);
    }
    least = std::min(least, open);
  }
  return std::min(least, result_.latency);
}

void Prover::CloseLatency() {
  const int interval = best_interval();
  for (int64_t effort = proof_.first_effort; !budget_.spent() && effort < kMostEffort;
       effort *= kEffortGrowth) {
    while (LeastOpenLatency() < result_.latency) {
      if (AskAll(set_, interval, LeastOpenLatency(), effort) == Answer::kUnknown) break;
    }
    while (LeastOpenLatency() < result_.latency) {
      // Halfway first: a solution there saves many steps.
      const int middle = (LeastOpenLatency() + result_.latency) / 2;
      if (middle < result_.latency - 1 &&
          AskAll(set_, interval, middle, effort) == Answer::kFound) {
        continue;
      }
      if (AskAll(set_, interval, result_.latency - 1, effort) != Answer::kFound) break;
    }
    if (LeastOpenLatency() >= result_.latency) {
      latency_closed_ = true;
      return;
    }
  }
}

Bound Prover::LeastOverVariants(bool latency) {
  Bound least{kNoLimit, ""};
  const bool all_impossible = std::ranges::all_of(
      set_.variants, [](const std::unique_ptr<Variant>& variant) { return variant->impossible; });
  for (const std::unique_ptr<Variant>& variant : set_.variants) {
    if (variant->impossible && !all_impossible) continue;
    if (latency && variant->interval.value > best_interval()) continue;
    const Bound& bound = latency ? LatencyBound(variant.get(), best_interval()) : variant->interval;
    if (bound.value < least.value) least = bound;
  }
  return least;
}

Status Prover::TryPasses() {
  constexpr int64_t kFirstEffort = 2000;
  const Bound interval = LeastOverVariants(false);
  const bool may_gain = !has_mapping() ||
                        (best_interval() > interval.value && options_.initiation_interval == 0) ||
                        result_.latency > LeastOverVariants(true).value;
  if (!may_gain) return OkStatus();
  bool all_listed = true;
  int most = kMostPassChoices;
  KILN_ASSIGN_OR_RETURN(VariantSet more,
                        PassVariants(graph_, config_, options_.fuse, most, &budget_, &all_listed));
  for (int64_t effort = kFirstEffort; effort < kMostEffort; effort *= kEffortGrowth) {
    passes_proved_ = TryPasses(&more, effort) && all_listed;
    // What is proved without additional pass-throughs needs no more; a mapping that has one does.
    if (passes_proved_ || !best_has_pass_ || budget_.spent()) break;
    if (all_listed) continue;
    if (most == kMostGainingPassChoices) break;
    most = kMostGainingPassChoices;
    all_listed = true;
    KILN_ASSIGN_OR_RETURN(
        more, PassVariants(graph_, config_, options_.fuse, most, &budget_, &all_listed));
  }
  return OkStatus();
}

// Looks for better mappings among problems with an additional pass-through. Returns whether there
// is none that is better than the best one now.
bool Prover::TryPasses(VariantSet* more, int64_t effort) {
  constexpr int64_t kProblems = 50;  // that take the full effort, at most
  const int64_t before = budget_.steps();
  bool complete = true;
  const auto ask = [&](const VariantSet& set, int at, int latency) {
    const bool over = budget_.steps() - before > kProblems * effort;
    const Answer answer = over ? Answer::kUnknown : AskAll(set, at, latency, effort);
    if (answer == Answer::kFound && &set == more) best_has_pass_ = true;
    complete = complete && answer != Answer::kUnknown;
    return answer;
  };
  const int step = std::max(1, config_.tile_period);
  for (int at = low_; at <= high_ && at < best_interval(); at += step) {
    if (at % step == 0) ask(*more, at, kAnyLatency);
  }
  while (has_mapping() && ask(*more, best_interval(), result_.latency - 1) == Answer::kFound) {
  }
  if (best_has_pass_ && complete) {
    // Without additional pass-throughs there may still be less latency at the new interval.
    while (ask(set_, best_interval(), result_.latency - 1) == Answer::kFound) {
    }
    latency_closed_ = complete;
  }
  // The deciders of so many problems would fill the memory.
  for (const std::unique_ptr<Variant>& variant : more->variants) variant->decider.reset();
  return complete && !budget_.spent();
}

// Names the core of what the search refuted.
void Prover::Explain() {
  constexpr int64_t kEffort = 2000, kEffortOfAll = 200'000;
  StepBudget budget(kEffortOfAll, std::clamp(budget_.SecondsLeft(), 1e-3, 1e9));
  const auto core = [&](int interval, int latency) {
    // Without time for a core, the fact alone is told.
    if (budget_.spent()) {
      return latency == kAnyLatency
                 ? fmt::format("a search refutes the interval of {} cycles", interval)
                 : fmt::format("a search refutes the latency of {} cycles", latency);
    }
    // The core of the first choice of fusions that a bound does not rule out.
    for (const std::unique_ptr<Variant>& variant : set_.variants) {
      const bool by_bound =
          variant->impossible || variant->interval.value > interval ||
          (latency != kAnyLatency && LatencyBound(variant.get(), interval).value > latency);
      if (by_bound && variant != set_.variants.back()) continue;
      return FindCore(variant->problem, interval, latency, kEffort, &budget).text;
    }
    return std::string();
  };
  if (result_.interval_bound > LeastOverVariants(false).value &&
      options_.initiation_interval == 0) {
    const int step = std::max(1, config_.tile_period);
    result_.interval_why = core(std::min(result_.interval_bound, high_ + step) - step, kAnyLatency);
  }
  if (has_mapping() && !best_has_pass_ && result_.latency_bound > LeastOverVariants(true).value) {
    result_.latency_why = core(best_interval(), result_.latency_bound - 1);
  }
}

void Prover::Finish() {
  const Bound interval = LeastOverVariants(false);
  result_.interval_bound = interval.value;
  result_.interval_why = interval.why;
  const bool level_is_proved = !best_has_pass_ || passes_proved_;
  if (options_.initiation_interval == 0 && level_is_proved) {
    const int step = std::max(1, config_.tile_period);
    while (refuted_intervals_.contains(result_.interval_bound)) result_.interval_bound += step;
    if (has_mapping()) result_.interval_bound = std::min(result_.interval_bound, best_interval());
  }
  if (has_mapping()) {
    const Bound latency = LeastOverVariants(true);
    result_.latency_bound = std::min(latency.value, result_.latency);
    result_.latency_why = latency.why;
    if (level_is_proved) {
      result_.latency_bound = latency_closed_ ? result_.latency : LeastOpenLatency();
    }
    result_.optimal = interval_closed_ && latency_closed_ && level_is_proved;
  } else {
    result_.impossible = interval_closed_ && (set_.all_fusions || TooManyForTiles());
  }
  std::string space = "all mappings";
  if (!options_.fuse) space += " without fused instructions";
  if (!set_.all_fusions) {
    space += fmt::format(" with {} choices of fused instructions", set_.variants.size());
  }
  const bool by_bounds = has_mapping() && result_.optimal &&
                         result_.latency <= LeastOverVariants(true).value &&
                         (best_interval() <= interval.value || options_.initiation_interval > 0);
  if (passes_proved_) {
    space += " with at most one additional pass-through";
  } else if (!by_bounds) {
    space += " without additional pass-throughs";
  }
  if (!set_.forced.empty()) {
    space += fmt::format("; rule 3 forces {}, whose consumers are fixed",
                         ListExcerpt(set_.forced, ", ", 4));
  }
  result_.space = std::move(space);
  if (result_.interval_bound > interval.value) {
    result_.interval_why =
        fmt::format("a search refutes the interval of {} cycles", result_.interval_bound - 1);
  }
  if (has_mapping() && result_.latency_bound > LeastOverVariants(true).value) {
    result_.latency_why =
        fmt::format("a search refutes the latency of {} cycles", result_.latency_bound - 1);
  }
  if (proof_.explain) Explain();
  result_.steps = budget_.steps();
  result_.seconds = budget_.Seconds();
}

StatusOr<MapResult> Prover::Map() {
  KILN_RETURN_IF_ERROR(CheckInterval(config_, options_.initiation_interval));
  KILN_ASSIGN_OR_RETURN(set_, FusionVariants(graph_, config_, options_.fuse, &budget_));
  std::string impossible = WhyImpossible(set_.variants[0]->problem);
  for (const std::unique_ptr<Variant>& variant : set_.variants) {
    if (!variant->impossible) impossible.clear();
  }
  low_ = LeastOverVariants(false).value;
  high_ = MostInterval(config_);
  if (options_.initiation_interval > 0) low_ = high_ = options_.initiation_interval;
  if (impossible.empty()) {
    KILN_RETURN_IF_ERROR(Start());
    CloseInterval();
    if (has_mapping()) CloseLatency();
  } else {
    interval_closed_ = true;
  }
  if (proof_.passes && !budget_.spent()) KILN_RETURN_IF_ERROR(TryPasses());
  Finish();
  if (!has_mapping() && !impossible.empty()) result_.interval_why = impossible;
  return std::move(result_);
}

}  // namespace

StatusOr<MapResult> MapWithProof(const ComputationGraph& graph, const Config& config,
                                 const MapOptions& options, const ProofOptions& proof) {
  return Prover(graph, config, options, proof).Map();
}

}  // namespace kiln::cgra
