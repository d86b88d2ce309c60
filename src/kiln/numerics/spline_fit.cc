#include "kiln/numerics/spline_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace kiln {
namespace {

constexpr double kGrid = 1024;  // knots are multiples of 1/kGrid

struct Domain {
  const char* name;
  double begin, end;
  bool anchored;  // meets the function exactly at `begin`
  bool open;      // ends as soon as the function is within the error of `limit`; `end` is only an upper bound
  double limit;
};

constexpr std::array<Domain, kSplines> kDomains = {{
    {"exp2", 0, 1, true, false, 0},
    {"log", -0.25, 0.5, false, false, 0},
    {"reciprocal", 1, 2, false, false, 0},
    {"reciprocal_square_root", 1, 4, false, false, 0},
    {"tanh", 0, 16, true, true, 1},
    {"erf", 0, 16, true, true, 1},
    {"sigmoid", 0, 24, true, true, 0},
    {"gelu", 0, 16, true, true, 0},
    {"gelu_tanh", 0, 16, true, true, 0},
    {"silu", 0, 32, true, true, 0},
    {"softplus", 0, 24, true, true, 0},
}};

double Sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

struct Quadratic {
  double c0, c1, c2;
  double operator()(double t) const { return (c2 * t + c1) * t + c0; }
};

Quadratic Interpolate(SplineId id, double a, double b, bool anchored) {
  // Zeros of the Chebyshev polynomial T3 at -r, 0, r; anchored: stretched so that -r falls on the left end.
  const double r = std::numbers::sqrt3 / 2;
  std::array<double, 3> t;
  for (int i = 0; i < 3; ++i) {
    const double u = (i - 1) * r;
    t[static_cast<size_t>(i)] = anchored ? a + (b - a) * (u + r) / (1 + r) : (a + b) / 2 + (b - a) / 2 * u;
  }
  const double f0 = SplineTarget(id, t[0]), f1 = SplineTarget(id, t[1]), f2 = SplineTarget(id, t[2]);
  const double d01 = (f1 - f0) / (t[1] - t[0]);  // Newton's divided differences
  const double d12 = (f2 - f1) / (t[2] - t[1]);
  const double d = (d12 - d01) / (t[2] - t[0]);
  return {f0 - d01 * t[0] + d * t[0] * t[1], d01 - d * (t[0] + t[1]), d};
}

double ErrorOf(SplineId id, double a, double b, bool anchored) {
  const Quadratic q = Interpolate(id, a, b, anchored);
  double worst = 0;
  constexpr int kSamples = 64;
  for (int i = 0; i <= kSamples; ++i) {
    const double t = a + (b - a) * i / kSamples;
    worst = std::max(worst, std::fabs(q(t) - SplineTarget(id, t)));
  }
  return worst;
}

// Knots in grid steps such that no segment's error is above `tolerance`, each segment as long as can be. Empty when
// seven segments do not reach the end of the domain.
std::array<int64_t, kSplineSegments + 1> PlaceKnots(SplineId id, double tolerance, bool* reached) {
  const Domain& domain = kDomains[static_cast<size_t>(id)];
  int64_t end = std::llround(domain.end * kGrid);
  const int64_t begin = std::llround(domain.begin * kGrid);
  if (domain.open) {
    int64_t inside = begin;  // the tail is above the tolerance here, or further left
    while (end - inside > 1) {
      const int64_t middle = (inside + end) / 2;
      const double tail = std::fabs(SplineTarget(id, static_cast<double>(middle) / kGrid) - domain.limit);
      // gelu and silu rise before they fall: the fall has begun for sure beyond 2.
      (middle < 2 * kGrid || tail > tolerance ? inside : end) = middle;
    }
  }
  std::array<int64_t, kSplineSegments + 1> knots{};
  knots[0] = begin;
  for (size_t i = 0; i < kSplineSegments; ++i) {
    int64_t good = knots[i], bad = end + 1;
    while (bad - good > 1) {
      const int64_t middle = (good + bad) / 2;
      const bool fits = ErrorOf(id, static_cast<double>(knots[i]) / kGrid, static_cast<double>(middle) / kGrid,
                                domain.anchored && i == 0) <= tolerance;
      (fits ? good : bad) = middle;
    }
    knots[i + 1] = good;
  }
  *reached = knots[kSplineSegments] == end && knots[kSplineSegments - 1] < end;
  if (knots[kSplineSegments - 1] >= end) *reached = true;
  return knots;
}

}  // namespace

double SplineTarget(SplineId id, double t) {
  switch (id) {
    case SplineId::kExp2:
      return std::exp2(t);
    case SplineId::kLog:
      return std::fabs(t) < 1e-4 ? 1 - t / 2 + t * t / 3 - t * t * t / 4 : std::log1p(t) / t;
    case SplineId::kReciprocal:
      return 1 / t;
    case SplineId::kReciprocalSquareRoot:
      return 1 / std::sqrt(t);
    case SplineId::kTanh:
      return std::tanh(t);
    case SplineId::kErf:
      return std::erf(t);
    case SplineId::kSigmoid:
      return Sigmoid(-t);
    case SplineId::kGelu:
      return -t * std::erfc(t / std::numbers::sqrt2) / 2;
    case SplineId::kGeluTanh:
      return -t * Sigmoid(-2 * std::sqrt(2 / std::numbers::pi) * (t + 0.044715 * t * t * t));
    case SplineId::kSilu:
      return -t * Sigmoid(-t);
    case SplineId::kSoftplus:
      return std::log1p(std::exp(-t));
  }
  return 0;
}

Spline FitSpline(SplineId id) {
  const Domain& domain = kDomains[static_cast<size_t>(id)];
  double low = 0, high = 0.25;  // seven segments do not reach with an error of `low`, and do with `high`
  bool reached = false;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    PlaceKnots(id, middle, &reached);
    (reached ? high : low) = middle;
  }
  const auto knots = PlaceKnots(id, high, &reached);
  Spline spline{};
  spline.name = domain.name;
  for (size_t i = 0; i <= kSplineSegments; ++i)
    spline.knots[i] = static_cast<float>(static_cast<double>(knots[i]) / kGrid);
  for (size_t i = 0; i < 8; ++i) {
    const size_t s = std::min<size_t>(i, kSplineSegments - 1);
    const Quadratic q = Interpolate(id, static_cast<double>(knots[s]) / kGrid,
                                    static_cast<double>(knots[s + 1]) / kGrid, domain.anchored && s == 0);
    spline.c0[i] = static_cast<float>(q.c0);
    spline.c1[i] = static_cast<float>(q.c1);
    spline.c2[i] = static_cast<float>(q.c2);
  }
  return spline;
}

std::string PrintSplineTables() {
  std::string text = "// Written by tools/fit_splines. One row a spline: name, knots, c0, c1, c2.\n";
  const auto row = [&text](const float* values, int count) {
    text += "     {";
    for (int i = 0; i < count; ++i) {
      char buffer[64];
      std::snprintf(buffer, sizeof buffer, "%s%af", i == 0 ? "" : ", ", static_cast<double>(values[i]));
      text += buffer;
    }
    text += "}";
  };
  for (int i = 0; i < kSplines; ++i) {
    const Spline spline = FitSpline(static_cast<SplineId>(i));
    text += "    {\"" + std::string(spline.name) + "\",\n";
    row(spline.knots, kSplineSegments + 1);
    for (const float* c : {spline.c0, spline.c1, spline.c2}) {
      text += ",\n";
      row(c, 8);
    }
    text += "},\n";
  }
  return text;
}

}  // namespace kiln
