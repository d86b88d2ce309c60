// Integer division with rounding up, alignment, logarithms and bits. Dividends must be
// non-negative, divisors positive, and `a + b` must not overflow.
#ifndef KILN_SUPPORT_INTEGER_H_
#define KILN_SUPPORT_INTEGER_H_

#include <bit>
#include <cstdint>
#include <vector>

namespace kiln {

// Returns ceil(a / b).
inline constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
// Returns the smallest multiple of b that is at least a.
inline constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDivide(a, b) * b; }
// Returns the smallest multiple of `alignment` (not necessarily a power of two) that is at least
// `address`.
inline constexpr uint64_t AlignUp(uint64_t address, uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

// Returns whether value is 1, 2, 4, 8, ...; false for zero and negative values.
inline bool IsPowerOfTwo(int64_t value) {
  return value > 0 && std::has_single_bit(static_cast<uint64_t>(value));
}

// Returns the base-2 logarithm of `value`, rounded up: $clog2 of SystemVerilog. 0 for 0 and 1.
inline constexpr int CeilLog2(int64_t value) {
  return value > 1 ? std::bit_width(static_cast<uint64_t>(value - 1)) : 0;
}
// Returns the bits of an index into `count` elements. At least 1, as a signal has.
inline constexpr int IndexBits(int64_t count) { return count > 1 ? CeilLog2(count) : 1; }

// Returns the bits of the narrowest two's complement integer that holds all numbers from low to
// high.
inline constexpr int SignedBits(int64_t low, int64_t high) {
  const auto bits = [](int64_t x) {
    return 1 + static_cast<int>(std::bit_width(static_cast<uint64_t>(x < 0 ? ~x : x)));
  };
  return bits(low) > bits(high) ? bits(low) : bits(high);
}

// Returns the positions of the bits of `set` that are 1, ascending.
inline std::vector<int64_t> SetBits(uint32_t set) {
  std::vector<int64_t> bits;
  for (int64_t bit = 0; bit < 32; ++bit) {
    if (set >> bit & 1) bits.push_back(bit);
  }
  return bits;
}

}  // namespace kiln

#endif  // KILN_SUPPORT_INTEGER_H_
