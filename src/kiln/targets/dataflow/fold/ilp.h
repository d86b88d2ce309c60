// The folding search as a sequence of integer programs, solved by CBC.
//
// At a fixed period T each candidate within T is a 0-1 variable x. The rows are
//   one fold per layer          sum x = 1
//   each limit                  sum of amounts of folds and FIFOs <= limit
//   each edge, each b of the    sum of x with this b  <=  sum of x of the consumer that couple
//   producer (and each a of the consumer, the other way round)
// which describe couplings more tightly than one row for each pair of folds. The period itself is
// searched over the finite set of the candidates' cycles and never enters a program as a variable.
// The terms of the objective follow one after the other, each with the values of the earlier ones
// as limits.
//
// With FIFOs or latencies, start times s are variables with s(v) >= s(u) + D(u). Where FIFOs count,
// one input of each join is marked to be the last, so that a layer cannot start later than its
// inputs allow. A FIFO has a 0-1 variable for each number of lanes, interval of capacities in which
// its options do not change, and option; its capacity bounds the slack. The least and the greatest
// latency of each layer bound the times, and the slack of each edge from below and above: without
// that, the linear relaxation waits for nothing and builds fractions of the largest FIFOs.
//
// An independent check of exact.h, and a yardstick: CBC is much slower on these problems.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_ILP_H_
#define KILN_TARGETS_DATAFLOW_FOLD_ILP_H_

#include <cstdint>

#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

struct IlpOptions {
  int64_t most_nodes = 1000000;  // of the branch and bound of one program
};

// Finds the best fold. CBC computes in binary64 with tolerances of about 10^-7, so that values
// beyond 10^6 that differ by less can count as equal. Results are deterministic.
// Errors: CheckProblem's and CheckObjective's; a FIFO with more than 4096 intervals of capacities.
StatusOr<FoldResult> SolveIlp(const FoldProblem& problem, const Objective& objective,
                              const IlpOptions& options = {});

// Returns the version of CBC that the program is linked with: "2.10.8".
std::string CbcVersion();

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_ILP_H_
