// Compares the fp32 units with the processor's own arithmetic: every pair of corner values, then
// random operands, half of them chosen so that results cancel or are next to a tie.
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "Varith_fp32.h"
#include "Varith_fp32_netlist.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"
#include "tests/rtl/arith/fp32_values.h"

namespace kiln::rtl {
namespace {

// Of the bench's rounding units, in its order: exponents like fp32's and narrower ones, with and
// without infinity, NaN, minus zero and subnormals; numbers that reach down among fp32's
// subnormals.
constexpr const char* kFormats[] = {"bf16",
                                    "fp16",
                                    "tf32",
                                    "e5m2",
                                    "e3m2",
                                    "e4m3.infinity",
                                    "e4m3_fnuz.infinity",
                                    "fp16.saturate",
                                    "bf16.flush",
                                    "e4m3.flush",
                                    "e8m23.flush",
                                    "e8m2.fnuz",
                                    "e1m2.finite",
                                    "e7m12"};

template <typename Model>
class Fp32 : public testing::Test {
 protected:
  void Check(uint32_t a_bits, uint32_t b_bits, uint32_t c_bits, int32_t integer, int32_t low,
             int32_t high) {
    model_.a = a_bits;
    model_.b = b_bits;
    model_.c = c_bits;
    model_.integer_value = static_cast<uint32_t>(integer);
    model_.low = static_cast<uint32_t>(low);
    model_.high = static_cast<uint32_t>(high);
    model_.eval();
    const auto a = std::bit_cast<float>(a_bits), b = std::bit_cast<float>(b_bits),
               c = std::bit_cast<float>(c_bits);
    Expect("a * b + c", model_.multiply_add, Canonical(std::fma(a, b, c)));
    Expect("a * b", model_.multiply, Canonical(a * b));
    Expect("a + b", model_.add, Canonical(a + b));
    Expect("a / b", model_.divide, Canonical(a / b));
    Expect("a > b", model_.greater, a > b ? 1 : 0);
    Expect("maximum", model_.maximum, a > b ? a_bits : b_bits);
    Expect("minimum", model_.minimum, a < b ? a_bits : b_bits);
    Expect("integer", model_.from_integer, Canonical(static_cast<float>(integer)));
    systolic::QuantiseOut quantise;
    quantise.inverse_scale = b;
    quantise.zero_point = integer;
    quantise.low = low;
    quantise.high = high;
    Expect("code", model_.code, static_cast<uint32_t>(systolic::QuantiseToCode(quantise, a)));
    for (size_t i = 0; i < formats_.size(); ++i) {
      Expect(kFormats[i], model_.rounded[i],
             Canonical(DecodeFloat(formats_[i], EncodeFloat(formats_[i], a))));
    }
  }

  // a * b + c alone, against what the caller expects.
  void CheckMultiplyAdd(uint32_t a, uint32_t b, uint32_t c, uint32_t expected) {
    model_.a = a;
    model_.b = b;
    model_.c = c;
    model_.eval();
    Expect("a * b + c", model_.multiply_add, expected);
  }

  void CheckTimesPower(uint32_t a, uint32_t power) {
    model_.a = a;
    model_.power = power;
    model_.eval();
    Expect(fmt::format("a * {:#x}", power).c_str(), model_.times_power,
           Canonical(std::bit_cast<float>(a) * std::bit_cast<float>(power)));
  }

  bool TooMany() const { return failures_ > 10; }

 private:
  void Expect(const char* unit, uint32_t actual, uint32_t expected) {
    if (actual == expected || TooMany()) return;
    ++failures_;
    ADD_FAILURE() << std::hex << unit << " of a " << model_.a << ", b " << model_.b << ", c "
                  << model_.c << ", integer " << model_.integer_value << ", low " << model_.low
                  << ", high " << model_.high << ": " << actual << ", not " << expected;
  }

  VerilatedContext context_;
  Model model_{&context_};
  const std::vector<Format> formats_ = [] {
    std::vector<Format> formats;
    for (const char* name : kFormats) formats.push_back(*FindFormat(name));
    return formats;
  }();
  int failures_ = 0;
};

// The units as Verilator reads them, and as Yosys does.
using Models = testing::Types<Varith_fp32, Varith_fp32_netlist>;
TYPED_TEST_SUITE(Fp32, Models);

TYPED_TEST(Fp32, Corners) {
  constexpr int32_t kIntegers[] = {0, 1, -1, 127, -128, 0x1000001, 0x1000003, INT32_MAX, INT32_MIN};
  size_t integer = 0;
  for (const uint32_t a : kFp32Corners) {
    for (const uint32_t b : kFp32Corners) {
      for (const uint32_t c : kFp32Corners) {
        for (uint32_t signs = 0; signs < 8; ++signs) {
          this->Check(a | signs << 31, b | (signs >> 1) << 31, c | (signs >> 2) << 31,
                      kIntegers[++integer % std::size(kIntegers)], -128, 127);
          if (this->TooMany()) return;
        }
      }
    }
  }
}

TYPED_TEST(Fp32, RandomOperands) {
  Random random(1);
  for (int i = 0; i < 1000000 && !this->TooMany(); ++i) {
    const uint32_t a = RandomFp32(random);
    const auto bits = static_cast<uint32_t>(random());
    // A sum that cancels, a quotient next to one that is exact, or anything.
    const auto value = std::bit_cast<float>(a);
    const uint32_t b = bits % 4 == 0   ? Near(-value, random)
                       : bits % 4 == 1 ? Near(value * static_cast<float>((bits >> 2) % 64), random)
                                       : RandomFp32(random);
    const uint32_t c =
        bits % 3 == 0 ? RandomFp32(random) : Near(-(value * std::bit_cast<float>(b)), random);
    const auto integer = static_cast<int32_t>(random()) >> (bits % 32);
    const auto low = static_cast<int32_t>(random()) >> (random() % 32);
    const auto high = static_cast<int32_t>(random()) >> (random() % 32);
    this->Check(a, b, c, integer, low, high);
  }
}

// Products of 25 significant bits, the last of them set, are ties between two numbers: the sign of
// an addend decides, down to the least subnormal number, however far below the product it is.
// Without one the even number is right.
TYPED_TEST(Fp32, AddendsFarBelowDecideTies) {
  Random random(5);
  for (int i = 0; i < 200000 && !this->TooMany(); ++i) {
    const uint32_t p = 1u << 11 | (static_cast<uint32_t>(random()) & 0x7ffu) | 1;  // 12 bits
    const uint32_t q = 3u << 12 | (static_cast<uint32_t>(random()) & 0xfffu) | 1;  // 14 bits
    const uint32_t product = p * q;                                                // 25 or 26 bits
    if (product >> 25 != 0) continue;
    const int scale = static_cast<int>(random.Between(-60, 90));
    const bool negative = random.Below(2) == 0;
    const auto a = static_cast<float>(p),
               b = std::ldexp(negative ? -static_cast<float>(q) : static_cast<float>(q), scale);
    // Less than the product's last place, 2^scale.
    const int exponent = static_cast<int>(random.Between(-149, scale - 1));
    const int addend = static_cast<int>(random.Below(3)) - 1;  // towards zero, none, away from it
    const float c =
        addend == 0 ? 0.0f : std::ldexp(negative == (addend > 0) ? -1.0f : 1.0f, exponent);
    const uint32_t lower = product >> 1;
    const uint32_t rounded = addend > 0 || (addend == 0 && lower % 2 == 1) ? lower + 1 : lower;
    const float magnitude = std::ldexp(static_cast<float>(rounded), scale + 1);
    this->CheckMultiplyAdd(std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b),
                           std::bit_cast<uint32_t>(c),
                           std::bit_cast<uint32_t>(negative ? -magnitude : magnitude));
  }
}

// A product far below an addend leaves it as it is.
TYPED_TEST(Fp32, ProductsFarBelowChangeNothing) {
  Random random(6);
  for (int i = 0; i < 50000 && !this->TooMany(); ++i) {
    const uint32_t significand = i % 2 == 0 ? 0 : static_cast<uint32_t>(random()) & 0x7fffffu;
    const auto field = static_cast<uint32_t>(random.Between(120, 254));
    const uint32_t c = static_cast<uint32_t>(random.Below(2)) << 31 | field << 23 | significand;
    // Below a quarter of the last place of c.
    const int greatest = static_cast<int>(field) - 127 - 26;
    const int of_a = static_cast<int>(random.Between(-60, 60));
    const int of_b = static_cast<int>(random.Between(-126, std::max(greatest - of_a - 1, -126)));
    if (of_a + of_b >= greatest || of_b > 127) continue;
    const float a = std::ldexp(random.Below(2) == 0 ? 1.0f : -1.0f, of_a),
                b = std::ldexp(1.0f, of_b);
    this->CheckMultiplyAdd(std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b), c, c);
  }
}

// Every power of two, zero, infinity and NaN times corner values and random ones.
TYPED_TEST(Fp32, TimesPowersOfTwo) {
  std::vector<uint32_t> powers = {0, 0x7f800000, 0x7fc00000, 0x7f800001};
  for (int exponent = -149; exponent <= 127; ++exponent)
    powers.push_back(std::bit_cast<uint32_t>(std::ldexp(1.0f, exponent)));
  Random random(7);
  for (const uint32_t power : powers) {
    for (const uint32_t corner : kFp32Corners) {
      for (uint32_t signs = 0; signs < 4; ++signs)
        this->CheckTimesPower(corner | signs << 31, power | (signs >> 1) << 31);
    }
    for (int i = 0; i < 2000 && !this->TooMany(); ++i)
      this->CheckTimesPower(RandomFp32(random), power);
  }
}

// Numbers of every exponent next to every place where a rounding may cut.
TYPED_TEST(Fp32, RoundsToNarrowerFormats) {
  Random random(3);
  for (uint32_t field = 0; field < 256; ++field) {
    for (int place = 0; place < 24 && !this->TooMany(); ++place) {
      for (int i = 0; i < 24; ++i) {
        // Above the place anything, or ones: a carry goes all the way.
        const uint32_t above = i % 4 == 0 ? ~0u : static_cast<uint32_t>(random());
        const uint32_t half = (above << place) | (1u << place) >> 1;
        const uint32_t number =
            (field << 23 | (half & 0x7fffffu)) + static_cast<uint32_t>(i % 3) - 1;
        this->Check((number & 0x7fffffffu) | static_cast<uint32_t>(i & 1) << 31, 0, 0, 0, -128,
                    127);
      }
    }
  }
}

// Codes next to ties: values that are a half, and next to it.
TYPED_TEST(Fp32, CodesNextToTies) {
  Random random(2);
  for (int i = 0; i < 300000 && !this->TooMany(); ++i) {
    const float half = (static_cast<float>(static_cast<int32_t>(random() % 1024)) - 512.0f) * 0.5f;
    const auto zero_point = static_cast<int32_t>(random() % 256) - 128;
    this->Check(Near(half, random),
                std::bit_cast<uint32_t>(std::ldexp(1.0f, static_cast<int>(random() % 3) - 1)), 0,
                zero_point, -128, 127);
  }
}

}  // namespace
}  // namespace kiln::rtl
