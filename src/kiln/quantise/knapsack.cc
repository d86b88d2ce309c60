// Dynamic programming with dominance and with bounds from the linear relaxation; the relaxation's
// greedy solution is the first incumbent.
#include "kiln/quantise/knapsack.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "kiln/support/check.h"

namespace kiln {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A move within one group, from a choice to a cheaper one of more damage.
struct Step {
  size_t group;
  int to;
  double saves, damage;
};

// Returns the choice of least damage; among equals, the cheapest.
int Gentlest(const std::vector<Choice>& group) {
  int best = 0;
  for (int i = 1; i < static_cast<int>(group.size()); ++i) {
    const Choice &a = group[static_cast<size_t>(i)], &b = group[static_cast<size_t>(best)];
    if (a.damage < b.damage || (a.damage == b.damage && a.cost < b.cost)) best = i;
  }
  return best;
}

// Returns the moves along the lower convex hull of the choices, from the gentlest choice to the
// cheapest. Each move saves less cost per unit of damage than the move before it.
std::vector<Step> HullSteps(const std::vector<Choice>& group, size_t index) {
  std::vector<Step> steps;
  int at = Gentlest(group);
  while (true) {
    const Choice& from = group[static_cast<size_t>(at)];
    std::optional<Step> best;
    for (int i = 0; i < static_cast<int>(group.size()); ++i) {
      const Choice& to = group[static_cast<size_t>(i)];
      const Step step{index, i, from.cost - to.cost, to.damage - from.damage};
      if (step.saves <= 0) continue;
      const double gain = best ? step.saves * best->damage - best->saves * step.damage : 1;
      if (gain > 0 || (gain == 0 && step.saves > best->saves)) best = step;
    }
    if (!best) return steps;
    steps.push_back(*best);
    at = best->to;
  }
}

// The linear relaxation of groups `first` and up, in which fractions of choices may be combined.
class Relaxation {
 public:
  Relaxation(const std::vector<std::vector<Choice>>& groups, size_t first) {
    for (size_t g = first; g < groups.size(); ++g) {
      const Choice& gentlest = groups[g][static_cast<size_t>(Gentlest(groups[g]))];
      cost_ += gentlest.cost;
      damage_ += gentlest.damage;
      for (const Step& step : HullSteps(groups[g], g)) steps_.push_back(step);
    }
    // Within one group no two moves have the same ratio, so this order keeps each group's sequence.
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
      const double gain = a.saves * b.damage - b.saves * a.damage;
      return gain != 0 ? gain > 0 : a.group < b.group;
    });
  }

  double least_damage() const { return damage_; }
  const std::vector<Step>& steps() const { return steps_; }

  // Returns the least cost within the budget; infinity if even the gentlest choices exceed it.
  double LeastCost(double budget) const {
    if (damage_ > budget) return kInfinity;
    double left = budget - damage_, cost = cost_;
    for (const Step& step : steps_) {
      if (step.damage > left) return cost - step.saves * left / step.damage;
      left -= step.damage;
      cost -= step.saves;
    }
    return cost;
  }

 private:
  double cost_ = 0, damage_ = 0;  // of the gentlest choices
  std::vector<Step> steps_;       // best first
};

// Computes the totals of the picks.
void Sum(const std::vector<std::vector<Choice>>& groups, KnapsackResult* result) {
  result->cost = result->damage = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Choice& choice = groups[g][static_cast<size_t>(result->picks[g])];
    result->cost += choice.cost;
    result->damage += choice.damage;
  }
}

// Applies the moves of the relaxation, best first, skipping those that do not fit. A group from
// which one move was skipped takes no later move, because a move starts at the previous one's end.
KnapsackResult Greedy(const std::vector<std::vector<Choice>>& groups, const Relaxation& relaxation,
                      double budget) {
  KnapsackResult result;
  for (const std::vector<Choice>& group : groups) result.picks.push_back(Gentlest(group));
  double left = budget - relaxation.least_damage();
  std::vector<bool> stuck(groups.size(), false);
  for (const Step& step : relaxation.steps()) {
    if (stuck[step.group]) continue;
    if (step.damage > left) {
      stuck[step.group] = true;
      continue;
    }
    left -= step.damage;
    result.picks[step.group] = step.to;
  }
  Sum(groups, &result);
  return result;
}

// A partial assignment of the first groups: its totals, the state it extends in the level before,
// and the choice of the last group.
struct State {
  double cost, damage;
  int32_t parent;
  int32_t pick;
};

// Removes the states that another state beats or equals, and sorts the rest by ascending damage.
void KeepUnbeaten(std::vector<State>& states) {
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return a.damage != b.damage ? a.damage < b.damage : a.cost < b.cost;
  });
  double least = kInfinity;
  std::erase_if(states, [&](const State& state) {
    if (state.cost >= least) return true;
    least = state.cost;
    return false;
  });
}

}  // namespace

KnapsackResult SolveKnapsack(const std::vector<std::vector<Choice>>& groups, double budget,
                             int64_t max_states) {
  for (const auto& group : groups) KILN_CHECK(!group.empty());
  std::vector<Relaxation> behind;  // [g]: the relaxation of groups g and up
  for (size_t g = 0; g <= groups.size(); ++g) behind.emplace_back(groups, g);
  const double bound = behind[0].LeastCost(budget);
  if (bound == kInfinity) return {};
  KnapsackResult best = Greedy(groups, behind[0], budget);

  // Sums taken in another order differ in their last bits. An improvement smaller than this
  // tolerance does not count.
  const double tolerance = 1e-12 * (1 + best.cost);
  std::vector<std::vector<State>> levels = {{State{0, 0, -1, -1}}};
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<State> next;
    for (size_t s = 0; s < levels[g].size(); ++s) {
      for (size_t i = 0; i < groups[g].size(); ++i) {
        const State state{levels[g][s].cost + groups[g][i].cost,
                          levels[g][s].damage + groups[g][i].damage, static_cast<int32_t>(s),
                          static_cast<int32_t>(i)};
        if (state.cost + behind[g + 1].LeastCost(budget - state.damage) > best.cost + tolerance)
          continue;
        next.push_back(state);
      }
    }
    KeepUnbeaten(next);
    if (std::ssize(next) > max_states) {
      best.lower_bound = bound;
      return best;
    }
    levels.push_back(std::move(next));
  }
  // The remaining states of the last level are sorted by falling cost: the last is the cheapest.
  // Its choices are read back through the parents.
  if (!levels.back().empty()) {
    auto at = static_cast<int32_t>(levels.back().size() - 1);
    for (size_t g = groups.size(); g > 0; --g) {
      const State& state = levels[g][static_cast<size_t>(at)];
      best.picks[g - 1] = state.pick;
      at = state.parent;
    }
    Sum(groups, &best);
  }
  best.lower_bound = best.cost;
  return best;
}

}  // namespace kiln
