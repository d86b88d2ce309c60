// Fuzz target: makes a small folding problem with an objective from any bytes. The exact search
// must agree with the enumeration of all folds whether there is a valid one, and on the scores of
// the best; its fold must violate nothing, and its bounds must not lie above the best values.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/bytes.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/fold/brute_force.h"
#include "kiln/targets/dataflow/fold/exact.h"

namespace {

using namespace kiln::dataflow;  // NOLINT: a program of one file
using kiln::Bytes;

Candidate TakeCandidate(Bytes& bytes) {
  Candidate candidate;
  candidate.in_lanes = 1 << bytes.Below(3);
  candidate.out_lanes = 1 << bytes.Below(3);
  if (bytes.Below(8) == 0) candidate.in_lanes = 3;
  candidate.cycles = bytes.Between(1, 40);
  candidate.latency = bytes.Between(0, 15);
  for (int64_t& amount : candidate.resources) amount = bytes.Between(0, 12);
  candidate.tag = static_cast<int>(bytes.Below(3));
  return candidate;
}

// A queue in LUTs up to some depth, in block RAM, and perhaps in ultra RAM. More elements never
// need less.
Fifo TakeFifo(Bytes& bytes) {
  Fifo fifo;
  fifo.elements_per_frame = bytes.Between(0, 64);
  fifo.burst = bytes.Between(0, 8);
  const int64_t lut_per_word = bytes.Between(0, 3), deepest = bytes.Between(0, 255),
                words_of_bram = bytes.Between(1, 16);
  const bool uram = bytes.Below(2) == 0;
  fifo.cost = [=](int64_t elements, int lanes) {
    const int64_t words = kiln::CeilDivide(elements, lanes);
    std::vector<FifoOption> options;
    if (words <= deepest) options.push_back({{0, 0, 0, words * lanes * lut_per_word}, 0});
    if (words <= 4 * deepest) options.push_back({{0, words / words_of_bram + 1, 0, 2}, 1});
    if (uram) options.push_back({{0, 0, words / (8 * words_of_bram) + 1, 1}, 2});
    return options;
  };
  return fifo;
}

FoldProblem TakeProblem(Bytes& bytes) {
  FoldProblem problem;
  const int64_t layers = bytes.Between(1, 5);
  for (int64_t l = 0; l < layers; ++l) {
    Layer& layer = problem.layers.emplace_back();
    layer.name = "layer" + std::to_string(l);
    const int64_t candidates = bytes.Between(1, 4);
    for (int64_t c = 0; c < candidates; ++c) layer.candidates.push_back(TakeCandidate(bytes));
  }
  int fifos = 0;
  for (int64_t count = bytes.Between(0, 8); count > 0 && layers > 1; --count) {
    Edge& edge = problem.edges.emplace_back();
    edge.from = static_cast<int>(bytes.Between(0, layers - 2));
    edge.to = static_cast<int>(bytes.Between(edge.from + 1, layers - 1));
    edge.coupling = static_cast<Coupling>(bytes.Below(4));
    edge.bits = bytes.Between(0, 100);
    if (bytes.Below(2) == 0 && ++fifos <= 3) edge.fifo = TakeFifo(bytes);
  }
  for (int64_t& limit : problem.limits) {
    if (bytes.Below(2) == 0) limit = bytes.Between(0, 60);
  }
  return problem;
}

Objective TakeObjective(Bytes& bytes) {
  Objective objective;
  objective.goal = static_cast<Goal>(bytes.Below(3));
  objective.order = static_cast<ResourceOrder>(bytes.Below(4));
  if (bytes.Below(3) == 0) objective.target_cycles = bytes.Between(1, 42);
  return objective;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  const Objective objective = TakeObjective(bytes);
  const FoldProblem problem = TakeProblem(bytes);
  const auto expected = SolveByEnumeration(problem, objective);
  const auto found = SolveExact(problem, objective);
  KILN_CHECK(expected.ok() && found.ok());
  KILN_CHECK(found->certificate.optimal);
  KILN_CHECK(found->fold.has_value() == expected->fold.has_value());
  KILN_CHECK(found->fold.has_value() == found->infeasible.empty());
  KILN_CHECK(!Describe(problem, found->certificate).empty());
  if (!found->fold.has_value()) return 0;
  KILN_CHECK(Violations(problem, *found->fold).empty());
  const std::vector<int64_t> scores = ScoresOf(objective, problem.limits, found->metrics);
  KILN_CHECK(scores == ScoresOf(objective, problem.limits, expected->metrics));
  KILN_CHECK(scores == ScoresOf(objective, problem.limits, Evaluate(problem, *found->fold)));
  KILN_CHECK(found->certificate.cycles_bound <= expected->certificate.cycles_bound);
  for (const TermBound& term : found->certificate.terms) KILN_CHECK(term.value == term.bound);
  return 0;
}
