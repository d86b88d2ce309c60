// Multipliers and scales against arithmetic in C++: all operands of up to 8 bits, all packed
// products, corner cases and random operands of wider numbers. The same test runs on Yosys'
// netlist.
#include <array>
#include <deque>

#include "Varithmetic_bench.h"
#include "Varithmetic_netlist.h"
#include "kiln/support/random.h"
#include "tests/rtl/dataflow/words.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

struct MultiplierCase {
  int in_bits;
  bool in_signed;
  int weight_bits, pack;
};
constexpr std::array<MultiplierCase, 20> kMultipliers = {{
    {8, true, 8, 1},   {8, false, 8, 1},   {8, true, 8, 2},  {8, false, 8, 2}, {4, true, 4, 4},
    {4, false, 4, 4},  {4, true, 4, 4},    {4, false, 4, 4}, {8, true, 1, 1},  {8, false, 1, 1},
    {8, true, 2, 1},   {8, false, 2, 1},   {1, false, 8, 1}, {2, true, 7, 1},  {6, false, 5, 1},
    {16, true, 16, 1}, {16, false, 16, 1}, {5, false, 7, 2}, {3, false, 5, 4}, {2, false, 3, 4},
}};

// Returns the lowest bits as a number.
int64_t Number(uint64_t value, int bits, bool is_signed) {
  value &= (uint64_t{1} << bits) - 1;
  const bool negative = is_signed && (value >> (bits - 1) & 1) != 0;
  return static_cast<int64_t>(value) - (negative ? int64_t{1} << bits : 0);
}

struct Operands {
  uint16_t in = 0;
  uint64_t weights = 0;
};

// Feeds one set of operands per cycle and compares all products.
template <typename Model>
void Multiplies(const std::vector<Operands>& operands) {
  Simulation<Model> bench;
  for (size_t t = 0; t < operands.size() + 4; ++t) {
    // The weights of operands t, the activation of operands t - 1.
    bench->weights = t < operands.size() ? operands[t].weights : 0;
    bench->in = t >= 1 && t - 1 < operands.size() ? operands[t - 1].in : 0;
    bench.Step();
    for (size_t i = 0; i < kMultipliers.size(); ++i) {
      const MultiplierCase& c = kMultipliers[i];
      // With this step the activation of operands t - 1 has been multiplied.
      const size_t delay = c.pack > 1 ? 2 : 1;
      if (t < delay || t - delay >= operands.size()) continue;
      const Operands& o = operands[t - delay];
      const int64_t x = Number(o.in, c.in_bits, c.in_signed);
      for (int k = 0; k < c.pack; ++k) {
        int64_t w = Number(o.weights >> (16 * k), c.weight_bits, true);
        if (c.weight_bits == 1) w = w == 0 ? -1 : 1;
        const auto product = static_cast<int32_t>(bench->products[i * 4 + static_cast<size_t>(k)]);
        ASSERT_EQ(product, x * w) << "multiplier " << i << ": " << x << " * " << w << ", product "
                                  << k;
      }
    }
  }
}

// All activations and weights of 8 bits, with random other weights; corner cases of 16 bits.
std::vector<Operands> AllOperands() {
  std::vector<Operands> all;
  Random random(3);
  for (uint32_t pair = 0; pair < 65536; ++pair) {
    all.push_back({static_cast<uint16_t>(pair & 255),
                   (random() & ~uint64_t{0xffff}) | static_cast<uint64_t>(pair >> 8)});
  }
  constexpr std::array<uint16_t, 8> kCorners = {0,      1,      0x7fff, 0x8000,
                                                0x8001, 0xffff, 0x00ff, 0x5555};
  for (const uint16_t in : kCorners) {
    for (const uint16_t weight : kCorners) {
      all.push_back({in, weight * uint64_t{0x0001000100010001}});
    }
  }
  for (int i = 0; i < 20000; ++i) {
    all.push_back({static_cast<uint16_t>(random()), random()});
  }
  return all;
}

TEST(Multiplier, MultipliesAllOperandsOfEightBits) {
  Multiplies<Varithmetic_bench>(AllOperands());
  Multiplies<Varithmetic_netlist>(AllOperands());
}

// The bench compares; the test above shows that it computes the right products.
TEST(Multiplier, AllPackedProductsAreExact) {
  Simulation<Varithmetic_bench> bench;
  uint64_t wrong = 0;
  for (uint32_t t = 0; t < (1u << 20) + 4; ++t) {
    bench->operands = t & 0xfffff;
    bench.Step();
    wrong |= t >= 3 ? bench->wrong : 0;
    ASSERT_EQ(wrong, 0u) << "operands " << t - 3;
  }
}

struct ScaleCase {
  int sum_bits, c_bits, out_bits, shift;
  int64_t low, high;
};
constexpr std::array<ScaleCase, 6> kScales = {{{20, 40, 8, 24, -128, 127},
                                               {32, 52, 8, 40, 0, 255},
                                               {6, 12, 8, 1, -128, 127},
                                               {30, 52, 16, 47, -32768, 32767},
                                               {26, 48, 16, 26, 0, 65535},
                                               {5, 3, 16, 0, -32768, 32767}}};

struct ScaleOperands {
  uint32_t sum, m;
  uint64_t c;
};

template <typename Model>
void Scales(const std::vector<ScaleOperands>& operands) {
  Simulation<Model> bench;
  for (size_t t = 0; t < operands.size() + 4; ++t) {
    const ScaleOperands now = t < operands.size() ? operands[t] : ScaleOperands{};
    bench->sum = now.sum;
    bench->m = now.m;
    bench->c = now.c;
    bench.Step();
    if (t < 3 || t - 3 >= operands.size()) continue;
    const ScaleOperands& o = operands[t - 3];
    for (size_t i = 0; i < kScales.size(); ++i) {
      const ScaleCase& c = kScales[i];
      const __int128 scaled = static_cast<__int128>(Number(o.sum, c.sum_bits, true)) * o.m +
                              Number(o.c, c.c_bits, true);
      const auto code =
          static_cast<int64_t>(std::clamp<__int128>(scaled >> c.shift, c.low, c.high));
      ASSERT_EQ(bench->codes[i], static_cast<uint64_t>(code) & ((uint64_t{1} << c.out_bits) - 1))
          << "scale " << i << ", sum " << o.sum << ", m " << o.m << ", c " << o.c;
    }
  }
}

std::vector<ScaleOperands> ScaleCorners() {
  constexpr uint64_t kMask = (uint64_t{1} << 52) - 1;
  std::vector<ScaleOperands> all;
  Random random(5);
  std::vector<uint32_t> sums;
  for (const int bits : {5, 6, 20, 26, 30, 32}) {
    const uint32_t sign = uint32_t{1} << (bits - 1);
    for (const uint32_t value :
         {uint32_t{0}, uint32_t{1}, sign - 1, sign, sign + 1, ~uint32_t{0}}) {
      sums.push_back(value);
    }
  }
  std::vector<uint64_t> offsets;
  for (const int bits : {3, 12, 40, 48, 52}) {
    const uint64_t sign = uint64_t{1} << (bits - 1);
    for (const uint64_t value : {uint64_t{0}, uint64_t{1}, sign - 1, sign, sign + 1, kMask}) {
      offsets.push_back(value);
    }
  }
  for (const uint32_t sum : sums) {
    for (const uint64_t c : offsets) {
      for (const uint32_t m : {0u, 1u, 2u, 0xffffu, 0x10000u, 0x1ffffu}) {
        all.push_back({sum, m, c});
      }
    }
  }
  // All sums of the third scale with small m and c: the shift drops one bit.
  for (uint32_t i = 0; i < 64 * 8 * 16; ++i) {
    all.push_back({i & 63, i >> 6 & 7, (i >> 9) - 8u & kMask});
  }
  for (int i = 0; i < 50000; ++i) {
    all.push_back({static_cast<uint32_t>(random()), static_cast<uint32_t>(random.Below(0x20000)),
                   random() & kMask});
    // Codes inside the bounds, and sums around the next code.
    const auto m = static_cast<uint32_t>(1 + random.Below(0x1ffff));
    const int shift = random.Below(2) == 0 ? 24 : 26;
    const uint64_t half = uint64_t{1} << (shift - 1);
    const uint64_t place = ((2 * random.Below(16) + 1) * half) / m;
    all.push_back({static_cast<uint32_t>(place + random.Below(3) - 1), m, half});
  }
  return all;
}

TEST(Scale, RoundsAndClampsAsTheDocumentSays) {
  Scales<Varithmetic_bench>(ScaleCorners());
  Scales<Varithmetic_netlist>(ScaleCorners());
}

}  // namespace
}  // namespace kiln::rtl
