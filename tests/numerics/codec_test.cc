// Tests of the codec with known codes, with the processor's own arithmetic, and of stochastic
// rounding.
#include "kiln/numerics/codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kiln/support/random.h"
#include "tests/numerics/find_format.h"

namespace kiln {
namespace {

TEST(Codec, EveryCodeComesBack) {
  for (const Format& format : AllFormats()) {
    if (format.bits > 16) continue;
    for (uint32_t code = 0; code <= CodeMask(format); ++code) {
      const Exact value = Decode(format, code);
      // Saturating formats have no way back to their infinities, and narrow ones none to the unused
      // code.
      if (!value.is_finite() ||
          (format.is_integer() && SignedCode(format, code) < format.min_code()))
        continue;
      ASSERT_EQ(Encode(format, value), code) << format.name;
    }
  }
}

TEST(Codec, IeeeFormatsAreTheProcessorsOwn) {
  Random random(1);
  const Format fp32 = Find("fp32");
  for (int i = 0; i < 200000; ++i) {
    const auto a = static_cast<uint32_t>(random()), b = static_cast<uint32_t>(random());
    const float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
    if (std::isnan(x) || std::isnan(y)) continue;
    ASSERT_EQ(std::bit_cast<float>(EncodeFloat(fp32, x)), x);
    const float product = x * y, sum = x + y;
    if (!std::isnan(product)) {
      ASSERT_EQ(MultiplyCodes(fp32, a, fp32, b, fp32), std::bit_cast<uint32_t>(product))
          << x << " * " << y;
    }
    if (!std::isnan(sum)) {
      ASSERT_EQ(AddCodes(fp32, a, fp32, b, fp32), std::bit_cast<uint32_t>(sum)) << x << " + " << y;
    }
    const auto c = static_cast<uint32_t>(random());
    const float fused = std::fma(x, y, std::bit_cast<float>(c));
    if (!std::isnan(fused)) {
      ASSERT_EQ(MultiplyAdd(fp32, a, fp32, b, fp32, c), std::bit_cast<uint32_t>(fused));
    }
  }
}

TEST(Codec, KnownCodes) {
  struct Row {
    const char* format;
    float x;
    uint32_t code;
  };
  const float inf = HUGE_VALF;
  for (const Row& row : {Row{"e4m3", 448, 0x7e},
                         Row{"e4m3", 464, 0x7e},
                         Row{"e4m3", 1e9f, 0x7e},
                         Row{"e4m3.infinity", 464, 0x7e},
                         Row{"e4m3.infinity", 465, 0x7f},
                         Row{"e4m3_ieee", 240, 0x77},
                         Row{"e4m3_ieee", inf, 0x77},
                         Row{"e5m2", 57344, 0x7b},
                         Row{"e5m2.infinity", inf, 0x7c},
                         Row{"e4m3_fnuz", 240, 0x7f},
                         Row{"e4m3_fnuz", -0.0f, 0},
                         Row{"e2m1", 6, 7},
                         Row{"e2m1", 100, 7},
                         Row{"e2m1", -0.25f, 8},
                         Row{"e8m0", 1, 127},
                         Row{"e8m0", 0, 0},
                         Row{"posit8_1", 1, 0x40},
                         Row{"posit8_1", -1, 0xc0},
                         Row{"posit8_1", 1e9f, 0x7f},
                         Row{"posit8_1", 1e-9f, 1},
                         Row{"posit8_1", inf, 0x80},
                         Row{"posit8_0", 2, 0x60},
                         Row{"posit16_1", 4, 0x6000},
                         Row{"int8", 127.5f, 127},
                         Row{"int8.wrap", 128, 0x80},
                         Row{"int8", -128.5f, 0x80},
                         Row{"int8", 2.5f, 2},
                         Row{"int8.nearest_away", 2.5f, 3},
                         Row{"int8.down", -2.5f, 0xfd},
                         Row{"ternary", -2, 3},
                         Row{"binary", 0.1f, 1},
                         Row{"binary", -3, 0},
                         Row{"nf4", 0, 7}}) {
    EXPECT_EQ(EncodeFloat(Find(row.format), row.x), row.code) << row.format << " of " << row.x;
  }
}

TEST(Codec, StochasticRoundingKeepsTheMean) {
  const Format format = Find("int8.stochastic");
  Random random(5);
  constexpr int kDraws = 20000;
  for (float x : {0.25f, 3.9f, -1.5f}) {
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      sum += static_cast<double>(
          DecodeFloat(format, EncodeFloat(format, x, static_cast<uint32_t>(random() >> 32))));
    }
    EXPECT_NEAR(sum / kDraws, static_cast<double>(x),
                0.02);  // five standard deviations of 20,000 draws
  }
}

}  // namespace
}  // namespace kiln
