// Checks output files by creating them for a moment, and writes results.
#include "kiln/command/result_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <set>
#include <system_error>

#include "kiln/support/file.h"

namespace kiln::cli {

namespace fs = std::filesystem;

namespace {

// Returns the reason if `folder` and its missing parents cannot be created. Sets `existing` to the
// folder or, if it does not exist, to its nearest existing parent. Creates nothing: another command
// could use a folder that this one creates and removes again, and would then fail.
std::error_code FindFolder(const fs::path& folder, fs::path* existing) {
  constexpr size_t kMostBytesOfAName = 255;
  std::error_code error;
  for (*existing = folder; !existing->empty(); *existing = existing->parent_path()) {
    const fs::file_status status = fs::symlink_status(*existing, error);
    if (fs::exists(status)) {
      return fs::is_directory(*existing, error) ? std::error_code()
                                                : std::make_error_code(std::errc::not_a_directory);
    }
    if (status.type() != fs::file_type::not_found) return error;
    if (existing->filename().native().size() > kMostBytesOfAName)
      return std::make_error_code(std::errc::filename_too_long);
    if (*existing == existing->parent_path()) break;
  }
  return {};
}

// Returns why no file can be created beside `path`, in an existing folder. The test file has a
// random name, like the temporary files of WriteFile, and O_EXCL keeps it from replacing a file
// that belongs to somebody else.
std::error_code TryFile(const fs::path& path) {
  std::random_device random;
  std::string part;
  int file = -1;
  do {
    part = path.string() + ".part" + std::to_string(random());
    file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  } while (file < 0 && errno == EEXIST);
  if (file < 0) return std::error_code(errno, std::generic_category());
  ::close(file);
  ::unlink(part.c_str());
  return {};
}

// Returns the absolute path without links, whether or not the file exists.
fs::path PlaceOf(const std::string& path) {
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(path, error), error);
}

}  // namespace

Status CheckOutput(const std::string& path) {
  if (path.empty() || path == "-") return OkStatus();
  if (const auto descriptor = OutputDescriptor(path)) {
    const int mode = ::fcntl(*descriptor, F_GETFL);
    return mode >= 0 && (mode & O_ACCMODE) != O_RDONLY
               ? OkStatus()
               : ErrorAt(path, "", "is not open for writing", "name a file");
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return ErrorAt(path, "", "is a directory", "name a file");
  KILN_RETURN_IF_ERROR(CheckIsNoLink(path));
  if (fs::exists(status) &&
      !fs::is_regular_file(status)) {  // a device or a pipe, which is written to
    return ::access(path.c_str(), W_OK) == 0
               ? OkStatus()
               : ErrorAt(path, "", "cannot be written to", "name a file");
  }
  const fs::path place = PlaceOf(path);
  fs::path existing;
  error = FindFolder(place.parent_path(), &existing);
  if (!error) error = TryFile(existing / place.filename());
  if (!error) return OkStatus();
  return ErrorAt(path, "", "its folder cannot be made or written to: " + error.message(),
                 "name a file elsewhere");
}

Status CheckOutputs(std::span<const std::string> paths, std::span<const fs::path> inputs) {
  std::set<fs::path> taken, read;
  for (const fs::path& input : inputs) read.insert(PlaceOf(input));
  for (const std::string& path : paths) {
    KILN_RETURN_IF_ERROR(CheckOutput(path));
    if (path.empty()) continue;
    if (OutputDescriptor(path).has_value()) continue;
    const fs::path place = path == "-" ? fs::path(path) : PlaceOf(path);
    std::error_code error;
    const bool device = fs::exists(place, error) && !fs::is_regular_file(place, error);
    if (device) continue;
    if (!taken.insert(place).second) {
      return ErrorAt(path, "", "two outputs go to one file", "name another for one of them");
    }
    if (read.contains(place))
      return ErrorAt(path, "", "is read as well as written", "name another file to write");
  }
  return OkStatus();
}

Status CheckOutside(const std::string& folder, std::initializer_list<std::string> paths) {
  if (folder.empty()) return OkStatus();
  // Ends with a separator, so that it is the start of every path inside.
  const std::string inside = (PlaceOf(folder) / "").string();
  for (const std::string& path : paths) {
    if (path.empty() || path == "-" || OutputDescriptor(path).has_value()) continue;
    if ((PlaceOf(path) / "").string().starts_with(inside)) {
      return ErrorAt(path, "", "is within the folder of --emit, " + folder,
                     "name a file elsewhere");
    }
  }
  return OkStatus();
}

Status CheckIsFile(std::string_view option, const std::string& path) {
  return path == "-" ? ErrorAt("", option, "goes to a file, not to standard output", "name a file")
                     : OkStatus();
}

Status CheckArchive(std::string_view option, const std::string& path) {
  if (path.empty()) return OkStatus();
  KILN_RETURN_IF_ERROR(CheckIsFile(option, path));
  if (fs::path(path).extension() != ".npz") {
    return ErrorAt(path, "", "is not an .npz file by its name",
                   std::string(option) + " writes an archive: name it FILE.npz");
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status) || fs::is_regular_file(status)) return OkStatus();
  return ErrorAt(path, "", "is not a regular file", "name a file");
}

Status CheckOutputFolder(const std::string& folder) {
  if (folder.empty()) return OkStatus();
  const Status status = CheckOutput((fs::path(folder) / "file").string());
  return status.ok()
             ? status
             : ErrorAt(folder, "", "cannot be made or written to", "name a folder elsewhere");
}

Status MakeFolderOf(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) return OkStatus();
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return OkStatus();
  return ErrorAt(path, "", "its folder cannot be made: " + error.message(),
                 "name a file elsewhere");
}

Status WriteOutput(const std::string& path, std::string_view bytes) {
  KILN_RETURN_IF_ERROR(MakeFolderOf(path));
  return WriteFile(path, bytes);
}

Status WriteResults(std::ostream& out, const std::string& path, std::string_view text,
                    std::string_view json) {
  // A path such as /dev/stdout may lead where `out` does, so the order is kept.
  out << (path == "-" ? json : text) << std::flush;
  return path.empty() || path == "-" ? OkStatus() : WriteOutput(path, json);
}

Status WritePage(std::ostream& out, const std::string& path, const std::string& json_path,
                 const std::function<std::string()>& make, std::string_view label) {
  if (path.empty()) return OkStatus();
  KILN_RETURN_IF_ERROR(WriteOutput(path, make()));
  if (json_path != "-") out << '\n' << label << path << '\n';
  return OkStatus();
}

}  // namespace kiln::cli
