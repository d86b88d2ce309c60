// Fits the splines of the approximate functions and prints their tables,
// src/kiln/numerics/nonlinear_tables.inc. Run it after a change to the fit or to a domain:
//   ninja -C build fit_splines && build/fit_splines > src/kiln/numerics/nonlinear_tables.inc
#include <cstdio>

#include "kiln/numerics/spline_fit.h"

int main() { std::fputs(kiln::PrintSplineTables().c_str(), stdout); }
