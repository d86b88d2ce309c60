// Compares kiln_multiply_accumulate with PsumStep: every pair of codes of every format of up to 8
// bits, with itself and with one other format, into several psums.
#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

#include "Varith_multiply_accumulate.h"
#include "Varith_multiply_accumulate_registers.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "kiln/support/random.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

struct Unit {
  size_t result;  // its index
  MacRule rule;
};

// The units of multiply_accumulate_bench.sv.
std::vector<Unit> Units() {
  constexpr size_t kUnits = 3;
  constexpr const char* kPsums[] = {"posit16_1", "fp16", "e4m3", "bf16", "posit8_2"};
  std::vector<Unit> units;
  const std::vector<Format>& formats = AllFormats();
  for (size_t i = 0; i < formats.size(); ++i) {
    for (size_t j = 0; j < kUnits; ++j) {
      MacRule rule;
      rule.input = formats[i];
      rule.weight = formats[j == 2 ? (i * 7 + 5) % formats.size() : i];
      rule.psum = *FindFormat(j == 0                          ? "bf16"
                              : j == 2                        ? kPsums[i % 5]
                              : !IsIntegerOperand(formats[i]) ? "fp32"
                              : i % 2 == 0                    ? "int32"
                                                              : "int16");
      rule.accumulation = *FindFormat("fp32");
      rule.product_rounded = j == 2 && i % 5 >= 3;
      if (rule.input.bits > 8 || rule.weight.bits > 8) continue;
      EXPECT_FALSE(FindMacFault(rule).has_value());
      units.push_back({i * kUnits + j, rule});
    }
  }
  return units;
}

// A psum for all units. Random bits are mostly far from the product; half the time it is a number
// close to what one unit's product takes away, so that sums cancel, or tie.
uint32_t RandomPsum(const std::vector<Unit>& units, uint32_t x, uint32_t w, Random& random) {
  const auto bits = static_cast<uint32_t>(random());
  if (bits % 2 == 0) return static_cast<uint32_t>(random());
  const MacRule& rule = units[random() % units.size()].rule;
  if (rule.integer_psum()) return bits;
  const uint32_t product = MultiplyCodes(rule.input, x, rule.weight, w, rule.psum);
  const uint32_t minus = Encode(rule.psum, Negate(Decode(rule.psum, product)));
  return ((bits & 2) != 0 ? minus : product) + (bits >> 2) % 8 - 4;
}

// A register of products has any contents until its first product, and may keep them for long.
TEST(MultiplyAccumulateRegisters, AnyFirstContentsAreNoFault) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Simulation<Varith_multiply_accumulate_registers> model(seed);
    model->x = model->w = 0;
    model->psum = 0x3f80;  // 1 in bf16
    for (int cycle = 0; cycle < 2; ++cycle) model.Step();
    for (const Unit& unit : Units()) {
      if (unit.rule.psum.name != "bf16") continue;
      ASSERT_EQ(model->result[unit.result], PsumStep(unit.rule, 0x3f80, 0, 0)) << unit.result;
    }
  }
}

class MultiplyAccumulate : public testing::TestWithParam<int> {};

// A parameter is the seed of the psums.
TEST_P(MultiplyAccumulate, EveryPairOfCodes) {
  VerilatedContext context;
  Varith_multiply_accumulate model(&context);
  const std::vector<Unit> units = Units();
  ASSERT_GT(units.size(), 90u);
  Random random(static_cast<uint64_t>(GetParam()));
  int failures = 0;
  for (uint32_t codes = 0; codes < 0x10000; ++codes) {
    model.x = static_cast<uint8_t>(codes);
    model.w = static_cast<uint8_t>(codes >> 8);
    model.psum = GetParam() == 0 ? 0 : RandomPsum(units, model.x, model.w, random);
    model.eval();
    for (const Unit& unit : units) {
      const uint32_t x = codes & CodeMask(unit.rule.input),
                     w = (codes >> 8) & CodeMask(unit.rule.weight);
      const bool again = x != (codes & 0xff) || w != codes >> 8;  // of narrow formats
      if (again && random() % 64 != 0) continue;
      const uint32_t psum = model.psum & CodeMask(unit.rule.psum);
      const uint32_t expected = PsumStep(unit.rule, psum, x, w);
      if (model.result[unit.result] == expected) continue;
      ADD_FAILURE() << unit.rule.input.name << " " << x << " * " << unit.rule.weight.name << " "
                    << w << " + " << unit.rule.psum.name << " " << psum << ": "
                    << model.result[unit.result] << ", not " << expected;
      ASSERT_LT(++failures, 10);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Psums, MultiplyAccumulate, testing::Range(0, 4));

}  // namespace
}  // namespace kiln::rtl
