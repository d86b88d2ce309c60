// Tests of quires: their sizes, and exact sums that are rounded once.
#include "kiln/numerics/quire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/support/random.h"
#include "tests/numerics/oracle.h"

namespace kiln {
namespace {

using oracle::Number;
using oracle::Oracle;

TEST(Quire, FitsAllNamedFormats) {
  for (const Format& a : AllFormats()) {
    for (const Format& b : AllFormats()) EXPECT_TRUE(Quire::Fits(a, b)) << a.name << ' ' << b.name;
  }
  EXPECT_FALSE(Quire::Fits(*FindFormat("posit32_4"), *FindFormat("posit32_4")));
}

// 16 n bits for n-bit posits of es 2, as the Posit Standard (2022) has it.
TEST(Quire, SumsOfStandardPositsTakeTheStandardsBits) {
  for (const auto& [name, bits] :
       {std::pair{"posit8_2", 128}, {"posit16_2", 256}, {"posit32_2", 512}}) {
    const Format format = *FindFormat(name);
    EXPECT_EQ(ExactProductsOf(format, format).sum_bits(), bits) << name;
  }
}

TEST(Quire, ProductsLieWithinTheirBounds) {
  for (const char* a_name : {"posit8_1", "e4m3", "e4m3.flush", "e5m2", "e8m0", "int8", "uint6",
                             "fixed8_6", "nf4", "lns8_3"}) {
    for (const char* b_name : {"posit6_1", "e3m2", "ue5m3", "int5", "binary"}) {
      const Format a = *FindFormat(a_name), b = *FindFormat(b_name);
      const ExactProducts bounds = ExactProductsOf(a, b);
      int64_t highest = bounds.lowest;
      for (uint32_t x = 0; x <= CodeMask(a); ++x) {
        for (uint32_t y = 0; y <= CodeMask(b); ++y) {
          const Exact product = Multiply(Decode(a, x), Decode(b, y));
          if (!product.is_finite() || product.is_zero()) continue;
          const bool power_of_two = std::has_single_bit(product.significand);
          highest = std::max(highest, product.exponent + (power_of_two ? 0 : 1));
          ASSERT_GE(product.exponent - 63 + std::countr_zero(product.significand), bounds.lowest)
              << a_name << b_name;
        }
      }
      EXPECT_EQ(highest, bounds.highest) << a_name << " " << b_name;
    }
  }
}

// Sums of random products, a third of them taken away again so that carries and borrows run far,
// against rationals.
TEST(Quire, GivesTheRoundedExactSum) {
  Random random(7);
  for (const char* name : {"fp32", "fp16", "e5m2", "e8m0", "posit8_1", "posit16_1", "posit32_2",
                           "int8", "nf4", "fixed16_8"}) {
    const Format format = *FindFormat(name);
    const Oracle oracle(format);
    for (int round = 0; round < 20; ++round) {
      Quire quire;
      Number expected = oracle::Real(0);
      for (int i = 0; i < 40; ++i) {
        const auto a = static_cast<uint32_t>(random()) & CodeMask(format);
        const auto b = static_cast<uint32_t>(random()) & CodeMask(format);
        const Exact x = Decode(format, a), y = Decode(format, b);
        if (!x.is_finite() || !y.is_finite()) continue;
        const bool twice = i % 3 == 0;
        quire.AddProduct(x, y);
        if (twice) quire.AddProduct(Negate(x), y);
        if (!twice) expected = Sum(expected, Product(oracle.Value(a), oracle.Value(b)));
        ASSERT_EQ(Encode(format, quire.Value()), oracle.Code(expected)) << name << " after " << i;
      }
    }
  }
}

TEST(Quire, KeepsWhatRoundingAtEachStepWouldLose) {
  Quire sum;
  sum.Add(Exact::FromFloat(0x1p127f));
  sum.Add(Exact::FromFloat(0x1p-149f));
  sum.Add(Exact::FromFloat(-0x1p127f));
  EXPECT_EQ(ToFloat(sum.Value()), 0x1p-149f);
  sum.Add(Exact::FromFloat(-0x1p-149f));
  EXPECT_EQ(sum.Value(), Exact::Zero());
}

TEST(Quire, InfinitiesAndNanStay) {
  Quire sum;
  sum.Add(Exact::Infinity(true));
  sum.Add(Exact::FromFloat(1));
  EXPECT_EQ(sum.Value(), Exact::Infinity(true));
  sum.Add(Exact::Infinity(false));
  EXPECT_TRUE(sum.Value().is_nan());
  Quire product;
  product.AddProduct(Exact::Infinity(false), Exact::Zero());
  product.Add(Exact::FromFloat(1));
  EXPECT_TRUE(product.Value().is_nan());
}

}  // namespace
}  // namespace kiln
