// Memory for tensors: aligned for vector kernels, and in large pages where it is large.
#ifndef KILN_SUPPORT_BUFFER_H_
#define KILN_SUPPORT_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

namespace kiln {

inline constexpr size_t kBufferAlignment = 64;  // bytes
// Vector kernels may load whole registers past the end: a buffer has this many bytes more.
inline constexpr size_t kBufferSlack = 64;

// Allocate `bytes` bytes and kBufferSlack more, aligned to kBufferAlignment: with unspecified
// contents, and all zero. Return null if the system refuses the memory, and for 2^46 bytes and
// more. A system that promises more memory than it has (overcommit) may end the process later
// instead.
//
// Large buffers are mapped in huge pages where the system has them, and it zeroes a page when it is
// first touched: faults and address translation of small pages cost much of the time in which a
// network with hundreds of millions of weights is compiled.
std::shared_ptr<void> AllocateUninitialised(size_t bytes);
std::shared_ptr<void> AllocateZeroed(size_t bytes);

// Allocate memory as AllocateUninitialised does, and free it; `bytes` is the same in both calls.
void* AllocateRaw(size_t bytes);
void FreeRaw(void* buffer, size_t bytes);

// Gives standard containers such memory. Throws std::bad_alloc, as their own allocator does.
template <typename T>
struct BufferAllocator {
  using value_type = T;

  BufferAllocator() = default;
  template <typename Other>
  BufferAllocator(const BufferAllocator<Other>& /*other*/) {}  // NOLINT: a conversion

  T* allocate(size_t count) {
    void* const buffer = count > std::numeric_limits<size_t>::max() / sizeof(T)
                             ? nullptr
                             : AllocateRaw(count * sizeof(T));
    if (buffer == nullptr) throw std::bad_alloc();
    return static_cast<T*>(buffer);
  }
  void deallocate(T* buffer, size_t count) { FreeRaw(buffer, count * sizeof(T)); }
  friend bool operator==(const BufferAllocator& /*a*/, const BufferAllocator& /*b*/) {
    return true;
  }
};

// Bytes that may be many, such as all weights of a network.
using LargeBytes = std::vector<uint8_t, BufferAllocator<uint8_t>>;

}  // namespace kiln

#endif  // KILN_SUPPORT_BUFFER_H_
