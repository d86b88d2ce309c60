// Describes a machine as units of modules and memories, and computes its area. The families' cost
// models share it.
#ifndef KILN_TARGETS_INTERFACE_UNIT_AREAS_H_
#define KILN_TARGETS_INTERFACE_UNIT_AREAS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/hardware/area_model.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/cost.h"

namespace kiln {

// Equal instances of a module of rtl/ in a unit, as the family's top module instantiates them.
struct ModuleInstances {
  const char* module;
  hardware::ModuleParameters parameters;
  int64_t count = 1;
};
// Memories of one size, each with one read port and one write port. A memory with several read
// ports counts as one copy per read port.
struct MemoryInstances {
  int64_t count = 1;
  int64_t bits = 0;  // of one memory
};
// The modules and memories of a unit.
struct UnitParts {
  std::string unit;
  std::vector<ModuleInstances> modules;
  std::vector<MemoryInstances> memories;
};

// Returns the bits of all memories.
int64_t MemoryBitsOf(const std::vector<UnitParts>& units);

// Return a cost and an energy that contain only the node and the source of energies. Error: areas
// and energies cannot be scaled to this node.
StatusOr<Cost> CostAt(int node_nm);
StatusOr<Energy> EnergyAt(int node_nm);

// Adds the units' areas at cost->node_nm, the errors of their models and the source of areas to
// `cost`. The area of logic is computed by the family's models, the area of memories by
// hardware::MemoryArea. Cost::missing lists the modules without a fitted model. A note lists the
// models that were not checked on points outside their fit; area_error is the mean of the others,
// weighted by area.
void AddAreas(const std::vector<UnitParts>& units, const hardware::AreaModels& models, Cost* cost);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_UNIT_AREAS_H_
