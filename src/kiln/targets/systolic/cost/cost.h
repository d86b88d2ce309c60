// The area of a design point by unit, and the energy of its events and of a program. Areas come
// from the models of area_model.h and the memories of hardware/technology.h; energies are those of
// hardware/energy.h times the counts of events.h.
#ifndef KILN_TARGETS_SYSTOLIC_COST_COST_H_
#define KILN_TARGETS_SYSTOLIC_COST_COST_H_

#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/cost.h"
#include "kiln/targets/interface/unit_areas.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/cost/area_model.h"
#include "kiln/targets/systolic/cost/events.h"

namespace kiln::systolic {

using Memories = MemoryInstances;
using hardware::ModuleParameters;

// Returns the units of the machine as kiln_systolic instantiates them.
std::vector<UnitParts> UnitsOf(const Config& config);

// Returns the cost of a design point at a CMOS node. Areas are absent if the array computes in
// quires, because no module with quires has been synthesised. Error: the node is unknown.
StatusOr<Cost> CostOf(const Config& config, int node_nm);

// Returns the energy of the events of one image by unit. Error: the node is unknown.
StatusOr<Energy> EnergyOf(const Events& events, const Config& config, int node_nm);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COST_COST_H_
