// The approximate functions of programmable vector units, defined to the bit.
//
// Functions are piecewise quadratics with free knots, seven segments by default and one table per
// function (after Voyager, arXiv 2509.15205, which has such splines in its vector unit).
// Knots and coefficients are numbers of the vector unit's format. All arithmetic is IEEE 754
// binary32, round to nearest even, so that software at any vector width and hardware compute the
// same bits. A unit with a narrower format rounds the result to it once, which is left to the
// caller.
//
//   spline S(t) = fma(fma(c2, t, c1), t, c0), with the coefficients of the segment that contains t
//
//   function           evaluation                                             largest error in fp32
//   exp                2^n E(f), n = floor(x log2 e), f = fma(x, log2 e, -n)  1.5e-5 relative
//   log                fma(e, ln 2, t L(t)), x = 2^e (1 + t),                 1e-5 absolute
//                      t in [-1/4, 1/2)
//   reciprocal         r = R(m), then r = fma(r, fma(-m, r, 1), r), x = 2^e m 1 ulp
//   reciprocal         r = Q(m), then r = fma(r/2, fma(-m r, r, 1), r),       2 ulp
//   square root        x = 4^k m
//   sqrt               x times its reciprocal square root                     2 ulp
//   tanh, erf          sign(x) min(S(|x|), 1)                                 4e-4 absolute
//   sigmoid            x < 0 ? S(|x|) : 1 - S(|x|), S the part below 1/2      2e-4 absolute
//   gelu (both),       max(x, 0) + S(|x|)                                     4e-4 absolute
//   silu, softplus
//   elu                x > 0 ? x : exp(x) - 1                                 1e-5 absolute
//   hard sigmoid       max(min(fma(x, 1/6, 1/2), 1), 0)                       exact as written
//   hard swish         x times hard sigmoid                                   exact as written
//
// The updates of r are one Newton-Raphson iteration each.
//
// Special values: NaN gives the NaN 0x7fc00000, as do log and the square roots of negative numbers;
// infinities give the function's limits; log(0) is -infinity, 1/sqrt(+-0) is +infinity; subnormal
// arguments are not flushed to zero.
#ifndef KILN_NUMERICS_NONLINEAR_H_
#define KILN_NUMERICS_NONLINEAR_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "kiln/numerics/format.h"
#include "kiln/support/status.h"

namespace kiln {

// The functions. Instruction encodings use these numbers.
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
// Returns "exp", "gelu_tanh" and so on.
std::string_view NameOf(NonlinearFunction function);

// -------------------------------------------------------------------------------------------------
// The tables, one set per vector format and number of segments. The RTL is emitted from the same
// numbers.

inline constexpr int kSplineSegments = 7;  // the default of design points
inline constexpr int kMostSplineSegments = 8;

// A piecewise quadratic.
struct Spline {
  const char* name;
  // Segment i contains t with knots[i] <= t < knots[i + 1]. Arguments before the first segment use
  // its coefficients, arguments after the last one use those of the last. knots[0] and
  // knots[segments] are the ends of the domain.
  float knots[kMostSplineSegments + 1];
  // The coefficients of each segment. Entries beyond the last segment repeat its coefficients.
  float c0[kMostSplineSegments], c1[kMostSplineSegments], c2[kMostSplineSegments];
};

// The splines of a table. A function may use another function's spline: sqrt uses
// kReciprocalSquareRoot, elu uses kExp2.
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

// The splines of one vector format with one number of segments.
struct SplineTables {
  int segments = kSplineSegments;
  std::array<Spline, kSplines> splines;
  const Spline& operator[](SplineId id) const { return splines[static_cast<size_t>(id)]; }
};

// Returns the tables of a vector format: any signed float with a zero, at most 32 bits wide. The
// tables of fp32, bf16 and fp16 with seven segments are constants; others are fitted at the first
// call (spline_fit.h) and kept. Thread-safe; the returned pointer stays valid. Errors: not such a
// format; segments outside 1 to kMostSplineSegments.
StatusOr<const SplineTables*> SplineTablesFor(const Format& vector_format,
                                              int segments = kSplineSegments);
// Returns the tables of fp32 with seven segments.
const SplineTables& DefaultSplineTables();

// Returns the function's value in binary32, not yet rounded to the vector format.
float Approximate(const SplineTables& tables, NonlinearFunction function, float x);
// Replaces every element by its function value, with the same bits as one call per element.
void Approximate(const SplineTables& tables, NonlinearFunction function, std::span<float> values);

// -------------------------------------------------------------------------------------------------
// Error bounds.

// The largest error of a function over the numbers of the vector format, with the result rounded to
// that format.
struct NonlinearError {
  double absolute = 0;  // |result - exact|
  // |result - exact| in units of the last place of the format at the exact value, or at the
  // smallest normal number if the exact value is below it.
  double ulps = 0;
  double absolute_at = 0, ulps_at = 0;  // the arguments with these errors
};

// Returns the row of nonlinear_errors.def for fp32, bf16 or fp16 with seven segments, or null for
// other formats. The errors are rounded up in the third digit. They cover every number of the
// 16-bit formats, which a test repeats, and every 61st number of fp32 (bench/nonlinear_errors).
const NonlinearError* StatedError(NonlinearFunction function, std::string_view vector_format);

}  // namespace kiln

#endif  // KILN_NUMERICS_NONLINEAR_H_
