// Compares kiln_decode_to_fp32 and kiln_encode_from_fp32 with DecodeFloat and EncodeFloat, for
// every named format and for every rounding, overflow and kind of special value.
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "Varith_codec.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/tables.h"
#include "tests/rtl/arith/fp32_values.h"
#include "tests/rtl/arith/other_formats.h"

namespace kiln::rtl {
namespace {

TEST(OtherFormats, PackageIsUpToDate) {
  const std::string path = "tests/rtl/arith/other_formats_pkg.sv";
  const std::string expected = hardware::FormatsPackage(
      "other_formats_pkg",
      "// Written from tests/rtl/arith/other_formats.h; kiln_codec_test compares.\n",
      OtherFormats());
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (text.str() == expected) return;
  const std::string made = testing::TempDir() + "other_formats_pkg.sv";
  std::ofstream(made) << expected;
  ADD_FAILURE() << path << " is out of date; copy " << made << " there";
}

class Codec : public testing::Test {
 protected:
  Codec() {
    formats_ = AllFormats();
    for (const hardware::FormatConstant& other : OtherFormats()) formats_.push_back(other.format);
    for (const Format& format : formats_) tables_.push_back(FormatTable::Of(format));
  }

  void CheckDecode(uint32_t code) {
    model_.code = code;
    model_.eval();
    for (size_t i = 0; i < formats_.size(); ++i) {
      const Format& format = formats_[i];
      if (code > CodeMask(format)) continue;
      Expect("decodes", format, code, model_.decoded[i], Canonical(DecodeFloat(format, code)));
    }
  }

  void CheckEncode(uint32_t bits, uint32_t random) {
    const auto value = std::bit_cast<float>(bits);
    model_.value = bits;
    model_.random = random;
    model_.eval();
    for (size_t i = 0; i < formats_.size(); ++i) {
      // The definition searches codebooks one by one; most of the time their tables do.
      const bool scalar = formats_[i].kind != FormatKind::kCodebook || random % 32 == 0;
      const uint32_t expected =
          scalar ? EncodeFloat(formats_[i], value, random) : tables_[i]->Encode(value, random);
      Expect("encodes", formats_[i], bits, model_.encoded[i], expected);
    }
  }

  std::vector<Format> formats_;
  std::vector<std::shared_ptr<const FormatTable>> tables_;

 private:
  void Expect(const char* what, const Format& format, uint32_t in, uint32_t actual,
              uint32_t expected) {
    if (actual == expected || ++failures_[format.name] > 2)
      return;  // two of each format are enough
    ADD_FAILURE() << format.name << std::hex << " " << what << " " << in << " (random "
                  << model_.random << ") to " << actual << ", not " << expected;
  }

  VerilatedContext context_;
  Varith_codec model_{&context_};
  std::map<std::string, int> failures_;
};

TEST_F(Codec, DecodesEveryCode) {
  for (uint32_t code = 0; code < 0x10000; ++code) CheckDecode(code);
  Random random(1);  // the wider formats
  for (int i = 0; i < 50000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    CheckDecode(bits >> (random() % 16));
    CheckDecode(~(bits >> (random() % 32)));
  }
}

TEST_F(Codec, EncodesEveryExponent) {
  for (uint32_t field = 0; field < 512; ++field) {
    for (uint32_t bit = 0; bit <= 23; ++bit) {
      // One bit set, all up to it, and their neighbours, so that every place ties.
      for (const uint32_t fraction :
           {(1u << bit) - 1, 1u << bit, (1u << bit) + 1, 0x7fffffu ^ (1u << bit)}) {
        CheckEncode((field << 23) | (fraction & 0x7fffffu), bit * 0x0b2164ddu);
      }
    }
  }
}

TEST_F(Codec, EncodesNextToCodesAndTies) {
  Random random(2);
  for (int i = 0; i < 60000; ++i) {
    const size_t at = random() % formats_.size();
    const auto code = static_cast<uint32_t>(random()) & CodeMask(formats_[at]);
    const float value = DecodeFloat(formats_[at], code);
    const float next = DecodeFloat(formats_[at], (code + 1) & CodeMask(formats_[at]));
    const auto bits = static_cast<uint32_t>(random());
    const float target = bits % 3 == 0 ? value : value * 0.5f + next * 0.5f;
    CheckEncode(bits % 2 == 0 ? std::bit_cast<uint32_t>(target) : Near(target, random), bits);
  }
}

TEST_F(Codec, EncodesRandomNumbers) {
  Random random(3);
  for (int i = 0; i < 60000; ++i) {
    const uint32_t bits = RandomFp32(random);
    CheckEncode(bits, static_cast<uint32_t>(random()) >> (random() % 32));
  }
}

}  // namespace
}  // namespace kiln::rtl
