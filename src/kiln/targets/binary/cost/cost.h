// The area of a design point by unit. Areas of logic come from the models of area_model.h, areas of
// memories from hardware/technology.h; events.h has the energy.
#ifndef KILN_TARGETS_BINARY_COST_COST_H_
#define KILN_TARGETS_BINARY_COST_COST_H_

#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/binary/config/config.h"
#include "kiln/targets/interface/cost.h"
#include "kiln/targets/interface/unit_areas.h"

namespace kiln::binary {

// The names of the units.
inline constexpr const char* kTableUnit = "tables";
inline constexpr const char* kColumnUnit = "columns";
inline constexpr const char* kRequantisationUnit = "requantisation";
inline constexpr const char* kRowUnit = "row memories";
inline constexpr const char* kWalkUnit = "walk and writer";
inline constexpr const char* kResultUnit = "results and queues";
inline constexpr const char* kDispatchUnit = "dispatch";
inline constexpr const char* kStreamUnit = "streams";
// Has energy, no area: what the beats of both streams come from and go to.
inline constexpr const char* kOuterMemoryUnit = "outer memory";

// Bits of a word: of the table of steps, and of the parameters of an output channel.
inline constexpr int kStepBits = 32, kParameterBits = 64;

// Returns the units of a machine: their modules and memories as kiln_binary instantiates them.
std::vector<UnitParts> UnitsOf(const Config& config);

// Returns the cost of a design point. Cost::multipliers counts products of a sign and a digit in a
// cycle; the machine has no multipliers but for requantisation. Error: no such node.
StatusOr<Cost> MachineCost(const Config& config, int node_nm);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_COST_COST_H_
