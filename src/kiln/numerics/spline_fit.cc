// Fits piecewise quadratics by bisection on the error: for a given tolerance, segments are made as
// long as possible from left to right; the smallest tolerance at which they cover the domain
// balances the error over all segments.

#include "kiln/numerics/spline_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/elementary.h"

namespace kiln {
namespace {

constexpr double kGrid = 1024;  // knots are multiples of 1/kGrid

// The domain of a spline.
struct Domain {
  const char* name;
  double begin, end;
  bool anchored;  // the spline equals the function exactly at `begin`
  // Whether the domain ends as soon as the function is within the error of `limit`. `end` is then
  // only an upper bound.
  bool open;
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

// Each branch uses the exponential that cannot overflow.
double Sigmoid(double x) {
  return x < 0 ? elementary::Exp(x) / (1 + elementary::Exp(x)) : 1 / (1 + elementary::Exp(-x));
}

// A quadratic in its monomial form.
struct Quadratic {
  double c0, c1, c2;
  double operator()(double t) const { return (c2 * t + c1) * t + c0; }
};

// A range of arguments that is approximated by one quadratic.
struct Piece {
  double begin, end;
  bool anchored;
  // Returns an interpolation point: a zero of the Chebyshev polynomial of degree 3, mapped to the
  // piece. In an anchored piece the points are stretched so that the first one is the left end.
  double Node(int i) const {
    const double r = std::numbers::sqrt3 / 2, u = (i - 1) * r;
    return anchored ? begin + (end - begin) * (u + r) / (1 + r)
                    : (begin + end) / 2 + (end - begin) / 2 * u;
  }
};

// Returns the quadratic that equals the function at the three nodes of a piece.
Quadratic Interpolate(SplineId id, const Piece& piece) {
  const double t0 = piece.Node(0), t1 = piece.Node(1), t2 = piece.Node(2);
  const double f0 = SplineTarget(id, t0), f1 = SplineTarget(id, t1), f2 = SplineTarget(id, t2);
  const double d01 = (f1 - f0) / (t1 - t0);  // Newton's divided differences
  const double d12 = (f2 - f1) / (t2 - t1);
  const double d = (d12 - d01) / (t2 - t0);
  return {f0 - d01 * t0 + d * t0 * t1, d01 - d * (t0 + t1), d};
}

// Returns the largest error of a quadratic over a piece, sampled at 65 points.
double ErrorOf(SplineId id, const Quadratic& q, const Piece& piece) {
  double worst = 0;
  constexpr int kSamples = 64;
  for (int i = 0; i <= kSamples; ++i) {
    const double t = piece.begin + (piece.end - piece.begin) * i / kSamples;
    worst = std::max(worst, std::fabs(q(t) - SplineTarget(id, t)));
  }
  return worst;
}

// The fit of one spline in one format.
class Fit {
 public:
  Fit(SplineId id, const Format& format, int segments)
      : id_(id), format_(format), segments_(segments), domain_(kDomains[static_cast<size_t>(id)]) {
    for (int64_t k = std::llround(domain_.begin * kGrid); k <= std::llround(domain_.end * kGrid);
         ++k) {
      const double t = static_cast<double>(k) / kGrid;
      if (Rounded(t) == t) grid_.push_back(t);
    }
  }

  // Bisects the tolerance, then fits every segment between the final knots.
  Spline Run() const {
    // Bisection: the segments do not reach the end of the domain with an error of `low`, and do
    // with `high`.
    double low = 0, high = 0.25;
    bool reached = false;
    for (int i = 0; i < 40; ++i) {
      const double middle = (low + high) / 2;
      PlaceKnots(middle, &reached);
      (reached ? high : low) = middle;
    }
    const std::vector<size_t> knots = PlaceKnots(high, &reached);
    Spline spline{};
    spline.name = domain_.name;
    for (size_t i = 0; i < knots.size(); ++i) spline.knots[i] = static_cast<float>(grid_[knots[i]]);
    for (size_t i = 0; i < kMostSplineSegments; ++i) {
      // If fewer segments suffice, the remaining ones are empty and repeat the last coefficients.
      size_t s = std::min(i, knots.size() - 2);
      while (s > 0 && knots[s] == knots[s + 1]) --s;
      const Quadratic q = Best(PieceOf(s, knots[s], knots[s + 1]));
      spline.c0[i] = static_cast<float>(q.c0);
      spline.c1[i] = static_cast<float>(q.c1);
      spline.c2[i] = static_cast<float>(q.c2);
    }
    return spline;
  }

 private:
  // Returns x rounded to the format.
  double Rounded(double x) const {
    return DecodeFloat(format_, EncodeFloat(format_, static_cast<float>(x)));
  }
  // Returns whether the format has the precision of fp32, so that rounding coefficients one by one
  // is not worthwhile.
  bool wide() const { return format_.fraction_bits >= 23; }
  // Returns a segment between two grid points; only the first segment of a domain is anchored.
  Piece PieceOf(size_t segment, size_t first, size_t last) const {
    return {grid_[first], grid_[last], domain_.anchored && segment == 0};
  }

  // Returns the numbers of the format on either side of x, or x twice if the format represents it.
  std::array<double, 2> Neighbours(double x) const {
    const double nearest = Rounded(x);
    if (nearest == x) return {x, x};
    const double step =
        std::ldexp(1.0, std::ilogb(nearest == 0 ? x : nearest) - format_.fraction_bits);
    return {nearest, Rounded(nearest < x ? nearest + step : nearest - step)};
  }

  // Returns the best quadratic of a piece with coefficients in the format. In narrow formats tries
  // both neighbours of each coefficient, highest first, and recomputes the lower ones for the error
  // that rounding the higher ones leaves.
  Quadratic Best(const Piece& piece) const {
    const Quadratic exact = Interpolate(id_, piece);
    if (wide()) return {Rounded(exact.c0), Rounded(exact.c1), Rounded(exact.c2)};
    Quadratic best{};
    double least = std::numeric_limits<double>::infinity();
    for (const double c2 : Neighbours(exact.c2)) {
      const auto rest = [&](double t) { return SplineTarget(id_, t) - c2 * t * t; };
      const double first = piece.Node(0), last = piece.Node(2);
      for (const double c1 : Neighbours((rest(last) - rest(first)) / (last - first))) {
        const double anchor = rest(piece.begin) - c1 * piece.begin;
        for (const double c0 : Neighbours(piece.anchored ? anchor : Middle(piece, {0, c1, c2}))) {
          const Quadratic q{c0, c1, c2};
          const double error = ErrorOf(id_, q, piece);
          if (error < least &&
              (!piece.anchored || q(piece.begin) == Rounded(SplineTarget(id_, piece.begin)))) {
            least = error;
            best = q;
          }
        }
      }
    }
    return best;
  }

  // Returns the constant that balances the largest positive and negative errors of q.
  double Middle(const Piece& piece, const Quadratic& q) const {
    double above = -std::numeric_limits<double>::infinity(), below = -above;
    constexpr int kSamples = 64;
    for (int i = 0; i <= kSamples; ++i) {
      const double t = piece.begin + (piece.end - piece.begin) * i / kSamples;
      const double difference = SplineTarget(id_, t) - q(t);
      above = std::max(above, difference);
      below = std::min(below, difference);
    }
    return (above + below) / 2;
  }

  // Returns whether a piece can be approximated within the tolerance.
  bool Fits(const Piece& piece, double tolerance) const {
    // A quick test first: rounding seldom halves the error of the exact quadratic.
    const Quadratic exact = Interpolate(id_, piece);
    if (wide()) return ErrorOf(id_, exact, piece) <= tolerance;
    return ErrorOf(id_, exact, piece) <= 2 * tolerance &&
           ErrorOf(id_, Best(piece), piece) <= tolerance;
  }

  // Returns the index of the end of the domain: of open domains, the first grid point at which the
  // function is within the tolerance of its limit.
  size_t EndOf(double tolerance) const {
    size_t end = grid_.size() - 1;
    if (!domain_.open) return end;
    size_t inside = 0;  // at or left of the last point with a tail above the tolerance
    while (end - inside > 1) {
      const size_t middle = (inside + end) / 2;
      const double tail = std::fabs(SplineTarget(id_, grid_[middle]) - domain_.limit);
      // gelu and silu rise before they fall; beyond 2 they certainly fall, so that bisection is
      // valid.
      (grid_[middle] < 2 || tail > tolerance ? inside : end) = middle;
    }
    return end;
  }

  // Returns knots (indices into the grid) for which no segment's error exceeds `tolerance`, with
  // every segment as long as possible. `reached`: whether the last knot is the end of the domain.
  std::vector<size_t> PlaceKnots(double tolerance, bool* reached) const {
    const size_t end = EndOf(tolerance);
    std::vector<size_t> knots = {0};
    for (int i = 0; i < segments_; ++i) {
      size_t good = knots.back(), bad = end + 1;
      while (bad - good > 1) {
        const size_t middle = (good + bad) / 2;
        (Fits(PieceOf(static_cast<size_t>(i), knots.back(), middle), tolerance) ? good : bad) =
            middle;
      }
      knots.push_back(good);
    }
    *reached = knots.back() == end;
    return knots;
  }

  SplineId id_;
  const Format& format_;
  int segments_;
  const Domain& domain_;
  // Candidate knots, ascending: the multiples of 1/kGrid that the format represents.
  std::vector<double> grid_;
};

}  // namespace

double SplineTarget(SplineId id, double t) {
  switch (id) {
    case SplineId::kExp2:
      return elementary::Exp2(t);
    case SplineId::kLog:
      return std::fabs(t) < 1e-4 ? 1 - t / 2 + t * t / 3 - t * t * t / 4 : elementary::Log1p(t) / t;
    case SplineId::kReciprocal:
      return 1 / t;
    case SplineId::kReciprocalSquareRoot:
      return 1 / std::sqrt(t);
    case SplineId::kTanh:
      return elementary::Tanh(t);
    case SplineId::kErf:
      return elementary::Erf(t);
    case SplineId::kSigmoid:
      return Sigmoid(-t);
    case SplineId::kGelu:
      return -t * elementary::Erfc(t / std::numbers::sqrt2) / 2;
    case SplineId::kGeluTanh:
      return -t * Sigmoid(-2 * std::sqrt(2 / std::numbers::pi) * (t + 0.044715 * t * t * t));
    case SplineId::kSilu:
      return -t * Sigmoid(-t);
    case SplineId::kSoftplus:
      return elementary::Log1p(elementary::Exp(-t));
  }
  return 0;
}

Spline FitSpline(SplineId id, const Format& format, int segments) {
  return Fit(id, format, segments).Run();
}

SplineTables FitSplines(const Format& format, int segments) {
  SplineTables tables;
  tables.segments = segments;
  for (size_t i = 0; i < kSplines; ++i)
    tables.splines[i] = FitSpline(static_cast<SplineId>(i), format, segments);
  return tables;
}

std::string PrintSplineTables() {
  std::string text =
      "// Written by tools/fit_splines. A set of splines for fp32, bf16 and fp16; a spline: name, "
      "knots, c0, c1, c2.\n";
  const auto row = [&text](const float* values, int count) {
    text += "     {";
    for (int i = 0; i < count; ++i) {
      char buffer[64];
      std::snprintf(buffer, sizeof buffer, "%s%af", i == 0 ? "" : ", ",
                    static_cast<double>(values[i]));
      text += buffer;
    }
    text += "}";
  };
  for (const char* name : {"fp32", "bf16", "fp16"}) {
    const SplineTables tables = FitSplines(*FindFormat(name), kSplineSegments);
    text += "    // " + std::string(name) + "\n    {" + std::to_string(kSplineSegments) + ", {{\n";
    for (const Spline& spline : tables.splines) {
      text += "    {\"" + std::string(spline.name) + "\",\n";
      row(spline.knots, kMostSplineSegments + 1);
      for (const float* c : {spline.c0, spline.c1, spline.c2}) {
        text += ",\n";
        row(c, kMostSplineSegments);
      }
      text += "},\n";
    }
    text += "    }}},\n";
  }
  return text;
}

double NonlinearTarget(NonlinearFunction function, double x) {
  using F = NonlinearFunction;
  switch (function) {
    case F::kExp:
      return elementary::Exp(x);
    case F::kSigmoid:
      return Sigmoid(x);
    case F::kTanh:
      return elementary::Tanh(x);
    case F::kGelu:
      return x * elementary::Erfc(-x / std::numbers::sqrt2) / 2;
    case F::kGeluTanh:
      return x * Sigmoid(2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x));
    case F::kErf:
      return elementary::Erf(x);
    case F::kSoftplus:
      return x > 0 ? x + elementary::Log1p(elementary::Exp(-x))
                   : elementary::Log1p(elementary::Exp(x));
    case F::kSilu:
      return x * Sigmoid(x);
    case F::kHardSigmoid:
      return std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case F::kHardSwish:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case F::kLog:
      return elementary::Log(x);
    case F::kSqrt:
      return std::sqrt(x);
    case F::kElu:
      return x > 0 ? x : elementary::Expm1(x);
    case F::kReciprocal:
      return 1 / x;
    case F::kReciprocalSquareRoot:
      return 1 / std::sqrt(x == 0 ? 0 : x);  // minus zero counts as zero
  }
  return 0;
}

ErrorAtArgument NonlinearErrorAt(NonlinearFunction function, const Format& format, float x,
                                 float result) {
  const double exact = NonlinearTarget(function, static_cast<double>(x));
  if (std::isnan(exact) && std::isnan(result)) return {0, 0};
  // Numbers from half a unit of the last place beyond the largest finite number round to infinity.
  const int most_exponent = (1 << format.exponent_bits) - 2 - format.bias;
  const double last_place = std::ldexp(1.0, most_exponent - format.fraction_bits);
  const double greatest = std::ldexp(2.0, most_exponent) - last_place;
  double absolute = std::fabs(static_cast<double>(result) - exact);
  if (std::isinf(result)) {
    // An infinite result represents everything from the largest number on.
    absolute = std::signbit(result) == std::signbit(exact)
                   ? std::max(0.0, greatest + last_place - std::fabs(exact))
                   : std::numeric_limits<double>::infinity();
  } else if (std::isinf(exact)) {
    absolute = std::numeric_limits<double>::infinity();
  }
  const int exponent = exact == 0 || std::isinf(exact) ? 1 - format.bias : std::ilogb(exact);
  const double ulp =
      std::ldexp(1.0, std::clamp(exponent, 1 - format.bias, most_exponent) - format.fraction_bits);
  return {absolute, absolute / ulp};
}

}  // namespace kiln
