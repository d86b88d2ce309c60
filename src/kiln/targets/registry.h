// From a design point's YAML file to an Accelerator of the family that it names.
#ifndef KILN_TARGETS_REGISTRY_H_
#define KILN_TARGETS_REGISTRY_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/hardware/key_table.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/family.h"

namespace kiln {

// Reads `path`: its key `family` chooses the family, which checks all the other keys. A file whose
// ending a family claims (FamilyEntry) is read by that family. Errors name file, key, fault,
// remedy.
StatusOr<std::unique_ptr<Accelerator>> LoadAccelerator(const std::filesystem::path& path);
// The same from YAML text; `source` stands for the file name in messages.
StatusOr<std::unique_ptr<Accelerator>> ParseAccelerator(std::string_view yaml,
                                                        std::string_view source);

// Names of the families built in, in the build's order.
std::vector<std::string> FamilyNames();

// Describes the keys of a family's design points. Error: no such family.
StatusOr<hardware::FamilyKeys> DescribeKeys(std::string_view family);

// Returns a family's models of areas. Errors: no such family, or it has no models.
StatusOr<hardware::AreaModels> FindAreaModels(std::string_view family);

// Returns the libraries that the families of the build call.
std::vector<LinkedLibrary> LibrariesOfFamilies();

// Adds a family that is not in the build, for programs that bring one of their own. Must be called
// before anything reads a design point.
void AddFamily(const FamilyEntry& family);

}  // namespace kiln

#endif  // KILN_TARGETS_REGISTRY_H_
