// Locates the data files that are installed with Kiln, from the position of the program itself, so
// that an installation can be moved. resources.h and hardware/rtl_project.h search these files.
#ifndef KILN_SUPPORT_INSTALLATION_H_
#define KILN_SUPPORT_INSTALLATION_H_

#include <filesystem>
#include <optional>

namespace kiln {

// Returns the folder that contains `accelerators`, `recipes`, `rtl` and the other data of Kiln: the
// directory share/kiln in the nearest ancestor of the program, or of the shared library that
// contains this code. `cmake --install` creates it next to bin and lib. In a build tree share/kiln
// is a link to the source folder; the returned path has the link resolved. Returns nullopt if there
// is none.
std::optional<std::filesystem::path> DataFolder();

}  // namespace kiln

#endif  // KILN_SUPPORT_INSTALLATION_H_
