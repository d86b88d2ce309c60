// Brute force, simulated annealing and the rule of the slowest layer.
#include "kiln/targets/dataflow/fold/samo.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/support/random.h"
#include "kiln/targets/dataflow/fold/heuristic.h"
#include "kiln/targets/dataflow/fold/model.h"

namespace kiln::dataflow {
namespace {

Status CheckSamo(const FoldProblem& problem, const Objective& objective,
                 const SamoOptions& options) {
  KILN_RETURN_IF_ERROR(CheckProblem(problem));
  KILN_RETURN_IF_ERROR(CheckObjective(objective));
  if (!(options.cooling > 0 && options.cooling < 1)) {
    return ErrorAt("", "cooling", fmt::format("is {}", options.cooling),
                   "use a number between 0 and 1");
  }
  if (!(options.coldest > 0)) {
    return ErrorAt("", "coldest", fmt::format("is {}", options.coldest), "use more than 0");
  }
  return OkStatus();
}

// The sum of the shares that a fold has of the limits.
double Utilisation(const FoldProblem& problem, const FoldMetrics& metrics) {
  double sum = 0;
  for (size_t k = 0; k < problem.limits.size(); ++k) {
    if (problem.limits[k] == kUnlimited || problem.limits[k] == 0) continue;
    sum += static_cast<double>(metrics.resources[k]) / static_cast<double>(problem.limits[k]);
  }
  return sum;
}

}  // namespace

StatusOr<FoldResult> SolveSamoBruteForce(const FoldProblem& problem, const Objective& objective,
                                         const SamoOptions& options) {
  KILN_RETURN_IF_ERROR(CheckSamo(problem, objective, options));
  const FoldModel model(problem);
  Heuristic heuristic(model, objective);
  std::vector<int> choice(problem.layers.size(), 0);
  FoldMetrics metrics;
  for (int64_t folds = 0; folds < options.most_folds; ++folds) {
    bool couples = true;
    for (int e = 0; e < model.edges() && couples; ++e) {
      const auto from = static_cast<size_t>(model.edge(e).from);
      const auto to = static_cast<size_t>(model.edge(e).to);
      couples = model.CandidatesCouple(e, choice[from], choice[to]);
    }
    if (couples) heuristic.Offer(choice, &metrics);
    size_t layer = choice.size();
    while (layer > 0) {
      const auto count = static_cast<int>(problem.layers[layer - 1].candidates.size());
      if (++choice[layer - 1] < count) break;
      choice[--layer] = 0;
    }
    if (layer == 0) break;
  }
  return heuristic.Result();
}

StatusOr<FoldResult> SolveSamoAnnealing(const FoldProblem& problem, const Objective& objective,
                                        const SamoOptions& options) {
  KILN_RETURN_IF_ERROR(CheckSamo(problem, objective, options));
  const FoldModel model(problem);
  Heuristic heuristic(model, objective);
  std::optional<std::vector<int>> choice = heuristic.SmallestChoice();
  FoldMetrics metrics;
  if (!choice || !heuristic.Offer(*choice, &metrics)) return heuristic.Result();
  Random random(options.seed);
  const Term term = TermsOf(objective, problem.limits)[0];
  double cost = static_cast<double>(ValueOf(term, metrics));
  for (double heat = options.hottest; heat > options.coldest; heat *= options.cooling) {
    std::vector<int> changed = *choice;
    bool couples = true;
    for (int i = 0; i < options.changes && couples; ++i) {
      const auto layer = static_cast<int>(random.Below(problem.layers.size()));
      const size_t count = problem.layers[static_cast<size_t>(layer)].candidates.size();
      couples = heuristic.Change(layer, static_cast<int>(random.Below(count)), &changed);
    }
    if (!couples || !heuristic.Offer(changed, &metrics)) continue;
    const auto next = static_cast<double>(ValueOf(term, metrics));
    const double worse = (next - cost) / std::max(cost, 1.0);
    if (worse > 0 && random.Uniform() >= std::exp(-worse / heat)) continue;
    choice = std::move(changed);
    cost = next;
  }
  return heuristic.Result();
}

StatusOr<FoldResult> SolveSamoRule(const FoldProblem& problem, const Objective& objective,
                                   const SamoOptions& options) {
  KILN_RETURN_IF_ERROR(CheckSamo(problem, objective, options));
  const FoldModel model(problem);
  Heuristic heuristic(model, objective);
  std::optional<std::vector<int>> choice = heuristic.SmallestChoice();
  FoldMetrics metrics;
  if (!choice || !heuristic.Offer(*choice, &metrics)) return heuristic.Result();
  const auto layers_at = [&](int64_t cycles, const std::vector<int>& folds) {
    int count = 0;
    for (int layer = 0; layer < model.layers(); ++layer) {
      count += model.candidate(layer, folds[static_cast<size_t>(layer)]).cycles == cycles;
    }
    return count;
  };
  while (objective.goal == Goal::kThroughput || metrics.l_max > objective.target_cycles) {
    // The slowest layer, the first of them.
    int slowest = 0;
    const auto cycles = [&](int layer, int candidate) {
      return model.candidate(layer, candidate).cycles;
    };
    const auto now = [&](int layer) {
      return cycles(layer, (*choice)[static_cast<size_t>(layer)]);
    };
    for (int layer = 1; layer < model.layers(); ++layer) {
      if (now(layer) > now(slowest)) slowest = layer;
    }
    std::vector<int> faster;
    const auto count =
        static_cast<int>(problem.layers[static_cast<size_t>(slowest)].candidates.size());
    for (int c = 0; c < count; ++c) {
      if (cycles(slowest, c) < now(slowest)) faster.push_back(c);
    }
    std::sort(faster.begin(), faster.end(), [&](int a, int b) {
      return std::pair(-cycles(slowest, a), a) < std::pair(-cycles(slowest, b), b);
    });
    std::optional<std::vector<int>> best;
    FoldMetrics best_metrics;
    std::vector<int64_t> tried;  // numbers of cycles that gave a valid fold
    for (const int c : faster) {
      const bool known = !tried.empty() && tried.back() == cycles(slowest, c);
      if (tried.size() == 2 && !known) break;
      std::vector<int> changed = *choice;
      FoldMetrics after;
      if (!heuristic.Change(slowest, c, &changed) || !heuristic.Offer(changed, &after)) continue;
      // Neighbours that follow may become slower, which must not undo the step.
      if (std::pair(after.l_max, layers_at(after.l_max, changed)) >=
          std::pair(metrics.l_max, layers_at(metrics.l_max, *choice))) {
        continue;
      }
      if (!known) tried.push_back(cycles(slowest, c));
      if (best && Utilisation(problem, after) >= Utilisation(problem, best_metrics)) continue;
      best = std::move(changed);
      best_metrics = std::move(after);
    }
    if (!best) break;
    choice = std::move(best);
    metrics = std::move(best_metrics);
  }
  return heuristic.Result();
}

}  // namespace kiln::dataflow
