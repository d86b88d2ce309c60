// Divisions of whole numbers, rounded up. Of numbers that are not negative, by numbers that are positive.
#ifndef KILN_SUPPORT_INTEGER_H_
#define KILN_SUPPORT_INTEGER_H_

#include <bit>
#include <cstdint>

namespace kiln {

// a / b.
inline constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
// The least multiple of b that is at least a.
inline constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDivide(a, b) * b; }
// The same of an address.
inline constexpr uint64_t AlignUp(uint64_t address, uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

inline bool IsPowerOfTwo(int64_t value) {
  return value > 0 && std::has_single_bit(static_cast<uint64_t>(value));
}

}  // namespace kiln

#endif  // KILN_SUPPORT_INTEGER_H_
