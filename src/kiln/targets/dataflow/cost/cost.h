// Cost of a compiled network in the device: multipliers, memories, LUTs by stage; on-chip bits.
#ifndef KILN_TARGETS_DATAFLOW_COST_COST_H_
#define KILN_TARGETS_DATAFLOW_COST_COST_H_

#include <span>

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/dataflow/isa/pipeline.h"
#include "kiln/targets/interface/cost.h"

namespace kiln::dataflow {

// Returns what the device has: its multipliers.
StatusOr<Cost> DeviceCost(const Config& config, int node_nm);
// Returns the cost of the pipelines of a program.
StatusOr<Cost> PipelineCost(std::span<const Pipeline* const> pipelines, const Config& config,
                            int node_nm);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COST_COST_H_
