// Builds the constant of the function unit's table in the layout of rtl/arith/kiln_function_pkg.sv.

#include "kiln/hardware/rtl_function.h"

#include <cstdint>

#include "fmt/format.h"
#include "kiln/hardware/rtl_constant.h"
#include "kiln/numerics/function_unit.h"

namespace kiln::hardware {
namespace {

// kiln_function_pkg::ROW_BITS: c0 lowest, c1, c2.
constexpr int kC0Bits = 16, kC1Bits = 16, kC2Bits = 8;
constexpr int kFunctionTableBits = kFunctionRows * (kC0Bits + kC1Bits + kC2Bits);

// Returns a coefficient as two's complement, for Append.
uint64_t Code(int32_t coefficient) { return static_cast<uint32_t>(coefficient); }

}  // namespace

std::string FunctionTablesPackage() {
  RtlConstant constant;
  for (const FunctionRow& row : FunctionRows()) {
    constant.Append(Code(row.c0), kC0Bits);
    constant.Append(Code(row.c1), kC1Bits);
    constant.Append(Code(row.c2), kC2Bits);
  }
  return fmt::format(
      "// The table of the fixed-point function unit. Written by\n"
      "// kiln::hardware::FunctionTablesPackage (src/kiln/hardware/rtl_function.h) from\n"
      "// src/kiln/numerics/function_unit_tables.inc; a test compares.\n"
      "package kiln_function_tables_pkg;\n\n"
      "  // kiln_function_pkg::ROW_BITS for each row.\n"
      "  localparam logic [{}:0] ROWS = {};\n\n"
      "endpackage\n",
      kFunctionTableBits - 1, constant.Expression(kFunctionTableBits));
}

}  // namespace kiln::hardware
