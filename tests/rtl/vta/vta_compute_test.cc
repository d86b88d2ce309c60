// Tests VTA's arithmetic: all pairs of 8-bit operands, and random operands of other widths.
#include <gtest/gtest.h>

#include "Vvta_compute_16.h"
#include "Vvta_compute_32.h"
#include "Vvta_compute_8.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/isa/elements.h"
#include "kiln/targets/vta/simulate/alu.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

using vta::AluOp;
using vta::Calculate;
using vta::Wrap;

constexpr int kOperations = 5;

template <typename Model>
void CheckNumber(Simulation<Model>& bench, int bits, AluOp op, int32_t x, int32_t y) {
  const int operand_bits = std::max(bits, 16);
  const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  bench->operation = static_cast<uint8_t>(op);
  bench->x = static_cast<uint32_t>(x) & mask;
  bench->y = static_cast<uint32_t>(y) & (operand_bits == 32 ? ~0u : (1u << operand_bits) - 1);
  bench.Settle();
  ASSERT_EQ(bench->result, static_cast<uint32_t>(Wrap(Calculate(op, x, y), bits)) & mask)
      << static_cast<int>(op) << '(' << x << ", " << y << ")";
}

TEST(VtaCompute, AllPairsOfEightBits) {
  Simulation<Vvta_compute_8> bench;
  for (int op = 0; op < kOperations; ++op) {
    for (int x = -128; x < 128; ++x) {
      for (int y = -128; y < 128; ++y) CheckNumber(bench, 8, static_cast<AluOp>(op), x, y);
    }
  }
}

template <typename Model>
void CheckRandomNumbers(int bits) {
  Simulation<Model> bench;
  Random random(static_cast<uint64_t>(bits));
  const auto number = [&](int width) {
    // Short ones as often as long ones, and the extremes.
    const auto least = -(int64_t{1} << (width - 1));
    if (random.Below(8) == 0)
      return static_cast<int32_t>(random.Below(2) == 0 ? least : -least - 1);
    return Wrap(static_cast<int64_t>(random()), static_cast<int>(random.Between(2, width)));
  };
  for (int i = 0; i < 100'000; ++i) {
    const auto op = static_cast<AluOp>(random.Below(kOperations));
    // The second operand: an accumulator or an immediate.
    CheckNumber(bench, bits, op, number(bits), number(random.Below(2) == 0 ? bits : 16));
  }
}
TEST(VtaCompute, SixteenBits) { CheckRandomNumbers<Vvta_compute_16>(16); }
TEST(VtaCompute, ThirtyTwoBits) { CheckRandomNumbers<Vvta_compute_32>(32); }
TEST(VtaCompute, ImmediatesAreWiderThanEightBits) { CheckRandomNumbers<Vvta_compute_8>(8); }

// Both products of a pair, which share a multiplier, for all inputs and weights on one side and
// some on the other.
TEST(VtaCompute, AllProductsOfEightBits) {
  Simulation<Vvta_compute_8> bench;
  for (int in = -128; in < 128; ++in) {
    bench->in = static_cast<uint8_t>(in);
    for (int weight = -128; weight < 128; ++weight) {
      for (const int other : {-128, -1, 0, 1, 127, weight ^ 0x55}) {
        for (const bool swapped : {false, true}) {
          const int low = swapped ? other : weight, high = swapped ? weight : other;
          bench->weight_low = static_cast<uint8_t>(low);
          bench->weight_high = static_cast<uint8_t>(high);
          bench.Settle();
          ASSERT_EQ(bench->product_low, static_cast<uint16_t>(in * low))
              << in << ' ' << low << ' ' << high;
          ASSERT_EQ(bench->product_high, static_cast<uint16_t>(in * high))
              << in << ' ' << low << ' ' << high;
        }
      }
    }
  }
}

template <typename Model>
void CheckRandomProducts(int input_bits, int weight_bits) {
  Simulation<Model> bench;
  Random random(5);
  const auto mask = [](int bits) { return static_cast<uint32_t>((uint64_t{1} << bits) - 1); };
  for (int i = 0; i < 100'000; ++i) {
    const auto bits = static_cast<int64_t>(random());
    const int64_t in = Wrap(bits, input_bits), low = Wrap(bits >> 16, weight_bits),
                  high = Wrap(bits >> 32, weight_bits);
    bench->in = static_cast<uint32_t>(in) & mask(input_bits);
    bench->weight_low = static_cast<uint32_t>(low) & mask(weight_bits);
    bench->weight_high = static_cast<uint32_t>(high) & mask(weight_bits);
    bench.Settle();
    ASSERT_EQ(bench->product_low, static_cast<uint32_t>(in * low) & mask(input_bits + weight_bits));
    ASSERT_EQ(bench->product_high,
              static_cast<uint32_t>(in * high) & mask(input_bits + weight_bits));
  }
}
TEST(VtaCompute, ProductsOfOneBit) { CheckRandomProducts<Vvta_compute_16>(1, 2); }
TEST(VtaCompute, ProductsOfSixteenBits) { CheckRandomProducts<Vvta_compute_32>(16, 16); }

}  // namespace
}  // namespace kiln::rtl
