// The approximate functions of programmable vector units, to the bit: piecewise quadratics of seven segments with free
// knots, one table a function (after Voyager, arXiv 2509.15205, whose vector unit holds such splines). All arithmetic
// is IEEE 754 binary32, nearest even, so that software at any vector width and hardware give the same bits.
//
//   spline S(t) = fma(fma(c2, t, c1), t, c0), coefficients of the segment that holds t (nonlinear_tables.inc)
//
//   function                evaluation                                                       largest error
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

#include <cstdint>
#include <span>
#include <string_view>

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

float Approximate(NonlinearFunction function, float x);
// Every element in place; the same bits as one by one.
void Approximate(NonlinearFunction function, std::span<float> values);

// ---------------------------------------------------------------------------------------------------------------------
// The tables, for RTL emission and tests.

inline constexpr int kSplineSegments = 7;

struct Spline {
  const char* name;
  // Segment i holds t with knots[i] <= t < knots[i + 1]; what lies before the first (after the last) segment takes the
  // first (last) segment's coefficients. knots[0] and knots[7] are the ends of the domain.
  float knots[kSplineSegments + 1];
  float c0[8], c1[8], c2[8];  // entry 7 repeats entry 6
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
const Spline& SplineOf(SplineId id);

}  // namespace kiln

#endif  // KILN_NUMERICS_NONLINEAR_H_
