// The names of objectives.
#include "kiln/targets/interface/objective.h"

#include <string>

namespace kiln {

std::string_view NameOf(Objective objective) {
  switch (objective) {
    case Objective::kCycles:
      return "cycles";
    case Objective::kEnergy:
      return "energy";
    case Objective::kEdp:
      return "edp";
    case Objective::kTraffic:
      return "traffic";
  }
  return "?";
}

StatusOr<Objective> FindObjective(std::string_view name) {
  for (const Objective objective : kObjectives) {
    if (NameOf(objective) == name) return objective;
  }
  return ErrorAt("", "", "unknown objective '" + std::string(name) + "'",
                 "one of: cycles, energy, edp, traffic");
}

}  // namespace kiln
