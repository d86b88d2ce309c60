// Fits each row of the table to the function by itself: the quadratic through Chebyshev's nodes gives
// the first coefficients; of their integer neighbours those with the least error over all offsets,
// evaluated as the unit does, are taken.

#include "kiln/numerics/function_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "fmt/format.h"
#include "kiln/numerics/elementary.h"
#include "kiln/numerics/spline_fit.h"

namespace kiln {
namespace {

using F = NonlinearFunction;

constexpr double kUnit = 1 << kValueBits;

// A row's function, and the segment that its offsets cover.
struct Segment {
  F function;
  double begin, length;
  bool small = false;  // of erf: 2 / sqrt(pi) (1 + t)
};

// Returns the segment of a row, or nothing for rows that are not used.
std::optional<Segment> SegmentOf(int row) {
  const auto function = static_cast<F>(row / kRowsOfFunction);
  const int i = row % kRowsOfFunction;
  switch (function) {
    case F::kExp:
      if (i < 4) return Segment{function, i / 4.0, 0.25};
      if (i < 8) return Segment{F::kErf, 1 + (i - 4) / 4.0, 0.25, true};
      return Segment{kFarFunctions[(i - 8) / 2], i % 2 == 0 ? 8.0 : 12.0, 4};
    case F::kReciprocal:
    case F::kLog:
      if (i >= 8) return std::nullopt;
      return Segment{function, 1 + i / 8.0, 0.125};
    case F::kSqrt:
    case F::kReciprocalSquareRoot:
      if (i >= 8) return std::nullopt;
      if (i < 4) return Segment{function, 1 + i / 4.0, 0.25};
      return Segment{function, 2 + (i - 4) / 2.0, 0.5};
    default: {
      if (i < 4) return Segment{function, i / 4.0, 0.25};
      const double octave = 1 << (i / 4 - 1);
      return Segment{function, octave * (1 + i % 4 / 4.0), octave / 4};
    }
  }
}

// Returns a segment's function.
double Target(const Segment& segment, double t) {
  if (segment.small) return 2 / std::sqrt(std::numbers::pi) * t;
  switch (segment.function) {
    case F::kExp:
      return elementary::Exp2(t);
    case F::kTanh:
      return 2 / (1 + elementary::Exp(2 * t));
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

FunctionRow Fit(int row) {
  const Segment segment = *SegmentOf(row);
  std::array<double, kOffsets> exact;
  for (int i = 0; i < kOffsets; ++i) exact[static_cast<size_t>(i)] = FunctionRowTarget(row, i);
  // Newton's divided differences at the zeros of the Chebyshev polynomial of degree 3.
  const double r = std::numbers::sqrt3 / 4;
  const std::array<double, 3> u = {0.5 - r, 0.5, 0.5 + r};
  std::array<double, 3> f;
  for (size_t i = 0; i < 3; ++i)
    f[i] = kUnit * Target(segment, segment.begin + segment.length * u[i]);
  const double d01 = (f[1] - f[0]) / r, d12 = (f[2] - f[1]) / r, d = (d12 - d01) / (2 * r);
  const double first = d01 - d * (u[0] + u[1]);
  // Anchors: exact values of the function at the left end of a first segment.
  const double left = kUnit * Target(segment, segment.begin);
  const bool anchored = row % kRowsOfFunction == 0 && left == std::round(left);
  FunctionRow best{};
  double least = std::numeric_limits<double>::infinity();
  const int scale = 1 << (kValueBits - kCurvatureBits);
  const int middle2 = static_cast<int>(std::floor(d / scale));
  for (int c2 = middle2 - 1; c2 <= middle2 + 2; ++c2) {
    const int middle1 = static_cast<int>(std::floor(first + (d - c2 * scale)));
    for (int c1 = middle1 - 4; c1 <= middle1 + 5; ++c1) {
      double above = -std::numeric_limits<double>::infinity(), below = -above;
      for (int i = 0; i < kOffsets; ++i) {
        const double difference = exact[static_cast<size_t>(i)] - EvaluateRow({0, c1, c2}, i);
        above = std::max(above, difference);
        below = std::min(below, difference);
      }
      const int c0 = static_cast<int>(std::floor(anchored ? left : (above + below) / 2 + 0.5));
      const double error = std::max(above - c0, c0 - below);
      if (error < least) {
        least = error;
        best = {c0, c1, c2};
      }
    }
  }
  return best;
}

}  // namespace

double FunctionRowTarget(int row, double offset) {
  const Segment segment = *SegmentOf(row);
  // The argument of exp is rounded downwards.
  const double half = segment.function == F::kExp ? 0.5 : 0;
  return kUnit * Target(segment, segment.begin + segment.length * (offset + half) / kOffsets);
}

std::array<FunctionRow, kFunctionRows> FitFunctionRows() {
  std::array<FunctionRow, kFunctionRows> rows;
  for (int row = 0; row < kFunctionRows; ++row) {
    rows[static_cast<size_t>(row)] =
        SegmentOf(row) ? Fit(row) : rows[static_cast<size_t>(row - kRowsOfFunction / 2)];
  }
  return rows;
}

std::string PrintFunctionRows() {
  std::string text = "// Written by tools/fit_functions. The rows of all functions: c0, c1, c2.\n";
  const auto rows = FitFunctionRows();
  for (int row = 0; row < kFunctionRows; ++row) {
    if (row % kRowsOfFunction == 0)
      text += fmt::format("    // {}\n", NameOf(static_cast<F>(row / kRowsOfFunction)));
    const FunctionRow& c = rows[static_cast<size_t>(row)];
    text += fmt::format("    {{{}, {}, {}}},\n", c.c0, c.c1, c.c2);
  }
  return text;
}

}  // namespace kiln
