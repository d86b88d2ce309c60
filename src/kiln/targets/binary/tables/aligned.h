// Vectors that begin at a multiple of 64 bytes, so that no load of a whole register crosses a line
// of the cache.
#ifndef KILN_TARGETS_BINARY_TABLES_ALIGNED_H_
#define KILN_TARGETS_BINARY_TABLES_ALIGNED_H_

#include <cstddef>
#include <new>
#include <vector>

namespace kiln::binary {

template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  LineAllocator() = default;
  template <typename Other>
  LineAllocator(const LineAllocator<Other>& /*other*/) {}

  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* pointer, size_t /*count*/) { ::operator delete(pointer, kAlignment); }
  bool operator==(const LineAllocator&) const = default;
};

template <typename T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_TABLES_ALIGNED_H_
