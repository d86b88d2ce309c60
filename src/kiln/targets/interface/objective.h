// What a compiler minimises when it chooses between schedules.
#ifndef KILN_TARGETS_INTERFACE_OBJECTIVE_H_
#define KILN_TARGETS_INTERFACE_OBJECTIVE_H_

#include <cstdint>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln {

enum class Objective : uint8_t {
  kCycles,   // time
  kEnergy,   // picojoules of the family's energy model (cost.h)
  kEdp,      // energy times cycles
  kTraffic,  // bytes of the outer memory
};
inline constexpr Objective kObjectives[] = {Objective::kCycles, Objective::kEnergy, Objective::kEdp,
                                            Objective::kTraffic};

// Returns the objective's name: "cycles", "energy", "edp" or "traffic".
std::string_view NameOf(Objective objective);
// Returns the objective of this name. Error: unknown objective.
StatusOr<Objective> FindObjective(std::string_view name);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_OBJECTIVE_H_
