// Compares kiln_source_lane with AccumulatorToValue, and operands times a factor with a product
// rounded to the vector format: integer and float accumulators, fp32 and a narrower vector format.
#include <bit>
#include <cmath>
#include <cstdint>

#include "Vsource_lane.h"
#include "Vsource_lane_bf16.h"
#include "Vsource_lane_netlist.h"
#include "Vsource_lane_real.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"

namespace kiln::rtl {
namespace {

using systolic::Numbers;

// Any bits, or a number between -1000 and 1000; no NaN, which has bits that nobody promises.
float RandomFloat(Random& random) {
  for (;;) {
    const auto any = std::bit_cast<float>(static_cast<uint32_t>(random()));
    const float value =
        random.Below(2) == 0 ? any : static_cast<float>(random.Uniform(-1000, 1000));
    if (!std::isnan(value)) return value;
  }
}

bool Same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b);
}

template <typename Model>
void FollowsItsTwin(const char* accumulation_format, const char* vector_format) {
  systolic::Config config;
  config.accumulation_format = *FindFormat(accumulation_format);
  config.vector_format = *FindFormat(vector_format);
  const Numbers numbers(config);
  Model model;
  Random random(11);
  for (int i = 0; i < 200000; ++i) {
    const auto code =
        static_cast<uint32_t>(random() >> random.Below(32)) &
        (config.accumulation_format.bits < 32 ? (1u << config.accumulation_format.bits) - 1 : ~0u);
    const auto offset = static_cast<int32_t>(random());
    const float scale = RandomFloat(random), bias = RandomFloat(random);
    const float operand = numbers.Round(RandomFloat(random)),
                factor = numbers.Round(RandomFloat(random));
    model.enable = 1;
    model.from_accumulator = i % 2;
    model.accumulator = code;
    model.offset = static_cast<uint32_t>(offset);
    model.scale = std::bit_cast<uint32_t>(scale);
    model.bias = std::bit_cast<uint32_t>(bias);
    model.operand = std::bit_cast<uint32_t>(operand);
    model.factor = std::bit_cast<uint32_t>(factor);
    model.eval();
    float expected = numbers.Round(operand * factor);
    if (i % 2 == 1) {
      expected = config.accumulation_format.is_integer()
                     ? AccumulatorToValue(numbers, static_cast<int32_t>(code), offset, scale, bias)
                     : AccumulatorToValue(numbers, DecodeFloat(config.accumulation_format, code),
                                          scale, bias);
    }
    const auto got = std::bit_cast<float>(static_cast<uint32_t>(model.result));
    ASSERT_TRUE(Same(got, expected))
        << got << " for " << expected << " of code " << code << ", offset " << offset << ", scale "
        << scale << ", bias " << bias << ", " << operand << " * " << factor;
  }
}

TEST(SourceLane, IntegerAccumulators) { FollowsItsTwin<Vsource_lane>("int32", "fp32"); }
TEST(SourceLane, FloatAccumulators) { FollowsItsTwin<Vsource_lane_real>("bf16", "fp32"); }
TEST(SourceLane, NarrowVectorFormat) { FollowsItsTwin<Vsource_lane_bf16>("int32", "bf16"); }
TEST(SourceLane, AsYosysReadsIt) { FollowsItsTwin<Vsource_lane_netlist>("int32", "fp32"); }

}  // namespace
}  // namespace kiln::rtl
