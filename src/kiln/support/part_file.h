// New files that replace another file once they are complete.
#ifndef KILN_SUPPORT_PART_FILE_H_
#define KILN_SUPPORT_PART_FILE_H_

#include <filesystem>
#include <string_view>
#include <system_error>

namespace kiln {

// A new file next to `target` with an unpredictable name, removed on destruction unless renamed.
// O_EXCL and O_NOFOLLOW protect an existing file or link of the same name; the umask applies to
// 0666.
class PartFile {
 public:
  // Tries random names until one is free. If the file cannot be created, IsOpen is false and errno
  // holds the reason.
  explicit PartFile(const std::filesystem::path& target);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();

  bool IsOpen() const { return descriptor_ >= 0; }
  const std::filesystem::path& path() const { return path_; }
  // Writes all bytes; returns false on an error, with the reason in errno.
  bool Write(std::string_view bytes) const;
  // Renames the file over `target`; on an error it is still removed on destruction.
  std::error_code RenameTo(const std::filesystem::path& target);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

}  // namespace kiln

#endif  // KILN_SUPPORT_PART_FILE_H_
