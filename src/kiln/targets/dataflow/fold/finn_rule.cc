// One fold for a target, and targets that fall until nothing fits.
#include "kiln/targets/dataflow/fold/finn_rule.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

#include "kiln/targets/dataflow/fold/heuristic.h"
#include "kiln/targets/dataflow/fold/model.h"

namespace kiln::dataflow {
namespace {

class FinnRule {
 public:
  FinnRule(const FoldModel& model, const Objective& objective)
      : model_(model), heuristic_(model, objective) {}

  FoldResult Run(int64_t target, bool as_fast_as_possible) {
    std::optional<std::vector<int>> choice = FoldTwice(target);
    FoldMetrics metrics;
    while (choice && heuristic_.Offer(*choice, &metrics) && as_fast_as_possible) {
      const std::vector<int64_t>& periods = model_.periods();
      const auto next = std::lower_bound(periods.begin(), periods.end(), metrics.l_max);
      if (next == periods.begin()) break;
      const int64_t before = metrics.l_max;
      choice = FoldTwice(*std::prev(next));
      if (choice && Slowest(*choice) >= before) break;
    }
    return heuristic_.Result();
  }

 private:
  int64_t Slowest(const std::vector<int>& choice) const {
    int64_t most = 0;
    for (int layer = 0; layer < model_.layers(); ++layer) {
      most = std::max(most, model_.candidate(layer, choice[static_cast<size_t>(layer)]).cycles);
    }
    return most;
  }

  // Folds for a target; if that is missed, for what was reached.
  std::optional<std::vector<int>> FoldTwice(int64_t target) const {
    std::optional<std::vector<int>> choice = FoldFor(target);
    if (!choice || Slowest(*choice) <= target) return choice;
    std::optional<std::vector<int>> level = FoldFor(Slowest(*choice));
    return level ? level : choice;
  }

  std::optional<std::vector<int>> FoldFor(int64_t target) const {
    std::vector<int> choice(static_cast<size_t>(model_.layers()), -1);
    for (const int layer : model_.order()) {
      std::vector<int> possible;
      const LayerModel& lanes = model_.layer(layer);
      const auto count = static_cast<int>(lanes.in_index.size());
      for (int c = 0; c < count; ++c) {
        const bool couples = std::all_of(lanes.in_edges.begin(), lanes.in_edges.end(), [&](int e) {
          const auto from = static_cast<size_t>(model_.edge(e).from);
          return model_.CandidatesCouple(e, choice[from], c);
        });
        if (couples) possible.push_back(c);
      }
      if (possible.empty()) return std::nullopt;
      choice[static_cast<size_t>(layer)] = Unfold(layer, possible, target);
    }
    return choice;
  }

  // Takes the first candidate that meets the target: with the fewest output lanes, by input lanes;
  // then with the most input lanes, by output lanes; smallest first. Without one, the fastest.
  int Unfold(int layer, std::vector<int> possible, int64_t target) const {
    int fewest_out = model_.candidate(layer, possible[0]).out_lanes;
    for (const int c : possible) {
      fewest_out = std::min(fewest_out, model_.candidate(layer, c).out_lanes);
    }
    const auto rank = [&](int c) {
      const Candidate& candidate = model_.candidate(layer, c);
      const bool first_phase = candidate.out_lanes == fewest_out;
      return std::tuple(!first_phase, first_phase ? candidate.in_lanes : -candidate.in_lanes,
                        candidate.out_lanes, heuristic_.SizeOf(layer, c), c);
    };
    std::sort(possible.begin(), possible.end(), [&](int a, int b) { return rank(a) < rank(b); });
    for (const int c : possible) {
      if (model_.candidate(layer, c).cycles <= target) return c;
    }
    return *std::min_element(possible.begin(), possible.end(), [&](int a, int b) {
      return model_.candidate(layer, a).cycles < model_.candidate(layer, b).cycles;
    });
  }

  const FoldModel& model_;
  Heuristic heuristic_;
};

}  // namespace

StatusOr<FoldResult> SolveFinnRule(const FoldProblem& problem, const Objective& objective) {
  KILN_RETURN_IF_ERROR(CheckProblem(problem));
  KILN_RETURN_IF_ERROR(CheckObjective(objective));
  const FoldModel model(problem);
  const int64_t target = std::min(objective.target_cycles, model.periods().back());
  return FinnRule(model, objective).Run(target, objective.goal == Goal::kThroughput);
}

}  // namespace kiln::dataflow
