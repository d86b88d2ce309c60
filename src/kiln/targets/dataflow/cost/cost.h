// Cost of a compiled network: multipliers, on-chip bits, what it takes of the device, and the area
// of its hardware in standard cells by unit. Areas come from the models of area_model.h and the
// memories of hardware/technology.h; events.h has the energy.
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
// Returns the cost of the pipelines of a program. Error: no such node.
StatusOr<Cost> PipelineCost(std::span<const Pipeline* const> pipelines, const Config& config,
                            int node_nm);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COST_COST_H_
