// Area of a design point by unit, and energy of its events and of a program: the models of area_model.h with memories
// as hardware/technology.h has them, and the energies of hardware/energy.h times the counts of events.h.
#ifndef KILN_TARGETS_SYSTOLIC_COST_H_
#define KILN_TARGETS_SYSTOLIC_COST_H_

#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/cost.h"
#include "kiln/targets/interface/unit_areas.h"
#include "kiln/targets/systolic/area_model.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/events.h"

namespace kiln::systolic {

using Memories = MemoryInstances;
using hardware::ModuleParameters;

// The machine as kiln_systolic instantiates it.
std::vector<UnitParts> UnitsOf(const Config& config);

// Areas are absent where the array computes in quires, which no synthesised module does. Error: no such node.
StatusOr<Cost> CostOf(const Config& config, int node_nm);

// Events of one image by unit with what each costs. Error: no such node.
StatusOr<Energy> EnergyOf(const Events& events, const Config& config, int node_nm);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COST_H_
