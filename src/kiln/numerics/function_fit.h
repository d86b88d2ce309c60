// Fits the table of function_unit.h. Used by tools/fit_functions and by the tests.
#ifndef KILN_NUMERICS_FUNCTION_FIT_H_
#define KILN_NUMERICS_FUNCTION_FIT_H_

#include <array>
#include <string>

#include "kiln/numerics/function_unit.h"

namespace kiln {

// Returns the exact value that a row stands for at an offset, in units of 2^-kValueBits. The
// argument of exp is rounded downwards; its rows stand for the middle of what is rounded to it.
double FunctionRowTarget(int row, double offset);

// Returns the row with the least error over all offsets whose values have the function's sign, so
// that no result is beyond its limits. exp(0), sigmoid(0), log(1) and the like are exact.
FunctionRow FitFunctionRow(int row);

// Returns the table as the text of function_unit_tables.inc.
std::string PrintFunctionRows();

}  // namespace kiln

#endif  // KILN_NUMERICS_FUNCTION_FIT_H_
