// Fits the splines of nonlinear.h and measures their errors. Used by tools/fit_splines, by
// bench/nonlinear_errors, and at run time for formats without constant tables.
#ifndef KILN_NUMERICS_SPLINE_FIT_H_
#define KILN_NUMERICS_SPLINE_FIT_H_

#include <string>

#include "kiln/numerics/format.h"
#include "kiln/numerics/nonlinear.h"

namespace kiln {

// Returns the function that spline `id` approximates, in double precision.
double SplineTarget(SplineId id, double t);

// Returns the function that the vector unit approximates, in double precision.
double NonlinearTarget(NonlinearFunction function, double x);

// Returns the spline with knots (multiples of 2^-10 that the format represents) for which all
// segments have about the same largest error. Coefficients are numbers of the format.
//
// Each quadratic interpolates the function at the Chebyshev points of its segment, which is close
// to the minimax quadratic. If the function must be met at the start of the domain (tanh(0) = 0),
// the first segment's leftmost point is moved there. In formats narrower than fp32 the coefficients
// are rounded one after the other, highest first, and the remaining ones are chosen anew to
// compensate for the rounding.
Spline FitSpline(SplineId id, const Format& format, int segments);
// Returns the splines of all functions.
SplineTables FitSplines(const Format& format, int segments);

// Returns the tables that nonlinear.cc contains, as the text of nonlinear_tables.inc (hexadecimal
// floats).
std::string PrintSplineTables();

// The error of a result: |result - exact|, and the same in units of the last place.
struct ErrorAtArgument {
  double absolute, ulps;
};
// Returns the error at one finite argument; `result` must be rounded to the format. If the exact
// value is beyond the format's range, infinity is a correct result, or the largest number if the
// format has no infinity.
ErrorAtArgument NonlinearErrorAt(NonlinearFunction function, const Format& format, float x,
                                 float result);

}  // namespace kiln

#endif  // KILN_NUMERICS_SPLINE_FIT_H_
