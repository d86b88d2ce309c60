// The pairs of formats and their quires in quire_formats_pkg.sv, three constants per pair.
#ifndef KILN_TESTS_RTL_ARITH_QUIRE_FORMATS_H_
#define KILN_TESTS_RTL_ARITH_QUIRE_FORMATS_H_

#include <string>
#include <vector>

#include "kiln/hardware/rtl_format.h"
#include "kiln/numerics/format.h"

namespace kiln::rtl {

inline constexpr const char* kQuirePairs[][2] = {
    {"posit8_1", "posit8_1"}, {"e4m3", "e4m3"},   {"e5m2", "e4m3"},
    {"bf16", "nf4"},          {"bf16", "bf16"},   {"posit16_2", "posit16_2"},
    {"fp16", "fixed8_6"},     {"binary", "int4"}, {"lns8_3", "ue5m3"}};

inline std::vector<hardware::FormatConstant> QuireFormats() {
  std::vector<hardware::FormatConstant> constants;
  for (const auto& [input, weight] : kQuirePairs) {
    const Format x = *FindFormat(input), w = *FindFormat(weight);
    const std::string pair =
        hardware::FormatConstantName(x) + "_BY_" + hardware::FormatConstantName(w);
    constants.push_back({.name = "INPUT_OF_" + pair, .format = x});
    constants.push_back({.name = "WEIGHT_OF_" + pair, .format = w});
    constants.push_back({.name = "QUIRE_OF_" + pair, .format = x, .weight = w});
  }
  return constants;
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_ARITH_QUIRE_FORMATS_H_
