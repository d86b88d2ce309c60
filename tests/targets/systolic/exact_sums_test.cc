// The cycle level's quires, on the bits of binary64, against numerics/quire.h.
#include "kiln/targets/systolic/simulate/cycle/exact_sums.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/random.h"

namespace kiln::systolic {
namespace {

uint32_t BitsOf(float value) { return value == value ? std::bit_cast<uint32_t>(value) : kQuietNan; }

// A finite code, any with the same probability.
uint32_t RandomFiniteCode(Random& random, const Format& format) {
  uint32_t code;
  do {
    code = static_cast<uint32_t>(random()) & CodeMask(format);
  } while (!Decode(format, code).is_finite());
  return code;
}

// Products of any size, many taken away again, so that carries and borrows run through all words
// and little is left.
TEST(ExactSums, AreThoseOfTheQuire) {
  Random random(17);
  for (const auto& [a_name, b_name] : {std::pair{"posit8_1", "posit8_1"},
                                       {"e4m3", "e5m2"},
                                       {"bf16", "bf16"},
                                       {"fp32", "fp32"},
                                       {"int16", "nf4"},
                                       {"posit16_1", "fixed8_6"},
                                       {"fp16", "ue5m3"},
                                       {"lns8_3", "lns8_3"}}) {
    const Format a = *FindFormat(a_name), b = *FindFormat(b_name);
    const ExactProducts products = ExactProductsOf(a, b);
    ExactSums sums;
    for (int round = 0; round < 60; ++round) {
      sums.Resize(products, 3);
      sums.Clear(1, 1);
      Quire expected;
      for (int i = 0; i < 40; ++i) {
        const uint32_t x = RandomFiniteCode(random, a), w = RandomFiniteCode(random, b);
        const Exact factor = Decode(a, x), weight = Decode(b, w);
        const bool leave = i % 4 == 0;
        expected.AddProduct(factor, weight);
        sums.AddProduct(1, ToFloat(factor), ToFloat(weight));
        if (!leave) {
          expected.AddProduct(Negate(factor), weight);
          sums.AddProduct(1, -ToFloat(factor), ToFloat(weight));
        }
        ASSERT_EQ(BitsOf(sums.Rounded(1)), BitsOf(ToFloat(expected.Value())))
            << a_name << " " << b_name << " " << i;
      }
    }
    EXPECT_EQ(BitsOf(sums.Rounded(0)), 0u);  // its neighbours have seen nothing of it
    EXPECT_EQ(BitsOf(sums.Rounded(2)), 0u);
  }
}

TEST(ExactSums, HoldManyOfTheGreatestProducts) {
  const Format format = *FindFormat("e4m3");
  ExactSums sums;
  sums.Resize(ExactProductsOf(format, format), 1);
  for (int i = 0; i < 1 << 20; ++i) sums.AddProduct(0, 448, -448);
  EXPECT_EQ(sums.Rounded(0), -448.0f * 448.0f * 0x1p20f);
}

TEST(ExactSums, RoundOnceToNearestEven) {
  const Format format = *FindFormat("fp32");
  ExactSums sums;
  const auto rounded = [&](std::initializer_list<float> terms) {
    sums.Resize(ExactProductsOf(format, format), 1);
    sums.Clear(0, 1);
    for (const float term : terms) sums.AddProduct(0, term, 1);
    return sums.Rounded(0);
  };
  EXPECT_EQ(rounded({1, 0x1p-24f}), 1.0f);                          // a tie
  EXPECT_EQ(rounded({1, 0x1p-24f, 0x1p-149f}), 1 + 0x1p-23f);       // a bit far below decides it
  EXPECT_EQ(rounded({-1, -0x1p-24f, -0x1p-149f}), -1 - 0x1p-23f);   // alike
  EXPECT_EQ(rounded({1, 0x1p-24f, -0x1p-149f}), 1.0f);              // and the other way
  EXPECT_EQ(rounded({0x1p127f, 0x1p-149f, -0x1p127f}), 0x1p-149f);  // nothing is lost
  EXPECT_EQ(rounded({0x1p127f, 0x1p127f}), std::numeric_limits<float>::infinity());
  EXPECT_EQ(BitsOf(rounded({-1, 1})), 0u);  // +0
}

TEST(ExactSums, NanAndInfinitiesStayUntilCleared) {
  const Format format = *FindFormat("fp16");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ExactSums sums;
  sums.Resize(ExactProductsOf(format, format), 1);
  sums.AddProduct(0, -kInfinity, 2);
  sums.AddProduct(0, 1, 1);
  EXPECT_EQ(sums.Rounded(0), -kInfinity);
  sums.AddProduct(0, kInfinity, 2);
  EXPECT_EQ(BitsOf(sums.Rounded(0)), kQuietNan);
  sums.Clear(0, 1);
  sums.AddProduct(0, kInfinity, 0);
  sums.AddProduct(0, 1, 1);
  EXPECT_EQ(BitsOf(sums.Rounded(0)), kQuietNan);
  sums.Clear(0, 1);
  EXPECT_EQ(BitsOf(sums.Rounded(0)), 0u);
}

}  // namespace
}  // namespace kiln::systolic
