// Compares the tables of formats with the scalar definition.
#include "kiln/numerics/tables.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/support/random.h"
#include "tests/numerics/find_format.h"

namespace kiln {
namespace {

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Format& format : AllFormats()) names.push_back(format.name);
  for (const char* name : {"int8.toward_zero",
                           "int8.nearest_away",
                           "int12.down",
                           "uint8.wrap",
                           "int5.wrap",
                           "e4m3.infinity",
                           "e5m2.infinity",
                           "e4m3.nearest_away",
                           "e4m3.toward_zero",
                           "e4m3.down",
                           "e4m3.flush",
                           "bf16.saturate",
                           "fp16.down",
                           "bf16.flush",
                           "fp16.flush",
                           "e6m9.flush",
                           "e8m14.flush",
                           "e8m23.flush",
                           "e5m23.flush",
                           "e5m7",
                           "e6m9",
                           "e3m12",
                           "e8m14",
                           "e5m23",
                           "posit8_1.toward_zero",
                           "posit12_2",
                           "nf4.nearest_away",
                           "fixed12_7",
                           "fp32.saturate",
                           "fp32.toward_zero",
                           "e4m3.stochastic"}) {
    names.push_back(name);
  }
  return names;
}

// Values at which something may go wrong: all codes' values with their neighbours and the midpoints
// between them, every binade's first numbers, specials.
std::vector<float> Directed(const Format& format, Random& random) {
  std::vector<float> values = {0.0f, -0.0f,     INFINITY,   -INFINITY,      NAN,
                               -NAN, 0x1p-149f, -0x1p-149f, 0x1.fffffep127f};
  // The NaNs with the greatest bits.
  for (uint32_t bits : {0x7fffffffu, 0xffffffffu}) values.push_back(std::bit_cast<float>(bits));
  const auto around = [&](float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (uint32_t d : {0u, 1u, ~0u}) values.push_back(std::bit_cast<float>(bits + d));
  };
  for (uint32_t exponent = 0; exponent < 512; ++exponent) {
    for (uint32_t top = 0; top < 4; ++top) around(std::bit_cast<float>(exponent << 23 | top << 21));
  }
  const int64_t codes = format.bits <= 12 ? int64_t{1} << format.bits : 4096;
  for (int64_t i = 0; i < codes; ++i) {
    const auto code =
        static_cast<uint32_t>(format.bits <= 12 ? static_cast<uint64_t>(i) : random());
    const float value = DecodeFloat(format, code),
                next = DecodeFloat(format, (code & CodeMask(format)) + 1);
    around(value);
    around(static_cast<float>((double{value} + next) / 2));
  }
  for (int i = 0; i < 20000; ++i)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  return values;
}

class Tables : public testing::TestWithParam<std::string> {};

TEST_P(Tables, EncodeIsTheScalarDefinition) {
  const Format format = Find(GetParam());
  Random random(5);
  const std::vector<float> values = Directed(format, random);
  const auto table = FormatTable::Of(format);
  std::vector<uint8_t> codes(values.size() * static_cast<size_t>(format.bytes()));
  table->EncodeValues(values.data(), std::ssize(values), codes.data(), 77);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto draw = static_cast<uint32_t>(MixBits(77 + i) >> 32);
    const uint32_t expected = EncodeFloat(format, values[i], draw);
    ASSERT_EQ(table->Encode(values[i], draw), expected) << values[i] << " in " << format.name;
    ASSERT_EQ(LoadCode(format, codes.data(), static_cast<int64_t>(i)), expected)
        << values[i] << " in " << format.name;
    if (format.is_integer()) {  // sign-extended in memory
      int32_t stored = 0;
      std::memcpy(&stored, codes.data() + i * static_cast<size_t>(format.bytes()),
                  static_cast<size_t>(format.bytes()));
      const int above = 32 - 8 * format.bytes();
      if (format.is_signed) {
        ASSERT_EQ(stored << above >> above, SignedCode(format, expected));
      }
    }
  }
}

TEST_P(Tables, DecodeAndRoundAreTheScalarDefinition) {
  const Format format = Find(GetParam());
  Random random(6);
  const auto table = FormatTable::Of(format);
  const int64_t count = format.bits <= 16 ? int64_t{1} << format.bits : 20000;
  std::vector<uint8_t> codes(static_cast<size_t>(count * format.bytes()));
  for (int64_t i = 0; i < count; ++i) {
    StoreCode(format,
              static_cast<uint32_t>(format.bits <= 16 ? static_cast<uint64_t>(i) : random()), i,
              codes.data());
  }
  std::vector<float> values(static_cast<size_t>(count));
  DecodeCodes(format, codes.data(), count, values.data());
  for (int64_t i = 0; i < count; ++i) {
    const float expected = DecodeFloat(format, LoadCode(format, codes.data(), i)),
                value = values[static_cast<size_t>(i)];
    const uint32_t bits = std::isnan(expected) ? kQuietNan : std::bit_cast<uint32_t>(expected);
    ASSERT_EQ(std::bit_cast<uint32_t>(value), bits) << i;
  }
  std::vector<float> rounded = Directed(format, random);
  const std::vector<float> before = rounded;
  table->RoundValues(rounded.data(), std::ssize(rounded), 9);
  for (size_t i = 0; i < rounded.size(); ++i) {
    const float expected = DecodeFloat(
        format, EncodeFloat(format, before[i], static_cast<uint32_t>(MixBits(9 + i) >> 32)));
    const uint32_t bits = std::isnan(expected) ? kQuietNan : std::bit_cast<uint32_t>(expected);
    ASSERT_EQ(std::bit_cast<uint32_t>(rounded[i]), bits) << before[i] << " in " << format.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Tables, testing::ValuesIn(Names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace kiln
