// The codes that lanes take (lower/value_codes.h).
#ifndef KILN_TARGETS_CGRA_COMPILE_VALUE_CODES_H_
#define KILN_TARGETS_CGRA_COMPILE_VALUE_CODES_H_

#include "kiln/targets/lower/value_codes.h"

namespace kiln::cgra {

inline constexpr int kMostCodeBits = 16;
inline constexpr int kMostWeightBits = 8;

inline StatusOr<ValueCodes> CodesOf(const Value& value) {
  return IntegerCodesOf(value, kMostCodeBits);
}
inline StatusOr<WeightCodes> WeightsOf(const Value& value, int axis) {
  return IntegerWeightsOf(value, axis, kMostWeightBits);
}

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_VALUE_CODES_H_
