// The table of the fixed-point function unit as a SystemVerilog constant.
// rtl/arith/kiln_function_pkg.sv defines the layout.
#ifndef KILN_HARDWARE_RTL_FUNCTION_H_
#define KILN_HARDWARE_RTL_FUNCTION_H_

#include <string>

namespace kiln::hardware {

// Returns the text of rtl/arith/kiln_function_tables_pkg.sv.
std::string FunctionTablesPackage();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_FUNCTION_H_
