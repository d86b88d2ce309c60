// From a design point's YAML file to an Accelerator of the family that it names.
#ifndef KILN_TARGETS_REGISTRY_H_
#define KILN_TARGETS_REGISTRY_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// Reads `path`: its key `family` chooses the family, which checks all the other keys. A file that ends in .json is a
// configuration of the original VTA. Errors name file, key, fault, remedy.
StatusOr<std::unique_ptr<Accelerator>> LoadAccelerator(const std::filesystem::path& path);
// The same from YAML text; `source` stands for the file name in messages.
StatusOr<std::unique_ptr<Accelerator>> ParseAccelerator(std::string_view yaml,
                                                        std::string_view source);

// Names of the families built in, in the build's order.
std::vector<std::string> FamilyNames();

}  // namespace kiln

#endif  // KILN_TARGETS_REGISTRY_H_
