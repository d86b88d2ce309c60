// Fits the splines of nonlinear.h, and measures what they are worth.
#ifndef KILN_NUMERICS_SPLINE_FIT_H_
#define KILN_NUMERICS_SPLINE_FIT_H_

#include <string>

#include "kiln/numerics/format.h"
#include "kiln/numerics/nonlinear.h"

namespace kiln {

// The function that spline `id` stands for, in double precision.
double SplineTarget(SplineId id, double t);

// The function that the vector unit approximates, in double precision.
double NonlinearTarget(NonlinearFunction function, double x);

// Quadratics with the knots (multiples of 2^-10 that the format holds) at which all segments have about the same
// largest error, coefficients in the format. Each quadratic interpolates at the Chebyshev points of its segment, which
// is close to the minimax one; where the function has to be met at the start of the domain (tanh(0) = 0), the first
// segment's leftmost point moves there. In formats narrower than fp32 the coefficients are rounded one after the other,
// highest first, and those that follow are chosen anew for what the rounding left.
Spline FitSpline(SplineId id, const Format& format, int segments);
SplineTables FitSplines(const Format& format, int segments);

// The tables that nonlinear.cc keeps, as the text of nonlinear_tables.inc (hexadecimal floats).
std::string PrintSplineTables();

// The error at one argument, a finite number; `result` is rounded to the format. An exact value beyond the format's
// range counts as met by infinity, or by the greatest number where the format has no infinity.
//   returns  {|result - exact|, the same in units of the last place}
struct ErrorAtArgument {
  double absolute, ulps;
};
ErrorAtArgument NonlinearErrorAt(NonlinearFunction function, const Format& format, float x,
                                 float result);

}  // namespace kiln

#endif  // KILN_NUMERICS_SPLINE_FIT_H_
