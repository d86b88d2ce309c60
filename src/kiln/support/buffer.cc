// Takes small buffers from the heap and maps large ones on boundaries of huge pages.

#include "kiln/support/buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace kiln {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMostBytes = size_t{1}
                              << 46;  // above any machine's memory; sums below do not wrap

// The address sanitiser watches the heap only, so that builds with it map nothing.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kMapFrom = kMostBytes;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr size_t kMapFrom = kMostBytes;
#else
constexpr size_t kMapFrom = 2 * kHugePage;
#endif
#else
constexpr size_t kMapFrom = 2 * kHugePage;
#endif

// Returns null if the memory is not available.
std::shared_ptr<void> MapHuge(size_t bytes) {
  const size_t mapped = bytes + kHugePage;  // a boundary lies within the first huge page
  void* const start =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  const auto unaligned = reinterpret_cast<uintptr_t>(start) % kHugePage;
  void* const aligned =
      static_cast<std::byte*>(start) + (unaligned == 0 ? 0 : kHugePage - unaligned);
  // Advice only: without huge pages the memory works as well, more slowly.
  static_cast<void>(madvise(aligned, bytes, MADV_HUGEPAGE));
  return {aligned, [start, mapped](void* /*aligned*/) { munmap(start, mapped); }};
}

}  // namespace

std::shared_ptr<void> AllocateZeroed(size_t bytes) {
  if (bytes >= kMostBytes) return nullptr;
  const size_t all =
      (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment + kBufferSlack;
  if (all >= kMapFrom) return MapHuge(all);
  void* const storage = std::aligned_alloc(kBufferAlignment, all);
  if (storage == nullptr) return nullptr;
  std::memset(storage, 0, all);
  return {storage, std::free};
}

}  // namespace kiln
