// A set of done steps is the number of planes done per digit, from the highest plane down. It is
// valid if no digit is ahead of the next higher one.
#include "kiln/targets/binary/predict/step_order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kiln/support/check.h"

namespace kiln::binary {
namespace {

using Done = std::vector<int>;  // [digit]: planes that are done

struct State {
  std::vector<int64_t> upper;  // of each output: the greatest sum that is still possible
  double cost = 0;
  double orders = 0;        // ways to get here
  std::vector<Step> order;  // the cheapest way
};

// Returns the step that comes next in a digit.
Step NextOf(const StepSums& sums, const Done& done, int digit) {
  return {sums.planes() - 1 - done[static_cast<size_t>(digit)], digit};
}

bool CanStep(const StepSums& sums, const Done& done, int digit) {
  const auto d = static_cast<size_t>(digit);
  if (done[d] == sums.planes()) return false;
  return digit + 1 == sums.digits() || done[d] < done[d + 1];
}

std::vector<int64_t> UpperAtStart(const StepSums& sums, Bound bound) {
  std::vector<int64_t> upper;
  for (int64_t position = 0; position < sums.positions(); ++position) {
    for (int64_t output = 0; output < sums.outputs(); ++output) {
      int64_t most = sums.Start(position, output);
      for (int p = 0; p < sums.planes(); ++p) {
        for (int q = 0; q < sums.digits(); ++q) {
          most += sums.Highest({p, q}, position, output, bound);
        }
      }
      upper.push_back(most);
    }
  }
  return upper;
}

// Replaces the bound of a step by its sum.
void Take(const StepSums& sums, Bound bound, Step step, std::vector<int64_t>& upper) {
  size_t i = 0;
  for (int64_t position = 0; position < sums.positions(); ++position) {
    for (int64_t output = 0; output < sums.outputs(); ++output, ++i) {
      upper[i] += sums.Term(step, position, output) - sums.Highest(step, position, output, bound);
    }
  }
}

double UndecidedShare(const std::vector<int64_t>& upper) {
  const auto count = std::count_if(upper.begin(), upper.end(), [](int64_t u) { return u >= 0; });
  return static_cast<double>(count) / static_cast<double>(upper.size());
}

}  // namespace

StepOrder BestOrder(const StepSums& sums, Bound bound, std::span<const double> costs) {
  KILN_CHECK(std::ssize(costs) == sums.steps());
  StepOrder best;
  std::map<Done, State> level;
  level[Done(static_cast<size_t>(sums.digits()), 0)] = {UpperAtStart(sums, bound), 0, 1, {}};
  for (int done_steps = 0; done_steps < sums.steps(); ++done_steps) {
    std::map<Done, State> next;
    for (auto& [done, state] : level) {
      ++best.states;
      const double undecided = UndecidedShare(state.upper);
      for (int q = 0; q < sums.digits(); ++q) {
        if (!CanStep(sums, done, q)) continue;
        const Step step = NextOf(sums, done, q);
        const double cost =
            state.cost +
            undecided * costs[static_cast<size_t>(step.plane * sums.digits() + step.digit)];
        Done after = done;
        ++after[static_cast<size_t>(q)];
        const auto [found, is_new] = next.try_emplace(std::move(after));
        State& target = found->second;
        target.orders += state.orders;
        if (is_new) {
          target.upper = state.upper;
          Take(sums, bound, step, target.upper);
        } else if (cost >= target.cost) {
          continue;
        }
        target.cost = cost;
        target.order = state.order;
        target.order.push_back(step);
      }
    }
    level = std::move(next);
  }
  ++best.states;
  State& last = level.begin()->second;
  best.order = std::move(last.order);
  best.cost = last.cost;
  best.orders = last.orders;
  return best;
}

double CostOfOrder(const StepSums& sums, Bound bound, std::span<const double> costs,
                   std::span<const Step> order) {
  KILN_CHECK(IsValidOrder(sums, order) && std::ssize(costs) == sums.steps());
  std::vector<int64_t> upper = UpperAtStart(sums, bound);
  double cost = 0;
  for (Step step : order) {
    cost +=
        UndecidedShare(upper) * costs[static_cast<size_t>(step.plane * sums.digits() + step.digit)];
    Take(sums, bound, step, upper);
  }
  return cost;
}

}  // namespace kiln::binary
