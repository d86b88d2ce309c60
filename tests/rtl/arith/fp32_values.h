// Operands that reveal faults in fp32 units: corner values, their neighbours, and several kinds of
// random bits.
#ifndef KILN_TESTS_RTL_ARITH_FP32_VALUES_H_
#define KILN_TESTS_RTL_ARITH_FP32_VALUES_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "kiln/numerics/tables.h"
#include "kiln/support/random.h"

namespace kiln::rtl {

inline constexpr uint32_t kFp32Corners[] = {
    0x00000000,  // zero
    0x00000001,  // least subnormal
    0x00000002, 0x003fffff, 0x00400000, 0x00400001,
    0x007fffff,              // greatest subnormal
    0x00800000,              // least normal
    0x00800001, 0x00ffffff,  //
    0x01000000, 0x1f800000, 0x33800000, 0x34000000, 0x3effffff,
    0x3f000000,  // 1/2
    0x3f7fffff,
    0x3f800000,  // 1
    0x3f800001, 0x3fc00000, 0x40000000, 0x40490fdb, 0x4b000000,
    0x4b7fffff,                          // 2^24 - 1
    0x4b800000, 0x4effffff, 0x4f000000,  // 2^31
    0x5f000000, 0x7e800000, 0x7f000000,
    0x7f7fffff,              // greatest number
    0x7f800000,              // infinity
    0x7f800001, 0x7fc00000,  // NaN
};

// The NaN that the units produce.
inline uint32_t Canonical(float value) {
  return value == value ? std::bit_cast<uint32_t>(value) : kQuietNan;
}

// Returns random fp32 bits: of any exponent, of an exponent near 0, with few significant bits, near
// a corner value, or a corner value.
inline uint32_t RandomFp32(Random& random) {
  const auto bits = static_cast<uint32_t>(random());
  const uint32_t sign = bits & 0x80000000u,
                 corner = kFp32Corners[(bits >> 3) % std::size(kFp32Corners)];
  switch (bits % 8) {
    case 0:
      return sign | corner;
    case 1:
      return sign | ((corner + (bits >> 8) % 8 - 4) & 0x7fffffffu);
    case 2:
      return static_cast<uint32_t>(random());
    case 3:  // few significant bits: exact results and ties
      return static_cast<uint32_t>(random()) & 0xfff80000u;
    case 4:  // subnormal, or nearly
      return sign | (static_cast<uint32_t>(random()) & 0x01ffffffu);
    default:
      return sign | ((96 + (bits >> 8) % 64) << 23) |
             (static_cast<uint32_t>(random()) & 0x007fffffu);
  }
}

// Returns the bits of the number that is some units in the last place away.
inline uint32_t Near(float value, Random& random) {
  return Canonical(value) + static_cast<uint32_t>(random() % 9) - 4;
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_ARITH_FP32_VALUES_H_
