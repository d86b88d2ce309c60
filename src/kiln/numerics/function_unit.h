// The approximate functions of vector units with at most 10 fraction bits, defined to the bit.
//
// The unit computes in fixed point: one table of quadratics for all functions and formats, two small
// products, and argument reduction and reconstruction by exponents. It takes a fraction of the area
// of the splines of nonlinear.h, which compute in fp32, and is pipelined. All steps are those of
// integers, so that software and hardware (rtl/arith/kiln_function.sv) give the same bits.
//
// x is an fp32 number of which only the upper 10 fraction bits count: |x| = m 2^e, m = M / 2^10 with
// M from 1024 to 2047. Subnormal numbers count as zero of their sign. The result is
//
//   (row(offset) + addend) 2^exponent,   row(offset) = c0 + offset (c1 + offset c2)
//
// an fp32 number that is exact, at most 22 significant bits; a unit with a narrower format rounds
// it once, which is left to the caller. Results below 2^-126 are zero, and results from 2^128 on
// infinite. `row` and `addend` are integers in units of 2^-14. [a, b) / n below stands for n segments
// of equal length, a row each; offset, 10 bits, is the place in the segment. >> rounds downwards.
//
//   function         segments                               addend            exponent
//   exp              f in [0, 1) / 4                        0                 n
//   reciprocal       m in [1, 2) / 8                        0                 -e; sign of x
//   log              m in [1, 2) / 8                        e ln 2            0
//   sqrt             m in [1, 2) / 4 and [2, 4) / 4         0                 k, x = m 4^k
//   1 / sqrt         the same                               0                 -k
//   erf              1 - erf(t), t = |x|                    -1                0; sign of x
//   tanh             sigmoid(-t), t = 2 |x|                 -1/2              1; sign of x
//   sigmoid, hard    sigmoid(-t), t = |x|                   x < 0 ? 0 : -1    0; without sign
//   gelu (both),     f(-t), t = |x|                         x > 0 ? t : 0     0
//   silu, softplus,
//   hard swish
//   elu              exp(-t), t = -x, x < 0                 -1                0
//
// The segments of functions of t are [0, 1) / 4, [1, 2) / 4, [2, 4) / 4, [4, 8) / 4, and [8, 16) / 2
// of sigmoid, softplus, silu and elu; the row beyond them is zero. t is truncated to 12 fraction bits.
//   exp: y = log2e(M) 2^e with 12 fraction bits, n + f = x < 0 ? -y - 2^-12 : y (for zero: 0),
//        log2e(M) = the sum of (i log2e + 2^11) >> 10 over the three parts i of M: M & ~63, M & 56,
//        M & 7, with log2e = 1512775 (20 fraction bits)
//   log: e ln 2 = ((16 (e >> 4) ln2 + 32) >> 6) + (((e & 15) ln2 + 32) >> 6), ln2 = 726817
//   row: s = c1 + ((c2 (offset >> 2)) >> 6)
//        row(offset) = c0 + ((s (offset >> 4) + (s >> 4) (offset & 15)) >> 5)
// Instead, near zero, where fixed point has few significant bits,
//   x / 2        gelu (both), silu, hard swish of |x| < 2^-6
//   x            elu of |x| < 2^-6, tanh of |x| < 2^-4
//   2/sqrt(pi) x erf of |x| < 2^-4; m in [1, 2) / 4, exponent e
// and x where it is the limit: elu of x > 0; gelu (both), silu, softplus, hard swish of x >= 16.
//
// Errors over all numbers of bf16 and fp16, before the result is rounded to the format (after it:
// StatedFixedError). Functions of t, log and elu: at most 2^-11 absolute.
// exp, reciprocal and roots: 2^-11.7 relative, that is at most 0.56 ulp of bf16 and 1 ulp of fp16
// after rounding.
//
// Special values: NaN gives the NaN 0x7fc00000, as do log and the square roots of negative numbers;
// infinities give the function's limits; log(+-0) is -infinity, 1/sqrt(+-0) is +infinity,
// reciprocal(+-0) is infinity of that sign; sqrt, tanh, erf, gelu, silu, hard swish and elu keep the
// zero.
#ifndef KILN_NUMERICS_FUNCTION_UNIT_H_
#define KILN_NUMERICS_FUNCTION_UNIT_H_

#include <array>
#include <cstdint>
#include <string_view>

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

// Returns the function's value as an fp32 number, not yet rounded to the vector format.
float ApproximateFixed(NonlinearFunction function, float x);

// Returns the largest error over the numbers of bf16 or fp16, with the result rounded to that format:
// the row of function_unit_errors.def, or null for other formats. The errors are rounded up in the
// third digit. Arguments and exact values that are subnormal in fp32 do not count.
const NonlinearError* StatedFixedError(NonlinearFunction function, std::string_view vector_format);

}  // namespace kiln

#endif  // KILN_NUMERICS_FUNCTION_UNIT_H_
