// Compares kiln_accumulate with AccumulationStep: random and corner operands, and sums that cancel.
#include <bit>
#include <cstdint>
#include <vector>

#include "Varith_accumulate.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "tests/rtl/arith/fp32_values.h"

namespace kiln::rtl {
namespace {

// As in accumulate_bench.sv.
std::vector<MacRule> Units() {
  struct Row {
    const char *psum, *accumulation;
    bool scaled;
  };
  constexpr Row kRows[] = {
      {"int32", "int32", false},    {"int16", "int32", false}, {"int32", "int16", false},
      {"int32", "fp32", false},     {"fp32", "fp32", false},   {"bf16", "bf16", false},
      {"posit16_1", "fp32", false}, {"int32", "fp32", true},   {"int16", "bf16", true},
      {"fp32", "fp32", true},       {"bf16", "fp32", true},    {"posit16_1", "posit16_1", true}};
  std::vector<MacRule> units;
  for (const Row& row : kRows) {
    MacRule rule;
    rule.input = rule.weight = *FindFormat(row.psum[0] == 'i' ? "int8" : "bf16");
    rule.psum = *FindFormat(row.psum);
    rule.accumulation = *FindFormat(row.accumulation);
    rule.scaled = row.scaled;
    EXPECT_FALSE(FindMacFault(rule).has_value());
    units.push_back(rule);
  }
  return units;
}

// A code as the functions of mac.h take it.
uint32_t Code(const Format& format, uint32_t bits) {
  return format.is_integer() ? static_cast<uint32_t>(SignedCode(format, bits))
                             : bits & CodeMask(format);
}

TEST(Accumulate, CornersAndRandomOperands) {
  VerilatedContext context;
  Varith_accumulate model(&context);
  const std::vector<MacRule> units = Units();
  Random random(1);
  int failures = 0;
  for (int i = 0; i < 400000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    const MacRule& rule = units[random() % units.size()];
    // Codes of this unit's psum: any, or of a number near a corner or a power of two.
    model.psum = bits % 2 == 0 ? static_cast<uint32_t>(random()) >> (random() % 32)
                               : Encode(rule.psum,
                                        Exact::FromFloat(std::bit_cast<float>(RandomFp32(random))));
    model.scale = RandomFp32(random);
    model.accumulation = static_cast<uint32_t>(random());
    if (bits % 3 != 0 && !rule.integer_result()) {  // nearly what the psum takes away
      const uint32_t sum =
          AccumulationStep(rule, MacZero(rule.accumulation), Code(rule.psum, model.psum),
                           rule.scaled ? std::bit_cast<float>(model.scale) : 1.0f);
      model.accumulation =
          Encode(rule.accumulation, Negate(Decode(rule.accumulation, sum))) + bits / 4 % 16 - 8;
    }
    model.eval();
    for (size_t unit = 0; unit < units.size(); ++unit) {
      const MacRule& checked = units[unit];
      const uint32_t expected =
          AccumulationStep(checked, Code(checked.accumulation, model.accumulation),
                           Code(checked.psum, model.psum),
                           checked.scaled ? std::bit_cast<float>(model.scale) : 1.0f) &
          CodeMask(checked.accumulation);
      if (model.result[unit] == expected) continue;
      ADD_FAILURE() << std::hex << checked.accumulation.name << " " << model.accumulation << " + "
                    << checked.psum.name << " " << model.psum
                    << (checked.scaled ? " * " : " without ") << model.scale << ": "
                    << model.result[unit] << ", not " << expected;
      ASSERT_LT(++failures, 10);
    }
  }
}

}  // namespace
}  // namespace kiln::rtl
