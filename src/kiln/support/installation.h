// Where the files stand that come with Kiln.
#ifndef KILN_SUPPORT_INSTALLATION_H_
#define KILN_SUPPORT_INSTALLATION_H_

#include <filesystem>
#include <optional>

namespace kiln {

// The folder with accelerators, recipes, rtl and their like: share/kiln in the nearest folder above the program, or
// above the shared library, that this code is part of. `cmake --install` makes one beside bin and lib; in a build tree
// it is a link to the source folder, which the path has in its place. nullopt: neither.
std::optional<std::filesystem::path> DataFolder();

}  // namespace kiln

#endif  // KILN_SUPPORT_INSTALLATION_H_
