// Fits the table of the fixed-point function unit and prints it,
// src/kiln/numerics/function_unit_tables.inc. Run it after a change to the fit or to a width:
//   ninja -C build fit_functions && build/fit_functions > src/kiln/numerics/function_unit_tables.inc
#include <cstdio>

#include "kiln/numerics/function_fit.h"

int main() { std::fputs(kiln::PrintFunctionRows().c_str(), stdout); }
