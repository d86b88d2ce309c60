// Tests of integer codes, scales and zero points.
#include "kiln/numerics/quantise.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln {
namespace {

std::vector<Format> IntegerFormats() {
  std::vector<Format> formats;
  for (const Format& format : AllFormats()) {
    if (format.is_integer()) formats.push_back(format);
  }
  return formats;
}

class EveryIntegerFormat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, EveryIntegerFormat, testing::ValuesIn(IntegerFormats()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EveryIntegerFormat, SymmetricCodesMirror) {
  const CodeRange codes = CodesOf(GetParam(), true);
  EXPECT_EQ(codes.high, GetParam().max_code());
  EXPECT_EQ(codes.low, GetParam().is_signed ? -GetParam().max_code() : 0);
  EXPECT_EQ(CodesOf(GetParam(), false).low, GetParam().min_code());
}

// Those whose codes fp32 holds, all of them.
std::vector<Format> NarrowIntegerFormats() {
  std::vector<Format> formats = IntegerFormats();
  std::erase_if(formats, [](const Format& format) { return format.bits > 16; });
  return formats;
}
class NarrowIntegerFormat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, NarrowIntegerFormat, testing::ValuesIn(NarrowIntegerFormats()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(NarrowIntegerFormat, EveryCodeComesBackFromItsValue) {
  const Format format = GetParam();
  for (bool symmetric : {false, true}) {
    const CodeRange codes = CodesOf(format, symmetric);
    for (float scale : {1.0f, 0.5f, 0.1f, 3.7e-5f, 1e-37f, 12345.678f}) {
      const float inverse = InverseScale(scale);
      for (int32_t zero_point :
           {int32_t{0}, static_cast<int32_t>(codes.low), static_cast<int32_t>(codes.high)}) {
        for (int64_t code = codes.low; code <= codes.high; ++code) {
          const float value = DequantiseCode(code, scale, zero_point);
          ASSERT_EQ(QuantiseToCode(value, inverse, zero_point, codes), code)
              << format.name << " scale " << scale << " zero point " << zero_point;
        }
      }
    }
  }
}

TEST_P(EveryIntegerFormat, SaturatesAndTreatsNanAsZero) {
  const CodeRange codes = CodesOf(GetParam(), false);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(QuantiseToCode(infinity, 1, 0, codes), codes.high);
  EXPECT_EQ(QuantiseToCode(-infinity, 1, 0, codes), codes.low);
  EXPECT_EQ(QuantiseToCode(3e38f, 1e3f, 0, codes), codes.high);
  EXPECT_EQ(QuantiseToCode(-3e38f, 1, 0, codes), codes.low);
  EXPECT_EQ(QuantiseToCode(std::nanf(""), 1, 1, codes), 1);
}

TEST(QuantiseToCode, RoundsToNearestEven) {
  const CodeRange codes{-128, 127};
  // Every half between codes, exhaustively: it goes to the even neighbour.
  for (int code = -128; code < 127; ++code) {
    const int even = code % 2 == 0 ? code : code + 1;
    EXPECT_EQ(QuantiseToCode(static_cast<float>(code) + 0.5f, 1, 0, codes), even);
    EXPECT_EQ(QuantiseToCode(std::nextafter(static_cast<float>(code) + 0.5f, 1000.0f), 1, 0, codes),
              code + 1);
    EXPECT_EQ(
        QuantiseToCode(std::nextafter(static_cast<float>(code) + 0.5f, -1000.0f), 1, 0, codes),
        code);
  }
  // The zero point comes after rounding: 0.5 + 1 is 1, not 2.
  EXPECT_EQ(QuantiseToCode(0.5f, 1, 1, codes), 1);
}

TEST_P(EveryIntegerFormat, ErrorIsAtMostHalfAStepInRange) {
  const Format format = GetParam();
  Random random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const double magnitude = std::exp2(random.Uniform(-30, 30));
    double low = random.Uniform(-magnitude, magnitude),
           high = random.Uniform(-magnitude, magnitude);
    if (low > high) std::swap(low, high);
    for (bool symmetric : {false, true}) {
      if (symmetric && !format.is_signed) low = std::max(low, 0.0), high = std::max(high, low);
      const ScaleZeroPoint q = ChooseScale(low, high, format, symmetric);
      const CodeRange codes = CodesOf(format, symmetric);
      const float inverse = InverseScale(q.scale);
      ASSERT_GT(q.scale, 0);
      ASSERT_EQ(
          DequantiseCode(QuantiseToCode(0, inverse, q.zero_point, codes), q.scale, q.zero_point),
          0);
      for (int i = 0; i < 20; ++i) {
        const auto x = static_cast<float>(random.Uniform(low, high));
        const float back =
            DequantiseCode(QuantiseToCode(x, inverse, q.zero_point, codes), q.scale, q.zero_point);
        // Half a step, plus a step's share where the rounded zero point moves the end of the range,
        // plus fp32 rounding.
        const double at_end = symmetric ? 0.0 : 0.5;
        const bool inner = x > DequantiseCode(codes.low, q.scale, q.zero_point) &&
                           x < DequantiseCode(codes.high, q.scale, q.zero_point);
        const double bound = (0.5 + (inner ? 0 : at_end)) * q.scale + std::abs(x) * 0x1p-21;
        ASSERT_LE(std::abs(static_cast<double>(x) - back), bound)
            << format.name << ' ' << low << ' ' << high << ' ' << x;
      }
    }
  }
}

TEST(ChooseScale, Int8) {
  const Format int8 = *FindFormat("int8");
  EXPECT_EQ(ChooseScale(-127, 50, int8, true), (ScaleZeroPoint{1, 0}));
  EXPECT_EQ(ChooseScale(0, 255, int8, false), (ScaleZeroPoint{1, -128}));
  EXPECT_EQ(ChooseScale(-255, 0, int8, false), (ScaleZeroPoint{1, 127}));
  EXPECT_EQ(ChooseScale(-51, 204, int8, false), (ScaleZeroPoint{1, -77}));
}

TEST(ChooseScale, WidensToZero) {
  const Format int8 = *FindFormat("int8");
  EXPECT_EQ(ChooseScale(100, 255, int8, false), (ScaleZeroPoint{1, -128}));
  EXPECT_EQ(ChooseScale(-255, -3, int8, false), (ScaleZeroPoint{1, 127}));
}

TEST(ChooseScale, DegenerateRanges) {
  const Format int8 = *FindFormat("int8");
  EXPECT_EQ(ChooseScale(0, 0, int8, true), (ScaleZeroPoint{1, 0}));
  EXPECT_EQ(ChooseScale(0, 0, int8, false), (ScaleZeroPoint{1, 0}));
  // A constant is exact, up to fp32 rounding.
  const ScaleZeroPoint constant = ChooseScale(3.5, 3.5, int8, false);
  EXPECT_FLOAT_EQ(DequantiseCode(127, constant.scale, constant.zero_point), 3.5f);
  // Scales stay usable at the ends of fp32.
  for (double x : {1e-45, 1e-38, 3.4e38}) {
    for (bool symmetric : {false, true}) {
      const ScaleZeroPoint q = ChooseScale(-x, x, int8, symmetric);
      EXPECT_TRUE(std::isnormal(q.scale)) << x;
      EXPECT_TRUE(std::isfinite(InverseScale(q.scale))) << x;
    }
  }
}

}  // namespace
}  // namespace kiln
