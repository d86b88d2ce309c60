// Parses and checks lists of source files, which may come from an untrusted folder.

#include "kiln/hardware/file_list.h"

#include <algorithm>
#include <system_error>

#include "fmt/format.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/support/budgets.h"

namespace kiln::hardware {

namespace fs = std::filesystem;

namespace {

// Returns a path cut to 200 characters, for messages.
std::string Shown(std::string_view path) {
  constexpr size_t kMost = 200;
  return path.size() <= kMost ? std::string(path) : std::string(path.substr(0, kMost)) + "...";
}

}  // namespace

StatusOr<std::vector<ListedFile>> ParseFileList(std::string_view text, const std::string& file) {
  if (std::ssize(text) > budgets::kFileListBytes) {
    return ErrorAt(file, "", fmt::format("has {} bytes", text.size()),
                   fmt::format("at most {}", budgets::kFileListBytes));
  }
  std::vector<ListedFile> files;
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (line.empty() || line[0] == '#' || line.starts_with("//")) continue;
    const std::string place = fmt::format("line {}", number);
    if (!IsPlainPath(line)) {
      return ErrorAt(file, place,
                     fmt::format("'{}' is no path that the tools can be given", Shown(line)),
                     std::string(kPlainPath));
    }
    if (std::ssize(files) == budgets::kListedFiles) {
      return ErrorAt(file, place, "names too many files",
                     fmt::format("at most {}", budgets::kListedFiles));
    }
    files.push_back({.path = std::string(line), .line = number});
  }
  if (files.empty()) return ErrorAt(file, "", "names no files", "write the design anew");
  return files;
}

Status CheckListedFile(const fs::path& folder, const ListedFile& file, const std::string& list) {
  const std::string place = fmt::format("line {}", file.line);
  std::error_code error;
  if (!fs::is_regular_file(folder / file.path, error)) {
    return NotFoundAt(list, place, fmt::format("'{}' is not there", Shown(file.path)),
                      "write the design anew");
  }
  // Compares canonical paths, so that links to files outside the folder are found.
  const fs::path inside = fs::canonical(folder, error);
  const fs::path target = error ? fs::path() : fs::canonical(folder / file.path, error);
  const auto [end, rest] =
      std::mismatch(inside.begin(), inside.end(), target.begin(), target.end());
  if (!error && end == inside.end()) return OkStatus();
  return ErrorAt(list, place,
                 fmt::format("'{}' is a link that leads out of the folder", Shown(file.path)),
                 "copy the file into the folder");
}

}  // namespace kiln::hardware
