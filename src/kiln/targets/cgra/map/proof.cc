// Closes the interval and the latency of a graph's mappings.

#include "kiln/targets/cgra/map/proof.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "fmt/format.h"
#include "kiln/targets/cgra/map/core.h"
#include "kiln/targets/cgra/map/search.h"
#include "kiln/targets/cgra/map/variants.h"

namespace kiln::cgra {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();
constexpr int kEffortGrowth = 4;
constexpr int kSeveral = 2;  // pass-throughs of a mapping whose number does not matter
// After this effort a round learns nothing: deciders that do not refute have been tried in full.
constexpr int64_t kMostEffort = int64_t{1} << 40;

// A part of some problem of the graph that has no solution.
struct Refutation {
  Problem part;
  int interval = 0;
  int latency = 0;  // the greatest without a solution
};

// Mappings that a result holds for.
enum class Space {
  kWithoutPasses,  // without additional pass-throughs
  kOnePass,        // with at most one
  kAll             // with any number
};

// The search of MapWithProof. Its result is closed from two sides: mappings that deciders find
// lower the best interval and latency, refutations raise the bounds, and the result is optimal
// where they meet. A refutation of the graph needs one of every variant, that is of every choice of
// fusions.
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
  void Take(Mapping mapping, int latency, int passes);
  const Bound& LatencyBound(Variant* variant, int interval,
                            Passes passes = Passes::kOfProblem) const;
  // Returns the least latency at the best interval that is not refuted.
  int LeastOpenLatency();
  const Variant* LeastVariant(Passes passes) const;
  int LeastInterval(Passes passes) const;
  Bound LeastLatency(Passes passes);
  bool TooManyForTiles() const;
  StatusOr<Variant*> Lifted(size_t fusions, int interval, int more);
  Status LiftIntervals(int64_t most);
  Status LiftIntervals(int64_t effort, int64_t end, int more);
  void LiftLatency(int64_t effort);
  void AskLifted(int64_t effort);
  void TakeSpare();
  Status Improve();
  void FindFirst();
  void CloseInterval();
  void CloseLatency();
  Status TryPasses();
  bool TryPasses(VariantSet* more, int64_t effort);
  std::string WhyRefuted(int interval, int latency);
  std::string CoreOf(int interval, int latency);
  void ChooseSpace();
  void Explain();
  std::string SpaceText() const;
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
  // Problems with pass-throughs that lift what leaves no mapping, by number of the fusions in set_.
  std::vector<std::pair<size_t, std::unique_ptr<Variant>>> lifted_;
  const Bound weak_bound_{config_.pipeline_latency, "the time was over before it was bounded"};
  // The first mapping if it has pass-throughs that may not be necessary.
  std::optional<MapResult> spare_;
  std::map<int, bool> refuted_intervals_;
  std::vector<Refutation> refutations_;
  int64_t core_steps_ = 0;  // that cores took
  int low_ = 1, high_ = 1;  // intervals that may have mappings without pass-throughs
  int any_low_ = 1;         // the least interval that may have one with pass-throughs
  bool latency_closed_ = false;
  bool interval_closed_ = false;
  int best_passes_ = 0;         // additional pass-throughs of the best mapping
  bool passes_proved_ = false;  // one additional pass-through gains nothing
  bool never_ = false;          // no number of pass-throughs makes a mapping possible
  Space space_ = Space::kAll;
  StepBudget core_budget_{0};  // of explanations
  double seconds_over_ = 0;    // how long the limit was over when the search ended
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
  if (!first.mapping || first.mapping->initiation_interval > high_) return OkStatus();
  // What needs pass-throughs for the choices of fusions that it knows may not need them for others.
  const bool needs_passes = !first.none_without_passes.empty();
  if (needs_passes) {
    spare_ = std::move(first);
  } else {
    Take(*std::move(first.mapping), first.latency, 0);
  }
  return OkStatus();
}

// Takes the first mapping, with any number of pass-throughs, where the search has found none of its
// interval.
void Prover::TakeSpare() {
  if (!spare_.has_value() || best_interval() <= spare_->mapping->initiation_interval) return;
  Take(*std::move(spare_->mapping), spare_->latency, kSeveral);
  spare_.reset();
}

// Takes a mapping with additional pass-throughs, which is better than the best one.
void Prover::Take(Mapping mapping, int latency, int passes) {
  const int interval = mapping.initiation_interval;
  if (interval != best_interval()) latency_closed_ = false;
  best_passes_ = passes;
  result_.mapping = std::move(mapping);
  result_.latency = latency;
  result_.progress.push_back({budget_.Seconds(), budget_.steps(), interval, latency});
  if (options_.on_better) options_.on_better(*result_.mapping, budget_.Seconds());
}

const Bound& Prover::LatencyBound(Variant* variant, int interval, Passes passes) const {
  std::map<int, Bound>& known =
      passes == Passes::kAny ? variant->latency_with_any : variant->latency;
  const auto at = known.find(interval);
  if (at != known.end()) return at->second;
  // Bounds of many problems of a large graph would take long after the end.
  constexpr double kGrace = 0.1;  // seconds
  const bool late = budget_.SecondsOver() > seconds_over_ + kGrace;
  if (variant != set_.variants[0].get() && late) return weak_bound_;
  return known.emplace(interval, cgra::LeastLatency(variant->problem, interval, passes))
      .first->second;
}

void Prover::Offer(const Variant& variant, int interval, const std::vector<Place>& places) {
  Mapping mapping = MappingOf(graph_, variant.problem, interval, places);
  const int latency = LatencyOf(config_, mapping);
  if (has_mapping() &&
      (interval > best_interval() || (interval == best_interval() && latency >= result_.latency))) {
    return;
  }
  Take(std::move(mapping), latency, variant.passes);
}

// Asks whether a variant has a mapping at an interval within a latency. The cheap reasons come
// first: bounds, latencies already refuted, and known parts without a solution; the decider runs
// only if none of them answers. Everything refuted is remembered, so that efforts can grow from
// round to round.
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
  if (best_passes_ == 0 || steps < kLeastSteps || refutations_.size() >= kMostRefutations) return;
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
  const std::vector<Fusion> fusions =
      options_.fuse ? Fusions(graph_, config_) : std::vector<Fusion>{};
  const int slots = std::min(MostInterval(config_), config_.instruction_depth);
  return LeastInstructions(graph_, fusions) > int64_t{config_.tiles()} * slots;
}

// Looks for a first mapping among few choices of fusions, at rising intervals with little effort
// for each: to ask all of them would take long before any interval has a mapping.
void Prover::FindFirst() {
  constexpr size_t kAskedAnyway = 2;  // choices
  if (set_.variants.size() <= kAskedAnyway) return;
  const int step = IntervalStep(config_);
  for (int interval = low_; interval <= high_ && !has_mapping(); ++interval) {
    if (interval % step != 0) continue;
    for (Variant* variant : {set_.variants.front().get(), set_.variants.back().get()}) {
      if (has_mapping() || budget_.spent()) return;
      Ask(variant, interval, kAnyLatency, proof_.first_effort);
    }
  }
}

// Decides every interval below the best one with growing effort. The interval is closed when none
// is left undecided.
void Prover::CloseInterval() {
  const int step = IntervalStep(config_);
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

// A variant counts with its bound or, where more is refuted, with the latency after the greatest
// refuted one; a variant that is refuted at any latency does not count.
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

// First the least open latencies are refuted one by one; then solutions are looked for in the
// middle of what is open, and one cycle below the best. What is undecided waits for the next
// effort.
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

// Returns the variant of the least bound of the interval.
const Variant* Prover::LeastVariant(Passes passes) const {
  const bool any = passes == Passes::kAny;
  const auto is_impossible = [any](const std::unique_ptr<Variant>& variant) {
    return any ? variant->impossible_with_any : variant->impossible;
  };
  const auto bound = [any](const Variant& variant) {
    return any ? variant.interval_with_any.value : variant.interval.value;
  };
  const bool all_impossible = std::ranges::all_of(set_.variants, is_impossible);
  const Variant* least = nullptr;
  for (const std::unique_ptr<Variant>& variant : set_.variants) {
    if (is_impossible(variant) && !all_impossible) continue;
    if (least == nullptr || bound(*variant) < bound(*least)) least = variant.get();
  }
  return least;
}

// Returns the least bound of the interval over the choices of fusions.
int Prover::LeastInterval(Passes passes) const {
  const Variant* least = LeastVariant(passes);
  return passes == Passes::kAny ? least->interval_with_any.value : least->interval.value;
}

// Returns the least bound of the latency at the best interval over the choices of fusions.
Bound Prover::LeastLatency(Passes passes) {
  const bool any = passes == Passes::kAny;
  Bound least{kNoLimit, ""};
  for (const std::unique_ptr<Variant>& variant : set_.variants) {
    if (any ? variant->impossible_with_any : variant->impossible) continue;
    const Bound& interval = any ? variant->interval_with_any : variant->interval;
    if (interval.value > best_interval()) continue;
    const Bound& bound = LatencyBound(variant.get(), best_interval(), passes);
    if (bound.value < least.value) least = bound;
  }
  return least;
}

// Returns the problem of a choice of fusions with the pass-throughs that an interval needs, and
// `more` on the way of each value, or null if it needs none or they do not help.
StatusOr<Variant*> Prover::Lifted(size_t fusions, int interval, int more) {
  KILN_ASSIGN_OR_RETURN(
      std::unique_ptr<Variant> made,
      LiftedVariant(graph_, config_, set_.variants[fusions]->fusions, interval, more));
  if (!made) return nullptr;
  for (const auto& [number, known] : lifted_) {
    const bool same = number == fusions && known->problem.provider == made->problem.provider;
    if (same && known->problem.size() == made->problem.size()) return known.get();
  }
  lifted_.emplace_back(fusions, std::move(made));
  return lifted_.back().second.get();
}

// Looks for mappings at intervals that have none without pass-throughs, with as many as that takes,
// in about `most` steps.
Status Prover::LiftIntervals(int64_t most) {
  constexpr int64_t kEfforts[] = {200, 1000, 10'000};
  constexpr int kMore = 2;
  const int64_t end = budget_.steps() + most;
  for (const int64_t effort : kEfforts) KILN_RETURN_IF_ERROR(LiftIntervals(effort, end, kMore));
  return OkStatus();
}

// Asks for a mapping at each interval below the best one with an effort, until `end` steps are
// spent; `more` is the number of pass-throughs that hops and cells may take beyond the bounds.
Status Prover::LiftIntervals(int64_t effort, int64_t end, int more) {
  constexpr size_t kFusions = 4;  // choices that are tried: the first ones and the last
  const size_t choices = std::min(kFusions, set_.variants.size());
  const int step = IntervalStep(config_);
  for (int at = any_low_; at <= high_ && at < best_interval(); at += step) {
    for (size_t k = 0; k < choices && at % step == 0; ++k) {
      const size_t fusions = k + 1 == kFusions ? set_.variants.size() - 1 : k;
      for (int extra = 0; extra <= more; ++extra) {
        if (!budget_.Look() || budget_.steps() >= end) return OkStatus();
        KILN_ASSIGN_OR_RETURN(Variant * variant, Lifted(fusions, at, extra));
        if (variant == nullptr) break;
        Ask(variant, at, kAnyLatency, std::min(effort, end - budget_.steps()));
      }
    }
  }
  return OkStatus();
}

// Improves the latency of mappings with the pass-throughs that the best interval needs.
void Prover::LiftLatency(int64_t effort) {
  for (const auto& [number, variant] : lifted_) {
    while (Ask(variant.get(), best_interval(), result_.latency - 1, effort) == Answer::kFound) {
    }
  }
}

// Asks all problems with pass-throughs for mappings at intervals below the best one: those that an
// interval needs also have mappings at longer ones.
void Prover::AskLifted(int64_t effort) {
  const int step = IntervalStep(config_);
  for (int at = any_low_; at <= high_ && at < best_interval(); at += step) {
    for (const auto& [number, variant] : lifted_) {
      if (at % step != 0 || at >= best_interval() || !budget_.Look()) break;
      Ask(variant.get(), at, kAnyLatency, effort);
    }
  }
}

// Spends what is left of the budget on mappings with several pass-throughs, which are not proved to
// be the best: efforts and numbers of pass-throughs grow. Without a limit of steps or time there is
// one round.
Status Prover::Improve() {
  constexpr int64_t kFirstEffort = 40'000, kEndless = std::numeric_limits<int64_t>::max();
  constexpr int kMore = 4;
  const bool limited = options_.steps > 0 || options_.seconds > 0;
  for (int64_t effort = kFirstEffort; effort < kMostEffort; effort *= kEffortGrowth) {
    const bool open =
        !has_mapping() ||
        (best_passes_ >= kSeveral &&
         ((options_.initiation_interval == 0 && best_interval() > LeastInterval(Passes::kAny)) ||
          result_.latency > LeastLatency(Passes::kAny).value));
    if (!open || budget_.spent()) return OkStatus();
    const int64_t before = budget_.steps();
    KILN_RETURN_IF_ERROR(LiftIntervals(effort, kEndless, kMore));
    AskLifted(effort);
    if (has_mapping()) LiftLatency(effort);
    // All that is known to be worth a try is refuted.
    if (!limited || budget_.steps() == before) return OkStatus();
  }
  return OkStatus();
}

// Looks for gains by one additional pass-through, if a bound that holds for any pass-throughs
// leaves room for a gain. The result is proved only if all ways to insert one were listed and
// refuted.
Status Prover::TryPasses() {
  constexpr int64_t kFirstEffort = 2000;
  constexpr int64_t kMostToShorten = 4 * kFirstEffort, kMostWithoutMapping = 32 * kFirstEffort;
  const bool may_gain =
      !has_mapping() ||
      (best_interval() > LeastInterval(Passes::kAny) && options_.initiation_interval == 0) ||
      result_.latency > LeastLatency(Passes::kAny).value;
  if (!may_gain) return OkStatus();
  bool all_listed = true;
  int most = kMostPassChoices;
  KILN_ASSIGN_OR_RETURN(VariantSet more,
                        PassVariants(graph_, config_, options_.fuse, most, &budget_, &all_listed));
  for (int64_t effort = kFirstEffort; effort < kMostEffort; effort *= kEffortGrowth) {
    passes_proved_ = TryPasses(&more, effort) && all_listed;
    if (passes_proved_ || budget_.spent()) break;
    // What is proved without additional pass-throughs needs no more unless one may shorten the
    // interval, and of a mapping with several nothing more is proved; a mapping that has one does.
    const bool asked = has_mapping() && options_.initiation_interval > 0;
    const bool may_shorten =
        best_passes_ == 0 && !asked && best_interval() > LeastInterval(Passes::kAny);
    const int64_t most_effort = has_mapping() ? kMostToShorten : kMostWithoutMapping;
    if (best_passes_ != 1 && (!may_shorten || effort >= most_effort)) break;
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
    complete = complete && answer != Answer::kUnknown;
    return answer;
  };
  const int step = IntervalStep(config_);
  for (int at = any_low_; at <= high_ && at < best_interval(); at += step) {
    if (at % step == 0) ask(*more, at, kAnyLatency);
  }
  while (has_mapping() && ask(*more, best_interval(), result_.latency - 1) == Answer::kFound) {
  }
  if (best_passes_ > 0 && complete) {
    // Without additional pass-throughs there may still be less latency at the new interval.
    while (ask(set_, best_interval(), result_.latency - 1) == Answer::kFound) {
    }
    latency_closed_ = complete;
  }
  // The deciders of so many problems would fill the memory.
  for (const std::unique_ptr<Variant>& variant : more->variants) variant->decider.reset();
  return complete && !budget_.spent();
}

// Returns the core of what the search refuted without additional pass-throughs.
std::string Prover::CoreOf(int interval, int latency) {
  constexpr int64_t kEffort = 2000;
  if (!proof_.explain || core_budget_.spent() || budget_.spent()) {
    // Without time for a core, the fact alone is told.
    return latency == kAnyLatency
               ? fmt::format("a search refutes the interval of {} cycles", interval)
               : fmt::format("a search refutes the latency of {} cycles", latency);
  }
  // The core of the first choice of fusions that a bound does not rule out.
  const Variant* chosen = nullptr;
  for (const std::unique_ptr<Variant>& variant : set_.variants) {
    const bool by_bound =
        variant->impossible || variant->interval.value > interval ||
        (latency != kAnyLatency && LatencyBound(variant.get(), interval).value > latency);
    if (!by_bound && chosen == nullptr) chosen = variant.get();
  }
  if (chosen == nullptr) chosen = set_.variants.back().get();
  std::string text = FindCore(chosen->problem, interval, latency, kEffort, &core_budget_).text;
  if (set_.variants.size() > 1) {
    text += "; a search refutes the other choices of fused instructions";
  }
  return text;
}

// Says why no mapping of the space has this interval, or this interval and at most this latency.
std::string Prover::WhyRefuted(int interval, int latency) {
  constexpr const char* kAlsoRefuted =
      "; a search with one additional pass-through finds none either";
  for (const Passes passes : {Passes::kAny, Passes::kOfProblem}) {
    if (passes == Passes::kOfProblem && space_ == Space::kAll) break;
    const bool any = passes == Passes::kAny;
    std::string why;
    if (latency != kAnyLatency) {
      const Bound bound = LeastLatency(passes);
      if (bound.value > latency && bound.value < kNoLimit) why = bound.why;
    } else {
      const Variant* least = LeastVariant(passes);
      const bool impossible = any ? least->impossible_with_any : least->impossible;
      if (impossible || LeastInterval(passes) > interval) {
        why = WhyNone(least->problem, interval, passes);
      }
    }
    if (why.empty()) continue;
    return !any && space_ == Space::kOnePass ? why + kAlsoRefuted : why;
  }
  const std::string why = CoreOf(interval, latency);
  return space_ == Space::kOnePass ? why + kAlsoRefuted : why;
}

// Chooses the largest space of which something is proved, or in which the bounds hold.
void Prover::ChooseSpace() {
  if (!has_mapping()) {
    space_ = passes_proved_ ? Space::kOnePass : Space::kWithoutPasses;
    if (never_) space_ = Space::kAll;
    return;
  }
  const bool reaches_bounds =
      (best_interval() <= LeastInterval(Passes::kAny) || options_.initiation_interval > 0) &&
      result_.latency <= LeastLatency(Passes::kAny).value;
  space_ = Space::kAll;
  if (reaches_bounds || best_passes_ > 1) return;
  if (passes_proved_) {
    space_ = Space::kOnePass;
  } else if (best_passes_ == 0) {
    space_ = Space::kWithoutPasses;
  }
}

std::string Prover::SpaceText() const {
  std::string space(kAllMappings);
  if (!options_.fuse && !Fusions(graph_, config_).empty()) space += " without fused instructions";
  if (!set_.all_fusions) {
    space += fmt::format(" with {} choices of fused instructions", set_.variants.size());
  }
  if (space_ == Space::kOnePass) space += " with at most one additional pass-through";
  if (space_ == Space::kWithoutPasses) space += " without additional pass-throughs";
  return space + ForcedText(set_.forced);
}

// Fills in the bounds of the chosen space and whether the result is optimal in it. Bounds that hold
// with any pass-throughs are used for the largest space; refutations of deciders hold only for the
// space that they searched.
void Prover::Finish() {
  seconds_over_ = budget_.SecondsOver();
  ChooseSpace();
  const bool asked = options_.initiation_interval > 0;
  const int step = IntervalStep(config_);
  result_.space = SpaceText();
  result_.interval_bound =
      LeastInterval(space_ == Space::kAll || asked ? Passes::kAny : Passes::kOfProblem);
  if (!asked && space_ != Space::kAll) {
    while (refuted_intervals_.contains(result_.interval_bound)) result_.interval_bound += step;
  }
  if (has_mapping()) {
    result_.interval_bound = std::min(result_.interval_bound, best_interval());
    const int least = LeastLatency(Passes::kAny).value;
    result_.latency_bound = std::min(least, result_.latency);
    result_.optimal = result_.latency <= least && best_interval() <= result_.interval_bound;
    if (space_ != Space::kAll) {
      result_.latency_bound = latency_closed_ ? result_.latency : LeastOpenLatency();
      result_.optimal = interval_closed_ && latency_closed_;
    } else if (asked) {
      result_.optimal = result_.latency <= least;
    }
  }
  const bool all_fusions = set_.all_fusions || TooManyForTiles();
  if (!has_mapping() && interval_closed_ && all_fusions) {
    // Callers that want no additional pass-throughs want to know of mappings without.
    result_.impossible = space_ != Space::kWithoutPasses || !proof_.passes;
  }
  const double seconds = std::clamp(budget_.SecondsLeft(), 1e-3, 1e9);
  core_budget_ = StepBudget(200'000, seconds);
  Explain();
  result_.steps = budget_.steps();
  result_.seconds = budget_.Seconds();
}

// Says why the bounds hold, or why there is no mapping.
void Prover::Explain() {
  const int step = IntervalStep(config_);
  const bool none = !has_mapping() && interval_closed_;
  const int refuted = none ? high_ : result_.interval_bound - step;
  result_.interval_why = refuted > 0 ? WhyRefuted(refuted, kAnyLatency)
                                     : LeastVariant(Passes::kAny)->interval_with_any.why;
  if (none && !result_.impossible) result_.none_without_passes = result_.interval_why;
  if (!has_mapping()) return;
  const Bound least = LeastLatency(Passes::kAny);
  result_.latency_why = result_.latency_bound <= least.value
                            ? least.why
                            : WhyRefuted(best_interval(), result_.latency_bound - 1);
}

// The order of phases: a first mapping, lower intervals, mappings that need pass-throughs, the
// latency, then gains by one more pass-through, then by several. If the bounds rule out every
// mapping, all phases are skipped.
StatusOr<MapResult> Prover::Map() {
  constexpr int64_t kFewSteps = 1000, kManySteps = 50'000, kLiftEffort = 10'000;
  KILN_RETURN_IF_ERROR(CheckInterval(config_, options_.initiation_interval));
  KILN_ASSIGN_OR_RETURN(set_, FusionVariants(graph_, config_, options_.fuse, &budget_));
  const auto all = [&](bool Variant::* fact) {
    return std::ranges::all_of(set_.variants, [fact](const std::unique_ptr<Variant>& variant) {
      return (*variant).*fact;
    });
  };
  low_ = LeastInterval(Passes::kOfProblem);
  any_low_ = LeastInterval(Passes::kAny);
  high_ = MostInterval(config_);
  if (options_.initiation_interval > 0) low_ = any_low_ = high_ = options_.initiation_interval;
  never_ = all(&Variant::impossible_with_any) || LeastInterval(Passes::kAny) > high_;
  interval_closed_ = never_ || all(&Variant::impossible);
  if (!never_) {
    KILN_RETURN_IF_ERROR(Start());
    if (!interval_closed_) {
      // What is found soon spares intervals without pass-throughs.
      KILN_RETURN_IF_ERROR(LiftIntervals(budget_.Left(8 * kFewSteps) / 8));
      if (!has_mapping()) FindFirst();
      CloseInterval();
    }
    KILN_RETURN_IF_ERROR(LiftIntervals(budget_.Left(2 * kManySteps) / 2));
    TakeSpare();
    if (has_mapping()) CloseLatency();
    if (has_mapping()) LiftLatency(kLiftEffort);
    if (proof_.passes && !budget_.spent()) KILN_RETURN_IF_ERROR(TryPasses());
    KILN_RETURN_IF_ERROR(Improve());
  }
  Finish();
  return std::move(result_);
}

}  // namespace

StatusOr<MapResult> MapWithProof(const ComputationGraph& graph, const Config& config,
                                 const MapOptions& options, const ProofOptions& proof) {
  return Prover(graph, config, options, proof).Map();
}

}  // namespace kiln::cgra
