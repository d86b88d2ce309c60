// Compares kiln_source_lane with AccumulatorToValue, and operands times a factor with a product
// rounded to the vector format: integer and float accumulators, fp32 and a narrower vector format.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "Vsource_lane.h"
#include "Vsource_lane_bf16.h"
#include "Vsource_lane_fp16.h"
#include "Vsource_lane_real.h"
#include "Vsource_lane_short.h"
#include "Vsource_lane_short_netlist.h"
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

// One word at a time, with lanes that stall in between: its accumulator first, all else `convert`
// cycles later, and its result `latency` cycles after that.
template <typename Model>
void FollowsItsTwin(const char* accumulation_format, const char* vector_format, int bits,
                    int convert = 0, int latency = 1) {
  systolic::Config config;
  config.accumulation_format = *FindFormat(accumulation_format);
  config.vector_format = *FindFormat(vector_format);
  const Numbers numbers(config);
  Model model;
  Random random(11);
  const auto number_of = [&](float value) { return std::bit_cast<uint32_t>(value) >> (32 - bits); };
  const auto step = [&](bool advance) {
    model.advance = advance;
    model.clock = 0;
    model.eval();
    model.clock = 1;
    model.eval();
  };
  for (int i = 0; i < 60'000; ++i) {
    const auto code =
        static_cast<uint32_t>(random() >> random.Below(32)) &
        (config.accumulation_format.bits < 32 ? (1u << config.accumulation_format.bits) - 1 : ~0u);
    const auto offset = static_cast<int32_t>(random());
    const float scale = RandomFloat(random), bias = RandomFloat(random);
    const float operand = numbers.Round(RandomFloat(random)),
                factor = numbers.Round(RandomFloat(random)),
                row = numbers.Round(RandomFloat(random)),
                constant = numbers.Round(RandomFloat(random));
    const int source = i % 4;  // kiln_systolic_pkg::source_t
    const bool averages = random.Below(2) != 0;
    float expected = constant;
    if (source == 0) {
      expected = config.accumulation_format.is_integer()
                     ? AccumulatorToValue(numbers, static_cast<int32_t>(code), offset, scale, bias)
                     : AccumulatorToValue(numbers, DecodeFloat(config.accumulation_format, code),
                                          scale, bias);
    } else if (source == 1) {
      expected = averages ? numbers.Round(operand * factor) : operand;
    } else if (source == 2) {
      expected = row;
    }
    for (int cycle = 0; cycle < convert + latency;) {
      const bool early = cycle == 0, late = cycle == convert, advance = random.Below(4) != 0;
      model.moves = 1u << cycle;
      model.accumulator = early ? code : static_cast<uint32_t>(random());
      if (config.accumulation_format.bits < 32)
        model.accumulator &= (1u << config.accumulation_format.bits) - 1;
      model.offset = early ? static_cast<uint32_t>(offset) : 0;
      model.scale = early ? std::bit_cast<uint32_t>(scale) : 0;
      model.bias = early ? std::bit_cast<uint32_t>(bias) : 0;
      model.row_number = late ? number_of(row) : 0;
      const bool chooses = cycle == std::max(convert - 1, 0);
      model.source_valid = chooses;
      model.source = static_cast<uint8_t>(chooses ? source : random.Below(4));
      model.averages = averages;
      model.constant = late ? number_of(constant) : 0;
      model.operand = late ? number_of(operand) : 0;
      model.factor = late ? number_of(factor) : 0;
      step(advance);
      cycle += advance ? 1 : 0;
    }
    const auto got = std::bit_cast<float>(static_cast<uint32_t>(model.result) << (32 - bits));
    ASSERT_TRUE(Same(got, expected))
        << got << " for " << expected << " of source " << source << ", code " << code << ", offset "
        << offset << ", scale " << scale << ", bias " << bias << ", " << operand << " * " << factor
        << (averages ? ", averages" : "");
  }
}

TEST(SourceLane, IntegerAccumulators) { FollowsItsTwin<Vsource_lane>("int32", "fp32", 32); }
TEST(SourceLane, FloatAccumulators) { FollowsItsTwin<Vsource_lane_real>("bf16", "fp32", 32); }
TEST(SourceLane, NarrowVectorFormat) {
  FollowsItsTwin<Vsource_lane_bf16>("int32", "bf16", 16, 2, 2);
}
TEST(SourceLane, ShortFloats) {
  FollowsItsTwin<Vsource_lane_short>("int32", "bf16.flush", 16, 3, 3);
  FollowsItsTwin<Vsource_lane_fp16>("fp32", "fp16", 19, 1, 1);
}
TEST(SourceLane, AsYosysReadsIt) {
  FollowsItsTwin<Vsource_lane_short_netlist>("int32", "bf16.flush", 16, 3, 3);
}

}  // namespace
}  // namespace kiln::rtl
