// One question at a fixed period: candidates are narrowed by bounds, then labels of growing width.
#include "kiln/targets/dataflow/fold/exact_oracle.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kiln/targets/dataflow/fold/labels.h"
#include "kiln/targets/dataflow/fold/narrowing.h"
#include "kiln/targets/dataflow/fold/relaxation.h"
#include "kiln/targets/dataflow/fold/state_graph.h"

namespace kiln::dataflow {
namespace {

constexpr int64_t kFirstWidth = 8, kWidthFactor = 8;
// A limit hardly counts if it contributes at most this share to a bound.
constexpr double kLiftedShare = 1e-4;

// Returns whether `by` can replace `candidate` in every fold, at every period.
bool AlwaysReplaces(const FoldModel& model, int layer, int by, int candidate) {
  const Candidate &b = model.candidate(layer, by), &c = model.candidate(layer, candidate);
  const LayerModel& lanes = model.layer(layer);
  if (b.cycles != c.cycles || !Fits(b.resources, c.resources)) return false;
  if (b.latency > c.latency || (b.latency < c.latency && lanes.latency_matters)) return false;
  const auto in = [&](int i) {
    return static_cast<size_t>(lanes.in_index[static_cast<size_t>(i)]);
  };
  const auto out = [&](int i) {
    return static_cast<size_t>(lanes.out_index[static_cast<size_t>(i)]);
  };
  if (lanes.has_fifo_input && in(by) != in(candidate)) return false;
  return lanes.in_covers[in(by)*lanes.in_values.size() + in(candidate)] &&
         lanes.out_covers[out(by) * lanes.out_values.size() + out(candidate)];
}

std::vector<int> Irreplaceable(const FoldModel& model, int layer) {
  const auto count =
      static_cast<int>(model.problem().layers[static_cast<size_t>(layer)].candidates.size());
  std::vector<int> by_cycles(static_cast<size_t>(count));
  for (int c = 0; c < count; ++c) by_cycles[static_cast<size_t>(c)] = c;
  std::sort(by_cycles.begin(), by_cycles.end(), [&](int a, int b) {
    return std::pair(model.candidate(layer, a).cycles, a) <
           std::pair(model.candidate(layer, b).cycles, b);
  });
  std::vector<int> kept;
  size_t same = 0;  // kept[same] and later have the cycles of the current candidate
  for (const int c : by_cycles) {
    while (same < kept.size() &&
           model.candidate(layer, kept[same]).cycles != model.candidate(layer, c).cycles) {
      ++same;
    }
    const auto first = kept.begin() + static_cast<int64_t>(same);
    if (std::any_of(first, kept.end(),
                    [&](int by) { return AlwaysReplaces(model, layer, by, c); })) {
      continue;
    }
    kept.erase(std::remove_if(first, kept.end(),
                              [&](int old) { return AlwaysReplaces(model, layer, c, old); }),
               kept.end());
    kept.push_back(c);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

// Returns the smallest integer that is not below `bound`, allowing for rounding.
int64_t IntegerBound(double bound) {
  const double rounded = std::ceil(bound - 1e-9 * std::max(1.0, std::abs(bound)));
  if (rounded <= 0) return 0;
  return rounded >= 9e18 ? kUnlimited : static_cast<int64_t>(rounded);
}

// Returns the least of the objective that each layer needs by itself, summed.
int64_t SumOfLeast(const Subproblem& subproblem) {
  int64_t sum = 0;
  for (size_t l = 0; l < subproblem.active().size(); ++l) {
    int64_t least = kUnlimited;
    for (const int c : subproblem.active()[l]) {
      least = std::min(least, subproblem.value(static_cast<int>(l), c, 0));
    }
    sum += least;
  }
  return sum;
}

}  // namespace

std::vector<std::vector<int>> IrreplaceableCandidates(const FoldModel& model) {
  std::vector<std::vector<int>> candidates;
  for (int layer = 0; layer < model.layers(); ++layer) {
    candidates.push_back(Irreplaceable(model, layer));
  }
  return candidates;
}

ExactOracle::ExactOracle(const FoldModel& model, int64_t most_work)
    : model_(model),
      most_work_(most_work),
      plan_(MakePlan(model)),
      candidates_(IrreplaceableCandidates(model)) {}

// Returns the candidates that folds which satisfy the question can contain.
const std::vector<std::vector<int>>& ExactOracle::CandidatesOf(const PeriodQuery& query) const {
  if (!known_ || query.lifted || query.period > known_->period) return candidates_;
  const bool same_period = query.period == known_->period;
  if (known_->reach_period && !(same_period && query.reach_period)) return candidates_;
  const bool follows =
      std::all_of(known_->limits.begin(), known_->limits.end(), [&](const TermLimit& known) {
        // Idle times of different periods do not compare.
        if (known.term.kind == Term::Kind::kIdle && !same_period) return false;
        return std::any_of(query.limits.begin(), query.limits.end(), [&](const TermLimit& limit) {
          return limit.term.kind == known.term.kind && limit.term.weights == known.term.weights &&
                 limit.limit <= known.limit;
        });
      });
  return follows ? known_->candidates : candidates_;
}

// Remembers which candidates the answer's fold and the folds as good as it can contain.
void ExactOracle::Remember(const PeriodQuery& query, const PeriodAnswer& answer,
                           const Subproblem& subproblem) {
  if (query.lifted || !answer.fold) return;
  known_ = {query.period, query.reach_period, query.limits, subproblem.possible()};
  if (query.minimise) known_->limits.push_back({*query.minimise, answer.value});
}

PeriodAnswer ExactOracle::Answer(const PeriodQuery& query) {
  PeriodAnswer answer;
  answer.complete = true;
  if (query.start != nullptr) {
    answer.fold = *query.start;
    answer.value = query.start_value;
  }
  ++work_;
  Subproblem subproblem(model_, query, CandidatesOf(query));
  if (!subproblem.has_empty_layer()) {
    const bool minimises = query.minimise.has_value();
    Search(work_ + work_left() / 2, {minimises, minimises}, &subproblem, &answer);
  }
  if (answer.complete) answer.bound = answer.value;
  Remember(query, answer, subproblem);
  return answer;
}

// Asks for a fold whose objective is the least that the bound allows: few candidates are in such
// folds. Returns true if there is one, or if that proves that the answer's fold is the best.
// Otherwise the answer's bound becomes one more.
bool ExactOracle::SearchTightened(int64_t most_work, const Subproblem& subproblem,
                                  const LinearBound& bound, PeriodAnswer* answer) {
  const int64_t least = IntegerBound(bound.Objective(subproblem, bound.root()));
  if (least >= subproblem.cutoff()) return false;
  Subproblem tight = subproblem;
  tight.set_cutoff(least);
  PeriodAnswer found;
  found.complete = true;
  Search(work_ + (most_work - work_) / 4, {false, true}, &tight, &found);
  if (found.fold) {
    answer->fold = std::move(found.fold);
    answer->value = found.value;
    answer->bound = std::max(answer->bound, found.complete ? found.value : least);
  } else if (found.complete) {
    answer->bound = std::max(answer->bound, least + 1);
  }
  return answer->fold && answer->value <= answer->bound;
}

// Answers the question without the limits of resources that hardly count in the bound, according to
// their multipliers. Labels that differ only in such resources are many, for example where a URAM
// replaces 16 RAMB18, and dominate one another if these do not count. Returns true if that settles
// the question: there is nothing better even without these limits, or the best fold meets them.
// Otherwise the best value without them is a bound.
bool ExactOracle::SearchLifted(int64_t most_work, const Subproblem& subproblem,
                               const LinearBound& bound, PeriodAnswer* answer) {
  Subproblem lifted = subproblem;
  std::vector<int> dimensions;
  for (int d = 1; d < subproblem.dimensions(); ++d) {
    const Dimension& dimension = subproblem.dimension(d);
    if (dimension.kind != Dimension::Kind::kResources || !dimension.binding) continue;
    const double share =
        bound.weights[static_cast<size_t>(d)] * static_cast<double>(dimension.limit);
    if (share > kLiftedShare * bound.most) continue;
    lifted.Lift(d);
    dimensions.push_back(d);
  }
  if (dimensions.empty()) return false;
  PeriodAnswer without = *answer;
  Search(work_ + (most_work - work_) / 4, {false, false}, &lifted, &without);
  if (!without.complete) return false;
  if (without.fold == answer->fold) return true;
  const FoldMetrics metrics = EvaluateAt(model_.problem(), *without.fold, subproblem.period());
  const bool meets = std::all_of(dimensions.begin(), dimensions.end(), [&](int d) {
    const Dimension& dimension = subproblem.dimension(d);
    return Weighted(dimension.weights, metrics.resources) <= dimension.limit;
  });
  if (meets) {
    answer->fold = std::move(without.fold);
    answer->value = without.value;
    return true;
  }
  answer->bound = std::max(answer->bound, without.value);
  return answer->fold && answer->value <= answer->bound;
}

// Alternates between narrowing and label searches of growing width until one of them leaves nothing
// out. A fold that is found lowers the cutoff, so the next narrowing excludes more.
void ExactOracle::Search(int64_t most_work, Detours detours, Subproblem* subproblem,
                         PeriodAnswer* answer) {
  const bool any = subproblem->dimension(0).kind == Dimension::Kind::kNone;
  Narrowing narrowing(plan_, subproblem, answer);
  bool changed = true;
  for (int64_t width = kFirstWidth;; width *= kWidthFactor) {
    const bool thorough = width > kFirstWidth;
    if (changed) {
      const Narrowing::Outcome outcome = narrowing.Run(thorough);
      if (outcome == Narrowing::Outcome::kNothingWanted) break;
      if (outcome == Narrowing::Outcome::kTooWide) {
        answer->complete = false;
        answer->bound = std::max(answer->bound, SumOfLeast(*subproblem));
        break;
      }
    }
    LabelSearch labels(*subproblem, plan_, narrowing.graph(), narrowing.bounds());
    LabelResult result = labels.Run(width, most_work, &work_);
    if (result.found) {
      answer->fold = std::move(result.fold);
      answer->value = result.value;
      subproblem->set_cutoff(result.value - 1);
      if (any) break;
    }
    if (result.complete || (result.found && result.value <= answer->bound)) break;
    answer->bound = std::max(answer->bound, IntegerBound(result.dropped_bound));
    changed = result.found || !thorough;
    const LinearBound& bound = narrowing.bounds().back();
    if (work_ <= most_work && detours.tighten) {
      detours.tighten = false;
      if (SearchTightened(most_work, *subproblem, bound, answer)) return;
    }
    if (work_ <= most_work && thorough && detours.lift) {
      detours.lift = false;
      if (SearchLifted(most_work, *subproblem, bound, answer)) return;
    }
    if (work_ > most_work) {
      answer->complete = false;
      break;
    }
  }
  if (answer->complete) return;
  if (answer->fold) answer->bound = std::min(answer->bound, answer->value);
  if (any) answer->bound = 0;
}

bool ExactOracle::AnswerAll(const PeriodQuery& query, const Unwanted& unwanted,
                            std::vector<Fold>* folds) {
  folds->clear();
  ++work_;
  Subproblem subproblem(model_, query, candidates_);
  if (!subproblem.has_empty_layer()) subproblem.Reduce();
  if (subproblem.has_empty_layer()) return true;
  std::vector<LinearBound> bounds;  // of limits that bind
  std::vector<int> compared;        // dimensions
  for (const int kind : query.compare) {
    for (int d = 1; d < subproblem.dimensions(); ++d) {
      const Resources& weights = subproblem.dimension(d).weights;
      if (subproblem.dimension(d).compared && weights[static_cast<size_t>(kind)] > 0) {
        compared.push_back(d);
      }
    }
  }
  std::vector<int64_t> least(compared.size(), 0);
  std::vector<std::vector<double>> to_end(compared.size());
  const StateGraph graph = BuildStateGraph(model_, plan_, subproblem.active());
  if (graph.too_wide) return false;
  if (graph.stages.size() < plan_.steps.size() || graph.nodes.back() == 0) return true;
  Relaxation relaxation(subproblem, graph);
  for (int d = 1; d < subproblem.dimensions(); ++d) {
    if (!subproblem.dimension(d).binding) continue;
    bounds.push_back(relaxation.BoundOf(d));
    if (bounds.back().Excludes()) return true;
  }
  bounds.push_back(relaxation.OptimiseMultipliers(0, 0, {}, true).bound);
  if (bounds.back().Excludes()) return true;
  for (size_t i = 0; i < compared.size(); ++i) to_end[i] = relaxation.BoundOf(compared[i]).to_end;
  const LabelFilter filter = [&](const int64_t* sums, size_t level, int state) {
    for (size_t i = 0; i < compared.size(); ++i) {
      least[i] = sums[compared[i]] +
                 static_cast<int64_t>(to_end[i][graph.offset[level] + static_cast<size_t>(state)]);
    }
    return unwanted(least);
  };
  if (std::isinf(to_end.empty() ? 0.0 : to_end[0][0])) return true;
  const std::vector<int64_t> nothing(static_cast<size_t>(subproblem.dimensions()), 0);
  if (filter(nothing.data(), 0, 0)) return true;
  LabelSearch labels(subproblem, plan_, graph, bounds);
  return labels.RunAll(filter, work_ + work_left() / 2, &work_, folds);
}

}  // namespace kiln::dataflow
