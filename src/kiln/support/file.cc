#include "kiln/support/file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace kiln {

namespace fs = std::filesystem;

namespace {

// A device or a pipe cannot be replaced by a file: what is written goes into it.
Status WriteInto(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  return out ? OkStatus() : ErrorAt(path.string(), "", "could not be written in full", "name a file");
}

}  // namespace

StatusOr<std::string> ReadFile(const fs::path& path, uint64_t max_bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error || !fs::exists(status)) return NotFoundAt(path.string(), "", "no such file", "check the path");
  if (fs::is_directory(status)) return ErrorAt(path.string(), "", "is a directory", "name a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return ErrorAt(path.string(), "", "cannot be opened for reading", "check its permissions");
  std::string bytes;
  if (fs::is_regular_file(status)) {
    const uint64_t size = fs::file_size(path, error);
    if (!error) {
      if (size > max_bytes) {
        return ErrorAt(path.string(), "", std::to_string(size) + " bytes is too large",
                       "at most " + std::to_string(max_bytes) + " are read");
      }
      bytes.resize(size);
      in.read(bytes.data(), static_cast<std::streamsize>(size));
      bytes.resize(static_cast<size_t>(in.gcount()));
      return bytes;
    }
  }
  // A pipe or device has no size to look at first.
  std::array<char, 1 << 16> piece;
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
    bytes.append(piece.data(), static_cast<size_t>(in.gcount()));
    if (bytes.size() > max_bytes) return ErrorAt(path.string(), "", "is too large", "");
  }
  return bytes;
}

Status WriteFile(const fs::path& named, std::string_view bytes) {
  std::error_code error;
  // Where a link points to is written, not the link.
  const fs::path target = fs::is_symlink(named, error) ? fs::weakly_canonical(named, error) : named;
  const fs::path path = target.empty() ? named : target;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    return WriteInto(path, bytes);
  }
  const fs::path part = path.string() + ".part" + std::to_string(::getpid());
  {
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    if (!out) {
      return ErrorAt(path.string(), "", std::string("cannot be written: ") + std::strerror(errno),
                     "choose a folder that exists and is writable");
    }
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.flush();
    if (!out) {
      fs::remove(part, error);
      return ErrorAt(path.string(), "", "could not be written in full", "check the free space");
    }
  }
  fs::rename(part, path, error);
  if (error) {
    const std::string why = error.message();
    fs::remove(part, error);
    return ErrorAt(path.string(), "", "cannot be replaced: " + why, "");
  }
  return OkStatus();
}

}  // namespace kiln
