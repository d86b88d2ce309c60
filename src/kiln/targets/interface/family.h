// What a family hands to the registry: a function that reads a design point, and one that describes
// the keys of design points.
#ifndef KILN_TARGETS_INTERFACE_FAMILY_H_
#define KILN_TARGETS_INTERFACE_FAMILY_H_

#include <memory>
#include <string_view>

#include "kiln/hardware/area_model.h"
#include "kiln/hardware/key_table.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// Reads a design point from YAML text; `source` is the file's name for messages. A family that also
// reads another project's files recognises them by the ending of `source`.
using FamilyParser = StatusOr<std::unique_ptr<Accelerator>>(std::string_view yaml,
                                                            std::string_view source);

// Describes the family's keys for lists and documents.
using FamilyDescription = hardware::FamilyKeys();

// Returns the family's models of its modules' areas.
using FamilyAreas = hardware::AreaModels();

// What a family hands to the registry. Every family defines kiln::<family>::Entry of type
// FamilyEntry().
struct FamilyEntry {
  std::string_view name;  // the value of the key `family`
  FamilyParser* parse = nullptr;
  FamilyDescription* describe = nullptr;
  // The ending of files of another project that the parser reads, too, and that name no family; "":
  // none.
  std::string_view file_ending = "";
  // Null: the family has no models of areas. bench/NAME_area_points.py has the points that they are
  // fitted to, and technology/osu018/NAME_grid.csv the areas measured there (docs/cost.md).
  FamilyAreas* areas = nullptr;
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_FAMILY_H_
