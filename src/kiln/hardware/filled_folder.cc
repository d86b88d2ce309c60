// Guards against links and special files in folders that Kiln writes to.

#include "kiln/hardware/filled_folder.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "kiln/support/file.h"

namespace kiln::hardware {

namespace fs = std::filesystem;

namespace {

constexpr char kRemedy[] = "remove it or name a new folder";

// The errors of files that are in the way.
Status IsALink(const fs::path& link) {
  return ErrorAt(link.string(), "", "is a link, and nothing is written through links", kRemedy);
}
Status IsNoFile(const fs::path& file) {
  return ErrorAt(file.string(), "", "is not a regular file", kRemedy);
}

}  // namespace

std::string LinkIn(const fs::path& folder, const fs::path& file) {
  fs::path part;
  std::error_code error;
  for (const fs::path& name : file) {
    part /= name;
    if (fs::is_symlink(fs::symlink_status(folder / part, error))) return part.generic_string();
  }
  return "";
}

Status CheckNoLink(const fs::path& folder, const fs::path& file) {
  const std::string link = LinkIn(folder, file);
  return link.empty() ? OkStatus() : IsALink(folder / link);
}

Status CheckOnlyFiles(const fs::path& folder, std::string_view link) {
  std::error_code error;
  std::vector<fs::path> wrong;
  fs::recursive_directory_iterator at(folder, error);
  if (error == std::errc::no_such_file_or_directory) return OkStatus();
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code gone;  // set if another program removes the file meanwhile
    const fs::file_status status = at->symlink_status(gone);
    if (!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) continue;
    if (at.depth() > 0 || !fs::is_symlink(status) || at->path().filename() != link)
      wrong.push_back(at->path());
  }
  if (error)
    return ErrorAt(folder.string(), "", "cannot be read: " + error.message(), "name a new folder");
  if (wrong.empty()) return OkStatus();
  // The first path in order, so that the message does not depend on the directory's order.
  const fs::path& first = *std::ranges::min_element(wrong);
  return fs::is_symlink(fs::symlink_status(first, error)) ? IsALink(first) : IsNoFile(first);
}

Status WriteBelow(const fs::path& folder, const fs::path& file, const std::string& text) {
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, file));
  std::error_code error;
  const fs::file_status status = fs::symlink_status(folder / file, error);
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status)) return IsNoFile(folder / file);
    const StatusOr<std::string> before = ReadFile(folder / file);
    if (before.ok() && *before == text) return OkStatus();
  }
  return WriteFile(folder / file, text);
}

}  // namespace kiln::hardware
