// Design points and recipes that come with Kiln or that the user keeps in folders of his own.
#ifndef KILN_SUPPORT_RESOURCES_H_
#define KILN_SUPPORT_RESOURCES_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

// Where folders such as `accelerators` are looked for, in order: the entries of $KILN_PATH (separated by ':'), the
// current folder, then what comes with Kiln (support/installation.h).
std::vector<std::filesystem::path> ResourceFolders();

// YAML files in <resource folder>/<kind>, sorted by name; where a name stands in several folders, the first counts.
std::vector<std::filesystem::path> ListResources(std::string_view kind);

// `name` itself where it is a file, else <resource folder>/<kind>/<name>[.yaml]. Error: names what there is.
StatusOr<std::filesystem::path> FindResource(std::string_view kind, const std::string& name);

}  // namespace kiln

#endif  // KILN_SUPPORT_RESOURCES_H_
