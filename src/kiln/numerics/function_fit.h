// Fits the table of function_unit.h. Used by tools/fit_functions and the tests.
#ifndef KILN_NUMERICS_FUNCTION_FIT_H_
#define KILN_NUMERICS_FUNCTION_FIT_H_

#include <array>
#include <string>

#include "kiln/numerics/function_unit.h"

namespace kiln {

// Returns the fitted table.
std::array<FunctionRow, kFunctionRows> FitFunctionRows();

// Returns the exact value of a row at an offset in units of the table, 2^-kValueBits.
double FunctionRowTarget(int row, double offset);

// Returns the table as the text of function_unit_tables.inc.
std::string PrintFunctionRows();

}  // namespace kiln

#endif  // KILN_NUMERICS_FUNCTION_FIT_H_
