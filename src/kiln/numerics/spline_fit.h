// Fits the splines of nonlinear.h. Only the generator of nonlinear_tables.inc and its test run this.
#ifndef KILN_NUMERICS_SPLINE_FIT_H_
#define KILN_NUMERICS_SPLINE_FIT_H_

#include <string>

#include "kiln/numerics/nonlinear.h"

namespace kiln {

// The function that spline `id` stands for, in double precision.
double SplineTarget(SplineId id, double t);

// Seven quadratics with the knots (multiples of 2^-10) at which all segments have about the same largest error. Each
// quadratic interpolates at the Chebyshev points of its segment, which is close to the minimax one; where the function
// has to be met at the start of the domain (tanh(0) = 0), the first segment's leftmost point moves there.
Spline FitSpline(SplineId id);

// All splines as the text of nonlinear_tables.inc (hexadecimal floats).
std::string PrintSplineTables();

}  // namespace kiln

#endif  // KILN_NUMERICS_SPLINE_FIT_H_
