// Implements onnx_external.h.
#include "kiln/frontend/onnx_external.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "kiln/support/excerpt.h"
#include "kiln/support/file.h"

namespace kiln {

namespace fs = std::filesystem;

StatusOr<MappedFile> MapFile(const fs::path& path) {
  KILN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (!file.is_regular()) return ErrorAt(path.string(), "", "is not a regular file", "name a file");
  MappedFile mapped;
  mapped.size = file.size();
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t length = (mapped.size + page - 1) / page * page + page;
  // Maps zero pages first, then the file over their beginning, so the page after the file reads as
  // zero.
  void* base = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return ErrorAt(path.string(), "", std::string("cannot be mapped: ") + std::strerror(errno),
                   "free some memory");
  }
  mapped.owner = std::shared_ptr<const void>(
      base, [length](const void* p) { ::munmap(const_cast<void*>(p), length); });
  mapped.bytes = static_cast<const std::byte*>(base);
  if (mapped.size > 0 && ::mmap(base, mapped.size, PROT_READ, MAP_PRIVATE | MAP_FIXED,
                                file.descriptor(), 0) == MAP_FAILED) {
    return ErrorAt(path.string(), "", std::string("cannot be mapped: ") + std::strerror(errno),
                   "free some memory");
  }
  return mapped;
}

Status ExternalFiles::Charge(int64_t bytes, bool copied, const std::string& place) {
  const auto refuse = [&](std::string_view fault, int64_t most) {
    return ErrorAt(source_, place, fault, fmt::format("at most {} bytes in one model", most));
  };
  bytes_ += bytes;
  if (bytes_ > limits_.bytes)
    return refuse("makes the model's external data too large", limits_.bytes);
  // Mapped pages can be dropped by the system at any time; copies cannot.
  if (!copied) return OkStatus();
  copied_ += bytes;
  if (copied_ <= limits_.copied) return OkStatus();
  return refuse(
      "makes the external data that is small, narrow or not aligned, and so is copied, too large",
      limits_.copied);
}

// The model is untrusted: a location must not reach files outside its folder.
StatusOr<MappedFile> ExternalFiles::Open(const std::string& location, const std::string& place) {
  // Usually all tensors of a model are in one file.
  if (const auto it = open_.find(location); it != open_.end()) return it->second;
  const auto refuse = [&](const std::string& why) {
    return ErrorAt(source_, place, "external data " + QuotedExcerpt(location) + " " + why,
                   "external files must lie in the folder of the model");
  };
  if (folder_.empty()) return refuse("cannot be followed: the model does not come from a file");
  if (location.empty() || location.find('\0') != std::string::npos)
    return refuse("is not a file name");
  // Checks the path as text first, then after resolving symbolic links: both must stay in the
  // folder.
  const fs::path relative(location);
  if (relative.is_absolute() || relative.has_root_path()) return refuse("is an absolute path");
  if (std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end())
    return refuse("leaves the folder");
  std::error_code error;
  const fs::path root = fs::weakly_canonical(folder_, error);
  if (error) return refuse("cannot be resolved: " + error.message());
  const fs::path resolved = fs::weakly_canonical(folder_ / relative, error);
  if (error) return refuse("cannot be resolved: " + error.message());
  const auto [root_end, resolved_at] =
      std::mismatch(root.begin(), root.end(), resolved.begin(), resolved.end());
  if (root_end != root.end() || resolved_at == resolved.end())
    return refuse("leaves the folder through a link");
  auto mapped = MapFile(resolved);
  if (absl::IsNotFound(mapped.status())) {
    return NotFoundAt(source_, place, "external data " + QuotedExcerpt(location) + " is not there",
                      "the model's weights are in that file, in the folder of the model");
  }
  if (!mapped.ok()) return WithContext(source_ + ": " + place, mapped.status());
  open_.emplace(location, *mapped);
  return mapped;
}

}  // namespace kiln
