// Reads and writes files through POSIX descriptors: std::fstream can neither open a FIFO without
// blocking nor create a file exclusively.

#include "kiln/support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>

#include "kiln/support/part_file.h"

namespace kiln {

namespace fs = std::filesystem;

namespace {

// Writes into an existing device or pipe, which cannot be replaced by renaming a file over it.
Status WriteInto(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  return out ? OkStatus()
             : ErrorAt(path.string(), "", "could not be written in full", "name a file");
}

// Writes to a descriptor of this process, where it stands. Opening the path again would begin a
// regular file behind it anew.
Status WriteTo(int descriptor, const fs::path& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      return ErrorAt(path.string(), "",
                     std::string("could not be written in full: ") + std::strerror(errno),
                     "name a file");
    }
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return OkStatus();
}

// Returns the number N of /dev/fd/N and /proc/self/fd/N.
std::optional<int> NumberOfDescriptor(std::string_view path) {
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view number = path.substr(folder.size());
    int out = 0;
    const auto [end, fault] = std::from_chars(number.begin(), number.end(), out);
    if (number.empty() || number.front() == '-' || end != number.end() || fault != std::errc())
      return std::nullopt;
    return out;
  }
  return std::nullopt;
}

// Returns whether the path names a descriptor that this process inherited (/dev/stdin, or the
// /dev/fd/N of a shell's <(...)). Opening an inherited descriptor does not wait for a writer.
bool IsInheritedInput(const fs::path& path) {
  return path == "/dev/stdin" || NumberOfDescriptor(path.native()).has_value();
}

}  // namespace

StatusOr<InputFile> InputFile::Open(const fs::path& path) {
  const bool streams = IsInheritedInput(path);
  // O_NONBLOCK prevents the open of a FIFO from waiting for a writer.
  InputFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (streams ? 0 : O_NONBLOCK)));
  if (file.descriptor_ < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return NotFoundAt(path.string(), "", "no such file", "check the path");
    if (errno == ENXIO) return ErrorAt(path.string(), "", "is not a regular file", "name a file");
    return ErrorAt(path.string(), "",
                   std::string("cannot be opened for reading: ") + std::strerror(errno),
                   "check its permissions");
  }
  struct stat status = {};
  if (::fstat(file.descriptor_, &status) != 0) {
    return ErrorAt(path.string(), "", std::string("cannot be read: ") + std::strerror(errno),
                   "check the file");
  }
  if (S_ISDIR(status.st_mode)) return ErrorAt(path.string(), "", "is a directory", "name a file");
  file.is_regular_ = S_ISREG(status.st_mode);
  if (!file.is_regular_ && !streams)
    return ErrorAt(path.string(), "", "is not a regular file", "name a file");
  file.size_ = file.is_regular_ ? static_cast<uint64_t>(status.st_size) : 0;
  return file;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

StatusOr<std::string> ReadFile(const fs::path& path, uint64_t max_bytes) {
  KILN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  const auto too_large = [&](const std::string& fault) {
    return ErrorAt(path.string(), "", fault,
                   "at most " + std::to_string(max_bytes) + " bytes are read");
  };
  const auto cannot = [&] {
    return ErrorAt(path.string(), "", std::string("cannot be read: ") + std::strerror(errno),
                   "check the file");
  };
  std::string bytes;
  if (file.is_regular()) {
    if (file.size() > max_bytes)
      return too_large(std::to_string(file.size()) + " bytes are too many");
    bytes.resize(file.size());
    size_t filled = 0;
    while (filled < bytes.size()) {
      const ssize_t got = ::read(file.descriptor(), bytes.data() + filled, bytes.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return cannot();
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    bytes.resize(filled);
    // Files in /proc report size 0, and a file may have grown since fstat: read the rest as a
    // stream.
    if (filled < file.size()) return bytes;
  }
  std::array<char, 1 << 16> piece;
  while (true) {
    const ssize_t got = ::read(file.descriptor(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot();
    if (got == 0) return bytes;
    bytes.append(piece.data(), static_cast<size_t>(got));
    if (bytes.size() > max_bytes) return too_large("is too large");
  }
}

std::optional<int> OutputDescriptor(const fs::path& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  return NumberOfDescriptor(path.native());
}

Status CheckIsNoLink(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error)) || OutputDescriptor(path).has_value())
    return OkStatus();
  return ErrorAt(path.string(), "", "is a link, and nothing is written through links",
                 "remove it or name another file");
}

Status WriteFile(const fs::path& path, std::string_view bytes) {
  if (const auto descriptor = OutputDescriptor(path)) return WriteTo(*descriptor, path, bytes);
  KILN_RETURN_IF_ERROR(CheckIsNoLink(path));
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    return WriteInto(path, bytes);
  }
  PartFile part(path);
  if (!part.IsOpen()) {
    return ErrorAt(path.string(), "", std::string("cannot be written: ") + std::strerror(errno),
                   "choose a folder that exists and is writable");
  }
  if (!part.Write(bytes))
    return ErrorAt(path.string(), "", "could not be written in full", "check the free space");
  error = part.RenameTo(path);
  if (error) return ErrorAt(path.string(), "", "cannot be replaced: " + error.message(), "");
  return OkStatus();
}

}  // namespace kiln
