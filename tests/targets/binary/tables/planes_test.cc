// Planes and digits against their definitions, for every value of every width.
#include "kiln/targets/binary/tables/planes.h"

#include <gtest/gtest.h>

namespace kiln::binary {
namespace {

constexpr WeightCoding kCodings[] = {WeightCoding::kSigned, WeightCoding::kUnsigned,
                                     WeightCoding::kOdd};

// Sum of 2^i c_i, c_i = +1 or -1.
int64_t Correction(uint32_t planes, int bits) {
  int64_t sum = 0;
  for (int i = 0; i < bits; ++i) sum += ((planes >> i & 1) != 0 ? 1 : -1) * (int64_t{1} << i);
  return sum;
}

// spec.md, 2.2: w = (C - 1)/2 for signed weights, w = (C + 2^I - 1)/2 for unsigned ones, and odd
// weights need no base.
TEST(Planes, IdentityHoldsForAllWeights) {
  for (int bits = 1; bits <= kMaxBits; ++bits) {
    const int32_t half = 1 << (bits - 1), full = 1 << bits;
    for (int32_t u = 0; u < full; ++u) {
      const WeightFormat is_signed{WeightCoding::kSigned, bits};
      ASSERT_EQ(2 * (u - half), Correction(is_signed.PlanesOf(u - half), bits) - 1);
      const WeightFormat is_unsigned{WeightCoding::kUnsigned, bits};
      ASSERT_EQ(2 * u, Correction(is_unsigned.PlanesOf(u), bits) + full - 1);
      const WeightFormat is_odd{WeightCoding::kOdd, bits};
      ASSERT_EQ(2 * u - full + 1, Correction(is_odd.PlanesOf(2 * u - full + 1), bits));
      ASSERT_TRUE(is_signed.Holds(u - half) && is_unsigned.Holds(u) &&
                  is_odd.Holds(2 * u - full + 1));
    }
    for (WeightCoding coding : kCodings) {
      const WeightFormat format{coding, bits};
      EXPECT_FALSE(format.Holds(format.lowest() - 1));
      EXPECT_FALSE(format.Holds(format.highest() + 1));
    }
    EXPECT_FALSE((WeightFormat{WeightCoding::kOdd, bits}.Holds(0)));
  }
}

// scale * w = C + offset, with the planes of the text of spec.md for one weight: -128 + 5 has
// u = 5, so c = +1 at bits 0 and 2.
TEST(Planes, ScaleAndOffset) {
  const WeightFormat format{WeightCoding::kSigned, 8};
  EXPECT_EQ(format.PlanesOf(-123), 0b101u);
  EXPECT_EQ(format.scale() * -123, (1 + 4 - 2 - 8 - 16 - 32 - 64 - 128) + format.offset());
  EXPECT_EQ((WeightFormat{WeightCoding::kUnsigned, 3}.offset()), 7);
  EXPECT_EQ((WeightFormat{WeightCoding::kOdd, 3}.offset()), 0);
  EXPECT_EQ((WeightFormat{WeightCoding::kOdd, 2}.Describe()), "odd values from -3 to 3");
  EXPECT_EQ((WeightFormat{WeightCoding::kSigned, 2}.Describe()), "integers from -2 to 1");
}

TEST(Planes, DigitsJoinToTheActivation) {
  for (int bits = 1; bits <= kMaxBits; ++bits) {
    for (bool is_signed : {false, true}) {
      const ActivationFormat format{is_signed, bits};
      ASSERT_EQ(int64_t{format.highest()} - format.lowest() + 1, int64_t{1} << bits);
      int32_t least[4] = {}, most[4] = {};
      for (int32_t x = format.lowest(); x <= format.highest(); ++x) {
        int64_t sum = 0;
        for (int q = 0; q < format.digits(); ++q) {
          const int32_t digit = format.DigitOf(x, q);
          least[q] = std::min(least[q], digit);
          most[q] = std::max(most[q], digit);
          sum += int64_t{digit} << (4 * q);
        }
        ASSERT_EQ(sum, x) << bits << " " << is_signed;
      }
      for (int q = 0; q < format.digits(); ++q) {
        EXPECT_EQ(format.LowestDigit(q), least[q]) << bits << " " << q;
        EXPECT_EQ(format.HighestDigit(q), most[q]) << bits << " " << q;
        EXPECT_TRUE(least[q] >= -8 && most[q] <= 15);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::binary
