// Compares kiln_block_scale and kiln_block_element with BlockCodec, over every exponent of the
// greatest magnitude, corner values and random values.
#include <bit>
#include <cstdint>
#include <vector>

#include "Varith_block_scale.h"
#include "gtest/gtest.h"
#include "kiln/numerics/microscaling.h"
#include "tests/rtl/arith/fp32_values.h"

namespace kiln::rtl {
namespace {

// As in block_scale_bench.sv.
constexpr const char* kFormats[][2] = {
    {"fixed8_6", "e8m0"}, {"e4m3", "e8m0"}, {"e4m3", "ue5m3"},
    {"e2m1", "e4m3"},     {"e5m2", "e8m0"}, {"posit8_1", "fp32"},
    {"nf4", "bf16"},      {"fp16", "e3m2"}, {"int8", "e4m3.flush"}};

class BlockScale : public testing::Test {
 protected:
  BlockScale() {
    for (const auto& [element, scale] : kFormats)
      codecs_.emplace_back(*FindFormat(element), *FindFormat(scale), 32);
  }

  void Check(uint32_t greatest, uint32_t value) {
    greatest &= 0x7fffffffu;
    model_.greatest = greatest;
    model_.value = value;
    model_.eval();
    for (size_t i = 0; i < codecs_.size(); ++i) {
      const BlockCodec& codec = codecs_[i];
      const auto magnitude = std::bit_cast<float>(greatest);
      const uint32_t scale = codec.ScaleCode(&magnitude, 1);
      Expect(codec, "scale", model_.scale_code[i], scale);
      Expect(codec, "element", model_.element_code[i],
             codec.ElementCode(std::bit_cast<float>(value), codec.ScaleValue(scale)));
    }
  }

  bool TooMany() const { return failures_ > 10; }

 private:
  void Expect(const BlockCodec& codec, const char* what, uint32_t actual, uint32_t expected) {
    if (actual == expected || TooMany()) return;
    ++failures_;
    ADD_FAILURE() << what << " of " << codec.element().name << " under "
                  << codec.scale_format().name << ", greatest " << std::hex << model_.greatest
                  << ", value " << model_.value << ": " << actual << ", not " << expected;
  }

  VerilatedContext context_;
  Varith_block_scale model_{&context_};
  std::vector<BlockCodec> codecs_;
  int failures_ = 0;
};

TEST_F(BlockScale, EveryExponent) {
  Random random(1);
  for (uint32_t field = 0; field < 256; ++field) {
    for (int i = 0; i < 64 && !TooMany(); ++i) {
      const uint32_t greatest =
          (field << 23) | (i == 0 ? 0 : static_cast<uint32_t>(random()) & 0x007fffffu);
      // A value of the block, so that elements spread over their range.
      const float part = static_cast<float>(random() % 257) / 256.0f;
      Check(greatest, std::bit_cast<uint32_t>(std::bit_cast<float>(greatest) * part) ^
                          (static_cast<uint32_t>(random()) & 0x80000000u));
    }
  }
}

TEST_F(BlockScale, CornersAndRandomNumbers) {
  Random random(2);
  for (const uint32_t corner : kFp32Corners) {
    for (uint32_t distance = 0; distance < 9; ++distance) Check(corner + distance - 4, corner);
  }
  for (int i = 0; i < 100000 && !TooMany(); ++i) Check(RandomFp32(random), RandomFp32(random));
}

}  // namespace
}  // namespace kiln::rtl
