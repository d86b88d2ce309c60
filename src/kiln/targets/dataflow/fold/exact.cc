// The exact search: the period search over the dynamic programming.
#include "kiln/targets/dataflow/fold/exact.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "kiln/targets/dataflow/fold/exact_oracle.h"
#include "kiln/targets/dataflow/fold/explain.h"
#include "kiln/targets/dataflow/fold/finn_rule.h"
#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/period_search.h"
#include "kiln/targets/dataflow/fold/samo.h"

namespace kiln::dataflow {
namespace {

// Adds why no fold is faster than the one found, or why there is none.
void Explain(const FoldModel& model, const Objective& objective, ExactOracle& oracle,
             FoldResult* result) {
  FoldCertificate& certificate = result->certificate;
  const std::vector<int64_t>& periods = model.periods();
  if (!result->fold) {
    if (!certificate.optimal) return;
    const bool named = objective.target_cycles < periods.back();
    const Obstacle obstacle =
        FindObstacle(model, oracle, named ? objective.target_cycles : periods.back(), named);
    result->infeasible = obstacle.text;
    certificate.source = obstacle.source;
    certificate.layer = obstacle.layer;
    certificate.resource = obstacle.resource;
    certificate.needs = obstacle.needs;
    certificate.limit = obstacle.limit;
    return;
  }
  const auto next = std::lower_bound(periods.begin(), periods.end(), certificate.cycles_bound);
  if (next == periods.begin()) return;
  certificate.next_cycles = *std::prev(next);
  if (certificate.source != BoundSource::kNone) return;
  const Obstacle obstacle = FindObstacle(model, oracle, certificate.next_cycles, true);
  certificate.source = obstacle.source;
  certificate.layer = obstacle.layer;
  certificate.resource = obstacle.resource;
  certificate.needs = obstacle.needs;
  certificate.limit = obstacle.limit;
}

// Replaces a result without a fold by the best fold of the heuristics, which proves nothing.
Status FallBack(const FoldProblem& problem, const Objective& objective, FoldResult* result) {
  std::vector<int64_t> best;
  for (const auto solve :
       {+[](const FoldProblem& p, const Objective& o) { return SolveFinnRule(p, o); },
        +[](const FoldProblem& p, const Objective& o) { return SolveSamoRule(p, o); }}) {
    KILN_ASSIGN_OR_RETURN(FoldResult found, solve(problem, objective));
    if (!found.fold) continue;
    std::vector<int64_t> scores = ScoresOf(objective, problem.limits, found.metrics);
    if (result->fold && scores >= best) continue;
    best = std::move(scores);
    found.certificate.source = BoundSource::kExhausted;
    found.certificate.work += result->certificate.work;
    *result = std::move(found);
  }
  return OkStatus();
}

}  // namespace

StatusOr<FoldResult> SolveExact(const FoldProblem& problem, const Objective& objective,
                                const ExactOptions& options) {
  KILN_RETURN_IF_ERROR(CheckProblem(problem));
  KILN_RETURN_IF_ERROR(CheckObjective(objective));
  const FoldModel model(problem);
  ExactOracle oracle(model, options.most_work);
  FoldResult result = SearchPeriods(model, objective, oracle);
  if (!result.fold && !result.certificate.optimal) {
    KILN_RETURN_IF_ERROR(FallBack(problem, objective, &result));
  }
  if (options.explain) Explain(model, objective, oracle, &result);
  return result;
}

}  // namespace kiln::dataflow
