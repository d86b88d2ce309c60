// Compares kiln_power_product with products of floats, for all pairs of codes of e8m0.
#include <bit>
#include <cmath>
#include <cstdint>

#include "Varith_power_product.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "tests/rtl/arith/power_value.h"

namespace kiln::rtl {
namespace {

TEST(PowerProduct, AllPairs) {
  const Format format = *FindFormat("e8m0");
  VerilatedContext context;
  Varith_power_product model(&context);
  int tiny = 0, huge = 0;
  for (uint32_t i = 0; i < 4u << 16; ++i) {
    model.a = i & 255;
    model.b = i >> 8 & 255;
    model.a_one = i >> 16 & 1;
    model.b_one = i >> 17;
    model.eval();
    const float a = model.a_one ? 1.0f : DecodeFloat(format, model.a);
    const float b = model.b_one ? 1.0f : DecodeFloat(format, model.b);
    const float expected = a * b, got = PowerValue(model.product);
    tiny += expected == 0;
    huge += std::isinf(expected);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << a << " * " << b;
    } else {
      ASSERT_EQ(got, expected) << a << " * " << b;
    }
  }
  EXPECT_GT(tiny, 1000);
  EXPECT_GT(huge, 1000);
  model.final();
}

}  // namespace
}  // namespace kiln::rtl
