// A lock on a folder that several processes or threads write to.
#ifndef KILN_HARDWARE_FOLDER_LOCK_H_
#define KILN_HARDWARE_FOLDER_LOCK_H_

#include <filesystem>
#include <utility>

#include "kiln/support/status.h"

namespace kiln::hardware {

// An exclusive lock, held during the lifetime of the object. The system releases it when the
// process ends for any reason. It is advisory: it excludes only those who take it as well.
class FolderLock {
 public:
  // Locks `folder`; waits while another process or thread holds its lock. Error: not a folder that
  // can be read.
  static StatusOr<FolderLock> Take(const std::filesystem::path& folder);
  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_FOLDER_LOCK_H_
