// A family's entry in the registry: its name and functions, such as the one that reads a design
// point.
#ifndef KILN_TARGETS_INTERFACE_FAMILY_H_
#define KILN_TARGETS_INTERFACE_FAMILY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

// A library that the program is linked with and that a family's compiler calls, for `kiln doctor`.
struct LinkedLibrary {
  std::string name, version;
  std::string_view known;    // the version with which Kiln is tested, or how it begins
  std::string_view package;  // of Debian 12
  std::string_view purpose;  // what the family needs it for
};
using FamilyLibraries = std::vector<LinkedLibrary>();

// An entry in the registry. Every family defines a function kiln::<family>::Entry() that returns
// one.
struct FamilyEntry {
  std::string_view name;  // the value of the key `family`
  FamilyParser* parse = nullptr;
  FamilyDescription* describe = nullptr;
  // The file ending of another project's design points, which have no key `family` and which the
  // parser reads as well. Empty: there are none.
  std::string_view file_ending = "";
  // Null: the family has no area models. bench/NAME_area_points.py lists the points that the models
  // are fitted to, and technology/osu018/NAME_grid.csv the areas measured at them (docs/cost.md).
  FamilyAreas* areas = nullptr;
  // Null: the family calls no library of its own.
  FamilyLibraries* libraries = nullptr;
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_FAMILY_H_
