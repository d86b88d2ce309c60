// The tables of the approximate functions as SystemVerilog constants, the parameter of kiln_spline.
// rtl/arith/kiln_spline_pkg.sv defines the layout.
#ifndef KILN_HARDWARE_RTL_SPLINE_H_
#define KILN_HARDWARE_RTL_SPLINE_H_

#include <string>

#include "kiln/numerics/nonlinear.h"

namespace kiln::hardware {

// Returns the literal of a set of tables.
std::string SplineParameters(const SplineTables& tables);

// Returns the text of rtl/arith/kiln_spline_tables_pkg.sv: the tables of fp32, bf16 and fp16 with
// seven segments.
std::string SplineTablesPackage();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_SPLINE_H_
