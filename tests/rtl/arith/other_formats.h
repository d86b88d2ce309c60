// The formats of other_formats_pkg.sv, which complement the named ones: every rounding and
// overflow, odd sizes, and small formats as tables.
#ifndef KILN_TESTS_RTL_ARITH_OTHER_FORMATS_H_
#define KILN_TESTS_RTL_ARITH_OTHER_FORMATS_H_

#include <string>
#include <vector>

#include "kiln/hardware/rtl_format.h"
#include "kiln/numerics/format.h"

namespace kiln::rtl {

inline std::vector<hardware::FormatConstant> OtherFormats() {
  constexpr const char* kNames[] = {
      // Floats: overflow and rounding.
      "e4m3.infinity", "e5m2.infinity", "e4m3.toward_zero.infinity", "e5m2.down.infinity",
      "e4m3.nearest_away", "e5m2.down", "e4m3_fnuz.infinity", "e2m1.nearest_away", "fp16.saturate",
      "bf16.toward_zero", "bf16.down", "fp16.stochastic", "e4m3.stochastic", "ue5m3.stochastic",
      // Floats: subnormals, specials, fields.
      "e4m3.flush", "e5m2.flush.down", "bf16.flush", "e4m3.flush.stochastic", "e8m23.flush",
      "e3m4.finite", "e8m2.fnuz", "ue4m4", "ue8m0", "e1m2.finite", "e7m12", "ue8m23",
      // Integers and fixed point.
      "int8.wrap", "int4.toward_zero.wrap", "uint8.wrap.down", "int8.stochastic",
      "uint4.stochastic.wrap", "uint8.down", "int8.nearest_away", "fixed8_4.nearest_away",
      "fixed16_8.down.wrap", "int1", "uint32", "int24.toward_zero", "fixed32_20", "ufixed8_12",
      "fixed4_30",
      // Posits.
      "posit8_1.toward_zero", "posit8_2.down", "posit8_0.nearest_away", "posit8_1.stochastic",
      "posit16_1.toward_zero", "posit2_0", "posit3_1", "posit5_3", "posit32_4", "posit12_0",
      "posit32_0", "posit9_8"};
  constexpr const char* kTables[] = {"e4m3",
                                     "posit8_1",
                                     "int8",
                                     "e4m3_fnuz",
                                     "e5m2.down",
                                     "ue5m3",
                                     "e8m0",
                                     "fixed8_6.toward_zero",
                                     "posit6_1",
                                     "uint3",
                                     "nf4.nearest_away",
                                     "nf4.toward_zero",
                                     "nf4.down",
                                     "lns8_3.nearest_away"};
  std::vector<hardware::FormatConstant> formats;
  for (const char* name : kNames) {
    const Format format = *FindFormat(name);
    formats.push_back({.name = hardware::FormatConstantName(format), .format = format});
  }
  for (const char* name : kTables) {
    const Format format = *FindFormat(name);
    formats.push_back({.name = "TABLE_" + hardware::FormatConstantName(format),
                       .format = format,
                       .style = hardware::DescriptorStyle::kTable});
  }
  return formats;
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_ARITH_OTHER_FORMATS_H_
