// The area of a design point by unit. Areas of logic come from the models of area_model.h, areas of
// memories from hardware/technology.h; events.h has the energy.
#ifndef KILN_TARGETS_CGRA_COST_COST_H_
#define KILN_TARGETS_CGRA_COST_COST_H_

#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/interface/cost.h"
#include "kiln/targets/interface/unit_areas.h"

namespace kiln::cgra {

// The names of the units.
inline constexpr const char* kLaneUnit = "lanes";
inline constexpr const char* kOperandUnit = "operands";
inline constexpr const char* kDelayUnit = "delay lines";
inline constexpr const char* kLinkUnit = "links";
inline constexpr const char* kMemoryUnit = "tile memories";
inline constexpr const char* kControlUnit = "tile control";
inline constexpr const char* kDispatchUnit = "dispatch";
inline constexpr const char* kOutputUnit = "outputs";
inline constexpr const char* kStreamUnit = "streams";

// Returns the units of a machine: their modules and memories as kiln_cgra instantiates them. The
// design point must pass CheckStreamMachine.
std::vector<UnitParts> UnitsOf(const Config& config);

// Returns the cost of a design point. A design point whose machine is not built has no areas, and a
// note says why. Error: no such node.
StatusOr<Cost> MachineCost(const Config& config, int node_nm);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COST_COST_H_
