// The tables of approximate functions as SystemVerilog constants: what kiln_spline takes as its parameter. The layout
// stands in rtl/arith/kiln_spline_pkg.sv.
#ifndef KILN_HARDWARE_RTL_SPLINE_H_
#define KILN_HARDWARE_RTL_SPLINE_H_

#include <string>

#include "kiln/numerics/nonlinear.h"

namespace kiln::hardware {

// The literal of a set of tables.
std::string SplineParameters(const SplineTables& tables);

// The text of rtl/arith/kiln_spline_tables_pkg.sv: the tables of fp32, bf16 and fp16 with seven segments.
std::string SplineTablesPackage();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_SPLINE_H_
