// Whole-file reading and all-or-nothing writing.
#ifndef KILN_SUPPORT_FILE_H_
#define KILN_SUPPORT_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/support/budgets.h"
#include "kiln/support/status.h"

namespace kiln {

// A file that is open for reading. It is a regular file, or a descriptor that the process was started with (/dev/stdin,
// /dev/fd/N): a FIFO, socket or device by any other name is refused, because opening or reading it may never end.
class InputFile {
 public:
  // Errors name the path: no such file, a directory, not a regular file, no permission.
  static StatusOr<InputFile> Open(const std::filesystem::path& path);
  InputFile(InputFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        is_regular_(other.is_regular_),
        size_(other.size_) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  int descriptor() const { return descriptor_; }
  bool is_regular() const { return is_regular_; }
  uint64_t size() const { return size_; }  // bytes of a regular file when it was opened; else 0

 private:
  explicit InputFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
  bool is_regular_ = false;
  uint64_t size_ = 0;
};

// Returns the bytes of a file. Errors: those of InputFile::Open; more than `max_bytes`.
StatusOr<std::string> ReadFile(const std::filesystem::path& path,
                               uint64_t max_bytes = budgets::kFileBytes);

// Writes beside `path` and renames over it, so that a reader finds the old file or the new one, never a part. A link
// stays one; a device or pipe is written to.
Status WriteFile(const std::filesystem::path& path, std::string_view bytes);

}  // namespace kiln

#endif  // KILN_SUPPORT_FILE_H_
