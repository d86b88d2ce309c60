// Implements the block codec over whole rows with the tables of its two formats.

#include "kiln/numerics/microscaling.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kiln/numerics/codec.h"
#include "kiln/support/check.h"

namespace kiln {
namespace {

// Returns the table of a format with its overflow replaced by saturation, as the rule requires.
// Posits and codebooks saturate anyway.
std::shared_ptr<const FormatTable> SaturatingTable(const Format& format) {
  if (format.overflow == Overflow::kSaturate || format.kind == FormatKind::kPosit ||
      format.kind == FormatKind::kCodebook) {
    return FormatTable::Of(format);
  }
  Format saturating = format;
  saturating.overflow = Overflow::kSaturate;
  // Tables are cached by name: this one must differ from every name that FindFormat returns.
  saturating.name = format.name + ", saturated";
  return FormatTable::Of(saturating);
}

}  // namespace

bool IsPowerOfTwoScale(const Format& format) {
  return format.kind == FormatKind::kFloat && format.fraction_bits == 0 && !format.is_signed &&
         format.low_exponent == LowExponent::kNormal;
}

float InverseBlockScale(float scale) {
  const float inverse = 1.0f / scale;
  // The inverse of a subnormal scale may exceed fp32; the clamp avoids an infinite factor.
  return inverse > std::numeric_limits<float>::max() ? std::numeric_limits<float>::max() : inverse;
}

BlockCodec::BlockCodec(const Format& element, const Format& scale_format, int block_size)
    : element_format_(element),
      scale_format_(scale_format),
      element_(SaturatingTable(element)),
      scale_(SaturatingTable(scale_format)),
      block_size_(block_size),
      powers_of_two_(IsPowerOfTwoScale(scale_format)) {
  KILN_CHECK(block_size >= 1 && FitsFp32(element) && FitsFp32(scale_format));
  const Exact greatest = GreatestValue(element);
  element_exponent_ = static_cast<int>(greatest.exponent);
  greatest_element_ = ToFloat(greatest);
  greatest_scale_ = kiln::Encode(scale_format, GreatestValue(scale_format));
  least_scale_ = kiln::Encode(scale_format, LeastPositive(scale_format));
  // A scale format without NaN has no code for a block with NaN or infinity: its largest scale is
  // used.
  const uint32_t nan = EncodeFloat(scale_format, std::bit_cast<float>(kQuietNan));
  nan_scale_ = kiln::Decode(scale_format, nan).is_nan() ? nan : greatest_scale_;
}

uint32_t BlockCodec::ScaleCode(const float* values, int64_t count) const {
  // Magnitudes of floats have the order of their bits; infinity and NaN are above all others.
  uint32_t greatest = 0;
  for (int64_t i = 0; i < count; ++i) {
    greatest = std::max(greatest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
  }
  if (greatest >= 0x7f800000u) return nan_scale_;
  if (powers_of_two_) {
    if (greatest == 0) return least_scale_;
    int exponent = static_cast<int>(greatest >> 23) - 127;
    // The exponent of a subnormal maximum is the position of its highest bit.
    if (greatest < 0x00800000u) exponent = -118 - std::countl_zero(greatest);  // subnormal
    const int field = exponent - element_exponent_ + scale_format().bias;
    return static_cast<uint32_t>(
        std::clamp(field, static_cast<int>(least_scale_), static_cast<int>(greatest_scale_)));
  }
  // Rounding the quotient may give zero, by which elements cannot be divided.
  const uint32_t code = scale_->Encode(std::bit_cast<float>(greatest) / greatest_element_);
  return scale_->Decode(code) > 0 ? code : least_scale_;
}

uint32_t BlockCodec::ElementCode(float value, float scale, uint32_t random) const {
  return element_->Encode(value * InverseBlockScale(scale), random);
}

void BlockCodec::Encode(const float* values, int64_t rows, int64_t length, void* codes,
                        void* scales, uint64_t seed) const {
  const int64_t blocks = BlocksOf(length);
  const int64_t element_bytes = element().bytes();
  // Scaled values are encoded in pieces of fixed size, so that no allocation depends on the block
  // size.
  constexpr int64_t kPiece = 256;
  float scaled[kPiece];
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t begin = row * length + block * block_size_;
      const int64_t end = std::min(begin + block_size_, (row + 1) * length);
      const uint32_t code = ScaleCode(values + begin, end - begin);
      StoreCode(scale_format(), code, row * blocks + block, scales);
      const float inverse = InverseBlockScale(ScaleValue(code));
      for (int64_t i = begin; i < end; i += kPiece) {
        const int64_t count = std::min(kPiece, end - i);
        for (int64_t j = 0; j < count; ++j) scaled[j] = values[i + j] * inverse;
        element_->EncodeValues(scaled, count, static_cast<uint8_t*>(codes) + i * element_bytes,
                               seed + static_cast<uint64_t>(i));
      }
    }
  }
}

void BlockCodec::Decode(const void* codes, const void* scales, int64_t rows, int64_t length,
                        float* values) const {
  const int64_t blocks = BlocksOf(length);
  element_->DecodeCodes(codes, rows * length, values);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t block = 0; block < blocks; ++block) {
      const float scale = ScaleValue(LoadCode(scale_format(), scales, row * blocks + block));
      const int64_t begin = row * length + block * block_size_;
      const int64_t end = std::min(begin + block_size_, (row + 1) * length);
      for (int64_t i = begin; i < end; ++i) values[i] *= scale;
    }
  }
}

}  // namespace kiln
