// Block scales (microscaling): one scale per block_size consecutive elements, computed from the
// elements by the hardware that writes them.
//
// The rule follows OCP Microscaling Formats (MX) v1.0, section 6.3, and fixes what that section
// leaves open:
//
//   scale, e8m0          2^(floor(log2(max |v|)) - exponent of the element format's largest value),
//                        exponent clamped to [-127, 127]; 2^-127 for a block of zeros
//   scale, other format  Encode(scale format, fp32(max |v| / largest element)), saturating; the
//                        smallest positive scale if that is zero
//   scale of a block     the NaN scale, or the largest scale if the scale format has no NaN
//   with NaN or infinity
//   element              Encode(element format, fp32(v * inverse)), saturating, where inverse =
//                        fp32(1 / scale), at most the largest finite fp32 number
//   value                fp32(scale * element); NaN under a NaN scale
//
// An element's value includes its fraction bits: mxint8 is fixed8_6 with e8m0 scales.
#ifndef KILN_NUMERICS_MICROSCALING_H_
#define KILN_NUMERICS_MICROSCALING_H_

#include <cstdint>
#include <memory>

#include "kiln/numerics/format.h"
#include "kiln/numerics/tables.h"

namespace kiln {

// The codec of an element format with a scale format: block scales and elements from values, and
// back.
class BlockCodec {
 public:
  BlockCodec(const Format& element, const Format& scale_format, int block_size);
  explicit BlockCodec(const QuantType& type)
      : BlockCodec(type.format, type.scale_format, type.block_size) {}

  // The formats and the block size that the codec was created with.
  const Format& element() const { return element_format_; }
  const Format& scale_format() const { return scale_format_; }
  int block_size() const { return block_size_; }
  // Returns the number of blocks, the last possibly shorter, in a row of `length` elements.
  int64_t BlocksOf(int64_t length) const { return (length + block_size_ - 1) / block_size_; }

  // The scalar definitions. ScaleCode returns the scale of one block of `count` values, ElementCode
  // the code of a value under a scale, Value the value of an element under a scale.
  uint32_t ScaleCode(const float* values, int64_t count) const;
  float ScaleValue(uint32_t code) const { return scale_->Decode(code); }
  uint32_t ElementCode(float value, float scale, uint32_t random = 0) const;
  float Value(uint32_t code, float scale) const { return scale * element_->Decode(code); }

  // Encode and decode arrays. values: [rows][length], with blocks along the row and a shorter block
  // at the end of a row. codes: [rows][length]; scales: [rows][BlocksOf(length)]; both in the
  // memory layout of codec.h. `seed` selects the random bits of stochastic rounding as in
  // FormatTable::EncodeValues.
  void Encode(const float* values, int64_t rows, int64_t length, void* codes, void* scales,
              uint64_t seed = 0) const;
  void Decode(const void* codes, const void* scales, int64_t rows, int64_t length,
              float* values) const;

 private:
  Format element_format_, scale_format_;
  std::shared_ptr<const FormatTable> element_;  // saturating
  std::shared_ptr<const FormatTable> scale_;    // saturating
  int block_size_;
  bool powers_of_two_;      // the scale format is e8m0
  int element_exponent_;    // exponent of the element format's largest value
  float greatest_element_;  // the element format's largest value
  uint32_t nan_scale_, least_scale_, greatest_scale_;  // codes
};

// Returns whether a scale format consists of powers of two only, as e8m0 does.
bool IsPowerOfTwoScale(const Format& format);

// Returns min(fp32(1 / scale), largest finite fp32 number); NaN for NaN.
float InverseBlockScale(float scale);

}  // namespace kiln

#endif  // KILN_NUMERICS_MICROSCALING_H_
