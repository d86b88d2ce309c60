// Rounds of bounds and exclusions.
#include "kiln/targets/dataflow/fold/narrowing.h"

#include <algorithm>
#include <utility>

namespace kiln::dataflow {
namespace {

constexpr int kMaxRounds = 8;
// A round is repeated if it excluded this part of the candidates.
constexpr size_t kShrunkShare = 20;

}  // namespace

Narrowing::Narrowing(const Plan& plan, Subproblem* subproblem, PeriodAnswer* answer)
    : plan_(plan),
      subproblem_(*subproblem),
      answer_(*answer),
      any_(subproblem->dimension(0).kind == Dimension::Kind::kNone),
      multipliers_(static_cast<size_t>(subproblem->dimensions())) {}

Narrowing::Outcome Narrowing::Run(bool thorough) {
  subproblem_.Reduce();
  for (int round = 1;; ++round) {
    if (subproblem_.has_empty_layer()) return Outcome::kNothingWanted;
    graph_ = BuildStateGraph(subproblem_.model(), plan_, subproblem_.active());
    if (graph_.too_wide) return Outcome::kTooWide;
    if (graph_.stages.size() < plan_.steps.size() || graph_.nodes.back() == 0) {
      return Outcome::kNothingWanted;
    }
    bounds_.clear();
    keep_.clear();
    for (const std::vector<int>& active : subproblem_.active()) {
      keep_.emplace_back(active.size(), 1);
    }
    Relaxation relaxation(subproblem_, graph_);
    if (!UseDimensions(relaxation)) return Outcome::kNothingWanted;
    if (round < kMaxRounds && Shrink()) continue;
    if (!UseMultipliers(thorough, relaxation)) return Outcome::kNothingWanted;
    if (round >= kMaxRounds || !Shrink()) return Outcome::kReady;
  }
}

// Marks the candidates that a bound excludes; returns false if it excludes every fold.
bool Narrowing::UseBound(LinearBound bound, Relaxation& relaxation) {
  bounds_.push_back(std::move(bound));
  if (bounds_.back().Excludes()) return false;
  relaxation.Exclude(bounds_.back(), &keep_);
  return true;
}

bool Narrowing::UseDimensions(Relaxation& relaxation) {
  for (int d = any_ ? 1 : 0; d < subproblem_.dimensions(); ++d) {
    if (d > 0 && !subproblem_.dimension(d).binding) continue;
    if (!UseBound(relaxation.BoundOf(d), relaxation)) return false;
  }
  return true;
}

bool Narrowing::UseMultipliers(bool thorough, Relaxation& relaxation) {
  const auto optimise = [&](int d, int64_t cutoff) {
    std::vector<double>& start = multipliers_[static_cast<size_t>(d)];
    Relaxation::Optimum optimum = relaxation.OptimiseMultipliers(d, cutoff, start, thorough);
    start = optimum.bound.weights;
    return optimum;
  };
  for (int d = 1; d < subproblem_.dimensions() && thorough; ++d) {
    if (!subproblem_.dimension(d).binding) continue;
    if (!UseBound(optimise(d, subproblem_.dimension(d).limit).bound, relaxation)) return false;
  }
  Relaxation::Optimum optimum = optimise(0, subproblem_.cutoff());
  if (optimum.feasible) {
    answer_.fold = std::move(optimum.feasible);
    answer_.value = optimum.feasible_value;
    subproblem_.set_cutoff(optimum.feasible_value - 1);
    if (any_) return false;
  }
  return UseBound(std::move(optimum.bound), relaxation);
}

// Removes the marked candidates if they are many. Returns whether it did.
bool Narrowing::Shrink() {
  size_t removed = 0;
  for (const std::vector<char>& layer : keep_) {
    removed += static_cast<size_t>(std::count(layer.begin(), layer.end(), 0));
  }
  if (removed == 0 || removed * kShrunkShare < subproblem_.candidates()) return false;
  subproblem_.Keep(keep_);
  if (!subproblem_.has_empty_layer()) subproblem_.Reduce();
  return true;
}

}  // namespace kiln::dataflow
