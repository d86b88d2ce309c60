// The approximate functions of vector units with at most 10 fraction bits, defined to the bit.
//
// The unit computes in fixed point: it has one table of quadratics for all functions and formats,
// two small products, and reduces arguments and reconstructs results by exponents. It takes a
// fraction of the area of the splines of nonlinear.h, which compute in fp32, and is pipelined. All
// steps are those of integers, so that software and hardware (rtl/arith/kiln_function.sv) give the
// same bits.
//
// x is an fp32 number of which only the upper 10 fraction bits count: |x| = m 2^e, m = M / 2^10
// with M from 1024 to 2047. Subnormal numbers count as zero of their sign. The result is
//
//   (row(offset) + addend) 2^exponent,   row(offset) = c0 + offset (c1 + offset c2)
//
// as an fp32 number. It has at most 21 significant bits and is exact; a unit with a narrower format
// rounds it once, which is left to the caller. Results below 2^-126 are zero, and results from
// 2^128 on are infinite. `row` and `addend` are integers in units of 2^-14. [a, b) / n stands for n
// segments of equal length, each of them a row; offset, 10 bits, is the place in the segment.
//
//   function         segments                        addend             exponent    sign
//   exp              f in [0, 1) / 4                 0                  n           +
//   reciprocal       m in [1, 2) / 8                 0                  -e          of x
//   log              m in [1, 2) / 8                 e ln 2             0           of the sum
//   sqrt             m in [1, 2) / 4, [2, 4) / 4     0                  k           +
//   1 / sqrt         the same, x = m 4^k             0                  -k          +
//   erf              1 - erf(t), t = |x|             -1                 0           of x
//   tanh             sigmoid(-t), t = 2 |x|          -1/2               1           of x
//   sigmoid, hard    f(-t), t = |x|                  x < 0 ? 0 : -1     0           +
//   gelu (both),     f(-t), t = |x|                  x > 0 ? t : 0      0           of the sum
//   silu, softplus,
//   hard swish
//   elu, x < 0       exp(-t), t = -x                 -1                 0           of the sum
//
// The segments of functions of t are [0, 1) / 4, [1, 2) / 4, [2, 4) / 4 and [4, 8) / 4; those of
// sigmoid, softplus, silu and elu also [8, 16) / 2. Rows beyond them are zero. Here >> rounds
// downwards, log2e = 1512775 and ln2 = 726817 have 20 fraction bits, and
//   t    is truncated to 12 fraction bits
//   n, f are the integer and the 12 fraction bits of y: y = p 2^e truncated to 12 fraction bits,
//        and for x < 0 -y - 2^-12 in its place (0 for zero); p, 20 fraction bits, is the sum of
//        (i log2e + 512) >> 10 over the parts i of M: M & ~63, M & 56, M & 7
//   addend of log: ((e & ~15) ln2 + 32 >> 6) + ((e & 15) ln2 + 32 >> 6)
//   row: s = c1 + (c2 (offset >> 2) >> 6)
//        row(offset) = c0 + (s (offset >> 4) + (s >> 4) (offset & 15) >> 5)
//
// Near zero, where fixed point has few significant bits, other lines are used:
//   gelu (both), silu, hard swish    |x| < 2^-6    x / 2
//   elu                              |x| < 2^-6    x
//   tanh                             |x| < 2^-4    x
//   erf                              |x| < 2^-4    2 / sqrt(pi) m 2^e, m in [1, 2) / 4
// elu of x > 0, and gelu (both), silu, softplus and hard swish of x >= 16, are x.
//
// Errors over all numbers of bf16, fp16 and tf32, before the result is rounded to the format:
// functions of t and log at most 2^-11 absolute; exp, reciprocal and roots 2^-11.7 relative. After
// rounding these four have at most 0.56 units of the last place of bf16 and 1.0 of fp16
// (StatedFixedError). No result is beyond the limits at infinity. tanh, erf, sigmoid, softplus
// and elu are not monotonous: where they rise, results may fall by up to 4 units of 2^-14.
//
// Special values: NaN gives the NaN 0x7fc00000, as do log and the square roots of negative numbers;
// infinities give the function's limits; log(+-0) is -infinity, 1/sqrt(+-0) is +infinity,
// reciprocal(+-0) is the infinity of that sign; sqrt, tanh, erf, gelu, silu, hard swish and elu
// keep a zero.
#ifndef KILN_NUMERICS_FUNCTION_UNIT_H_
#define KILN_NUMERICS_FUNCTION_UNIT_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "kiln/numerics/format.h"
#include "kiln/numerics/nonlinear.h"

namespace kiln {

// -------------------------------------------------------------------------------------------------
// The table. The RTL's is written from the same numbers (hardware/rtl_function.h).

inline constexpr int kArgumentBits = 12;  // fraction bits of t and y
inline constexpr int kOffsetBits = 10;
inline constexpr int kOffsets = 1 << kOffsetBits;
inline constexpr int kValueBits = 14;      // fraction bits of c0 and of sums
inline constexpr int kSlopeBits = 13;      // those of c1, in segments of length 1
inline constexpr int kCurvatureBits = 11;  // those of c2

// The coefficients of a segment.
struct FunctionRow {
  int32_t c0, c1, c2;
  bool operator==(const FunctionRow&) const = default;
};
// Returns the value of a row at an offset from 0 to kOffsets - 1.
constexpr int32_t EvaluateRow(const FunctionRow& row, int32_t offset) {
  const int32_t slope = row.c1 + ((row.c2 * (offset >> 2)) >> 6);
  return row.c0 + ((slope * (offset >> 4) + (slope >> 4) * (offset & 15)) >> 5);
}

inline constexpr int kFunctionRows = 192;
// Returns the first row of a function's segments. tanh has those of sigmoid.
int FirstFunctionRow(NonlinearFunction function);
inline constexpr int kErfNearZeroRow = 164;
// Two rows of each of these functions for t in [8, 16).
inline constexpr int kFarRow = 168;
inline constexpr std::array<NonlinearFunction, 4> kFarFunctions = {
    NonlinearFunction::kSigmoid, NonlinearFunction::kSoftplus, NonlinearFunction::kSilu,
    NonlinearFunction::kElu};

// Returns the table, function_unit_tables.inc.
const std::array<FunctionRow, kFunctionRows>& FunctionRows();

// -------------------------------------------------------------------------------------------------

// Returns whether the unit, and the short floats of the RTL (kiln_format_pkg::is_short_float),
// serve a format: a signed float with 1 to 10 fraction bits that rounds to nearest even and whose
// numbers are zero or normal in fp32, such as bf16.flush and fp16. An operation of two such numbers
// that is rounded to fp32 and then to the format has the same result as one that is rounded once.
bool IsShortFloat(const Format& format);

// Returns the function's value as an fp32 number, not yet rounded to the vector format.
float ApproximateFixed(NonlinearFunction function, float x);

// Returns the largest error over the numbers of bf16 or fp16, with the result rounded to that
// format: the row of function_unit_errors.def, or null for other formats. The errors are rounded up
// in the third digit. Arguments and exact values that are subnormal in fp32 do not count.
const NonlinearError* StatedFixedError(NonlinearFunction function, std::string_view vector_format);

}  // namespace kiln

#endif  // KILN_NUMERICS_FUNCTION_UNIT_H_
