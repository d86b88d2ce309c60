// The packed form of a power of two that rtl/arith uses for products of scales
// (kiln_format_pkg::power_t): NaN, infinity and zero in the highest bits, and an exponent of nine
// bits.
#ifndef KILN_TESTS_RTL_ARITH_POWER_VALUE_H_
#define KILN_TESTS_RTL_ARITH_POWER_VALUE_H_

#include <cmath>
#include <cstdint>
#include <limits>

namespace kiln::rtl {

inline constexpr int kPowerBits = 12;

// Returns the bits of a power of two, zero, infinity or NaN.
inline uint32_t PowerBits(float value) {
  const uint32_t flags =
      (std::isnan(value) ? 4u : 0u) | (std::isinf(value) ? 2u : 0u) | (value == 0 ? 1u : 0u);
  const int exponent = flags == 0 ? std::ilogb(value) : 0;
  return flags << 9 | (static_cast<uint32_t>(exponent) & 0x1ffu);
}
// Returns the value of such bits. The exponent counts if no flag is set.
inline float PowerValue(uint32_t bits) {
  if ((bits >> 11 & 1) != 0) return std::numeric_limits<float>::quiet_NaN();
  if ((bits >> 10 & 1) != 0) return std::numeric_limits<float>::infinity();
  if ((bits >> 9 & 1) != 0) return 0.0f;
  return std::ldexp(1.0f, static_cast<int32_t>(bits << 23) >> 23);
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_ARITH_POWER_VALUE_H_
