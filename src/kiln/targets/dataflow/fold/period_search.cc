// The search for the least period and the lexicographic sequence of questions.
#include "kiln/targets/dataflow/fold/period_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "kiln/support/check.h"

namespace kiln::dataflow {
namespace {

constexpr int kMostStride = 8;  // between the short periods that are asked first

// Asks the oracle for the terms of the objective in order. `fold_` is always valid with the FIFOs
// of its own period, and `refuted_` is the longest period that is proved to have no fold, so the
// least period is between the two. The value of each finished term becomes a limit of the later
// questions.
class PeriodSearch {
 public:
  PeriodSearch(const FoldModel& model, const Objective& objective, std::vector<Term> terms,
               PeriodOracle& oracle)
      : model_(model),
        problem_(model.problem()),
        periods_(model.periods()),
        objective_(objective),
        terms_(std::move(terms)),
        oracle_(oracle) {}

  // First finds any valid fold, at a short period if the objective begins with the period, else at
  // a long one; a proof that there is none ends the search.
  FoldResult Run() {
    FoldCertificate& certificate = result_.certificate;
    certificate.log10_folds = Log10Folds(problem_);
    const SimpleBound simple = SimplePeriodBound(problem_);
    certificate.cycles_bound = simple.bottleneck_cycles;
    certificate.layer = simple.layer;
    certificate.source = BoundSource::kBottleneck;
    lowest_ = IndexFrom(simple.cycles);
    highest_ = static_cast<int>(
                   std::upper_bound(periods_.begin(), periods_.end(), objective_.target_cycles) -
                   periods_.begin()) -
               1;
    certificate.optimal = simple.layer < 0 || lowest_ > highest_;
    if (certificate.optimal) return Finish();
    refuted_ = lowest_ - 1;
    if (terms_[0].kind == Term::Kind::kPeriod) FindFast();
    const bool decided = fold_ || FindAny();
    certificate.optimal = fold_ || decided;
    if (!fold_) return Finish();
    for (const Term& term : terms_) {
      TermBound bound{term.name, 0, 0};
      if (term.kind == Term::Kind::kPeriod) {
        bound.bound = LeastPeriod();
      } else if (period_fixed_ || !model_.has_fifo()) {
        bound.bound = LeastAtPeriod(term);
      } else {
        bound.bound = LeastOverPeriods(term);
      }
      bound.value = ValueOf(term, metrics_);
      certificate.terms.push_back(bound);
      certificate.optimal = certificate.optimal && bound.bound == bound.value;
      if (term.kind != Term::Kind::kPeriod) limits_.push_back({term, bound.value});
    }
    // A later term can improve an earlier one that was not proved.
    for (size_t t = 0; t < terms_.size(); ++t) {
      certificate.terms[t].value = ValueOf(terms_[t], metrics_);
    }
    return Finish();
  }

 private:
  // Returns the index of the first period that is at least `cycles`.
  int IndexFrom(int64_t cycles) const {
    return static_cast<int>(std::lower_bound(periods_.begin(), periods_.end(), cycles) -
                            periods_.begin());
  }
  int64_t Period(int index) const { return periods_[static_cast<size_t>(index)]; }

  FoldResult Finish() {
    result_.certificate.work = oracle_.work();
    if (fold_) {
      KILN_CHECK(Violations(problem_, *fold_).empty());
      result_.fold = fold_;
      result_.metrics = metrics_;
    }
    return std::move(result_);
  }

  // Keeps a fold that satisfies all limits so far with the FIFOs of its own period.
  void Keep(Fold fold) {
    metrics_ = Evaluate(problem_, fold);
    fold_ = std::move(fold);
    // A period that was not proved to be the least can still fall.
    if (period_fixed_) highest_ = IndexFrom(metrics_.l_max);
  }

  PeriodQuery Query(int index, bool reach) const {
    PeriodQuery query;
    query.period = Period(index);
    query.reach_period = reach && model_.has_fifo();
    query.limits = limits_;
    return query;
  }

  // Returns whether a fold of a question at a longer period is valid with the FIFOs of its own.
  bool ValidAtOwnPeriod(const Fold& fold) const {
    if (!Violations(problem_, fold).empty()) return false;
    const FoldMetrics metrics = Evaluate(problem_, fold);
    return std::all_of(limits_.begin(), limits_.end(), [&](const TermLimit& limit) {
      return ValueOf(limit.term, metrics) <= limit.limit;
    });
  }

  // Returns the fold of an answer with FIFOs for its own period, if that is valid.
  std::optional<Fold> AtOwnPeriod(const Fold& fold) const {
    if (!model_.has_fifo()) return fold;
    if (ValidAtOwnPeriod(fold)) return fold;
    FifoChoice choice = ChooseFifos(problem_, fold.choice);
    if (choice.fits && ValidAtOwnPeriod(choice.fold)) return std::move(choice.fold);
    return std::nullopt;
  }

  // Finds a valid fold at one of a few short periods, if there is one. Questions at short periods
  // have the fewest candidates, and these are asked anyway to find the least period.
  void FindFast() {
    int index = lowest_;
    for (int stride = 2; stride <= kMostStride && index <= highest_; stride *= 2) {
      const PeriodAnswer relaxed = oracle_.Answer(Query(index, false));
      if (relaxed.fold) {
        std::optional<Fold> fold = AtOwnPeriod(*relaxed.fold);
        if (fold) Keep(std::move(*fold));
        return;
      }
      if (!relaxed.complete) return;
      refuted_ = index;
      index += stride;
    }
  }

  // Finds any valid fold within the target, from the longest period down. Returns true if there is
  // one or it is proved that there is none.
  bool FindAny() {
    bool complete = true;
    for (int index = highest_; index >= lowest_; --index) {
      const PeriodAnswer relaxed = oracle_.Answer(Query(index, false));
      if (!relaxed.fold) return complete && relaxed.complete;
      std::optional<Fold> fold = AtOwnPeriod(*relaxed.fold);
      if (!fold) {
        PeriodAnswer exact = oracle_.Answer(Query(index, true));
        complete = complete && exact.complete;
        fold = std::move(exact.fold);
      }
      if (!fold) continue;
      Keep(std::move(*fold));
      return true;
    }
    return complete;
  }

  // Finds the least period within the limits so far and fixes it; returns a lower bound of it.
  // Steps of doubling width from the refuted periods up find a feasible one, and bisection closes
  // the gap: the relaxed question (without reach_period) is monotonic in the period.
  int64_t LeastPeriod() {
    int low = refuted_, high = IndexFrom(metrics_.l_max);
    const auto feasible = [&](int index) {
      const PeriodAnswer answer = oracle_.Answer(Query(index, false));
      if (!answer.fold) {
        if (answer.complete) refuted_ = std::max(refuted_, index);
        return false;
      }
      if (std::optional<Fold> fold = AtOwnPeriod(*answer.fold)) {
        if (Evaluate(problem_, *fold).l_max < metrics_.l_max) Keep(std::move(*fold));
        high = std::min(high, IndexFrom(metrics_.l_max));
      }
      high = std::min(high, index);
      return true;
    };
    for (int stride = 1; low + stride < high; stride *= 2) {
      if (feasible(low + stride)) break;
      low += stride;
    }
    while (low + 1 < high) {
      const int middle = low + (high - low) / 2;
      if (!feasible(middle)) low = middle;
    }
    // With FIFOs, `high` may be feasible only for folds that are faster than it: walk up to the
    // first period that a fold has as its own.
    bool proved = refuted_ == high - 1;
    int64_t bound = Period(std::min(refuted_ + 1, high));
    for (; Period(high) < metrics_.l_max; ++high) {
      PeriodAnswer answer = oracle_.Answer(Query(high, true));
      if (answer.fold) {
        Keep(std::move(*answer.fold));
        break;
      }
      proved = proved && answer.complete;
      if (proved) bound = Period(high + 1);
    }
    period_fixed_ = true;
    highest_ = IndexFrom(metrics_.l_max);
    FoldCertificate& certificate = result_.certificate;
    if (objective_.goal == Goal::kThroughput && bound > certificate.cycles_bound) {
      certificate.cycles_bound = bound;
      certificate.source = BoundSource::kNone;
      certificate.layer = -1;
    }
    if (objective_.goal == Goal::kThroughput && bound < metrics_.l_max) {
      certificate.source = BoundSource::kExhausted;
    }
    return bound;
  }

  // Minimises a term at the period, which is fixed or does not matter; returns its lower bound.
  int64_t LeastAtPeriod(const Term& term) {
    const int64_t value = ValueOf(term, metrics_);
    if (value == 0) return 0;
    PeriodQuery query = Query(highest_, period_fixed_);
    query.minimise = term;
    query.start = &*fold_;
    query.start_value = value;
    PeriodAnswer answer = oracle_.Answer(query);
    if (answer.value < value) Keep(std::move(*answer.fold));
    return answer.bound;
  }

  // Minimises a term whose least value depends on the period by way of the FIFOs: walks down from
  // the longest period until the bound, which does not fall, reaches the best value.
  int64_t LeastOverPeriods(const Term& term) {
    int64_t best = ValueOf(term, metrics_);
    int64_t bound = best;
    for (int index = highest_; index >= lowest_ && best > 0; --index) {
      PeriodQuery query = Query(index, false);
      query.minimise = term;
      query.limits.push_back({term, best - 1});
      const PeriodAnswer relaxed = oracle_.Answer(query);
      if (!relaxed.fold && relaxed.complete) break;
      const auto improve = [&](const std::optional<Fold>& fold) {
        if (!fold || ValueOf(term, Evaluate(problem_, *fold)) >= best) return;
        Keep(*fold);
        best = ValueOf(term, metrics_);
      };
      if (relaxed.fold) improve(AtOwnPeriod(*relaxed.fold));
      if (!relaxed.complete) bound = std::min(bound, relaxed.bound);
      if (relaxed.complete && best <= relaxed.value) break;
      query = Query(index, true);
      query.minimise = term;
      query.limits.push_back({term, best - 1});
      const PeriodAnswer exact = oracle_.Answer(query);
      improve(exact.fold);
      if (!exact.complete) bound = std::min(bound, exact.bound);
      if (!relaxed.complete) {
        // Every shorter period is at least this bound as well.
        bound = std::min(bound, relaxed.bound);
        break;
      }
    }
    return std::min(bound, best);
  }

  const FoldModel& model_;
  const FoldProblem& problem_;
  const std::vector<int64_t>& periods_;
  const Objective objective_;
  const std::vector<Term> terms_;
  PeriodOracle& oracle_;
  FoldResult result_;
  int lowest_ = 0, highest_ = 0;  // indices of periods that may be L_max
  int refuted_ = 0;               // no fold within the period of this index, proved
  bool period_fixed_ = false;
  std::vector<TermLimit> limits_;  // the terms minimised so far
  std::optional<Fold> fold_;       // the best so far, valid with the FIFOs of its own period
  FoldMetrics metrics_;            // of fold_
};

}  // namespace

FoldResult SearchPeriods(const FoldModel& model, const Objective& objective, PeriodOracle& oracle) {
  return PeriodSearch(model, objective, TermsOf(objective, model.problem().limits), oracle).Run();
}

FoldResult SearchLeastPeriod(const FoldModel& model, PeriodOracle& oracle) {
  const Term period = TermsOf({}, model.problem().limits)[0];
  return PeriodSearch(model, {}, {period}, oracle).Run();
}

SimpleBound SimplePeriodBound(const FoldProblem& problem) {
  SimpleBound bound;
  std::array<double, kResourceKinds> work{};
  for (size_t l = 0; l < problem.layers.size(); ++l) {
    int64_t fastest = kUnlimited;
    std::array<double, kResourceKinds> least;
    least.fill(std::numeric_limits<double>::infinity());
    for (const Candidate& candidate : problem.layers[l].candidates) {
      if (!Fits(candidate.resources, problem.limits)) continue;
      fastest = std::min(fastest, candidate.cycles);
      for (size_t kind = 0; kind < least.size(); ++kind) {
        least[kind] = std::min(least[kind], static_cast<double>(candidate.cycles) *
                                                static_cast<double>(candidate.resources[kind]));
      }
    }
    if (fastest == kUnlimited) return {};
    if (fastest > bound.bottleneck_cycles) {
      bound.bottleneck_cycles = fastest;
      bound.layer = static_cast<int>(l);
    }
    for (size_t kind = 0; kind < least.size(); ++kind) work[kind] += least[kind];
  }
  bound.cycles = bound.bottleneck_cycles;
  for (size_t kind = 0; kind < work.size(); ++kind) {
    const int64_t limit = problem.limits[kind];
    if (limit == kUnlimited || limit == 0) continue;
    // Rounded down by more than the error of the sum.
    const double cycles = work[kind] / static_cast<double>(limit) * (1 - 1e-9);
    bound.cycles = std::max(bound.cycles, static_cast<int64_t>(cycles));
  }
  return bound;
}

}  // namespace kiln::dataflow
