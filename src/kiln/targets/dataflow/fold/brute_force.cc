// Enumeration like an odometer, with each choice evaluated from scratch.
#include "kiln/targets/dataflow/fold/brute_force.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kiln::dataflow {
namespace {

// Advances the number with the given radices; returns false after the last one.
bool Next(std::vector<int>& digits, const std::vector<int>& radices) {
  for (size_t i = digits.size(); i > 0; --i) {
    if (++digits[i - 1] < radices[i - 1]) return true;
    digits[i - 1] = 0;
  }
  return false;
}

bool AllCouple(const FoldProblem& problem, const std::vector<int>& choice) {
  return std::all_of(problem.edges.begin(), problem.edges.end(), [&](const Edge& edge) {
    const auto from = static_cast<size_t>(edge.from), to = static_cast<size_t>(edge.to);
    return Couples(edge.coupling,
                   problem.layers[from].candidates[static_cast<size_t>(choice[from])].out_lanes,
                   problem.layers[to].candidates[static_cast<size_t>(choice[to])].in_lanes);
  });
}

// Visits each way to build the FIFOs of a fold.
void VisitFifos(const FoldProblem& problem, Fold fold,
                const std::function<void(const Fold&, const FoldMetrics&)>& visit) {
  const FoldMetrics bare = Evaluate(problem, fold);
  std::vector<size_t> edges;
  std::vector<int> radices;
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    if (bare.elements[e] == 0) continue;
    const auto to = static_cast<size_t>(problem.edges[e].to);
    const Candidate& consumer = problem.layers[to].candidates[static_cast<size_t>(fold.choice[to])];
    edges.push_back(e);
    radices.push_back(static_cast<int>(
        OptionsOf(*problem.edges[e].fifo, bare.elements[e], consumer.in_lanes).size()));
    if (radices.back() == 0) return;
  }
  std::vector<int> digits(edges.size(), 0);
  do {
    for (size_t i = 0; i < edges.size(); ++i) fold.fifo_option[edges[i]] = digits[i];
    const FoldMetrics metrics = Evaluate(problem, fold);
    if (Fits(metrics.resources, problem.limits)) visit(fold, metrics);
  } while (Next(digits, radices));
}

}  // namespace

StatusOr<int64_t> EnumerateFolds(
    const FoldProblem& problem,
    const std::function<void(const Fold& fold, const FoldMetrics& metrics)>& visit) {
  KILN_RETURN_IF_ERROR(CheckProblem(problem));
  std::vector<int> radices;
  int64_t count = 1;
  for (const Layer& layer : problem.layers) {
    radices.push_back(static_cast<int>(layer.candidates.size()));
    if (count <= kMaxEnumerated) count *= radices.back();
  }
  if (count > kMaxEnumerated) {
    return ErrorAt("", "",
                   fmt::format("10^{:.1f} folds are too many to enumerate", Log10Folds(problem)),
                   fmt::format("give at most {}", kMaxEnumerated));
  }
  const bool has_fifo = std::any_of(problem.edges.begin(), problem.edges.end(),
                                    [](const Edge& edge) { return edge.fifo.has_value(); });
  Fold fold;
  fold.choice.assign(problem.layers.size(), 0);
  if (has_fifo) fold.fifo_option.assign(problem.edges.size(), -1);
  do {
    if (AllCouple(problem, fold.choice)) VisitFifos(problem, fold, visit);
  } while (Next(fold.choice, radices));
  return count;
}

StatusOr<FoldResult> SolveByEnumeration(const FoldProblem& problem, const Objective& objective) {
  KILN_RETURN_IF_ERROR(CheckObjective(objective));
  FoldResult result;
  std::vector<int64_t> best;
  FoldCertificate& certificate = result.certificate;
  const auto visit = [&](const Fold& fold, const FoldMetrics& metrics) {
    if (metrics.l_max > objective.target_cycles) return;
    if (certificate.cycles_bound == 0 || metrics.l_max < certificate.cycles_bound) {
      certificate.cycles_bound = metrics.l_max;
    }
    std::vector<int64_t> scores = ScoresOf(objective, problem.limits, metrics);
    if (result.fold && scores >= best) return;
    best = std::move(scores);
    result.fold = fold;
    result.metrics = metrics;
  };
  KILN_ASSIGN_OR_RETURN(certificate.work, EnumerateFolds(problem, visit));
  certificate.optimal = true;
  certificate.log10_folds = Log10Folds(problem);
  const std::vector<Term> terms = TermsOf(objective, problem.limits);
  for (size_t t = 0; t < best.size(); ++t) {
    certificate.terms.push_back({terms[t].name, best[t], best[t]});
  }
  return result;
}

}  // namespace kiln::dataflow
