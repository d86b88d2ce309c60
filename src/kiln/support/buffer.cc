// Takes small buffers from the heap and maps large ones on boundaries of huge pages.

#include "kiln/support/buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace kiln {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMostBytes = size_t{1} << 46;  // more than any machine has; sums do not wrap

// The address sanitiser watches the heap only, so that builds with it map nothing.
#if defined(__SANITIZE_ADDRESS__)  // by g++
constexpr bool kMaps = false;
#elif defined(__has_feature)  // by clang
constexpr bool kMaps = !__has_feature(address_sanitizer);
#else
constexpr bool kMaps = true;
#endif

// Returns the bytes to allocate, with the slack.
size_t WithSlack(size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment + kBufferSlack;
}

bool IsMapped(size_t all) { return kMaps && all >= 2 * kHugePage; }

// Returns `bytes` rounded up to whole huge pages.
size_t MappedSize(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

// Returns null if the memory is not available.
void* MapHuge(size_t bytes) {
  // Maps one huge page more and gives back what lies before the first boundary and after the end.
  const size_t size = MappedSize(bytes), mapped = size + kHugePage;
  void* const start =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  const auto unaligned = reinterpret_cast<uintptr_t>(start) % kHugePage;
  const size_t before = unaligned == 0 ? 0 : kHugePage - unaligned;
  std::byte* const aligned = static_cast<std::byte*>(start) + before;
  if (before > 0) munmap(start, before);
  munmap(aligned + size, kHugePage - before);
  // Advice only: without huge pages the memory works as well, more slowly.
  static_cast<void>(madvise(aligned, size, MADV_HUGEPAGE));
  return aligned;
}

}  // namespace

void* AllocateRaw(size_t bytes) {
  if (bytes >= kMostBytes) return nullptr;
  const size_t all = WithSlack(bytes);
  return IsMapped(all) ? MapHuge(all) : std::aligned_alloc(kBufferAlignment, all);
}

void FreeRaw(void* buffer, size_t bytes) {
  const size_t all = WithSlack(bytes);
  if (IsMapped(all)) {
    munmap(buffer, MappedSize(all));
  } else {
    std::free(buffer);
  }
}

std::shared_ptr<void> AllocateUninitialised(size_t bytes) {
  void* const storage = AllocateRaw(bytes);
  if (storage == nullptr) return nullptr;
  return {storage, [bytes](void* buffer) { FreeRaw(buffer, bytes); }};
}

std::shared_ptr<void> AllocateZeroed(size_t bytes) {
  std::shared_ptr<void> buffer = AllocateUninitialised(bytes);
  if (buffer == nullptr) return nullptr;
  const size_t all = WithSlack(bytes);
  if (!IsMapped(all)) std::memset(buffer.get(), 0, all);
  return buffer;
}

}  // namespace kiln
