// Builds the constants of spline tables in the layout of rtl/arith/kiln_spline_pkg.sv.

#include "kiln/hardware/rtl_spline.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#include "fmt/format.h"
#include "kiln/hardware/rtl_constant.h"
#include "kiln/numerics/format.h"
#include "kiln/support/check.h"

namespace kiln::hardware {
namespace {

// kiln_spline_pkg::TABLE_BITS: a 128-bit row per segment, the end of each domain, the number of
// segments.
constexpr int kTableBits = kSplines * kMostSplineSegments * 128 + kSplines * 32 + 32;

// Appends the 32 bits of an fp32 number.
void AppendFloat(float value, RtlConstant* constant) {
  constant->Append(std::bit_cast<uint32_t>(value), 32);
}

// Returns the constant of a set of tables: for every segment c0, c1, c2 and its first knot; then
// the last knots and the number of segments.
RtlConstant ConstantOf(const SplineTables& tables) {
  RtlConstant constant;
  for (const Spline& spline : tables.splines) {
    for (size_t i = 0; i < kMostSplineSegments; ++i) {
      for (const float value : {spline.c0[i], spline.c1[i], spline.c2[i], spline.knots[i]}) {
        AppendFloat(value, &constant);
      }
    }
  }
  for (const Spline& spline : tables.splines) AppendFloat(spline.knots[tables.segments], &constant);
  constant.Append(static_cast<uint64_t>(tables.segments), 32);
  KILN_CHECK(constant.bits() == kTableBits);
  return constant;
}

}  // namespace

std::string SplineParameters(const SplineTables& tables) {
  return ConstantOf(tables).Literal(kTableBits);
}

std::string SplineTablesPackage() {
  std::string text = fmt::format(
      "// Tables of approximate functions. Written by kiln::hardware::SplineTablesPackage\n"
      "// (src/kiln/hardware/rtl_spline.h) from src/kiln/numerics/nonlinear_tables.inc; a test\n"
      "// compares.\n"
      "package kiln_spline_tables_pkg;\n\n"
      "  // kiln_spline_pkg::tables_t, written out: Yosys 0.23 does not resolve types of other\n"
      "  // packages inside a package.\n"
      "  typedef logic [{}:0] tables_t;\n\n",
      kTableBits - 1);
  for (const char* name : {"fp32", "bf16", "fp16"}) {
    const Format format = *FindFormat(name);
    const auto tables = SplineTablesFor(format);
    KILN_CHECK(tables.ok());
    std::string constant = name;
    for (char& c : constant) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    text += fmt::format("  // Of {}, {} segments.\n  localparam tables_t {} = {};\n", name,
                        (*tables)->segments, constant, ConstantOf(**tables).Expression(kTableBits));
  }
  return text + "\nendpackage\n";
}

}  // namespace kiln::hardware
