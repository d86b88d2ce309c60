// FINN's folding heuristic, as a baseline.
//
// For a target, each layer is unfolded by itself: first its input lanes grow until the target is
// met or they are at their most, then its output lanes. If some layer misses the target, all layers
// are folded once more for the cycles of the slowest, so that the pipeline is level. FINN puts
// width converters between layers that do not fit; here a layer is restricted to lanes that couple
// with its producers. For the highest throughput the target is lowered, from the slowest layer's
// cycles to the next smaller, until the folds no longer fit the device.
//
// Source: the public description of the transformation SetFolding of FINN (AMD Research Labs,
// formerly Xilinx): SIMD before PE, two-pass relaxation.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_FINN_RULE_H_
#define KILN_TARGETS_DATAFLOW_FOLD_FINN_RULE_H_

#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

// Finds a fold by the heuristic; without a fold in the result it found none, which proves nothing.
// Errors: CheckProblem's and CheckObjective's.
StatusOr<FoldResult> SolveFinnRule(const FoldProblem& problem, const Objective& objective);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_FINN_RULE_H_
