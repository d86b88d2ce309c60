// A machine as units of modules and memories, and the area that comes to: what the families' models
// of cost share.
#ifndef KILN_TARGETS_INTERFACE_UNIT_AREAS_H_
#define KILN_TARGETS_INTERFACE_UNIT_AREAS_H_

#include <cstdint>
#include <vector>

#include "kiln/hardware/area_model.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/cost.h"

namespace kiln {

// Modules of rtl/ that a unit consists of, as the family's top instantiates them.
struct ModuleInstances {
  const char* module;
  hardware::ModuleParameters parameters;
  int64_t count = 1;
};
// Memories of one size: a read port and a write port each. Read ports of a memory that are more
// than one are copies of it.
struct MemoryInstances {
  int64_t count = 1;
  int64_t bits = 0;  // of one
};
struct UnitParts {
  const char* unit;
  std::vector<ModuleInstances> modules;
  std::vector<MemoryInstances> memories;
};

// Bits of all memories.
int64_t MemoryBitsOf(const std::vector<UnitParts>& units);

// A cost, or an energy, with nothing in it yet but its node and the source of energies. Error:
// areas and energies cannot be scaled to this node.
StatusOr<Cost> CostAt(int node_nm);
StatusOr<Energy> EnergyAt(int node_nm);

// Adds the units' areas to `cost`, at its node, and their source to its own: logic by the family's
// models, memories by hardware::MemoryArea. Modules without a fitted model are named in
// Cost::missing, models without points kept out of their fit in a note. The error of the others on
// those points is weighed by area.
void AddAreas(const std::vector<UnitParts>& units, const hardware::AreaModels& models, Cost* cost);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_UNIT_AREAS_H_
