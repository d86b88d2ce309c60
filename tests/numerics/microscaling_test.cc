// Tests of block scales with values worked out by hand.
#include "kiln/numerics/microscaling.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/support/random.h"
#include "tests/numerics/find_format.h"

namespace kiln {
namespace {

TEST(Microscaling, ScalesByHand) {
  struct Case {
    const char* element;
    float greatest;
    int field;
  };
  // Exponents of greatest values: fixed8_6 127/64 -> 0, e4m3 448 -> 8, e5m2 57344 -> 15, e2m1 6 ->
  // 2, e3m2 28 -> 4.
  for (const Case& c : {Case{"fixed8_6", 1.0f, 127},
                        {"fixed8_6", 1.99f, 127},
                        {"fixed8_6", 2.0f, 128},
                        {"e4m3", 448.0f, 127},
                        {"e4m3", 511.0f, 127},
                        {"e4m3", 1.0f, 119},
                        {"e5m2", 1.0f, 112},
                        {"e2m1", 7.0f, 127},
                        {"e2m1", 0.25f, 123},
                        {"e3m2", -31.0f, 127},
                        {"e2m1", 0.0f, 0},
                        {"e4m3", 0x1p-126f, 0},
                        {"e2m1", 0x1p-124f, 1},
                        {"fixed8_6", 0x1p-149f, 0},
                        {"fixed8_6", 0x1p-127f, 0},
                        {"fixed8_6", 0x1.8p-127f, 0},
                        {"fixed8_6", 0x1.fffffep127f, 254}}) {
    const BlockCodec codec(Find(c.element), Find("e8m0"), 4);
    const float values[] = {0.0f, c.greatest, -c.greatest / 2};
    EXPECT_EQ(codec.ScaleCode(values, 3), static_cast<uint32_t>(c.field))
        << c.element << " " << c.greatest;
  }
}

// floor(log2(greatest)) less the exponent of the greatest element, biased by 127, down to the least
// scale: also where the greatest value is subnormal. 127/128 is the greatest number of fixed8_7,
// whose exponent is -1.
TEST(Microscaling, ScalesOfSubnormalBlocks) {
  const BlockCodec codec(*FindFormat("fixed8_7"), *FindFormat("e8m0"), 4);
  const auto scale = [&](float greatest) {
    const float values[] = {0, -greatest, greatest / 2, 0};
    return codec.ScaleCode(values, 4);
  };
  EXPECT_EQ(scale(0x1p-125f), 3u);
  EXPECT_EQ(scale(0x1p-126f), 2u);  // the least normal number
  EXPECT_EQ(scale(0x1.fffffcp-127f), 1u);
  EXPECT_EQ(scale(0x1p-127f), 1u);
  EXPECT_EQ(scale(0x1.fffff8p-128f), 0u);
  EXPECT_EQ(scale(0x1p-128f), 0u);
  EXPECT_EQ(scale(0x1p-149f), 0u);
}

TEST(Microscaling, NanAndInfinityMakeTheBlockNan) {
  for (float bad : {NAN, INFINITY, -INFINITY}) {
    const std::vector<float> values = {1, 2, bad, 4, 5, 6};  // two blocks of 3
    const BlockCodec codec(Find("e4m3"), Find("e8m0"), 3);
    std::vector<uint8_t> codes(6), scales(2);
    codec.Encode(values.data(), 1, 6, codes.data(), scales.data());
    EXPECT_EQ(scales[0], 0xff);
    std::vector<float> back(6);
    codec.Decode(codes.data(), scales.data(), 1, 6, back.data());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(back[static_cast<size_t>(i)]));
    for (int i = 3; i < 6; ++i)
      EXPECT_EQ(back[static_cast<size_t>(i)], values[static_cast<size_t>(i)]);
  }
}

// The rule of the header, written down again with double arithmetic where that is exact.
TEST(Microscaling, EqualsTheRule) {
  Random random(11);
  for (const char* element :
       {"fixed8_6", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "posit8_1", "nf4", "int4", "bf16"}) {
    for (const char* scale_name : {"e8m0", "ue5m3", "bf16", "fp32", "e4m3"}) {
      const Format format = Find(element), scale_format = Find(scale_name);
      const BlockCodec codec(format, scale_format, 16);
      for (int round = 0; round < 40; ++round) {
        const int64_t rows = random.Between(1, 3), length = random.Between(1, 50),
                      blocks = codec.BlocksOf(length);
        const double spread = random.Uniform(-140, 125);
        std::vector<float> values(static_cast<size_t>(rows * length));
        for (float& v : values) {
          v = random.Below(10) == 0 ? 0.0f
                                    : static_cast<float>(std::exp2(spread) * random.Uniform(-1, 1));
        }
        if (round % 8 == 0) std::fill(values.begin(), values.end(), -0.0f);
        std::vector<uint8_t> codes(values.size() * static_cast<size_t>(format.bytes()));
        std::vector<uint8_t> scales(static_cast<size_t>(rows * blocks * scale_format.bytes()));
        codec.Encode(values.data(), rows, length, codes.data(), scales.data());
        std::vector<float> back(values.size());
        codec.Decode(codes.data(), scales.data(), rows, length, back.data());
        for (int64_t i = 0; i < rows * length; ++i) {
          const int64_t row = i / length, block = i % length / 16;
          const int64_t begin = row * length + block * 16,
                        end = std::min(begin + 16, (row + 1) * length);
          double greatest = 0;
          for (int64_t j = begin; j < end; ++j)
            greatest = std::max(greatest, std::fabs(double{values[static_cast<size_t>(j)]}));
          float scale;
          if (std::string_view(scale_name) == "e8m0") {
            const double element_greatest = ToDouble(GreatestValue(format));
            const double exponent = greatest == 0 ? -127
                                                  : std::floor(std::log2(greatest)) -
                                                        std::floor(std::log2(element_greatest));
            scale = static_cast<float>(std::exp2(std::clamp(exponent, -127.0, 127.0)));
          } else {
            const float ratio = static_cast<float>(greatest) / ToFloat(GreatestValue(format));
            Format saturating = scale_format;
            saturating.overflow = Overflow::kSaturate;
            scale = DecodeFloat(scale_format, EncodeFloat(saturating, ratio));
            if (scale == 0) scale = ToFloat(LeastPositive(scale_format));
          }
          const uint32_t scale_code = LoadCode(scale_format, scales.data(), row * blocks + block);
          ASSERT_EQ(DecodeFloat(scale_format, scale_code), scale)
              << element << " " << scale_name << " " << greatest;
          Format saturating = format;
          saturating.overflow = Overflow::kSaturate;
          const float value = values[static_cast<size_t>(i)];
          const uint32_t expected = EncodeFloat(saturating, value * InverseBlockScale(scale));
          ASSERT_EQ(LoadCode(format, codes.data(), i), expected)
              << element << " " << scale_name << " " << value;
          ASSERT_EQ(codec.ElementCode(value, scale), expected);
          ASSERT_EQ(back[static_cast<size_t>(i)], scale * DecodeFloat(format, expected));
        }
      }
    }
  }
}

}  // namespace
}  // namespace kiln
