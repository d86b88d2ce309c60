// Compares the units of short floats with fp32 arithmetic of the processor, rounded by
// the codec: all pairs of numbers of the 8-bit formats, and pairs of corner and random numbers of
// the 16-bit formats, most of them chosen so that results cancel or underflow.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "Varith_float.h"
#include "Varith_float_netlist.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "tests/rtl/arith/fp32_values.h"

namespace kiln::rtl {
namespace {

// In the order of float_bench.
constexpr const char* kFormats[] = {
    "bf16.flush",         "fp16",       "e5m2",          "e4m3.infinity",
    "e4m3_fnuz.infinity", "e4m3.flush", "fp16.saturate", "e3m4.finite"};
constexpr size_t kSixteenBits[] = {0, 1, 6};

template <typename Model>
class Float : public testing::Test {
 protected:
  Float() {
    for (const char* name : kFormats) formats_.push_back(*FindFormat(name));
    model_.advance = 1;
  }
  ~Float() override { model_.final(); }

  // Returns a number of the format: that of a random code, or the rounding of a random fp32 number.
  float AnyNumber(const Format& format) {
    if (random_.Below(2) == 0) {
      return DecodeFloat(format, static_cast<uint32_t>(random_.Below(uint64_t{1} << format.bits)));
    }
    return Round(format, std::bit_cast<float>(RandomFp32(random_)));
  }
  // Returns a number whose magnitude is within a few units of another's.
  float Neighbour(const Format& format, float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t step =
        (uint32_t{1} << (23 - format.fraction_bits)) * static_cast<uint32_t>(random_.Below(5));
    return Round(format, std::bit_cast<float>((bits + step) ^
                                              static_cast<uint32_t>(random_.Below(2)) << 31));
  }
  static float Round(const Format& format, float value) {
    return DecodeFloat(format, EncodeFloat(format, value));
  }

  void Check(size_t index, float a, float b) {
    const Format& format = formats_[index];
    model_.a = std::bit_cast<uint32_t>(a);
    model_.b = std::bit_cast<uint32_t>(b);
    model_.clock = 0;
    model_.eval();
    const uint32_t product = Canonical(Round(format, a * b));
    const uint32_t sum = Canonical(Round(format, a + b));
    const uint32_t quotient = Canonical(Round(format, a / b));
    Expect(format, "product", a, b, model_.products[index], product);
    Expect(format, "sum", a, b, model_.sums[index], sum);
    Expect(format, "quotient", a, b, model_.quotients[index], quotient);
    model_.clock = 1;
    model_.eval();
    // The registered units keep what they have while they do not advance.
    model_.a = ~model_.a;
    model_.advance = 0;
    model_.clock = 0;
    model_.eval();
    model_.clock = 1;
    model_.eval();
    Expect(format, "registered product", a, b, model_.registered_products[index], product);
    Expect(format, "registered sum", a, b, model_.registered_sums[index], sum);
    model_.advance = 1;
    // Three divisions are in flight.
    if (index != in_flight_of_) divisions_.clear();
    in_flight_of_ = index;
    divisions_.push_back({a, b});
    if (divisions_.size() < 3) return;
    const auto [dividend, divisor] = divisions_.front();
    divisions_.pop_front();
    Expect(format, "registered quotient", dividend, divisor, model_.registered_quotients[index],
           Canonical(Round(format, dividend / divisor)));
  }
  // Conversions of any bits, and the product of a number with any fp32 number.
  void CheckConversions(uint32_t bits) {
    model_.a = bits;
    model_.eval();
    const float value = std::bit_cast<float>(bits);
    const auto integer = static_cast<float>(static_cast<int32_t>(bits));
    for (size_t i = 0; i < formats_.size(); ++i) {
      Expect(formats_[i], "rounding", value, 0, model_.rounded[i],
             Canonical(Round(formats_[i], value)));
      Expect(formats_[i], "integer", value, 0, model_.converted[i],
             Canonical(Round(formats_[i], integer)));
    }
  }
  // A product of numbers with the fraction bits of a format and any exponent of fp32.
  void CheckFarProduct(size_t index, float a, float b) {
    model_.a = std::bit_cast<uint32_t>(a);
    model_.b = std::bit_cast<uint32_t>(b);
    model_.eval();
    Expect(formats_[index], "far product", a, b, model_.products[index],
           Canonical(Round(formats_[index], a * b)));
  }
  void CheckScale(size_t index, float number, float scale) {
    model_.a = std::bit_cast<uint32_t>(number);
    model_.b = std::bit_cast<uint32_t>(scale);
    model_.clock = 0;
    model_.eval();
    const uint32_t product = Canonical(number * scale);
    Expect(formats_[index], "scaled", number, scale, model_.scaled[index], product);
    // The units below read as many bits of the scale as a number has.
    const int unread = 23 - FractionBits(formats_[index]);
    const auto upper = std::bit_cast<float>(std::bit_cast<uint32_t>(scale) >> unread << unread);
    constexpr float kLeast = std::numeric_limits<float>::min();
    const bool is_subnormal = std::abs(upper) < kLeast;
    Expect(formats_[index], "short scaled", number, scale, model_.short_scaled[index],
           Canonical(number * upper));
    Expect(formats_[index], "normal scaled", number, scale, model_.normal_scaled[index],
           Canonical(number * (is_subnormal ? std::copysign(0.0f, upper) : upper)));
    const float short_product = number * upper;
    const bool is_tiny = short_product != 0 && std::abs(short_product) < kLeast;
    Expect(formats_[index], "least scaled", number, scale, model_.least_scaled[index],
           Canonical(is_tiny ? std::copysign(kLeast, short_product) : short_product));
    model_.clock = 1;
    model_.eval();
    model_.b = ~model_.b;
    model_.eval();
    Expect(formats_[index], "registered scaled", number, scale, model_.registered_scaled[index],
           product);
  }
  // Returns the fraction bits of the upper bits of an fp32 number that hold a format's numbers.
  static int FractionBits(const Format& format) {
    return std::max({1, format.fraction_bits, format.fraction_bits + format.bias - 127});
  }
  bool TooMany() const { return failures_ > 10; }

  void Expect(const Format& format, const char* what, float a, float b, uint32_t got,
              uint32_t expected) {
    if (got == expected || TooMany()) return;
    ++failures_;
    ADD_FAILURE() << format.name << ' ' << what << " of " << std::hex << std::bit_cast<uint32_t>(a)
                  << " and " << std::bit_cast<uint32_t>(b) << ": " << got << " instead of "
                  << expected;
  }

  std::vector<Format> formats_;
  VerilatedContext context_;
  Model model_{&context_};
  Random random_{41};
  int failures_ = 0;
  std::deque<std::pair<float, float>> divisions_;
  size_t in_flight_of_ = 0;
};

using Models = testing::Types<Varith_float, Varith_float_netlist>;
TYPED_TEST_SUITE(Float, Models);

TYPED_TEST(Float, EveryPairOfSmallNumbers) {
  for (size_t i = 0; i < this->formats_.size(); ++i) {
    const Format& format = this->formats_[i];
    if (format.bits > 8) continue;
    for (uint32_t a = 0; a < 256 && !this->TooMany(); ++a) {
      for (uint32_t b = 0; b < 256; ++b)
        this->Check(i, DecodeFloat(format, a), DecodeFloat(format, b));
    }
  }
}

TYPED_TEST(Float, PairsOfCorners) {
  for (const size_t i : kSixteenBits) {
    const Format& format = this->formats_[i];
    std::vector<float> corners;
    for (const uint32_t bits : kFp32Corners) {
      for (const uint32_t sign : {0u, 0x80000000u})
        corners.push_back(this->Round(format, std::bit_cast<float>(bits | sign)));
    }
    for (const float a : corners) {
      for (const float b : corners) this->Check(i, a, b);
    }
  }
}

TYPED_TEST(Float, RandomPairs) {
  for (const size_t i : kSixteenBits) {
    const Format& format = this->formats_[i];
    for (int n = 0; n < 60'000 && !this->TooMany(); ++n) {
      const float a = this->AnyNumber(format);
      this->Check(
          i, a, this->random_.Below(2) == 0 ? this->Neighbour(format, a) : this->AnyNumber(format));
    }
  }
}

// Products and quotients around the least normal number, below which a format that flushes has zero
// alone.
TYPED_TEST(Float, ProductsAndQuotientsThatUnderflow) {
  for (const size_t i : kSixteenBits) {
    const Format& format = this->formats_[i];
    const int least = 1 - format.bias;
    for (int n = 0; n < 40'000 && !this->TooMany(); ++n) {
      const float a = this->Round(
          format, std::ldexp(static_cast<float>(this->random_.Uniform(1, 2)),
                             static_cast<int>(this->random_.Between(least / 2 - 3, least / 2))));
      const float b = this->Round(
          format, std::ldexp(static_cast<float>(this->random_.Uniform(1, 2)),
                             least - std::ilogb(a) - static_cast<int>(this->random_.Below(3))));
      this->Check(i, a, this->random_.Below(2) == 0 ? b : -b);
      const int up = static_cast<int>(this->random_.Below(3));
      this->Check(i, std::ldexp(a, least - std::ilogb(a)), std::ldexp(b, up - std::ilogb(b)));
    }
  }
}

TYPED_TEST(Float, Conversions) {
  for (const uint32_t corner : kFp32Corners) {
    for (uint32_t i = 0; i < 8; ++i) {
      this->CheckConversions(corner + i - 4);
      this->CheckConversions((corner + i - 4) ^ 0x80000000u);
    }
  }
  // Integers of every length, near ties of 24 bits and of the formats.
  for (uint32_t length = 1; length < 32; ++length) {
    for (uint32_t below = 0; below < length; ++below) {
      for (const uint32_t end : {~0u, 0u, 1u}) {
        const uint32_t value = (1u << length) + (1u << below) + end;
        this->CheckConversions(value);
        this->CheckConversions(0 - value);
      }
    }
  }
  for (int n = 0; n < 80'000 && !this->TooMany(); ++n) {
    this->CheckConversions(RandomFp32(this->random_));
    this->CheckConversions(static_cast<uint32_t>(this->random_()) >> this->random_.Below(32));
  }
}

TYPED_TEST(Float, ProductsOfAnyExponent) {
  for (const size_t i : kSixteenBits) {
    const Format& format = this->formats_[i];
    const Format wide = *FindFormat("e8m" + std::to_string(format.fraction_bits) + ".flush");
    for (int n = 0; n < 80'000 && !this->TooMany(); ++n) {
      const float a = this->Round(wide, std::bit_cast<float>(RandomFp32(this->random_)));
      float b = this->Round(wide, std::bit_cast<float>(RandomFp32(this->random_)));
      // Half of the products are around the format's least normal number.
      if (n % 2 == 0 && std::isfinite(a) && a != 0) {
        const auto shift = static_cast<int>(this->random_.Between(-3, 3) - format.bias);
        b = this->Round(wide, std::ldexp(static_cast<float>(this->random_.Uniform(-2, 2)),
                                         shift - std::ilogb(a)));
      }
      this->CheckFarProduct(i, a, b);
    }
  }
}

TYPED_TEST(Float, Scaling) {
  for (const size_t i : kSixteenBits) {
    const Format& format = this->formats_[i];
    for (const uint32_t corner : kFp32Corners) {
      const float scale = std::bit_cast<float>(corner);
      for (int n = 0; n < 100; ++n) this->CheckScale(i, this->AnyNumber(format), scale);
    }
    for (int n = 0; n < 80'000 && !this->TooMany(); ++n) {
      const float number = this->AnyNumber(format);
      // Half of the products are around fp32's least normal number.
      float scale = std::bit_cast<float>(RandomFp32(this->random_));
      if (n % 2 == 0 && std::isfinite(number) && number != 0) {
        scale =
            std::ldexp(static_cast<float>(this->random_.Uniform(-2, 2)),
                       static_cast<int>(this->random_.Between(-152, -124)) - std::ilogb(number));
      }
      this->CheckScale(i, number, scale);
    }
  }
}

}  // namespace
}  // namespace kiln::rtl
