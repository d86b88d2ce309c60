// Compares the codec with the oracle: every code, every number of fp16, and every pair of codes of
// formats of up to 8 bits, with all roundings and overflows; directed and random numbers for wider
// formats.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/support/random.h"
#include "tests/numerics/find_format.h"
#include "tests/numerics/oracle.h"

namespace kiln {
namespace {

using oracle::Number;
using oracle::Oracle;

// The named formats, and names that FindFormat makes sense of: other splits, specials, overflows.
std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Format& format : AllFormats()) names.push_back(format.name);
  for (const char* name : {"e4m3.infinity",
                           "e4m3_ieee.infinity",
                           "e4m3_fnuz.infinity",
                           "e5m2.infinity",
                           "e5m2_fnuz.infinity",
                           "ue5m3.infinity",
                           "e8m0.infinity",
                           "e4m3.flush",
                           "e5m2.infinity.flush",
                           "e2m3.flush",
                           "e1m2",
                           "e3m0",
                           "e1m1",
                           "e2m2",
                           "ue4m3",
                           "ue2m6",
                           "e6m1",
                           "int1",
                           "int8.wrap",
                           "uint5.wrap",
                           "ternary.wrap",
                           "fixed8_4.wrap",
                           "fixed6_20",
                           "ufixed6_3",
                           "ufixed8_60.wrap",
                           "posit2_0",
                           "posit3_0",
                           "posit3_2",
                           "posit5_3",
                           "posit7_6",
                           "posit8_4",
                           "e5m10.flush",
                           "e7m12",
                           "ue8m5",
                           "int12.wrap",
                           "posit11_2",
                           "posit16_0",
                           "posit16_3",
                           "posit24_1",
                           "posit32_0",

                           "posit32_4",
                           "e8m23",
                           "fp32.flush",
                           "bf16.saturate",
                           "e3m20",
                           "int32.wrap",
                           "uint32",
                           "uint32.wrap",
                           "fixed32_16",
                           "fixed32_63"}) {
    names.emplace_back(name);
  }
  return names;
}

std::vector<std::string> NamesOf(int least_bits, int most_bits) {
  std::vector<std::string> names;
  for (const std::string& name : FormatNames()) {
    const Format format = Find(name);
    if (format.bits >= least_bits && format.bits <= most_bits) names.push_back(name);
  }
  return names;
}

constexpr const char* kRoundingNames[] = {"nearest_even", "nearest_away", "toward_zero", "down",
                                          "stochastic"};

mpq_class Scaled(uint64_t significand, int64_t power) {
  mpq_class value(static_cast<unsigned long>(significand));
  if (power >= 0) {
    mpq_mul_2exp(value.get_mpq_t(), value.get_mpq_t(), static_cast<unsigned long>(power));
  } else {
    mpq_div_2exp(value.get_mpq_t(), value.get_mpq_t(), static_cast<unsigned long>(-power));
  }
  return value;
}

bool Same(const Exact& x, const Number& expected) {
  if (x.is_nan() || expected.what == Number::kNan)
    return x.is_nan() && expected.what == Number::kNan;
  if (x.negative != expected.minus) return false;
  if (x.is_infinite() || expected.what == Number::kInfinite) {
    return x.is_infinite() && expected.what == Number::kInfinite;
  }
  return abs(expected.value) == Scaled(x.significand, x.exponent - 63);
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

TEST(Oracle, KnowsEveryNamedFormat) {
  for (const std::string& name : FormatNames()) {
    EXPECT_NE(oracle::FindSpec(name.substr(0, name.find('.'))), nullptr) << name;
  }
}

class Codes : public testing::TestWithParam<std::string> {};

TEST_P(Codes, StandForTheirValues) {
  const Format format = Find(GetParam());
  const Oracle oracle(format);
  // Wider formats by a stride that meets every residue of small powers of two, and the ends.
  const uint64_t count = uint64_t{1} << format.bits;
  const uint64_t stride = format.bits <= 16 ? 1 : count / 20011;
  for (uint64_t code = 0; code < count; code += stride) {
    for (const uint64_t c : {code, count - 1 - code}) {
      ASSERT_TRUE(Same(Decode(format, static_cast<uint32_t>(c)), oracle.Value(c)))
          << format.name << " code " << c;
    }
  }
}

TEST_P(Codes, ComeBackFromTheirValues) {
  const Format format = Find(GetParam());
  const Oracle oracle(format);
  const uint64_t count = uint64_t{1} << format.bits;
  const uint64_t stride = format.bits <= 8 ? 1 : count / 251;
  for (uint64_t code = 0; code < count; code += stride) {
    const auto c = static_cast<uint32_t>(code);
    ASSERT_EQ(Encode(format, Decode(format, c)), oracle.Code(oracle.Value(c)))
        << format.name << " code " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Codes, testing::ValuesIn(FormatNames()), TestName);

class SmallFormat : public testing::TestWithParam<std::string> {};

// The numbers of fp16 by the oracle, by code.
const std::vector<Number>& Fp16Numbers() {
  static const auto* const numbers = [] {
    const Oracle fp16(Find("fp16"));
    auto* all = new std::vector<Number>;
    for (uint32_t code = 0; code < 65536; ++code) all->push_back(fp16.Value(code));
    return all;
  }();
  return *numbers;
}

TEST_P(SmallFormat, EncodesEveryFp16Number) {
  const Format fp16 = Find("fp16");
  const std::vector<Number>& numbers = Fp16Numbers();
  for (const char* rounding : kRoundingNames) {
    const Format format = Find(GetParam() + "." + rounding);
    const Oracle oracle(format);
    for (uint32_t code = 0; code < 65536; ++code) {
      const auto random = static_cast<uint32_t>(MixBits(code));
      ASSERT_EQ(Encode(format, Decode(fp16, code), random), oracle.Code(numbers[code], random))
          << format.name << " of the fp16 code " << code;
    }
  }
}

TEST_P(SmallFormat, MultipliesAndAddsAllPairs) {
  const Format format = Find(GetParam());
  const Oracle oracle(format);
  std::vector<Number> values;
  for (uint32_t code = 0; code < 1u << format.bits; ++code) values.push_back(oracle.Value(code));
  for (uint32_t a = 0; a < values.size(); ++a) {
    for (uint32_t b = a; b < values.size(); ++b) {
      const uint32_t product = oracle.Code(Product(values[a], values[b]));
      ASSERT_EQ(MultiplyCodes(format, a, format, b, format), product) << a << " * " << b;
      ASSERT_EQ(MultiplyCodes(format, b, format, a, format), product) << b << " * " << a;
      const uint32_t sum = oracle.Code(Sum(values[a], values[b]));
      ASSERT_EQ(AddCodes(format, a, format, b, format), sum) << a << " + " << b;
      ASSERT_EQ(AddCodes(format, b, format, a, format), sum) << b << " + " << a;
    }
  }
}

TEST_P(SmallFormat, RoundsEveryWay) {
  Random random(11);
  for (int rounding = 1; rounding < kRoundings; ++rounding) {
    const Format format = Find(GetParam() + "." + kRoundingNames[rounding]);
    const Oracle oracle(format);
    for (int i = 0; i < 1500; ++i) {
      const auto a = static_cast<uint32_t>(random() & CodeMask(format));
      const auto b = static_cast<uint32_t>(random() & CodeMask(format));
      const auto c = static_cast<uint32_t>(random() & CodeMask(format)),
                 draw = static_cast<uint32_t>(random());
      const Number x = oracle.Value(a), y = oracle.Value(b);
      ASSERT_EQ(MultiplyCodes(format, a, format, b, format, draw), oracle.Code(Product(x, y), draw))
          << format.name << ' ' << a << " * " << b;
      ASSERT_EQ(AddCodes(format, a, format, b, format, draw), oracle.Code(Sum(x, y), draw))
          << format.name << ' ' << a << " + " << b;
      ASSERT_EQ(MultiplyAdd(format, a, format, b, format, c, draw),
                oracle.Code(Sum(Product(x, y), oracle.Value(c)), draw))
          << format.name << ' ' << a << " * " << b << " + " << c;
    }
  }
}

TEST_P(SmallFormat, ConvertsEveryCodeToEveryFormat) {
  const Format from = Find(GetParam());
  const Oracle source(from);
  for (const std::string& name : FormatNames()) {
    const Format to = Find(name);
    const Oracle oracle(to);
    for (uint32_t code = 0; code < 1u << from.bits; ++code) {
      ASSERT_EQ(Convert(from, code, to), oracle.Code(source.Value(code))) << code << " to " << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, SmallFormat, testing::ValuesIn(NamesOf(1, 8)), TestName);

// Codes at which something changes (ends, signs, single bits and their neighbours), and random
// ones.
std::vector<uint32_t> TellingCodes(const Format& format, int count, Random* random) {
  std::vector<uint32_t> codes;
  for (int bit = 0; bit < format.bits; ++bit) {
    const uint32_t one = 1u << bit;
    for (const uint32_t code :
         {one, one - 1, one + 1, ~one, 0u - one, one | (one >> 1), ~(one - 1) >> 1}) {
      codes.push_back(code & CodeMask(format));
    }
  }
  for (int i = 0; i < count; ++i)
    codes.push_back(static_cast<uint32_t>((*random)()) & CodeMask(format));
  return codes;
}

class WideFormat : public testing::TestWithParam<std::string> {};

TEST_P(WideFormat, MultipliesAddsAndFuses) {
  Random random(3);
  for (const char* rounding : kRoundingNames) {
    const Format format = Find(GetParam() + "." + rounding);
    const Oracle oracle(format);
    const std::vector<uint32_t> codes = TellingCodes(format, 600, &random);
    for (const uint32_t a : codes) {
      const uint32_t b = codes[random.Below(codes.size())], c = codes[random.Below(codes.size())];
      const auto draw = static_cast<uint32_t>(random());
      const Number x = oracle.Value(a), y = oracle.Value(b), product = Product(x, y);
      ASSERT_EQ(MultiplyCodes(format, a, format, b, format, draw), oracle.Code(product, draw))
          << format.name << ' ' << a << " * " << b;
      ASSERT_EQ(AddCodes(format, a, format, b, format, draw), oracle.Code(Sum(x, y), draw))
          << format.name << ' ' << a << " + " << b;
      ASSERT_EQ(MultiplyAdd(format, a, format, b, format, c, draw),
                oracle.Code(Sum(product, oracle.Value(c)), draw))
          << format.name << ' ' << a << " * " << b << " + " << c;
    }
  }
}

TEST_P(WideFormat, ConvertsToEveryFormat) {
  Random random(4);
  const Format from = Find(GetParam());
  const Oracle source(from);
  for (const std::string& name : FormatNames()) {
    for (const char* rounding : {"nearest_even", "nearest_away", "down"}) {
      const Format to = Find(name + "." + rounding);
      const Oracle oracle(to);
      for (const uint32_t code : TellingCodes(from, 10, &random)) {
        ASSERT_EQ(Convert(from, code, to), oracle.Code(source.Value(code)))
            << code << " to " << to.name;
      }
    }
  }
}

// Halfway between neighbours, and a little to each side: where nearest roundings are told apart.
TEST_P(WideFormat, RoundsNearMidpoints) {
  Random random(5);
  for (const char* rounding : kRoundingNames) {
    const Format format = Find(GetParam() + "." + rounding);
    const Oracle oracle(format);
    for (const uint32_t code : TellingCodes(format, 300, &random)) {
      const uint32_t next = (code + 1) & CodeMask(format);
      const Exact a = Decode(format, code), b = Decode(format, next);
      if (!a.is_finite() || !b.is_finite()) continue;
      const Number x = oracle.Value(code), y = oracle.Value(next);
      const Exact half = Exact::Of(false, 1, -1);
      const Exact middle = Multiply(Add(a, b), half);
      const Number expected = oracle::Real((x.value + y.value) / 2);
      if (middle.is_zero() || !Same(middle, expected)) continue;  // the sum did not fit 64 bits
      const Exact aside = Exact::Of(middle.negative, 1, middle.exponent - 62);
      const mpq_class shift = (middle.negative ? -1 : 1) * Scaled(1, middle.exponent - 62);
      const auto draw = static_cast<uint32_t>(random());
      ASSERT_EQ(Encode(format, middle, draw), oracle.Code(expected, draw))
          << format.name << " after " << code;
      ASSERT_EQ(Encode(format, Add(middle, aside), draw),
                oracle.Code(oracle::Real(expected.value + shift), draw))
          << format.name << " outward of the middle after " << code;
      ASSERT_EQ(Encode(format, Add(middle, Negate(aside)), draw),
                oracle.Code(oracle::Real(expected.value - shift), draw))
          << format.name << " inward of the middle after " << code;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, WideFormat, testing::ValuesIn(NamesOf(9, 32)), TestName);

// Over an even grid of draws the number that goes up is the fraction cut off, exactly: unbiased to
// 2^-16.
TEST(Stochastic, GoesUpAsOftenAsTheFractionSays) {
  for (const char* name : {"int8", "fixed8_4", "e4m3", "e5m2", "bf16", "fp16", "e8m0", "posit8_1",
                           "posit16_1", "nf4"}) {
    const Format format = Find(std::string(name) + ".stochastic");
    for (const double x : {1.1, 0.7, 2.84765625, -0.3, 5.0625}) {
      const Exact value = Exact::FromDouble(x);
      const uint32_t never =
          Encode(format, value, ~0u);  // the lower neighbour in magnitude (codebooks: in value)
      int64_t ups = 0;
      for (uint32_t draw = 0; draw < 65536; ++draw)
        ups += Encode(format, value, draw << 16) != never ? 1 : 0;
      const uint32_t always = Encode(format, value, 0);
      if (always == never) {
        EXPECT_EQ(ups, 0) << name;
        continue;
      }
      // Posits cut bit strings: within a step of one exponent that is the fraction of the distance,
      // too.
      const double low = ToDouble(Decode(format, never)), high = ToDouble(Decode(format, always));
      EXPECT_NEAR(static_cast<double>(ups) / 65536, (x - low) / (high - low), 1.0 / 65536)
          << name << " of " << x;
    }
  }
}

// With random draws the mean is the number: |mean - x| below 4.5 standard errors of a step's
// Bernoulli variable, which a right rounding misses once in 150,000 runs of the test; the seed is
// fixed.
TEST(Stochastic, KeepsTheMeanAndRepeats) {
  constexpr int kDraws = 100000;
  for (const char* name : {"int8", "e4m3", "bf16", "posit16_1", "nf4"}) {
    const Format format = Find(std::string(name) + ".stochastic");
    const double x = 0.8123;
    const Exact value = Exact::FromDouble(x);
    const double low = ToDouble(Decode(format, Encode(format, value, ~0u)));
    const double high = ToDouble(Decode(format, Encode(format, value, 0)));
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      const auto draw = static_cast<uint32_t>(MixBits(static_cast<uint64_t>(i)));
      const uint32_t code = Encode(format, value, draw);
      ASSERT_EQ(code, Encode(format, value, draw));
      sum += ToDouble(Decode(format, code));
    }
    const double p = (x - low) / (high - low);
    const double error = std::abs(high - low) * std::sqrt(p * (1 - p) / kDraws);
    EXPECT_NEAR(sum / kDraws, x, 4.5 * error) << name;
  }
}

}  // namespace
}  // namespace kiln
