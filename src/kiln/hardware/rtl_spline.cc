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

// kiln_spline_pkg::TABLE_BITS: rows, ends, number of segments.
constexpr int kTableBits = kSplines * kMostSplineSegments * 128 + kSplines * 32 + 32;

void AppendFloat(float value, RtlConstant* constant) {
  constant->Append(std::bit_cast<uint32_t>(value), 32);
}

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
      "// Tables of approximate functions. Written by kiln::hardware::SplineTablesPackage "
      "(src/kiln/hardware/rtl_spline.h)\n"
      "// from src/kiln/numerics/nonlinear_tables.inc; a test compares.\n"
      "package kiln_spline_tables_pkg;\n\n"
      "  // kiln_spline_pkg::tables_t, written out: Yosys knows no types of other packages inside "
      "a package.\n"
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
