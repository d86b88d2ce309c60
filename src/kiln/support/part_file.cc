// Creates files exclusively through POSIX descriptors.

#include "kiln/support/part_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>

namespace kiln {

PartFile::PartFile(const std::filesystem::path& target) {
  std::random_device random;
  do {
    path_ = target.string() + ".part" + std::to_string(random());
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
}

PartFile::~PartFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!renamed_) ::unlink(path_.c_str());
}

bool PartFile::Write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

std::error_code PartFile::RenameTo(const std::filesystem::path& target) {
  std::error_code error;
  std::filesystem::rename(path_, target, error);
  renamed_ = !error;
  return error;
}

}  // namespace kiln
