// Reads and writes numbers of 1 to 32 bits that are packed in memory, low bits first. The
// functional and the cycle level use these functions for buffer elements, the runtime for
// micro-ops.
#ifndef KILN_TARGETS_VTA_ISA_ELEMENTS_H_
#define KILN_TARGETS_VTA_ISA_ELEMENTS_H_

#include <cstddef>
#include <cstdint>

namespace kiln::vta {

// Returns the low `bits` bits of `value`, sign-extended (two's complement).
inline int32_t Wrap(int64_t value, int bits) {
  const int shift = 64 - bits;
  return static_cast<int32_t>(static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift);
}

// Returns number `index`, sign-extended, of an array of numbers of `bits` bits, a power of two.
inline int32_t NumberAt(const uint8_t* bytes, size_t index, int bits) {
  if (bits < 8) {
    const size_t bit = index * static_cast<size_t>(bits);
    return Wrap(bytes[bit / 8] >> (bit % 8), bits);
  }
  const size_t width = static_cast<size_t>(bits) / 8;
  uint32_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= uint32_t{bytes[index * width + i]} << (8 * i);
  return Wrap(value, bits);
}

// Writes the low `bits` bits of `value` as number `index` of such an array.
inline void PutNumber(uint8_t* bytes, size_t index, int bits, int32_t value) {
  const auto low = static_cast<uint32_t>(value);
  if (bits < 8) {
    const size_t bit = index * static_cast<size_t>(bits);
    const unsigned mask = ((1u << bits) - 1) << (bit % 8);
    bytes[bit / 8] = static_cast<uint8_t>((bytes[bit / 8] & ~mask) | ((low << (bit % 8)) & mask));
    return;
  }
  const size_t width = static_cast<size_t>(bits) / 8;
  for (size_t i = 0; i < width; ++i)
    bytes[index * width + i] = static_cast<uint8_t>(low >> (8 * i));
}

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_ELEMENTS_H_
