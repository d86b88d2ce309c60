// Locks a folder by flock on its descriptor.

#include "kiln/hardware/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace kiln::hardware {

StatusOr<FolderLock> FolderLock::Take(const std::filesystem::path& folder) {
  const auto failed = [&] {
    return ErrorAt(folder.string(), "", std::string("cannot be locked: ") + std::strerror(errno),
                   "name another folder");
  };
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return failed();
  FolderLock lock(descriptor);
  while (::flock(descriptor, LOCK_EX) != 0) {
    if (errno != EINTR) return failed();
  }
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace kiln::hardware
