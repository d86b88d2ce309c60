// Locates the data folder relative to the running program or the loaded shared library.

#include "kiln/support/installation.h"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

namespace kiln {
namespace {

namespace fs = std::filesystem;

// Returns the path of the program or shared library that contains this function.
fs::path FileOfThisCode() {
  Dl_info info;
  link_map* object = nullptr;
  const int found = dladdr1(reinterpret_cast<const void*>(&FileOfThisCode), &info,
                            reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP);
  // The link map names shared libraries only; the main program has an empty name.
  if (found != 0 && object != nullptr && object->l_name != nullptr && *object->l_name != '\0')
    return object->l_name;
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace

std::optional<fs::path> DataFolder() {
  std::error_code error;
  const fs::path file = fs::weakly_canonical(fs::absolute(FileOfThisCode(), error), error);
  // Walks up from bin/kiln or lib/libkiln.so to the prefix that contains share/kiln.
  for (fs::path folder = file.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (!fs::is_directory(folder / "share/kiln", error)) continue;
    fs::path data = fs::canonical(folder / "share/kiln", error);
    if (!error) return data;
  }
  return std::nullopt;
}

}  // namespace kiln
