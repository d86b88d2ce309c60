// Reads whole files within a byte budget (budgets.h), and writes files atomically.
//
// Checks on both sides protect Kiln from FIFOs, sockets and devices behind innocent names.
#ifndef KILN_SUPPORT_FILE_H_
#define KILN_SUPPORT_FILE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/support/budgets.h"
#include "kiln/support/status.h"

namespace kiln {

// A file that is open for reading; closed on destruction. Accepts regular files and descriptors
// that the process inherited (/dev/stdin, /dev/fd/N). Rejects any other FIFO, socket or device,
// because opening or reading it may block forever.
class InputFile {
 public:
  // Opens a file. Errors (with the path): no such file, a directory, not a regular file, no
  // permission.
  static StatusOr<InputFile> Open(const std::filesystem::path& path);
  InputFile(InputFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        is_regular_(other.is_regular_),
        size_(other.size_) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  // The POSIX descriptor. It remains owned by this object.
  int descriptor() const { return descriptor_; }
  bool is_regular() const { return is_regular_; }
  uint64_t size() const { return size_; }  // bytes at the time of opening; 0 if not a regular file

 private:
  explicit InputFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
  bool is_regular_ = false;
  uint64_t size_ = 0;
};

// Returns the content of a file. Errors: those of InputFile::Open; more than `max_bytes` bytes.
StatusOr<std::string> ReadFile(const std::filesystem::path& path,
                               uint64_t max_bytes = budgets::kFileBytes);

// Returns the descriptor that the name of an output file means: 1 for /dev/stdout, 2 for
// /dev/stderr, N for /dev/fd/N and /proc/self/fd/N; nullopt for all others.
std::optional<int> OutputDescriptor(const std::filesystem::path& path);

// Returns an error if the output file `path` is a symbolic link, which somebody else who may write
// to the folder could have made to have another file overwritten. The links of /dev that stand for
// descriptors of this process pass.
Status CheckIsNoLink(const std::filesystem::path& path);

// Writes `bytes` to a temporary file next to `path` and renames it over `path`, so that a
// concurrent reader sees the old or the new content, never a mixture. Writes directly into a device
// or pipe, and to a descriptor of this process. Errors: the errors of CheckIsNoLink; not writable,
// disk full.
Status WriteFile(const std::filesystem::path& path, std::string_view bytes);

}  // namespace kiln

#endif  // KILN_SUPPORT_FILE_H_
