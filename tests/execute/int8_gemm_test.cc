// Tests of the exact int8 products at every processor level, against plain loops.
#include "kiln/execute/int8_gemm.h"

#include <gtest/gtest.h>

#include <vector>

#include "kiln/support/random.h"

namespace kiln {
namespace {

class Int8Gemm : public testing::TestWithParam<CpuLevel> {
 protected:
  void SetUp() override {
    LimitCpuLevel(GetParam());
    if (GetCpuLevel() != GetParam()) GTEST_SKIP() << "this processor has no " << NameOf(GetParam());
  }
  void TearDown() override { LimitCpuLevel(kHighestCpuLevel); }
};

std::vector<int8_t> RandomCodes(Random& random, int64_t count, bool extreme) {
  std::vector<int8_t> codes(static_cast<size_t>(count));
  for (int8_t& code : codes) code = extreme ? int8_t{-128} : static_cast<int8_t>(random());
  return codes;
}

TEST_P(Int8Gemm, EqualsTheDefinition) {
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    const bool large = i % 20 == 0;  // reductions that exceed what the cache holds of the weights
    const int64_t runs = random.Between(1, large ? 80 : 9),
                  run_length = random.Between(1, large ? 500 : 70);
    const int64_t columns = random.Between(1, large ? 40 : 150), pixels = random.Between(1, 40);
    const int64_t image_codes = 4096 + run_length;
    const bool extreme = i % 7 == 0;
    const std::vector<int8_t> image = RandomCodes(random, image_codes, extreme);
    const std::vector<int8_t> weights = RandomCodes(random, runs * run_length * columns, extreme);
    std::vector<int64_t> places(static_cast<size_t>(pixels)), offsets(static_cast<size_t>(runs));
    for (int64_t& place : places) place = random.Between(0, 2048);
    for (int64_t& offset : offsets) offset = random.Between(0, 2048);

    const PackedWeights packed(GetParam(), runs, run_length, columns, weights.data());
    std::vector<uint8_t> stored(
        static_cast<size_t>(image_codes * BytesOf(packed.layout()) + kImageSlack), 0x5a);
    StoreCodes(packed.layout(), image.data(), image_codes, stored.data());
    const int64_t stride = packed.padded_columns() + random.Between(0, 5);
    std::vector<int32_t> out(static_cast<size_t>(pixels * stride), 12345);
    packed.Multiply(stored.data(), places.data(), pixels, offsets.data(), out.data(), stride);

    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t n = 0; n < stride; ++n) {
        uint32_t sum = 0;
        for (int64_t r = 0; r < runs && n < columns; ++r) {
          for (int64_t k = 0; k < run_length; ++k) {
            const int8_t code = image[static_cast<size_t>(places[static_cast<size_t>(p)] +
                                                          offsets[static_cast<size_t>(r)] + k)];
            sum += static_cast<uint32_t>(
                code * weights[static_cast<size_t>((r * run_length + k) * columns + n)]);
          }
        }
        const int32_t expected = n < packed.padded_columns() ? static_cast<int32_t>(sum) : 12345;
        ASSERT_EQ(out[static_cast<size_t>(p * stride + n)], expected)
            << "pixel " << p << " column " << n << " of " << runs << " x " << run_length << " x "
            << columns;
      }
    }
  }
}

TEST_P(Int8Gemm, SumsWrapAtThirtyTwoBits) {
  // 200000 products of 16384 pass 2^31.
  constexpr int64_t kLength = 200000;
  const std::vector<int8_t> codes(kLength, -128), weights(kLength, -128);
  const PackedWeights packed(GetParam(), 1, kLength, 1, weights.data());
  std::vector<uint8_t> stored(
      static_cast<size_t>(kLength * BytesOf(packed.layout()) + kImageSlack));
  StoreCodes(packed.layout(), codes.data(), kLength, stored.data());
  std::vector<int32_t> out(static_cast<size_t>(packed.padded_columns()));
  const int64_t zero = 0;
  packed.Multiply(stored.data(), &zero, 1, &zero, out.data(), packed.padded_columns());
  EXPECT_EQ(out[0], static_cast<int32_t>(static_cast<uint32_t>(kLength * 16384)));
}

TEST_P(Int8Gemm, DepthwiseEqualsTheDefinition) {
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    const int64_t taps = random.Between(1, 25), channels = random.Between(1, 70),
                  pixels = random.Between(1, 20);
    const std::vector<int8_t> image = RandomCodes(random, 4096, i % 7 == 0);
    const std::vector<int8_t> weights = RandomCodes(random, taps * channels, i % 7 == 0);
    std::vector<int64_t> places(static_cast<size_t>(pixels)), offsets(static_cast<size_t>(taps));
    for (int64_t& place : places) place = random.Between(0, 2000);
    for (int64_t& offset : offsets) offset = random.Between(0, 2000);
    const int64_t stride = channels + random.Between(0, 5);
    std::vector<int32_t> out(static_cast<size_t>(pixels * stride), 777);
    MultiplyDepthwise(image.data(), places.data(), pixels, offsets.data(), taps,
                      PackDepthwiseWeights(taps, channels, weights.data()), channels, out.data(),
                      stride);
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t c = 0; c < stride; ++c) {
        int32_t expected = c < channels ? 0 : 777;
        for (int64_t t = 0; t < taps && c < channels; ++t) {
          expected += image[static_cast<size_t>(places[static_cast<size_t>(p)] +
                                                offsets[static_cast<size_t>(t)] + c)] *
                      weights[static_cast<size_t>(t * channels + c)];
        }
        ASSERT_EQ(out[static_cast<size_t>(p * stride + c)], expected);
      }
    }
  }
}

TEST_P(Int8Gemm, FillAndStoreAgree) {
  for (CodeLayout layout : {CodeLayout::kRaw, CodeLayout::kBiased, CodeLayout::kWide}) {
    for (int code = -128; code < 128; ++code) {
      const std::vector<int8_t> codes(37, static_cast<int8_t>(code));
      std::vector<uint8_t> stored(80, 1), filled(80, 1);
      StoreCodes(layout, codes.data(), 37, stored.data());
      FillCodes(layout, static_cast<int8_t>(code), 37, filled.data());
      ASSERT_EQ(stored, filled);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Int8Gemm, testing::ValuesIn(kCpuLevels),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

}  // namespace
}  // namespace kiln
