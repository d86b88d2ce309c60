// kiln_multiply_accumulate against PsumStep: every pair of codes of every format of at most 8 bits, with itself and
// with one other format, into several psums.
#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

#include "Varith_multiply_accumulate.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "kiln/support/random.h"

namespace kiln::rtl {
namespace {

constexpr const char* kPsums[] = {"int32", "int16", "int4"};  // as in multiply_accumulate_bench.sv

struct Unit {
  size_t result;  // its index
  MacRule rule;
};

// The units of the bench.
std::vector<Unit> Units() {
  std::vector<Unit> units;
  const std::vector<Format>& formats = AllFormats();
  for (size_t pair = 0; pair < 2 * formats.size(); ++pair) {
    const size_t i = pair / 2, other = pair % 2 == 0 ? i : (i * 7 + 5) % formats.size();
    for (size_t j = 0; j < std::size(kPsums); ++j) {
      MacRule rule;
      rule.input = formats[i];
      rule.weight = formats[other];
      rule.psum = *FindFormat(kPsums[j]);
      rule.accumulation = *FindFormat("fp32");
      if (rule.input.bits <= 8 && rule.weight.bits <= 8 && CheckMacRule(rule).ok()) {
        units.push_back({pair * std::size(kPsums) + j, rule});
      }
    }
  }
  return units;
}

class MultiplyAccumulate : public testing::TestWithParam<int> {};

// A parameter is the seed of the psums.
TEST_P(MultiplyAccumulate, EveryPairOfCodes) {
  VerilatedContext context;
  Varith_multiply_accumulate model(&context);
  const std::vector<Unit> units = Units();
  ASSERT_GT(units.size(), 60u);
  Random random(static_cast<uint64_t>(GetParam()));
  int failures = 0;
  for (uint32_t codes = 0; codes < 0x10000; ++codes) {
    model.x = static_cast<uint8_t>(codes);
    model.w = static_cast<uint8_t>(codes >> 8);
    model.psum = GetParam() == 0 ? 0 : static_cast<uint32_t>(random());
    model.eval();
    for (const Unit& unit : units) {
      const uint32_t x = codes & CodeMask(unit.rule.input), w = (codes >> 8) & CodeMask(unit.rule.weight);
      if (x != (codes & 0xff) || w != codes >> 8) continue;  // has been
      const uint32_t psum = model.psum & CodeMask(unit.rule.psum);
      const uint32_t expected = PsumStep(unit.rule, psum, x, w);
      if (model.result[unit.result] == expected) continue;
      ADD_FAILURE() << unit.rule.input.name << " " << x << " * " << unit.rule.weight.name << " " << w << " + "
                    << unit.rule.psum.name << " " << psum << ": " << model.result[unit.result] << ", not " << expected;
      ASSERT_LT(++failures, 10);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Psums, MultiplyAccumulate, testing::Range(0, 3));

}  // namespace
}  // namespace kiln::rtl
