// Integer arithmetic on numbers that come from files: nullopt instead of overflow.
#ifndef KILN_IR_CHECKED_MATH_H_
#define KILN_IR_CHECKED_MATH_H_

#include <cstdint>
#include <optional>

namespace kiln {

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

// As the others, but ends at the largest or least number: for counts that only need to be "too many".
inline int64_t SaturatingMul(int64_t a, int64_t b) {
  if (const auto product = CheckedMul(a, b)) return *product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  if (const auto sum = CheckedAdd(a, b)) return *sum;
  return a > 0 ? INT64_MAX : INT64_MIN;
}

// Quotients for b > 0, rounded towards minus and plus infinity.
inline int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
inline int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

}  // namespace kiln

#endif  // KILN_IR_CHECKED_MATH_H_
