// Checked and saturating integer arithmetic.
//
// For numbers that come from files, such as dimensions, pads and group counts: their products may
// exceed int64, which would be undefined behaviour.
#ifndef KILN_IR_CHECKED_MATH_H_
#define KILN_IR_CHECKED_MATH_H_

#include <cstdint>
#include <optional>

namespace kiln {

// Return a + b and a * b, or nullopt on overflow.
inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Return a * b and a + b, saturated to the limits of int64_t. For counts that are only compared
// with a limit or reported.
inline int64_t SaturatingMul(int64_t a, int64_t b) {
  if (const auto product = CheckedMul(a, b)) return *product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  if (const auto sum = CheckedAdd(a, b)) return *sum;
  return a > 0 ? INT64_MAX : INT64_MIN;
}

// Return a / b rounded towards minus infinity and towards plus infinity; b > 0.
inline int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
inline int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

}  // namespace kiln

#endif  // KILN_IR_CHECKED_MATH_H_
