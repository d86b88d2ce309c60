// The area of a design point by unit, and the energy of its events and of programs. Areas come from
// the models of area_model.h and the memories of hardware/technology.h, energies from
// hardware/energy.h and the counts of events.h.
#ifndef KILN_TARGETS_VTA_COST_COST_H_
#define KILN_TARGETS_VTA_COST_COST_H_

#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/cost.h"
#include "kiln/targets/interface/unit_areas.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/cost/events.h"

namespace kiln::vta {

// Returns the units of the machine as kiln_vta instantiates it, with their modules and memories.
std::vector<UnitParts> UnitsOf(const Config& config);

// Returns areas by unit and the energies of single events at a CMOS node. Error: no such node.
StatusOr<Cost> CostOf(const Config& config, int node_nm);

// Returns the energy of counted events by unit. Error: no such node.
StatusOr<Energy> EnergyOf(const Events& events, const Config& config, int node_nm);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COST_COST_H_
