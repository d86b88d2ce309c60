// The approximate functions of programmable vector units, to the bit: piecewise quadratics with free knots, seven
// segments unless asked otherwise, one table a function (after Voyager, arXiv 2509.15205, whose vector unit holds such
// splines). Knots and coefficients are numbers of the vector unit's format. All arithmetic is IEEE 754 binary32,
// nearest even, so that software at any vector width and hardware give the same bits; a unit of a narrower format
// rounds the result to it, once, which is left to the caller.
//
//   spline S(t) = fma(fma(c2, t, c1), t, c0), coefficients of the segment that holds t (nonlinear_tables.inc)
//
//   function                evaluation                                                       largest error in fp32
//   exp                     2^n E(f), n = floor(x log2 e), f = fma(x, log2 e, -n)            1.5e-5 relative
//   log                     fma(e, ln 2, t L(t)), x = 2^e (1 + t), t in [-1/4, 1/2)          1e-5 absolute
//   reciprocal              r = R(m), then r = fma(r, fma(-m, r, 1), r), x = 2^e m           1 ulp
//   reciprocal square root  r = Q(m), then r = fma(r/2, fma(-m r, r, 1), r), x = 4^k m       2 ulp
//   sqrt                    x times its reciprocal square root                               2 ulp
//   tanh, erf               sign(x) min(S(|x|), 1)                                           4e-4 absolute
//   sigmoid                 x < 0 ? S(|x|) : 1 - S(|x|), S the part below 1/2                2e-4 absolute
//   gelu (both), silu,      max(x, 0) + S(|x|)                                               4e-4 absolute
//     softplus
//   elu                     x > 0 ? x : exp(x) - 1                                           1e-5 absolute
//   hard sigmoid            max(min(fma(x, 1/6, 1/2), 1), 0), and hard swish x times that    exact as written
//
// Special values: NaN gives the NaN 0x7fc00000, and so do log and the square roots of numbers below zero; infinities
// give the function's limits; log(0) is -infinity, 1/sqrt(+-0) is +infinity; subnormals count as what they are.
#ifndef KILN_NUMERICS_NONLINEAR_H_
#define KILN_NUMERICS_NONLINEAR_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "kiln/numerics/format.h"
#include "kiln/support/status.h"

namespace kiln {

enum class NonlinearFunction : uint8_t {
  kExp = 0,
  kSigmoid = 1,
  kTanh = 2,
  kGelu = 3,      // x Phi(x)
  kGeluTanh = 4,  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  kErf = 5,
  kSoftplus = 6,
  kSilu = 7,
  kHardSigmoid = 8,
  kHardSwish = 9,
  kLog = 10,
  kSqrt = 11,
  kElu = 12,  // alpha = 1
  kReciprocal = 13,
  kReciprocalSquareRoot = 14,
};
inline constexpr int kNonlinearFunctions = 15;
std::string_view NameOf(NonlinearFunction function);  // "exp", "gelu_tanh", ...

// ---------------------------------------------------------------------------------------------------------------------
// The tables, one set for a vector format and a number of segments; RTL is emitted from the same numbers.

inline constexpr int kSplineSegments = 7;  // unless a design point says otherwise
inline constexpr int kMostSplineSegments = 8;

struct Spline {
  const char* name;
  // Segment i holds t with knots[i] <= t < knots[i + 1]; what lies before the first (after the last) segment takes the
  // first (last) segment's coefficients. knots[0] and knots[segments] are the ends of the domain.
  float knots[kMostSplineSegments + 1];
  float c0[kMostSplineSegments], c1[kMostSplineSegments],
      c2[kMostSplineSegments];  // the last entry repeats
};

enum class SplineId {
  kExp2,
  kLog,
  kReciprocal,
  kReciprocalSquareRoot,
  kTanh,
  kErf,
  kSigmoid,
  kGelu,
  kGeluTanh,
  kSilu,
  kSoftplus
};
inline constexpr int kSplines = 11;

struct SplineTables {
  int segments = kSplineSegments;
  std::array<Spline, kSplines> splines;
  const Spline& operator[](SplineId id) const { return splines[static_cast<size_t>(id)]; }
};

// The tables of a vector format: any float of at most 32 bits that has a zero. Those of fp32, bf16 and fp16 with seven
// segments are constants; others are fitted on first use (spline_fit.h) and kept. Thread-safe; the reference stays
// valid.
//   errors  not a float with a zero; segments outside 1 to kMostSplineSegments
StatusOr<const SplineTables*> SplineTablesFor(const Format& vector_format,
                                              int segments = kSplineSegments);
// Those of fp32 with seven segments.
const SplineTables& DefaultSplineTables();

// In binary32, not yet rounded to the vector format.
float Approximate(const SplineTables& tables, NonlinearFunction function, float x);
// Every element in place; the same bits as one by one.
void Approximate(const SplineTables& tables, NonlinearFunction function, std::span<float> values);

// ---------------------------------------------------------------------------------------------------------------------
// Certificates: the largest error of a function over the numbers of the vector format, the result rounded to it.

struct NonlinearError {
  double absolute = 0;  // |result - exact|
  double ulps =
      0;  // in units of the last place of the format at the exact value (at its least normal number, below)
  double absolute_at = 0, ulps_at = 0;  // arguments
};

// What nonlinear_errors.def states for fp32, bf16 and fp16 and seven segments, rounded up in the third digit: over
// every number of the 16-bit formats (which a test repeats) and every 61st of fp32 (bench/nonlinear_errors). Null for
// others.
const NonlinearError* StatedError(NonlinearFunction function, std::string_view vector_format);

}  // namespace kiln

#endif  // KILN_NUMERICS_NONLINEAR_H_
