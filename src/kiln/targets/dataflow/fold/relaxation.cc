// Shortest paths in the state graph and the choice of multipliers.
#include "kiln/targets/dataflow/fold/relaxation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/dataflow/fold/cutting_planes.h"

namespace kiln::dataflow {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Relative error that sums of a plan's values stay far below.
constexpr double kTolerance = 1e-11;
constexpr int64_t kMostSum = int64_t{1} << 60;
constexpr int kMostEvaluations = 40, kFeasibilitySteps = 40, kQuickFeasibilitySteps = 10;
// Multipliers are counted in units: 1 gives a limit as much weight as the primary dimension.
constexpr double kMostMultiplier = 1000, kMostUnit = 1e12;
constexpr double kInnerStep = 0.5;
// Multipliers are good enough if the best ones would close this part of the gap to the cutoff.
constexpr double kWorthwhile = 0.02;

// A dimension whose multiplier is to be chosen.
struct FreeMultiplier {
  size_t dimension = 0;
  double limit = 0, unit = 0;
};

}  // namespace

double LinearBound::Objective(const Subproblem& subproblem, double sum) const {
  for (size_t d = 1; d < weights.size(); ++d) {
    if (weights[d] > 0) {
      sum -= weights[d] * static_cast<double>(subproblem.dimension(static_cast<int>(d)).limit);
    }
  }
  return sum;
}

Relaxation::Relaxation(const Subproblem& subproblem, const StateGraph& graph)
    : subproblem_(subproblem),
      graph_(graph),
      dimensions_(static_cast<size_t>(subproblem.dimensions())),
      member_weight_(graph.members.size(), 0),
      group_weight_(graph.groups.size(), 0),
      group_lightest_(graph.groups.size(), 0),
      walk_choice_(static_cast<size_t>(subproblem.model().layers()), 0),
      walk_sum_(dimensions_, 0) {
  TakeValues();
  if (subproblem.model().has_fifo()) TakeFifos();
}

void Relaxation::TakeValues() {
  const size_t members = graph_.members.size();
  values_.resize(dimensions_ * members);
  for (const CandidateGroup& group : graph_.groups) {
    for (int i = group.first; i < group.first + group.count; ++i) {
      const auto m = static_cast<size_t>(i);
      const int64_t* values = subproblem_.values(group.layer, graph_.members[m]);
      for (size_t d = 0; d < dimensions_; ++d) {
        values_[d * members + m] = static_cast<double>(values[d]);
      }
    }
  }
}

void Relaxation::TakeFifos() {
  const FoldModel& model = subproblem_.model();
  for (int layer = 0; layer < model.layers(); ++layer) {
    first_input_.push_back(fifos_of_.size());
    if (!model.layer(layer).has_fifo_input) continue;
    for (size_t in = 0; in < model.layer(layer).in_values.size(); ++in) {
      std::vector<LeastFifo>& fifos = fifos_of_.emplace_back();
      for (const int e : model.layer(layer).in_edges) {
        const int64_t elements = subproblem_.least_elements(e);
        if (!model.edge(e).fifo || elements == 0) continue;
        const std::vector<FifoOption>& options =
            model.FifoOptions(e, static_cast<int>(in), elements);
        fifos.push_back({fifo_values_.size() / dimensions_, options.size()});
        for (const FifoOption& option : options) {
          for (int d = 0; d < subproblem_.dimensions(); ++d) {
            fifo_values_.push_back(static_cast<double>(subproblem_.FifoValue(option.resources, d)));
          }
        }
      }
    }
  }
  input_weight_.resize(fifos_of_.size());
}

// Computes the weighted sum of every candidate, group and FIFO. A group counts with its lightest
// candidate and a FIFO with its lightest option, independently of one another, which can only lower
// a path: the bounds stay valid.
void Relaxation::SetWeights(const std::vector<double>& weights) {
  if (weights == weights_) return;
  weights_ = weights;
  const size_t members = graph_.members.size();
  std::fill(member_weight_.begin(), member_weight_.end(), 0);
  for (size_t d = 0; d < dimensions_; ++d) {
    if (weights[d] == 0) continue;
    const double* values = &values_[d * members];
    for (size_t m = 0; m < members; ++m) member_weight_[m] += weights[d] * values[m];
  }
  for (size_t g = 0; g < graph_.groups.size(); ++g) {
    const double* first = member_weight_.data() + graph_.groups[g].first;
    const double* lightest = std::min_element(first, first + graph_.groups[g].count);
    group_weight_[g] = *lightest;
    group_lightest_[g] = graph_.members[static_cast<size_t>(lightest - member_weight_.data())];
  }
  for (size_t input = 0; input < fifos_of_.size(); ++input) {
    input_weight_[input] = 0;
    for (const LeastFifo& fifo : fifos_of_[input]) {
      double least = kInfinite;
      for (size_t o = fifo.first; o < fifo.first + fifo.count; ++o) {
        double weight = 0;
        for (size_t d = 0; d < dimensions_; ++d) {
          weight += weights[d] * fifo_values_[o * dimensions_ + d];
        }
        least = std::min(least, weight);
      }
      input_weight_[input] += least;
    }
  }
}

double Relaxation::StepWeight(const StateGraph::Stage& stage, const StateArc& arc) const {
  if (arc.group >= 0) return group_weight_[static_cast<size_t>(arc.group)];
  const auto layer = static_cast<size_t>(stage.step.layer);
  if (stage.step.kind != PlanStep::Kind::kEnter ||
      !subproblem_.model().layer(stage.step.layer).has_fifo_input) {
    return 0;
  }
  return input_weight_[first_input_[layer] +
                       static_cast<size_t>(stage.input[static_cast<size_t>(arc.to)])];
}

// Computes the least weight from each state to the end, level by level from the last one: the state
// graph is acyclic, so one pass is a shortest-path computation.
void Relaxation::Backward(std::vector<double>* to_end) const {
  to_end->resize(graph_.states());
  to_end->back() = 0;
  for (size_t s = graph_.stages.size(); s > 0; --s) {
    const StateGraph::Stage& stage = graph_.stages[s - 1];
    double* from = to_end->data() + graph_.offset[s - 1];
    const double* to = to_end->data() + graph_.offset[s];
    const auto states = static_cast<size_t>(graph_.nodes[s - 1]);
    const bool chooses = stage.step.kind == PlanStep::Kind::kChoose;
    for (size_t state = 0; state < states; ++state) {
      const StateArc* arc = stage.arcs.data() + stage.begin[state];
      const StateArc* const end = stage.arcs.data() + stage.begin[state + 1];
      double least = kInfinite;
      if (chooses) {
        for (; arc != end; ++arc) {
          least = std::min(least, group_weight_[static_cast<size_t>(arc->group)] + to[arc->to]);
        }
      } else {
        for (; arc != end; ++arc) least = std::min(least, StepWeight(stage, *arc) + to[arc->to]);
      }
      from[state] = least;
    }
  }
}

// Follows a shortest path from the first level to the last by the distances of Backward, and sums
// up the dimensions of its choices: the subgradient of the bound.
void Relaxation::Walk(const std::vector<double>& to_end) {
  const FoldModel& model = subproblem_.model();
  std::fill(walk_sum_.begin(), walk_sum_.end(), 0);
  int32_t at = 0;
  for (size_t s = 0; s < graph_.stages.size(); ++s) {
    const StateGraph::Stage& stage = graph_.stages[s];
    const double* to = to_end.data() + graph_.offset[s + 1];
    const StateArc* best = nullptr;
    double best_sum = kInfinite;
    for (int32_t a = stage.begin[static_cast<size_t>(at)];
         a < stage.begin[static_cast<size_t>(at) + 1]; ++a) {
      const StateArc& arc = stage.arcs[static_cast<size_t>(a)];
      const double sum = StepWeight(stage, arc) + to[arc.to];
      if (sum < best_sum) {
        best_sum = sum;
        best = &arc;
      }
    }
    KILN_CHECK(best != nullptr);
    at = best->to;
    if (best->group >= 0) {
      const int c = group_lightest_[static_cast<size_t>(best->group)];
      walk_choice_[static_cast<size_t>(stage.step.layer)] = c;
      const int64_t* values = subproblem_.values(stage.step.layer, c);
      for (size_t d = 0; d < dimensions_; ++d) walk_sum_[d] += static_cast<double>(values[d]);
    } else if (stage.step.kind == PlanStep::Kind::kEnter &&
               model.layer(stage.step.layer).has_fifo_input) {
      AddFifosOfWalk(first_input_[static_cast<size_t>(stage.step.layer)] +
                     static_cast<size_t>(stage.input[static_cast<size_t>(at)]));
    }
  }
}

// Adds the lightest options.
void Relaxation::AddFifosOfWalk(size_t input) {
  for (const LeastFifo& fifo : fifos_of_[input]) {
    size_t lightest = fifo.first;
    double least = kInfinite;
    for (size_t o = fifo.first; o < fifo.first + fifo.count; ++o) {
      double weight = 0;
      for (size_t d = 0; d < dimensions_; ++d) {
        weight += weights_[d] * fifo_values_[o * dimensions_ + d];
      }
      if (weight >= least) continue;
      least = weight;
      lightest = o;
    }
    for (size_t d = 0; d < dimensions_; ++d) {
      walk_sum_[d] += fifo_values_[lightest * dimensions_ + d];
    }
  }
}

// Returns the bound of some weights: a wanted fold's weighted sum is at most `most`, plus the
// tolerance that covers rounding.
LinearBound Relaxation::MakeBound(const std::vector<double>& weights, double most) {
  LinearBound bound;
  bound.weights = weights;
  bound.most = most * (1 + kTolerance);
  bound.most_kept = (most + weights[0]) * (1 + kTolerance);
  SetWeights(weights);
  Backward(&bound.to_end);
  return bound;
}

LinearBound Relaxation::BoundOf(int dimension) {
  std::vector<double> weights(static_cast<size_t>(subproblem_.dimensions()), 0);
  weights[static_cast<size_t>(dimension)] = 1;
  const int64_t limit =
      dimension == 0 ? subproblem_.cutoff() : subproblem_.dimension(dimension).limit;
  LinearBound bound = MakeBound(weights, static_cast<double>(limit));
  bound.primary = dimension;
  return bound;
}

std::vector<int> Relaxation::WalkOf(const LinearBound& bound) {
  SetWeights(bound.weights);
  Walk(bound.to_end);
  return walk_choice_;
}

// Completes the choices of the walk to a fold, with the FIFO options of least weight. Returns false
// if the fold is not wanted.
bool Relaxation::CompleteWalk(const std::vector<double>& weights, int64_t cutoff, Fold* fold,
                              int64_t* value) const {
  const FoldModel& model = subproblem_.model();
  const auto dimensions = static_cast<size_t>(subproblem_.dimensions());
  std::vector<int64_t> sums(dimensions, 0);
  std::vector<int64_t> finish(static_cast<size_t>(model.layers()), 0);
  bool reaches = false;
  int64_t latency = 0;
  if (model.has_fifo()) fold->fifo_option.assign(static_cast<size_t>(model.edges()), -1);
  for (const int layer : model.order()) {
    const int choice = walk_choice_[static_cast<size_t>(layer)];
    const int64_t* values = subproblem_.values(layer, choice);
    for (size_t d = 0; d < dimensions; ++d) sums[d] += values[d];
    if (!subproblem_.has_times()) continue;
    reaches = reaches || subproblem_.Reaches(layer, choice);
    int64_t start = 0;
    for (const int e : model.layer(layer).in_edges) {
      start = std::max(start, finish[static_cast<size_t>(model.edge(e).from)]);
    }
    finish[static_cast<size_t>(layer)] = start + model.candidate(layer, choice).latency;
    latency = std::max(latency, finish[static_cast<size_t>(layer)]);
    for (const int e : model.layer(layer).in_edges) {
      if (!model.edge(e).fifo) continue;
      const int64_t elements =
          FifoElements(*model.edge(e).fifo, start - finish[static_cast<size_t>(model.edge(e).from)],
                       subproblem_.period());
      if (elements == 0) continue;
      const std::vector<FifoOption>& options =
          model.FifoOptions(e, model.layer(layer).in_index[static_cast<size_t>(choice)], elements);
      if (options.empty()) return false;
      int lightest = 0;
      double least = kInfinite;
      for (int o = 0; o < static_cast<int>(options.size()); ++o) {
        double weight = 0;
        for (size_t d = 0; d < dimensions; ++d) {
          weight +=
              weights[d] * static_cast<double>(subproblem_.FifoValue(
                               options[static_cast<size_t>(o)].resources, static_cast<int>(d)));
        }
        if (weight < least) {
          least = weight;
          lightest = o;
        }
      }
      fold->fifo_option[static_cast<size_t>(e)] = lightest;
      for (size_t d = 0; d < dimensions; ++d) {
        sums[d] = std::min(kMostSum, sums[d] + subproblem_.FifoValue(
                                                   options[static_cast<size_t>(lightest)].resources,
                                                   static_cast<int>(d)));
      }
    }
  }
  for (size_t d = 1; d < dimensions; ++d) {
    if (sums[d] > subproblem_.dimension(static_cast<int>(d)).limit) return false;
  }
  if (subproblem_.reach_period() && !reaches) return false;
  if (latency > subproblem_.latency_limit()) return false;
  const int64_t objective = subproblem_.minimises_latency() ? latency : sums[0];
  if (objective > cutoff) return false;
  *value = objective;
  fold->choice = walk_choice_;
  return true;
}

// Without an objective: looks for weights, one share for each limit, under which even the lightest
// fold exceeds the weighted limits, which proves that no fold meets them all. The shares grow
// exponentially with the excess of the lightest fold over each limit (multiplicative weights), in
// steps that shrink with the square root of their number.
Relaxation::Optimum Relaxation::Feasibility(int steps) {
  const auto dimensions = static_cast<size_t>(subproblem_.dimensions());
  std::vector<double> logs(dimensions, 0), weights(dimensions, 0), best(dimensions, 0);
  const auto limit = [&](size_t d) {
    return static_cast<double>(
        std::max<int64_t>(1, subproblem_.dimension(static_cast<int>(d)).limit));
  };
  Optimum optimum;
  double best_excess = -kInfinite, best_most = 0;
  std::vector<double> to_end;
  for (int step = 0; step < steps; ++step) {
    double total = 0, largest = -kInfinite;
    for (size_t d = 1; d < dimensions; ++d) {
      if (subproblem_.dimension(static_cast<int>(d)).binding) largest = std::max(largest, logs[d]);
    }
    for (size_t d = 1; d < dimensions; ++d) {
      const bool binding = subproblem_.dimension(static_cast<int>(d)).binding;
      weights[d] = binding ? std::exp(logs[d] - largest) : 0;
      total += weights[d];
    }
    double most = 0;
    for (size_t d = 1; d < dimensions && total > 0; ++d) {
      weights[d] /= total * limit(d);
      if (weights[d] > 0) {
        most += weights[d] * static_cast<double>(subproblem_.dimension(static_cast<int>(d)).limit);
      }
    }
    SetWeights(weights);
    Backward(&to_end);
    if (to_end[0] - most > best_excess) {
      best_excess = to_end[0] - most;
      best_most = most;
      best = weights;
    }
    if (to_end[0] > most * (1 + kTolerance)) break;
    Walk(to_end);
    Fold fold;
    if (CompleteWalk(weights, 0, &fold, &optimum.feasible_value)) {
      optimum.feasible = std::move(fold);
      break;
    }
    const double rate = 4.0 / std::sqrt(1.0 + step);
    for (size_t d = 1; d < dimensions; ++d) {
      const double excess = walk_sum_[d] / limit(d) - 1;
      logs[d] += rate * std::clamp(excess, -1.0, 1.0);
    }
    if (total == 0) break;
  }
  optimum.bound = MakeBound(best, best_most);
  return optimum;
}

// The Lagrangian dual: for multipliers x >= 0 of the limits, the shortest path under objective + x
// * dimensions, less x * limits, is a lower bound of the objective, concave and piecewise linear in
// x. Each evaluation gives a plane that touches it (the walk's sums less the limits are its slope),
// and CuttingPlanes finds the next x. Any x gives a valid bound, so the loop may stop at any time.
Relaxation::Optimum Relaxation::OptimiseMultipliers(int primary, int64_t cutoff,
                                                    const std::vector<double>& start,
                                                    bool thorough) {
  if (subproblem_.dimension(primary).kind == Dimension::Kind::kNone) {
    return Feasibility(thorough ? kFeasibilitySteps : kQuickFeasibilitySteps);
  }
  const double unit = std::clamp(static_cast<double>(cutoff), 1.0, kMostUnit);
  std::vector<FreeMultiplier> free;
  std::vector<double> x;  // multipliers, in their units
  for (int d = 0; d < subproblem_.dimensions(); ++d) {
    const Dimension& dimension = subproblem_.dimension(d);
    if (d == primary || dimension.kind == Dimension::Kind::kNone) continue;
    if (d > 0 && !dimension.binding) continue;
    const auto limit = static_cast<double>(d == 0 ? subproblem_.cutoff() : dimension.limit);
    free.push_back({static_cast<size_t>(d), limit, unit / std::max(1.0, limit)});
    const double value = start.empty() ? 0 : start[free.back().dimension];
    x.push_back(std::min(value / free.back().unit, kMostMultiplier));
  }
  CuttingPlanes planes(free.size(), kMostMultiplier);
  Optimum optimum;
  std::vector<double> best_x = x, weights(dimensions_, 0), best_weights, slope(free.size());
  std::vector<double> to_end;
  double best = -kInfinite, best_offset = 0, step = kInnerStep;
  for (int i = 0; i < kMostEvaluations; ++i) {
    weights.assign(dimensions_, 0);
    weights[static_cast<size_t>(primary)] = 1;
    double offset = 0;
    for (size_t f = 0; f < free.size(); ++f) {
      weights[free[f].dimension] = x[f] * free[f].unit;
      offset += weights[free[f].dimension] * free[f].limit;
    }
    SetWeights(weights);
    Backward(&to_end);
    const double bound = to_end[0] - offset;
    if (bound > best) {
      best = bound;
      best_offset = offset;
      best_x = x;
      best_weights = weights;
    }
    if (to_end[0] > (static_cast<double>(cutoff) + offset) * (1 + kTolerance)) break;
    Walk(to_end);
    Fold fold;
    if (primary == 0 && CompleteWalk(weights, cutoff, &fold, &optimum.feasible_value)) {
      optimum.feasible = std::move(fold);
      cutoff = optimum.feasible_value - 1;
    }
    double constant = bound;
    for (size_t f = 0; f < free.size(); ++f) {
      slope[f] = (walk_sum_[free[f].dimension] - free[f].limit) * free[f].unit;
      constant -= slope[f] * x[f];
    }
    planes.Add(constant, slope);
    const CuttingPlanes::Maximum& maximum = planes.Maximise();
    const double gap = static_cast<double>(cutoff) + 1 - best;
    if (maximum.value - best <= kWorthwhile * gap + kTolerance * std::abs(best)) break;
    // A point between the best and the maximum of the planes is better than either for most cuts.
    for (size_t f = 0; f < free.size(); ++f) {
      x[f] = best_x[f] + step * (maximum.x[f] - best_x[f]);
    }
  }
  optimum.bound = MakeBound(best_weights, static_cast<double>(cutoff) + best_offset);
  optimum.bound.primary = primary;
  return optimum;
}

// The least weight of a path through a candidate is the least weight to its group, its own weight,
// and the least weight from its group to the end. If that exceeds the bound, no wanted fold
// contains it.
void Relaxation::Exclude(const LinearBound& bound, std::vector<std::vector<char>>* keep) {
  SetWeights(bound.weights);
  std::vector<double> from_start(graph_.states(), kInfinite);
  from_start[0] = 0;
  // Per group: the least sum of a path through it, without its own weight.
  std::vector<double> around(graph_.groups.size(), kInfinite);
  for (size_t s = 0; s < graph_.stages.size(); ++s) {
    const StateGraph::Stage& stage = graph_.stages[s];
    const double* from = from_start.data() + graph_.offset[s];
    double* to = from_start.data() + graph_.offset[s + 1];
    const double* rest = bound.to_end.data() + graph_.offset[s + 1];
    if (stage.step.kind != PlanStep::Kind::kChoose) {
      for (const StateArc& arc : stage.arcs) {
        to[arc.to] = std::min(to[arc.to], from[arc.from] + StepWeight(stage, arc));
      }
      continue;
    }
    for (const StateArc& arc : stage.arcs) {
      const auto group = static_cast<size_t>(arc.group);
      to[arc.to] = std::min(to[arc.to], from[arc.from] + group_weight_[group]);
      around[group] = std::min(around[group], from[arc.from] + rest[arc.to]);
    }
  }
  // The members of each group follow the order of the active candidates, but not their positions.
  std::vector<std::vector<char>> wanted(keep->size());
  for (size_t l = 0; l < keep->size(); ++l) {
    wanted[l].assign(subproblem_.model().problem().layers[l].candidates.size(), 0);
  }
  for (size_t g = 0; g < graph_.groups.size(); ++g) {
    const CandidateGroup& group = graph_.groups[g];
    for (int i = group.first; i < group.first + group.count; ++i) {
      const auto m = static_cast<size_t>(i);
      const auto c = static_cast<size_t>(graph_.members[m]);
      wanted[static_cast<size_t>(group.layer)][c] =
          around[g] + member_weight_[m] <= bound.most_kept;
    }
  }
  for (size_t l = 0; l < keep->size(); ++l) {
    for (size_t i = 0; i < (*keep)[l].size(); ++i) {
      const int c = subproblem_.active()[l][i];
      if (!wanted[l][static_cast<size_t>(c)]) (*keep)[l][i] = 0;
    }
  }
}

}  // namespace kiln::dataflow
