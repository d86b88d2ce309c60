// The cycle level's sums, which go by way of binary64, against the scalar definition of every
// format.
#include "kiln/targets/systolic/simulate/cycle/array_numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kiln/numerics/codec.h"
#include "kiln/support/random.h"

namespace kiln::systolic {
namespace {

// Mostly numbers of all sizes, now and then any code: infinities, NaN, subnormals.
uint32_t RandomCode(Random& random, const Format& format) {
  const uint32_t any = static_cast<uint32_t>(random()) & CodeMask(format);
  if (random.Below(4) == 0) return any;
  const double size = std::exp2(random.Uniform(-12, 12));
  return EncodeFloat(format, static_cast<float>(random.Uniform(-1, 1) * size));
}

class SumFormats : public testing::TestWithParam<const char*> {};

TEST_P(SumFormats, FusedSumsRoundOnce) {
  const Format sum = *FindFormat(GetParam());
  const SumFormat rounding(sum);
  Random random(31);
  for (const auto& [a_name, b_name] : {std::pair{"e4m3", "e5m2"},
                                       {"bf16", "bf16"},
                                       {"fp32", "fp32"},
                                       {"posit8_1", "nf4"},
                                       {"int8", "posit16_1"}}) {
    const Format a = *FindFormat(a_name), b = *FindFormat(b_name);
    for (int i = 0; i < 2000; ++i) {
      const uint32_t x = RandomCode(random, a), w = RandomCode(random, b);
      uint32_t c = RandomCode(random, sum);
      // Every other sum nearly cancels, where a second rounding would show.
      if (i % 2 == 0) c = Encode(sum, Negate(Multiply(Decode(a, x), Decode(b, w))));
      const float expected = DecodeFloat(sum, MultiplyAdd(a, x, b, w, sum, c));
      const float got = rounding.Fused(DecodeFloat(sum, c), DecodeFloat(a, x), DecodeFloat(b, w));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got))
            << a_name << " " << x << " " << b_name << " " << w << " + " << c;
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected))
          << a_name << " " << x << " " << b_name << " " << w << " + " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, SumFormats,
                         testing::Values("fp32", "tf32", "bf16", "fp16", "e6m9", "e8m15",
                                         "bf16.toward_zero", "e5m2", "posit8_1", "posit16_1",
                                         "posit16_2", "e4m3"));

TEST(ArrayNumbers, SumsAreRoundedToOdd) {
  EXPECT_EQ(AddToOdd(1, 0x1p-52), 1 + 0x1p-52);   // exact
  EXPECT_EQ(AddToOdd(1, 0x1p-60), 1 + 0x1p-52);   // lost bits: the odd neighbour, not 1
  EXPECT_EQ(AddToOdd(1, -0x1p-60), 1 - 0x1p-53);  // likewise from below
  EXPECT_EQ(AddToOdd(-1, -0x1p-60), -1 - 0x1p-52);
  EXPECT_EQ(AddToOdd(0x1p-60, 1 + 0x1p-52), 1 + 0x1p-52);  // odd already
}

TEST(ArrayNumbers, OperandsCountAsTheArrayDoes) {
  int16_t whole[3];
  const uint8_t codes[] = {0, 1, 0xff};
  Operand(*FindFormat("binary")).ReadWhole(codes, 2, whole);
  EXPECT_EQ(whole[0], -1);
  EXPECT_EQ(whole[1], 1);
  Operand(*FindFormat("fixed8_6")).ReadWhole(codes, 3, whole);  // by its codes
  EXPECT_EQ(whole[2], -1);
  float values[3];
  Operand(*FindFormat("fixed8_6")).ReadValues(codes, 3, values);
  EXPECT_EQ(values[1], 0x1p-6f);
}

}  // namespace
}  // namespace kiln::systolic
