// The scalar arithmetic against isa.h's words, with the numbers worked out by hand: all levels
// share it, so that no comparison between levels can find a fault in it.
#include "kiln/targets/systolic/simulate/arithmetic.h"
#include "kiln/targets/systolic/simulate/functional/reduce_tree.h"
#include "tests/targets/systolic/fp32_machine.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace kiln::systolic {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

const Numbers& Fp32() {
  static const auto* const kConfig = new Config(Fp32Machine());
  static const auto* const kNumbers = new Numbers(*kConfig);
  return *kNumbers;
}

uint32_t Bits(float v) { return std::bit_cast<uint32_t>(v); }

TEST(Arithmetic, CodesRoundTiesToEven) {
  const QuantiseOut out{.inverse_scale = 1, .zero_point = 0, .low = -128, .high = 127};
  for (const auto& [value, code] : std::vector<std::pair<float, int>>{{0.5f, 0},
                                                                      {1.5f, 2},
                                                                      {2.5f, 2},
                                                                      {-0.5f, 0},
                                                                      {-1.5f, -2},
                                                                      {-2.5f, -2},
                                                                      {0.50001f, 1},
                                                                      {126.5f, 126}}) {
    EXPECT_EQ(QuantiseToCode(out, value), code) << value;
  }
}

TEST(Arithmetic, CodesAddTheZeroPointAfterRoundingAndThenClamp) {
  const QuantiseOut out{.inverse_scale = 2, .zero_point = 3, .low = -5, .high = 100};
  EXPECT_EQ(QuantiseToCode(out, 0.25f), 3);  // 0.5 rounds to 0; 3.5 would have rounded to 4
  EXPECT_EQ(QuantiseToCode(out, 48.5f), 100);
  EXPECT_EQ(QuantiseToCode(out, 48), 99);
  EXPECT_EQ(QuantiseToCode(out, -4), -5);
  EXPECT_EQ(QuantiseToCode(out, kNan), 3);
  EXPECT_EQ(QuantiseToCode(out, kInfinity), 100);
  EXPECT_EQ(QuantiseToCode(out, -kInfinity), -5);
  EXPECT_EQ(QuantiseToCode(out, 3e38f), 100);  // the product overflows
  const QuantiseOut above{.inverse_scale = 1, .zero_point = -7, .low = 2, .high = 9};
  EXPECT_EQ(QuantiseToCode(above, kNan), 2);
}

TEST(Arithmetic, StoredValuesTakeTheWidthOfTheirElement) {
  const QuantiseOut wide{.inverse_scale = 1,
                         .low = std::numeric_limits<int32_t>::min(),
                         .high = std::numeric_limits<int32_t>::max()};
  const auto stored = [&](Element element, float v) {
    std::array<uint8_t, 5> bytes;
    bytes.fill(0xee);
    StoreValue(Fp32(), element, wide, v, bytes.data());
    return bytes;
  };
  using Bytes = std::array<uint8_t, 5>;
  EXPECT_EQ(stored(Element::kInt8, -2), (Bytes{0xfe, 0xee, 0xee, 0xee, 0xee}));
  EXPECT_EQ(stored(Element::kUint8, 200), (Bytes{200, 0xee, 0xee, 0xee, 0xee}));
  EXPECT_EQ(stored(Element::kInt16, -2), (Bytes{0xfe, 0xff, 0xee, 0xee, 0xee}));
  EXPECT_EQ(stored(Element::kInt32, 0x10203), (Bytes{3, 2, 1, 0, 0xee}));
  EXPECT_EQ(stored(Element::kFloat32, 1.0f), (Bytes{0, 0, 0x80, 0x3f, 0xee}));
  EXPECT_EQ(stored(Element::kFloat32, std::bit_cast<float>(0xffc12345u)),
            (Bytes{0, 0, 0xc0, 0x7f, 0xee}));
}

TEST(Arithmetic, LoadedCodesAreExtendedBySignAndScaledOnce) {
  const std::array<uint8_t, 4> bytes = {0xff, 0xff, 0xff, 0x7f};
  EXPECT_EQ(LoadCode(Element::kInt8, bytes.data()), -1);
  EXPECT_EQ(LoadCode(Element::kUint8, bytes.data()), 255);
  EXPECT_EQ(LoadCode(Element::kInt16, bytes.data()), -1);
  EXPECT_EQ(LoadCode(Element::kInt32, bytes.data()), 0x7fffffff);
  Stream stream;
  stream.element = Element::kUint8;
  stream.zero_point = 5;
  stream.scale = 0.1f;
  EXPECT_EQ(LoadValue(Fp32(), stream, bytes.data()), 250.0f * 0.1f);
  EXPECT_EQ(Dequantise(Fp32(), std::numeric_limits<int32_t>::min(), 1, 1.0f),
            0x1p31f);  // the difference wraps
}

TEST(Arithmetic, AccumulatorsWrapAtTheirWidth) {
  EXPECT_EQ(WrapAccumulator(0x7fffff, 24), 0x7fffff);
  EXPECT_EQ(WrapAccumulator(0x800000, 24), -0x800000);
  EXPECT_EQ(WrapAccumulator(-0x800001, 24), 0x7fffff);
  EXPECT_EQ(WrapAccumulator(-5, 32), -5);
  EXPECT_EQ(WrapAccumulator(3, 1), -1);
  // One rounding: 3 * (1 + 2^-23) - 3 is 3 * 2^-23 only when the product is not rounded.
  EXPECT_EQ(AccumulatorToValue(Fp32(), 1, 2, 1.0f + 0x1p-23f, -3.0f), 3 * 0x1p-23f);
  EXPECT_EQ(AccumulatorToValue(Fp32(), std::numeric_limits<int32_t>::max(), 1, 1.0f, 0.0f),
            -0x1p31f);
}

TEST(Arithmetic, StagesSettleNanAndSignsOfZeroAsTheyAreWritten) {
  const auto run = [](StageOp op, float v, float a, float b = 0) {
    return ApplyStage(Fp32(), Stage{.op = op}, v, a, b);
  };
  EXPECT_EQ(run(StageOp::kSubtract, 5, 3), 2);
  EXPECT_EQ(run(StageOp::kReverseSubtract, 5, 3), -2);
  EXPECT_EQ(run(StageOp::kDivide, 1, 3), 1.0f / 3.0f);
  EXPECT_EQ(run(StageOp::kFma, 1.0f + 0x1p-23f, 3, -3), 3 * 0x1p-23f);
  EXPECT_EQ(run(StageOp::kSquare, -3, 100), 9);
  EXPECT_EQ(run(StageOp::kMax, kNan, 2), 2);
  EXPECT_TRUE(std::isnan(run(StageOp::kMax, 2, kNan)));
  EXPECT_EQ(run(StageOp::kMin, kNan, 2), 2);
  EXPECT_TRUE(std::isnan(run(StageOp::kMin, 2, kNan)));
  EXPECT_EQ(Bits(run(StageOp::kMax, -0.0f, 0.0f)), Bits(0.0f));
  EXPECT_EQ(Bits(run(StageOp::kMax, 0.0f, -0.0f)), Bits(-0.0f));
  EXPECT_EQ(Bits(run(StageOp::kAbsolute, -0.0f, 0)), Bits(0.0f));
  EXPECT_EQ(run(StageOp::kSelectNegative, -4, 0.25f), -1);
  EXPECT_EQ(run(StageOp::kSelectNegative, 4, 0.25f), 4);
  EXPECT_EQ(Bits(run(StageOp::kSelectNegative, -0.0f, -2)), Bits(-0.0f));  // -0 is not below 0
  EXPECT_EQ(run(StageOp::kSave0, 7, 1), 7);
}

TEST(Arithmetic, LanePartialsJoinAsATree) {
  // Pairs (0, 2) and (1, 3) first: in order from the left the ones would be lost to 2^24.
  std::array<float, 4> lanes = {0x1p24f, 1, -0x1p24f, 1};
  EXPECT_EQ(ReduceTree(Fp32(), Reduce::kSum, lanes), 2);
  std::array<float, 4> lost = {0x1p24f, -0x1p24f, 1, 1};
  EXPECT_EQ(ReduceTree(Fp32(), Reduce::kSum, lost),
            1);  // 2^24 + 1 rounds to 2^24, -2^24 + 1 does not
}

TEST(Arithmetic, NeutralElementsAndFactors) {
  EXPECT_EQ(NeutralOf(Fp32(), Reduce::kMax), -kInfinity);
  EXPECT_EQ(NeutralOf(Fp32(), Combine::kMax), -kInfinity);
  EXPECT_EQ(Bits(NeutralOf(Fp32(), Reduce::kSum)), 0u);
  EXPECT_EQ(ReduceTree(Fp32(), Reduce::kMax, {}), -kInfinity);
  EXPECT_TRUE(std::isnan(Join(Fp32(), Reduce::kMax, 1, kNan)));
  Window window{.window_y = 3, .window_x = 5, .average = true, .divide_by_valid = true};
  EXPECT_EQ(AverageFactor(Fp32(), window, 0), 1);
  EXPECT_EQ(AverageFactor(Fp32(), window, 9), 1.0f / 9.0f);
  window.divide_by_valid = false;
  EXPECT_EQ(AverageFactor(Fp32(), window, 9), 1.0f / 15.0f);
}

// A design point whose vector unit has eight significant bits.
const Numbers& Bf16() {
  static const auto* const kConfig = [] {
    auto* config = new Config;
    config->vector_format = *FindFormat("bf16");
    config->input_format = *FindFormat("e4m3");
    config->block_size = 32;
    SetDefaultSums(config);
    return config;
  }();
  static const auto* const kNumbers = new Numbers(*kConfig);
  return *kNumbers;
}

TEST(ShortFloats, RoundWhatIsScaledWithoutTheLimitsOfTheFormat) {
  Config config;
  config.vector_format = *FindFormat("bf16.flush");
  const Numbers bf16(config);
  const auto load = [](const Numbers& numbers, int32_t code, float scale) {
    Stream stream;
    stream.element = Element::kInt32;
    stream.scale = scale;
    return LoadValue(numbers, stream, reinterpret_cast<const uint8_t*>(&code));
  };
  // 1002 becomes 1000, and 1250 becomes 1248, the even neighbour. 1.25 * 1002 would become 1256.
  EXPECT_EQ(load(bf16, 1002, 1.25f), 1248.0f);
  // Counts likewise: 257 becomes 256. 1 / 257 would be 0x1.fep-9.
  const Window window{.average = true, .divide_by_valid = true};
  EXPECT_EQ(AverageFactor(bf16, window, 257), 0x1p-8f);
  // Codes beyond the greatest number of fp16, 65504, whose products are not.
  Config half;
  half.vector_format = *FindFormat("fp16");
  const Numbers fp16(half);
  EXPECT_EQ(load(fp16, 1 << 20, 0x1p-10f), 1024.0f);
  EXPECT_EQ(load(fp16, 98347, 0x1p-6f), 1537.0f);  // 98368 after eleven bits
  EXPECT_EQ(load(fp16, 1 << 20, 1.0f), kInfinity);
  EXPECT_EQ(AverageFactor(fp16, window, 1 << 20), 0x1p-20f);
}

TEST(NarrowArithmetic, EveryResultIsRoundedOnceToTheVectorFormat) {
  const auto run = [](StageOp op, float v, float a, float b = 0) {
    return ApplyStage(Bf16(), Stage{.op = op}, v, a, b);
  };
  EXPECT_EQ(run(StageOp::kAdd, 256, 1), 256);        // 257 is a tie, and 256 the even one
  EXPECT_EQ(run(StageOp::kAdd, 258, 1), 260);        // 259 is one, too
  EXPECT_EQ(run(StageOp::kAdd, 1, 0.00390625f), 1);  // 1 + 2^-8
  EXPECT_EQ(run(StageOp::kAdd, 0, 1.00390625f), 1);  // arguments are rounded as they come
  EXPECT_EQ(run(StageOp::kDivide, 1, 3), 0x1.56p-2f);
  // A product and a sum, rounded each: 1.0078125^2 = 1.01568603515625 becomes 1.015625 first.
  EXPECT_EQ(run(StageOp::kFma, 1.0078125f, 1.0078125f, -1.015625f), 0);
  EXPECT_EQ(AccumulatorToValue(Bf16(), 250, 7, 1.0f, 0.0f), 256);  // 257
  EXPECT_EQ(AccumulatorToValue(Bf16(), 0.3f, 2.0f, 1.0f), Bf16().Round(2 * Bf16().Round(0.3f) + 1));
  const Window window{.average = true, .divide_by_valid = true};
  EXPECT_EQ(AverageFactor(Bf16(), window, 3), 0x1.56p-2f);
  EXPECT_EQ(AverageFactor(Bf16(), window, 257), 0x1.fep-9f);
  std::array<float, 2> lanes = {256, 1};
  EXPECT_EQ(ReduceTree(Bf16(), Reduce::kSum, lanes), 256);
}

TEST(NarrowArithmetic, ElementsOfTheDesignPointsFormats) {
  std::array<uint8_t, 4> bytes{};
  StoreValue(Bf16(), Element::kVector, {}, 1.5f, bytes.data());
  EXPECT_EQ(bytes, (std::array<uint8_t, 4>{0xc0, 0x3f, 0, 0}));
  StoreValue(Bf16(), Element::kInput, {.inverse_scale = 2}, 0.75f, bytes.data());  // e4m3 of 1.5
  EXPECT_EQ(bytes[0], 0x3c);
  StoreValue(Bf16(), Element::kInput, {.inverse_scale = 1}, 1000.0f, bytes.data());  // saturates
  EXPECT_EQ(bytes[0], 0x7e);
  Stream stream;
  stream.element = Element::kInput;
  stream.scale = 0.5f;
  const uint8_t code = 0x3c;
  EXPECT_EQ(LoadValue(Bf16(), stream, &code), 0.75f);
  const uint8_t scale = 127 + 3, nan = 255;
  EXPECT_EQ(LoadValue(Bf16(), stream, BlockFactor(Bf16(), stream, &scale), &code), 6);
  EXPECT_TRUE(std::isnan(LoadValue(Bf16(), stream, BlockFactor(Bf16(), stream, &nan), &code)));
}

}  // namespace
}  // namespace kiln::systolic
