// Area of a design point by unit, and energy of its events and of a program: the models of area_model.h with memories
// as hardware/technology.h has them, and the energies of hardware/energy.h times the counts of events.h.
#ifndef KILN_TARGETS_VTA_COST_H_
#define KILN_TARGETS_VTA_COST_H_

#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/cost.h"
#include "kiln/targets/interface/unit_areas.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/events.h"

namespace kiln::vta {

// The machine as kiln_vta instantiates it.
std::vector<UnitParts> UnitsOf(const Config& config);

// Error: no such node.
StatusOr<Cost> CostOf(const Config& config, int node_nm);

// Events by unit with what each costs. Error: no such node.
StatusOr<Energy> EnergyOf(const Events& events, const Config& config, int node_nm);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COST_H_
