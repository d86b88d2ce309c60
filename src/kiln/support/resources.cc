// Searches the resource folders for YAML files by kind and name.

#include "kiln/support/resources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "kiln/support/installation.h"
#include "kiln/support/nearest_name.h"

namespace kiln {

namespace fs = std::filesystem;

std::vector<fs::path> ResourceFolders() {
  std::vector<fs::path> folders;
  if (const char* path = std::getenv("KILN_PATH"); path != nullptr) {
    // Splits at ':' and skips empty entries.
    std::string_view rest = path;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  folders.emplace_back(".");
  if (const auto installed = DataFolder()) folders.push_back(*installed);
  return folders;
}

std::vector<fs::path> ListResources(std::string_view kind) {
  // The map sorts by name; emplace keeps the entry of the first folder.
  std::map<std::string, fs::path> found;
  for (const fs::path& folder : ResourceFolders()) {
    std::error_code error;
    for (fs::directory_iterator it(folder / kind, error), end; !error && it != end;
         it.increment(error)) {
      if (it->path().extension() == ".yaml") found.emplace(it->path().stem().string(), it->path());
    }
  }
  std::vector<fs::path> paths;
  for (const auto& [name, path] : found) paths.push_back(path.lexically_normal());
  return paths;
}

namespace {

// Returns the three names with the longest beginning in common with `name`; of several, the ones
// with the fewest changes to it.
std::vector<std::string> NearestFew(std::string_view name, std::vector<std::string> names) {
  constexpr size_t kFew = 3, kLongest = 100;  // far longer than any name; bounds the time
  name = name.substr(0, kLongest);
  const auto common = [&](const std::string& other) {
    return std::ranges::mismatch(name, other).in1 - name.begin();
  };
  std::vector<std::tuple<std::ptrdiff_t, size_t, std::string>> ranked;
  for (std::string& other : names)
    ranked.emplace_back(-common(other), EditDistance(name, other), std::move(other));
  std::ranges::sort(ranked);
  std::vector<std::string> few;
  for (const auto& [shared, changes, other] : ranked) {
    if (few.size() < kFew) few.push_back(other);
  }
  return few;
}

}  // namespace

StatusOr<fs::path> FindResource(std::string_view kind, const std::string& name) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) return fs::path(name);
  for (const fs::path& folder : ResourceFolders()) {
    for (const std::string& file : {name, name + ".yaml"}) {
      const fs::path path = folder / kind / file;
      if (!name.empty() && fs::is_regular_file(path, error)) return path.lexically_normal();
    }
  }
  if (fs::is_directory(name, error))
    return ErrorAt(name, "", "is a folder", "give the path of a YAML file");
  // Names the nearest of the available names, or lists all of them.
  std::vector<std::string> names;
  for (const fs::path& path : ListResources(kind)) names.push_back(path.stem().string());
  const std::string meant = NearestName(name, names);
  const std::string all = fmt::format("`kiln list {}` prints all {}", kind, names.size());
  return NotFoundAt(name, "", "no such file, nor one of that name in a folder " + std::string(kind),
                    names.empty()    ? "give the path of a YAML file"
                    : !meant.empty() ? fmt::format("did you mean '{}'?", meant)
                                     : fmt::format("the nearest are {}; {}",
                                                   fmt::join(NearestFew(name, names), ", "), all));
}

}  // namespace kiln
