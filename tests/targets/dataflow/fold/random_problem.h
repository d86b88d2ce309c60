// Random folding problems that are small enough to enumerate, and random objectives.
#ifndef KILN_TESTS_TARGETS_DATAFLOW_FOLD_RANDOM_PROBLEM_H_
#define KILN_TESTS_TARGETS_DATAFLOW_FOLD_RANDOM_PROBLEM_H_

#include <cstdint>

#include "kiln/support/random.h"
#include "kiln/targets/dataflow/fold/objective.h"
#include "kiln/targets/dataflow/fold/problem.h"

namespace kiln::dataflow {

enum class Shape {
  kChain,
  kResidual,  // blocks with a skip connection, some with a layer on it
  kGeneral,   // any directed acyclic graph, also with several inputs and outputs
};

struct RandomOptions {
  Shape shape = Shape::kChain;
  int layers = 4;            // about
  int64_t max_folds = 3000;  // choices of candidates
  bool fifos = false;        // on inputs of joins, and now and then elsewhere
};

// Makes a problem; equal arguments give equal problems. Couplings, candidates, kinds of memory and
// limits vary; some problems have no valid fold.
FoldProblem RandomProblem(uint64_t seed, const RandomOptions& options);

// Makes an objective; a third has a target, drawn from the cycles of the candidates.
Objective RandomObjective(Random& random, const FoldProblem& problem);

}  // namespace kiln::dataflow

#endif  // KILN_TESTS_TARGETS_DATAFLOW_FOLD_RANDOM_PROBLEM_H_
