// Evaluates the functions of function_unit.h in integers.

#include "kiln/numerics/function_unit.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>

namespace kiln {
namespace {

using F = NonlinearFunction;

constexpr std::array<FunctionRow, kFunctionRows> kRows = {{
#include "kiln/numerics/function_unit_tables.inc"
}};

// A row of function_unit_errors.def.
struct FixedErrorRow {
  NonlinearFunction function;
  std::string_view format;
  NonlinearError error;
};
constexpr FixedErrorRow kFixedErrors[] = {
    {},
#define KILN_ERROR(function, format, absolute, absolute_at, ulps, ulps_at) \
  {NonlinearFunction::function, #format, {absolute, ulps, absolute_at, ulps_at}},
#include "kiln/numerics/function_unit_errors.def"
#undef KILN_ERROR
};

constexpr uint32_t kNan = 0x7fc00000, kInfinity = 0x7f800000, kSign = 0x80000000;
constexpr int32_t kLog2E = 1512775, kLn2 = 726817;  // 20 fraction bits
constexpr int kFractionBits = 10;
// Below these exponents of x a line through zero is used.
constexpr int kNearZero = -6, kNearZeroOfOdd = -4;

// |x| = significand 2^(exponent - kFractionBits).
struct Parts {
  bool negative, zero, infinite;
  int32_t significand;
  int exponent;  // -127 of zero, 128 of infinity
};

// What the unit computes: (row(offset) + addend) 2^exponent.
struct Work {
  FunctionRow row = {};
  int32_t offset = 0;
  int32_t addend = 0;
  int exponent = 0;
  enum { kOfSum, kOfArgument, kNone } sign = kOfSum;
};

// Returns x 2^distance, rounded downwards.
int32_t Shift(int32_t x, int distance) {
  return distance >= 0 ? x << distance : x >> std::min(-distance, 31);
}

// Sets row and offset from a fraction of kArgumentBits bits; 2^bits segments follow `first`.
void Locate(int first, int bits, int32_t fraction, Work* work) {
  work->row = kRows[static_cast<size_t>(first + (fraction >> (kArgumentBits - bits)))];
  work->offset = Shift(fraction, bits - (kArgumentBits - kOffsetBits)) & (kOffsets - 1);
}

// Returns the fraction of m with kArgumentBits bits.
int32_t FractionOf(const Parts& x) {
  return Shift(x.significand, kArgumentBits - kFractionBits) & ((1 << kArgumentBits) - 1);
}

// Returns a part of a significand times log2 e, with 20 fraction bits.
int32_t TimesLog2E(int32_t part) {
  return (part * kLog2E + (1 << (kFractionBits - 1))) >> kFractionBits;
}

// exp(x) = 2^n 2^f with n + f = x log2 e.
Work Exponential(const Parts& x) {
  Work work;
  const int32_t product = TimesLog2E(x.significand & ~63) + TimesLog2E(x.significand & 56) +
                          TimesLog2E(x.significand & 7);
  int32_t y = x.zero ? 0 : Shift(product, x.exponent + kArgumentBits - 20);
  // The ones' complement rounds downwards as the shift does for positive numbers.
  if (x.negative && !x.zero) y = ~y;
  work.exponent = y >> kArgumentBits;
  Locate(FirstFunctionRow(F::kExp), 2, y & ((1 << kArgumentBits) - 1), &work);
  return work;
}

// Returns the addend of logarithms, e ln 2.
int32_t TimesLn2(int e) {
  const auto rounded = [](int part) { return (part * kLn2 + 32) >> (20 - kValueBits); };
  return rounded(e & ~15) + rounded(e & 15);
}

// Functions of m in [1, 2), or in [1, 4) for roots.
Work OfSignificand(F function, const Parts& x) {
  Work work;
  const int first = FirstFunctionRow(function), half = x.exponent >> 1;
  switch (function) {
    case F::kReciprocal:
      Locate(first, 3, FractionOf(x), &work);
      work.exponent = -x.exponent;
      work.sign = Work::kOfArgument;
      break;
    case F::kLog:
      Locate(first, 3, FractionOf(x), &work);
      work.addend = TimesLn2(x.exponent);
      break;
    default:
      Locate(first + ((x.exponent & 1) != 0 ? 4 : 0), 2, FractionOf(x), &work);
      work.exponent = function == F::kSqrt ? half : -half;
  }
  return work;
}

// Functions of t = |x|, or 2 |x| for tanh.
Work OfMagnitude(F function, const Parts& x) {
  Work work;
  const bool odd = function == F::kTanh || function == F::kErf;
  const bool halves = function == F::kGelu || function == F::kGeluTanh || function == F::kSilu ||
                      function == F::kHardSwish;
  const bool rectified = halves || function == F::kSoftplus;
  const bool logistic = function == F::kSigmoid || function == F::kHardSigmoid;
  const bool above_zero = !x.negative && !x.zero;
  const bool near_zero =
      odd ? x.exponent < kNearZeroOfOdd : (halves || function == F::kElu) && x.exponent < kNearZero;
  const int place = x.exponent + (function == F::kTanh ? 1 : 0);  // t = m 2^place

  if (odd || near_zero) work.sign = Work::kOfArgument;
  if (near_zero && function == F::kErf) {
    Locate(kErfNearZeroRow, 2, FractionOf(x), &work);
    work.exponent = x.exponent;
    return work;
  }
  if (near_zero || (above_zero && (function == F::kElu || (rectified && place >= 4)))) {
    work.addend = Shift(x.significand, kValueBits - kFractionBits);
    work.exponent = x.exponent - (near_zero && halves ? 1 : 0);
    return work;
  }

  if (place < 0) {
    Locate(FirstFunctionRow(function), 2,
           Shift(x.significand, place + kArgumentBits - kFractionBits), &work);
  } else if (place < 3) {
    Locate(FirstFunctionRow(function) + 4 * (place + 1), 2, FractionOf(x), &work);
  } else if (place == 3) {
    for (size_t i = 0; i < kFarFunctions.size(); ++i) {
      if (FirstFunctionRow(function) == FirstFunctionRow(kFarFunctions[i]))
        Locate(kFarRow + 2 * static_cast<int>(i), 1, FractionOf(x), &work);
    }
  }
  work.exponent = function == F::kTanh ? 1 : 0;
  if (logistic) work.sign = Work::kNone;
  if (odd || function == F::kElu || (logistic && !x.negative))
    work.addend = -Shift(1, kValueBits - work.exponent);
  if (rectified && above_zero) {
    // t, with as many bits as the segments have
    work.addend = Shift(Shift(x.significand, place + kArgumentBits - kFractionBits),
                        kValueBits - kArgumentBits);
  }
  return work;
}

// Returns magnitude 2^(exponent - kValueBits), zero or infinity with the sign bit of `sign`.
uint32_t Pack(uint32_t sign, uint32_t magnitude, int exponent) {
  const int top = std::bit_width(magnitude) - 1;
  const int field = exponent + 127 + top - kValueBits;
  if (magnitude == 0 || field <= 0) return sign;
  if (field >= 255) return sign | kInfinity;
  return sign | static_cast<uint32_t>(field) << 23 | ((magnitude << (23 - top)) & 0x007fffff);
}

uint32_t Run(F function, uint32_t bits) {
  const uint32_t sign = bits & kSign, fraction = bits >> (23 - kFractionBits) & 1023;
  const int field = static_cast<int>(bits >> 23 & 255);
  if (field == 255 && fraction != 0) return kNan;
  const Parts x = {.negative = sign != 0,
                   .zero = field == 0,
                   .infinite = field == 255,
                   .significand = 1024 + static_cast<int32_t>(field == 0 ? 0 : fraction),
                   .exponent = field - 127};
  Work work;
  switch (function) {
    case F::kExp:
      if (x.exponent >= 7) return x.negative ? 0 : kInfinity;
      work = Exponential(x);
      break;
    case F::kReciprocal:
      if (x.zero) return sign | kInfinity;
      if (x.infinite) return sign;
      work = OfSignificand(function, x);
      break;
    case F::kLog:
    case F::kSqrt:
    case F::kReciprocalSquareRoot:
      if (x.zero)
        return function == F::kLog ? kSign | kInfinity : function == F::kSqrt ? sign : kInfinity;
      if (x.negative) return kNan;
      if (x.infinite) return function == F::kReciprocalSquareRoot ? 0 : kInfinity;
      work = OfSignificand(function, x);
      break;
    default:
      work = OfMagnitude(function, x);
  }
  const int32_t sum = EvaluateRow(work.row, work.offset) + work.addend;
  const bool negative =
      work.sign == Work::kOfSum ? sum < 0 : work.sign == Work::kOfArgument && x.negative;
  return Pack(negative ? kSign : 0, static_cast<uint32_t>(std::abs(sum)), work.exponent);
}

}  // namespace

int FirstFunctionRow(NonlinearFunction function) {
  // Functions with similar rows are neighbours, which makes the table smaller in gates.
  constexpr std::array<int, kNonlinearFunctions> kFirst = {160, 64, 64,  0,   16,  128, 96, 32,
                                                           80,  48, 152, 184, 112, 144, 176};
  return kFirst[static_cast<size_t>(function)];
}

const std::array<FunctionRow, kFunctionRows>& FunctionRows() { return kRows; }

bool IsShortFloat(const Format& format) {
  if (format.kind != FormatKind::kFloat || !format.is_signed ||
      format.rounding != Rounding::kNearestEven || format.fraction_bits < 1 ||
      format.fraction_bits > 10) {
    return false;
  }
  if (format.low_exponent == LowExponent::kZero) return format.bias <= 127;
  return format.low_exponent == LowExponent::kSubnormal &&
         format.bias + format.fraction_bits <= 127;
}

float ApproximateFixed(NonlinearFunction function, float x) {
  return std::bit_cast<float>(Run(function, std::bit_cast<uint32_t>(x)));
}

const NonlinearError* StatedFixedError(NonlinearFunction function, std::string_view vector_format) {
  for (const FixedErrorRow& row : kFixedErrors) {
    if (row.function == function && row.format == vector_format) return &row.error;
  }
  return nullptr;
}

}  // namespace kiln
