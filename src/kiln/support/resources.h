// Finds design points, recipes and other named YAML files: those installed with Kiln and those in
// folders that the user lists in $KILN_PATH.
#ifndef KILN_SUPPORT_RESOURCES_H_
#define KILN_SUPPORT_RESOURCES_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

// Returns the folders that are searched for `accelerators`, `recipes` and so on, in search order:
// the entries of $KILN_PATH (separated by ':'), the current folder, then the data folder of Kiln
// (support/installation.h).
std::vector<std::filesystem::path> ResourceFolders();

// Returns the YAML files in <resource folder>/<kind>, sorted by name. If several folders contain
// the same name, only the file in the first folder is listed.
std::vector<std::filesystem::path> ListResources(std::string_view kind);

// Returns `name` if it is the path of a file, otherwise the first <resource folder>/<kind>/<name>
// or <name>.yaml that exists. Errors: NotFound, with the list of available names.
StatusOr<std::filesystem::path> FindResource(std::string_view kind, const std::string& name);

}  // namespace kiln

#endif  // KILN_SUPPORT_RESOURCES_H_
