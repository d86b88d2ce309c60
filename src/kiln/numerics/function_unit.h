#ifndef KILN_NUMERICS_FUNCTION_UNIT_H_
#define KILN_NUMERICS_FUNCTION_UNIT_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "kiln/numerics/nonlinear.h"

namespace kiln {

inline constexpr int kArgumentBits = 12;
inline constexpr int kOffsetBits = 10;
inline constexpr int kSquareOffsetBits = 8;
inline constexpr int kOffsets = 1 << kOffsetBits;
inline constexpr int kValueBits = 14;
inline constexpr int kCurvatureBits = 12;
inline constexpr int kLog2E = 1512775;  // log2(e) 2^20
inline constexpr int kLn2 = 726817;     // ln(2) 2^20
inline constexpr int kSmallOdd = -4;
inline constexpr int kSmall = -6;
inline constexpr int kRowsOfFunction = 16;
inline constexpr int kFunctionRows = kNonlinearFunctions * kRowsOfFunction;
inline constexpr int kNoFunctionRow = -1;
inline constexpr NonlinearFunction kFarFunctions[] = {
    NonlinearFunction::kSigmoid, NonlinearFunction::kSoftplus, NonlinearFunction::kSilu,
    NonlinearFunction::kElu};

struct FunctionRow {
  int32_t c0, c1, c2;
  bool operator==(const FunctionRow&) const = default;
};

inline int32_t EvaluateRow(const FunctionRow& row, int32_t offset) {
  const int32_t slope = row.c1 + ((row.c2 * (offset >> (kOffsetBits - kSquareOffsetBits))) >>
                                  (kSquareOffsetBits - (kValueBits - kCurvatureBits)));
  return row.c0 + ((slope * offset) >> kOffsetBits);
}

const std::array<FunctionRow, kFunctionRows>& FunctionRows();

float ApproximateFixed(NonlinearFunction function, float x);

const NonlinearError* StatedFixedError(NonlinearFunction function, std::string_view vector_format);

}  // namespace kiln

#endif  // KILN_NUMERICS_FUNCTION_UNIT_H_
