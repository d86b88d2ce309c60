// Evaluates the functions of function_unit.h in integers.

#include "kiln/numerics/function_unit.h"

#include <bit>
#include <cstdlib>

#include "kiln/support/check.h"

namespace kiln {
namespace {

using F = NonlinearFunction;

constexpr std::array<FunctionRow, kFunctionRows> kRows = {{
#include "kiln/numerics/function_unit_tables.inc"
}};

// A row of function_unit_errors.def.
struct ErrorRow {
  NonlinearFunction function;
  std::string_view format;
  NonlinearError error;
};
constexpr ErrorRow kErrors[] = {
    {},
#define KILN_ERROR(function, format, absolute, absolute_at, ulps, ulps_at) \
  {NonlinearFunction::function, #format, {absolute, ulps, absolute_at, ulps_at}},
#include "kiln/numerics/function_unit_errors.def"
#undef KILN_ERROR
};

constexpr uint32_t kNan = 0x7fc00000, kInfinity = 0x7f800000;

// The parts of x: |x| = m 2^(exponent) with m = significand / 2^10.
struct Parts {
  bool negative;
  int exponent;         // -127 of zero, 128 of infinity
  int32_t significand;  // 2^10 to 2^11 - 1
};

// What the datapath computes, and what becomes of it: result = sign (coefficients(offset) + addend)
// 2^exponent.
struct Work {
  int row = kNoFunctionRow;
  int32_t offset = 0;
  int32_t addend = 0;
  int exponent = 0;
  // Whether the result has the sign of x, rather than that of the sum.
  bool sign_of_x = false;
  // Whether the result is |sum|.
  bool positive = false;
};

// Returns x 2^distance, rounded towards zero.
int32_t Shift(int32_t x, int distance) {
  if (distance >= 0) return x << distance;
  return distance < -31 ? 0 : x >> -distance;
}

int RowOf(F function, int row) { return static_cast<int>(function) * kRowsOfFunction + row; }

// Sets row and offset from a fraction of kArgumentBits bits; 2^bits segments of equal length.
void Locate(F function, int first, int bits, int32_t fraction, Work* work) {
  work->row = RowOf(function, first + (fraction >> (kArgumentBits - bits)));
  work->offset = (fraction << (bits - 2)) & (kOffsets - 1);
}

// exp(x) = 2^n 2^f with x log2 e = n + f.
Work Exponential(const Parts& x) {
  Work work;
  const int32_t product = x.significand * kLog2E;  // 10 + 20 fraction bits
  int32_t y = Shift(product >> 10, x.exponent + kArgumentBits - 20);
  // The ones' complement: y is rounded downwards whatever the sign.
  if (x.negative) y = ~y;
  work.exponent = y >> kArgumentBits;
  Locate(F::kExp, 0, 2, y & ((1 << kArgumentBits) - 1), &work);
  return work;
}

// Functions of m in [1, 2), or in [1, 4) for roots.
Work OfSignificand(F function, const Parts& x) {
  Work work;
  const int32_t fraction = (x.significand - 1024) << (kArgumentBits - 10);
  const bool odd = (x.exponent & 1) != 0;
  const int half = x.exponent >> 1;
  switch (function) {
    case F::kReciprocal:
      Locate(function, 0, 3, fraction, &work);
      work.exponent = -x.exponent;
      work.sign_of_x = true;
      break;
    case F::kLog:
      Locate(function, 0, 3, fraction, &work);
      work.addend = (x.exponent * kLn2 + 32) >> 6;
      break;
    default:
      Locate(function, odd ? 4 : 0, 2, fraction, &work);
      work.exponent = function == F::kSqrt ? half : -half;
  }
  return work;
}

bool IsRectified(F f) {
  return f == F::kGelu || f == F::kGeluTanh || f == F::kSilu || f == F::kHardSwish ||
         f == F::kSoftplus;
}
bool IsOdd(F f) { return f == F::kTanh || f == F::kErf; }

// Functions of t = |x| as a fixed-point number.
Work OfMagnitude(F function, const Parts& x) {
  Work work;
  const bool zero = x.exponent == -127;
  const bool halved = IsRectified(function) && function != F::kSoftplus;
  const bool small = (IsOdd(function) && x.exponent < kSmallOdd) ||
                     ((halved || function == F::kElu) && x.exponent < kSmall);
  const bool beyond = x.exponent >= 4;
  const bool above = !x.negative && !zero;
  if (small && function == F::kErf) {
    // 2 / sqrt(pi) x
    Locate(F::kExp, 4, 2, (x.significand - 1024) << (kArgumentBits - 10), &work);
    work.exponent = x.exponent;
    work.sign_of_x = true;
    return work;
  }
  const bool passes = (beyond && above && IsRectified(function)) || (function == F::kElu && above);
  if (small || passes) {
    // x or x / 2
    work.addend = x.significand << (kValueBits - 10);
    work.exponent = x.exponent - (small && halved ? 1 : 0);
    work.sign_of_x = true;
    return work;
  }
  const int32_t t = beyond ? 0 : Shift(x.significand, x.exponent + kArgumentBits - 10);  // below 16
  if (IsOdd(function) || function == F::kElu || (function == F::kSigmoid && !x.negative) ||
      (function == F::kHardSigmoid && !x.negative)) {
    work.addend = -(1 << kValueBits);
  } else if (IsRectified(function) && above) {
    work.addend = t << (kValueBits - kArgumentBits);
  }
  work.sign_of_x = IsOdd(function);
  work.positive = function == F::kSigmoid || function == F::kHardSigmoid;
  if (beyond) return work;
  const int32_t fraction = (x.significand - 1024) << (kArgumentBits - 10);
  switch (x.exponent) {
    case 3:
      for (int i = 0; i < static_cast<int>(std::size(kFarFunctions)); ++i) {
        if (kFarFunctions[i] == function) Locate(F::kExp, 8 + 2 * i, 1, fraction, &work);
      }
      if (work.row != kNoFunctionRow) work.offset = (fraction & 2047) >> 1;
      break;
    case 0:
    case 1:
    case 2:
      Locate(function, 4 * (x.exponent + 1), 2, fraction, &work);
      break;
    default:
      Locate(function, 0, 2, t, &work);
  }
  return work;
}

// Returns magnitude 2^(exponent - kValueBits) as a number; too small ones are zero.
uint32_t Pack(bool negative, uint32_t magnitude, int exponent) {
  const uint32_t sign = negative ? 1u << 31 : 0;
  if (magnitude == 0) return sign;
  const int top = 31 - std::countl_zero(magnitude);
  const int field = exponent + 127 + top - kValueBits;
  if (field <= 0) return sign;
  if (field >= 255) return sign | kInfinity;
  return sign | static_cast<uint32_t>(field) << 23 | ((magnitude << (23 - top)) & 0x007fffff);
}

uint32_t Run(F function, uint32_t bits) {
  const bool negative = bits >> 31 != 0;
  const int field = static_cast<int>(bits >> 23 & 255);
  const bool zero = field == 0, infinite = field == 255;
  const Parts x = {negative, field - 127,
                   zero ? 1024 : static_cast<int32_t>(1024 + (bits >> 13 & 1023))};
  if (infinite && (bits & 0x007fffff) != 0) return kNan;
  Work work;
  switch (function) {
    case F::kExp:
      if (zero) return std::bit_cast<uint32_t>(1.0f);
      if (x.exponent >= 7) return negative ? 0 : kInfinity;
      work = Exponential(x);
      break;
    case F::kReciprocal:
      if (zero || infinite) return (negative ? 1u << 31 : 0) | (zero ? kInfinity : 0);
      work = OfSignificand(function, x);
      break;
    case F::kLog:
    case F::kSqrt:
    case F::kReciprocalSquareRoot:
      if (negative && !zero) return kNan;
      if (zero) {
        return function == F::kLog    ? 1u << 31 | kInfinity
               : function == F::kSqrt ? bits & 1u << 31
                                      : kInfinity;
      }
      if (infinite) return function == F::kReciprocalSquareRoot ? 0 : kInfinity;
      work = OfSignificand(function, x);
      break;
    default:
      work = OfMagnitude(function, x);
  }
  const int32_t sum =
      EvaluateRow(work.row == kNoFunctionRow ? FunctionRow{} : kRows[static_cast<size_t>(work.row)],
                  work.offset) +
      work.addend;
  return Pack(!work.positive && (work.sign_of_x ? negative : sum < 0),
              static_cast<uint32_t>(std::abs(sum)), work.exponent);
}

}  // namespace

const std::array<FunctionRow, kFunctionRows>& FunctionRows() { return kRows; }

float ApproximateFixed(NonlinearFunction function, float x) {
  return std::bit_cast<float>(Run(function, std::bit_cast<uint32_t>(x)));
}

const NonlinearError* StatedFixedError(NonlinearFunction function, std::string_view vector_format) {
  for (const ErrorRow& row : kErrors) {
    if (row.function == function && row.format == vector_format) return &row.error;
  }
  return nullptr;
}

}  // namespace kiln
