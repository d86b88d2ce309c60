// Block scales (microscaling): one scale for each block_size elements in a row, found by the hardware that writes them.
//
// The rule, after OCP Microscaling Formats (MX) v1.0, section 6.3, where it leaves no choice and as follows where it
// does:
//
//   scale, e8m0          2^(floor(log2(max |v|)) - exponent of the element's greatest value), exponent held to [-127,
//   127];
//                        2^-127 for a block of zeros
//   scale, other format  Encode(scale format, fp32(max |v| / greatest element)), saturating; the least positive one
//   where
//                        that is zero
//   NaN or infinity in   the NaN scale; in a scale format without NaN the greatest one
//   the block
//   element              Encode(element format, fp32(v * inverse)), saturating, inverse = fp32(1 / scale), at most the
//                        greatest finite fp32 number
//   value                fp32(scale * element); NaN under a NaN scale
//
// The element's value counts with its binary places: mxint8 is fixed8_6 with e8m0 scales.
#ifndef KILN_NUMERICS_MICROSCALING_H_
#define KILN_NUMERICS_MICROSCALING_H_

#include <cstdint>
#include <memory>

#include "kiln/numerics/format.h"
#include "kiln/numerics/tables.h"

namespace kiln {

// One element format under one scale format.
class BlockCodec {
 public:
  BlockCodec(const Format& element, const Format& scale_format, int block_size);
  explicit BlockCodec(const QuantType& type)
      : BlockCodec(type.format, type.scale_format, type.block_size) {}

  const Format& element() const { return element_format_; }
  const Format& scale_format() const { return scale_format_; }
  int block_size() const { return block_size_; }
  int64_t BlocksOf(int64_t length) const { return (length + block_size_ - 1) / block_size_; }

  // Scalar definitions.
  uint32_t ScaleCode(const float* values, int64_t count) const;  // of one block of `count` values
  float ScaleValue(uint32_t code) const { return scale_->Decode(code); }
  uint32_t ElementCode(float value, float scale, uint32_t random = 0) const;
  float Value(uint32_t code, float scale) const { return scale * element_->Decode(code); }

  // Rows of `length` values, blocks along the row; a tail makes a shorter block. codes: [rows][length], scales:
  // [rows][BlocksOf(length)], both in memory as codec.h lays codes out. Random bits as in FormatTable::EncodeValues.
  void Encode(const float* values, int64_t rows, int64_t length, void* codes, void* scales,
              uint64_t seed = 0) const;
  void Decode(const void* codes, const void* scales, int64_t rows, int64_t length,
              float* values) const;

 private:
  Format element_format_, scale_format_;
  std::shared_ptr<const FormatTable> element_;  // saturating
  std::shared_ptr<const FormatTable> scale_;    // saturating
  int block_size_;
  bool powers_of_two_;    // e8m0
  int element_exponent_;  // of the element's greatest value
  float greatest_element_;
  uint32_t nan_scale_, least_scale_, greatest_scale_;
};

// min(fp32(1 / scale), greatest finite number); NaN of NaN.
float InverseBlockScale(float scale);

}  // namespace kiln

#endif  // KILN_NUMERICS_MICROSCALING_H_
