// Orders of decision: depth-first by number of states, with and without guesses.
#include "kiln/targets/dataflow/fold/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kiln::dataflow {
namespace {

// When the input lanes of a join are guessed: joins with at least `inputs` inputs, before the
// choice of the producer number `before` (0: the first) in the order of the plan.
struct GuessRule {
  size_t inputs = 0;  // 0: no guesses
  size_t before = 0;
};
constexpr GuessRule kGuessRules[] = {{0, 0}, {3, 0}, {3, 1}, {2, 1}};

// Follows which lanes are open while layers are decided.
class Frontier {
 public:
  explicit Frontier(const FoldModel& model)
      : model_(model),
        unchecked_(static_cast<size_t>(model.layers()), 0),
        known_(static_cast<size_t>(model.layers()), 0),
        chosen_(static_cast<size_t>(model.layers()), 0) {}

  const std::vector<int>& open() const { return open_; }

  void Guess(int layer) { FixInput(layer); }

  void Enter(int layer) {
    if (!known_[static_cast<size_t>(layer)]) FixInput(layer);
  }

  void Choose(int layer) {
    std::erase(open_, InputLane(layer));
    chosen_[static_cast<size_t>(layer)] = 1;
    int unchecked = 0;
    for (const int e : model_.layer(layer).out_edges) {
      if (!known_[static_cast<size_t>(model_.edge(e).to)]) ++unchecked;
    }
    unchecked_[static_cast<size_t>(layer)] = unchecked;
    if (unchecked > 0) open_.push_back(OutputLane(layer));
  }

  // Returns the logarithm of the number of combinations of open lanes.
  double LogStates() const {
    double states = 0;
    for (const int lane : open_) {
      const LayerModel& layer = model_.layer(lane / 2);
      states += LogSize(lane % 2 == 0 ? layer.in_values : layer.out_values);
    }
    return states;
  }

  // Returns the change of LogStates if the layer, whose producers are chosen, is decided.
  double LogChange(int layer) const {
    double change = 0;
    const std::vector<int>& inputs = model_.layer(layer).in_edges;
    if (known_[static_cast<size_t>(layer)]) {
      change -= LogSize(model_.layer(layer).in_values);
    } else {
      for (const int e : inputs) {
        const int from = model_.edge(e).from;
        const auto same = std::count_if(inputs.begin(), inputs.end(),
                                        [&](int other) { return model_.edge(other).from == from; });
        // Each of the parallel edges contributes its part if all of them close the lane.
        if (unchecked_[static_cast<size_t>(from)] == same) {
          change -= LogSize(model_.layer(from).out_values) / static_cast<double>(same);
        }
      }
    }
    const std::vector<int>& outputs = model_.layer(layer).out_edges;
    const bool opens = std::any_of(outputs.begin(), outputs.end(), [&](int e) {
      return !known_[static_cast<size_t>(model_.edge(e).to)];
    });
    return opens ? change + LogSize(model_.layer(layer).out_values) : change;
  }

 private:
  // The couplings with all chosen producers are checked now.
  void FixInput(int layer) {
    known_[static_cast<size_t>(layer)] = 1;
    open_.push_back(InputLane(layer));
    for (const int e : model_.layer(layer).in_edges) {
      const int from = model_.edge(e).from;
      if (chosen_[static_cast<size_t>(from)] && --unchecked_[static_cast<size_t>(from)] == 0) {
        std::erase(open_, OutputLane(from));
      }
    }
  }

  static double LogSize(const std::vector<int>& values) {
    return std::log(static_cast<double>(values.size()));
  }

  const FoldModel& model_;
  std::vector<int> open_;
  std::vector<int> unchecked_;  // per chosen layer: consumers whose input lanes are not fixed
  std::vector<char> known_;     // per layer: its input lanes are fixed
  std::vector<char> chosen_;
};

// Returns the layers in an order that keeps few lanes open: of the layers whose producers are
// decided, the one that leaves the fewest states; among equals, the one whose producer was decided
// last, so that a branch is finished before the next is begun.
std::vector<int> NarrowOrder(const FoldModel& model) {
  const auto count = static_cast<size_t>(model.layers());
  std::vector<size_t> missing(count, 0), decided_at(count, 0);
  for (size_t l = 0; l < count; ++l) {
    missing[l] = model.layer(static_cast<int>(l)).in_edges.size();
  }
  std::vector<int> ready, order;
  for (size_t l = 0; l < count; ++l) {
    if (missing[l] == 0) ready.push_back(static_cast<int>(l));
  }
  Frontier frontier(model);
  while (!ready.empty()) {
    auto best = ready.end();
    double best_change = std::numeric_limits<double>::infinity();
    size_t best_time = 0;
    for (auto it = ready.begin(); it != ready.end(); ++it) {
      size_t time = 0;
      for (const int e : model.layer(*it).in_edges) {
        time = std::max(time, decided_at[static_cast<size_t>(model.edge(e).from)]);
      }
      const double change = frontier.LogChange(*it);
      if (change < best_change - 1e-9 || (change < best_change + 1e-9 && time > best_time)) {
        best = it;
        best_change = change;
        best_time = time;
      }
    }
    const int layer = *best;
    ready.erase(best);
    frontier.Enter(layer);
    frontier.Choose(layer);
    order.push_back(layer);
    decided_at[static_cast<size_t>(layer)] = order.size();
    for (const int e : model.layer(layer).out_edges) {
      const int to = model.edge(e).to;
      if (--missing[static_cast<size_t>(to)] == 0) ready.push_back(to);
    }
    std::sort(ready.begin(), ready.end());
  }
  return order;
}

Plan PlanOf(const FoldModel& model, const std::vector<int>& order, GuessRule rule) {
  std::vector<size_t> producers(static_cast<size_t>(model.layers()), 0);
  Plan plan;
  Frontier frontier(model);
  const auto add = [&](PlanStep::Kind kind, int layer) {
    plan.open.push_back(frontier.open());
    plan.steps.push_back({kind, layer});
    const double before = frontier.LogStates();
    double choices = 1;
    if (kind == PlanStep::Kind::kGuess) {
      frontier.Guess(layer);
      choices = static_cast<double>(model.layer(layer).in_values.size());
    } else if (kind == PlanStep::Kind::kEnter) {
      frontier.Enter(layer);
      choices = std::max(1.0, std::exp(frontier.LogStates() - before));
    } else {
      choices = static_cast<double>(model.layer(layer).out_values.size());
      frontier.Choose(layer);
    }
    plan.work += std::exp(before) * choices;
  };
  for (const int layer : order) {
    for (const int e : model.layer(layer).out_edges) {
      const int to = model.edge(e).to;
      if (rule.inputs > 0 && model.layer(to).in_edges.size() >= rule.inputs &&
          producers[static_cast<size_t>(to)]++ == rule.before) {
        add(PlanStep::Kind::kGuess, to);
      }
    }
    add(PlanStep::Kind::kEnter, layer);
    add(PlanStep::Kind::kChoose, layer);
  }
  plan.open.push_back(frontier.open());
  return plan;
}

}  // namespace

Plan MakePlan(const FoldModel& model) {
  Plan best;
  best.work = std::numeric_limits<double>::infinity();
  for (const std::vector<int>& order : {model.order(), NarrowOrder(model)}) {
    for (const GuessRule& rule : kGuessRules) {
      Plan plan = PlanOf(model, order, rule);
      if (plan.work < best.work) best = std::move(plan);
    }
  }
  return best;
}

Plan MakePlanInOrder(const FoldModel& model, const std::vector<int>& order) {
  return PlanOf(model, order, kGuessRules[0]);
}

}  // namespace kiln::dataflow
