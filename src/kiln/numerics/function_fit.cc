// Fits each row by itself: the quadratic through Chebyshev's nodes gives first coefficients; of the
// integers around them those with the least error are taken, evaluated as the unit does.

#include "kiln/numerics/function_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "fmt/format.h"
#include "kiln/numerics/elementary.h"
#include "kiln/numerics/spline_fit.h"

namespace kiln {
namespace {

using F = NonlinearFunction;

// A segment of a function that rows stand for: exp2 for exp, 1 - erf for erf, exp for elu.
struct Segment {
  F function;
  double begin, length;
  bool first;              // whether it is the first one of its function
  bool near_zero = false;  // of erf: 2 / sqrt(pi) m
};

Segment SegmentOf(int row) {
  const F by_slot[] = {F::kGelu,    F::kGeluTanh,    F::kSilu,     F::kHardSwish,
                       F::kSigmoid, F::kHardSigmoid, F::kSoftplus, F::kElu,
                       F::kErf,     F::kReciprocal,  F::kExp,      F::kReciprocalSquareRoot};
  F function = by_slot[row / 16];
  int i = row % 16;
  switch (function) {
    case F::kExp:
      if (row >= kFarRow) {
        return {kFarFunctions[static_cast<size_t>(row - kFarRow) / 2], row % 2 == 0 ? 8.0 : 12.0, 4,
                false};
      }
      if (row >= kErfNearZeroRow)
        return {F::kErf, 1 + (row - kErfNearZeroRow) / 4.0, 0.25, false, true};
      return {function, i / 4.0, 0.25, i == 0};
    case F::kReciprocal:
      if (i >= 8) function = F::kLog;
      i %= 8;
      return {function, 1 + i / 8.0, 0.125, i == 0};
    case F::kReciprocalSquareRoot:
      if (i >= 8) function = F::kSqrt;
      i %= 8;
      if (i < 4) return {function, 1 + i / 4.0, 0.25, i == 0};
      return {function, 2 + (i - 4) / 2.0, 0.5, false};
    default:
      break;
  }
  if (i < 4) return {function, i / 4.0, 0.25, i == 0};
  const double octave = 1 << (i / 4 - 1);
  return {function, octave * (1 + i % 4 / 4.0), octave / 4, false};
}

double Target(const Segment& segment, double t) {
  if (segment.near_zero) return 2 / std::sqrt(std::numbers::pi) * t;
  switch (segment.function) {
    case F::kExp:
      return elementary::Exp2(t);
    case F::kErf:
      return elementary::Erfc(t);
    case F::kElu:
      return elementary::Exp(-t);
    case F::kLog:
    case F::kReciprocal:
    case F::kSqrt:
    case F::kReciprocalSquareRoot:
      return NonlinearTarget(segment.function, t);
    default:
      return NonlinearTarget(segment.function, -t);
  }
}

// Returns whether the value at the left end of the first segment is exact: that at 0 or 1, where it
// is a multiple of 2^-kValueBits and the row is used.
bool IsAnchored(F function) {
  switch (function) {
    case F::kExp:
    case F::kSigmoid:
    case F::kHardSigmoid:
    case F::kLog:
    case F::kReciprocal:
    case F::kSqrt:
    case F::kReciprocalSquareRoot:
      return true;
    default:
      return false;
  }
}

double At(const Segment& segment, double offset) {
  return std::ldexp(Target(segment, segment.begin + segment.length * offset / kOffsets),
                    kValueBits);
}

}  // namespace

double FunctionRowTarget(int row, double offset) {
  const Segment segment = SegmentOf(row);
  return At(segment, segment.function == F::kExp ? offset + 0.5 : offset);
}

FunctionRow FitFunctionRow(int row) {
  const Segment segment = SegmentOf(row);
  std::array<double, kOffsets> exact;
  for (size_t i = 0; i < kOffsets; ++i) exact[i] = FunctionRowTarget(row, static_cast<double>(i));
  // Newton's divided differences at the zeros of the Chebyshev polynomial of degree 3, in units of
  // the segment: the slope at its begin, and the curvature.
  const double r = std::numbers::sqrt3 / 4;
  const auto at = [&](double u) { return At(segment, u * kOffsets); };
  const double f0 = at(0.5 - r), f1 = at(0.5), f2 = at(0.5 + r);
  const double curvature = (f2 - 2 * f1 + f0) / (2 * r * r);
  const double slope = (f1 - f0) / r - curvature * (1 - r);
  const double begin = At(segment, 0);
  const bool anchored = segment.first && IsAnchored(segment.function);
  const auto [least_exact, greatest_exact] = std::minmax_element(exact.begin(), exact.end());

  constexpr double kUnit1 = 1 << (kValueBits - kSlopeBits);
  constexpr double kUnit2 = 1 << (kValueBits - kCurvatureBits);
  FunctionRow best{};
  double least = std::numeric_limits<double>::infinity();
  const auto first2 = static_cast<int32_t>(std::floor(curvature / kUnit2)) - 1;
  for (int32_t c2 = first2; c2 < first2 + 4; ++c2) {
    // The slope that equalises the errors at both ends when the curvature is rounded.
    const double slope2 = slope + curvature - c2 * kUnit2;
    const auto first1 = static_cast<int32_t>(std::floor(slope2 / kUnit1)) - 4;
    for (int32_t c1 = first1; c1 < first1 + 10; ++c1) {
      double above = -std::numeric_limits<double>::infinity(), below = -above;
      int32_t lowest = std::numeric_limits<int32_t>::max(), highest = -lowest;
      for (size_t i = 0; i < kOffsets; ++i) {
        const int32_t value = EvaluateRow({0, c1, c2}, static_cast<int32_t>(i));
        above = std::max(above, exact[i] - value);
        below = std::min(below, exact[i] - value);
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
      }
      double c0 = anchored ? begin : std::round((above + below) / 2);
      // The sign is that of the function.
      if (*least_exact >= 0) {
        c0 = std::max<double>(c0, -lowest);
      } else if (*greatest_exact <= 0) {
        c0 = std::min<double>(c0, -highest);
      }
      if (anchored && c0 != begin) continue;
      const double error = std::max(above - c0, c0 - below);
      if (error < least) {
        least = error;
        best = {static_cast<int32_t>(c0), c1, c2};
      }
    }
  }
  return best;
}

std::string PrintFunctionRows() {
  std::string text = "// Written by tools/fit_functions. Four rows a line: c0, c1, c2.\n";
  for (int row = 0; row < kFunctionRows; ++row) {
    const FunctionRow c = FitFunctionRow(row);
    text += fmt::format("{}{{{}, {}, {}}},{}", row % 4 == 0 ? "    " : " ", c.c0, c.c1, c.c2,
                        row % 4 == 3 ? "\n" : "");
  }
  return text;
}

}  // namespace kiln
