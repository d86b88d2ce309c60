// Folds a network: states the folding problem of its layers (fold/problem.h), solves it, and turns
// the result into folds of stages.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_FOLD_NETWORK_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_FOLD_NETWORK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/compile/assemble.h"
#include "kiln/targets/dataflow/compile/network.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/dataflow/fold/exact.h"
#include "kiln/targets/dataflow/fold/objective.h"
#include "kiln/targets/dataflow/fold/problem.h"

namespace kiln::dataflow {

// The problem of all layers of a network, and what its candidates mean.
struct NetworkProblem {
  FoldProblem problem;                        // layer i is layer i of the network
  std::vector<std::vector<LayerFold>> folds;  // by layer and candidate
};

// States the problem. With `period`, cycles per image, the fill of row buffers counts as latency at
// that pace, and joins need FIFOs. Errors: a layer without a fold; names it.
StatusOr<NetworkProblem> ProblemOf(const Lowered& network, const Config& config, int64_t period);

// Returns what a device has: DSP slices, RAMB18, URAM blocks, LUTs, memory ports.
Resources LimitsOf(const Config& config);

// Returns the memory ports of a design point.
WeightPort WeightPortOf(const Config& config);

// Returns the objective of a design point: its target, or the highest throughput.
Objective ObjectiveOf(const Config& config);

// A folding search: exact.h, or another of fold/.
using FoldSearch =
    std::function<StatusOr<FoldResult>(const FoldProblem& problem, const Objective& objective)>;

// The result of a search on a network.
struct SolvedNetwork {
  NetworkProblem problem;
  FoldResult result;  // without a fold if there is none, or none was found
};
// Searches twice: first without the queues in front of joins, whose sizes depend on the pace; then
// with them, at the pace that was found. Weights are streamed only where they do not fit on the
// chip, or where that makes the interval shorter. `reserved` is subtracted from the device's
// limits.
StatusOr<SolvedNetwork> SolveFold(const Lowered& network, const Config& config,
                                  const Objective& objective, const FoldSearch& search,
                                  const Resources& reserved = {});

// Returns the certificate in one line (Describe), with a note where weights are streamed: the
// cycles of their layers are upper bounds, so that the machine can be faster than the search
// assumes.
std::string ProofOf(const SolvedNetwork& solved);

// A network with its folds. Where it is cut (Config::devices, Config::passes), `result` has the
// measures of all parts together: `l_max` is the interval between images, and nothing is reserved.
struct FoldedNetwork : SolvedNetwork {
  std::vector<LayerFold> folds;  // by layer
  std::vector<int> parts;        // by layer: its device or pass; empty: the network is not cut
  int64_t interval = 0;          // cycles between images, with links, hand-overs and reloads
  std::string proof;             // in one line
};
// Finds the best folds, and the best cut with them. Errors: nothing fits: the layer and the limit
// that prevent it.
StatusOr<FoldedNetwork> FoldNetwork(const Lowered& network, const Config& config,
                                    const Resources& reserved = {});

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_FOLD_NETWORK_H_
