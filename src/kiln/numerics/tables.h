// Conversion of whole arrays between codes and fp32 values, with the bits of the scalar definition
// in codec.h.
//
// Decoding formats of at most 16 bits is a table lookup. Encoding uses that the code is a step
// function of the fp32 value: its thresholds are found by bisection on the scalar definition
// itself, so that one mechanism serves floats, posits, integers and codebooks under every monotone
// rounding and overflow. Wider formats, wrapping overflow and stochastic rounding use arithmetic on
// the bits or the scalar definition.
#ifndef KILN_NUMERICS_TABLES_H_
#define KILN_NUMERICS_TABLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kiln/numerics/format.h"

namespace kiln {

// The NaN that all functions of this file return.
inline constexpr uint32_t kQuietNan = 0x7fc00000;

// The lookup tables of one format. Immutable and thread-safe.
class FormatTable {
 public:
  // Builds the tables: up to 0.1 s for 16-bit formats, 1 ms for 8-bit formats.
  explicit FormatTable(const Format& format);
  // Returns the table of a format, built at its first use and kept. Thread-safe.
  static std::shared_ptr<const FormatTable> Of(const Format& format);

  // The format as it was given to the constructor.
  const Format& format() const { return format_; }
  // Returns the value of every code: values()[code] = DecodeFloat(format, code). Empty above 16
  // bits.
  const std::vector<float>& values() const { return values_; }

  // Scalar conversions; `random` as in codec.h. Round returns the nearest value of the format.
  float Decode(uint32_t code) const;
  uint32_t Encode(float value, uint32_t random = 0) const;
  float Round(float value, uint32_t random = 0) const { return Decode(Encode(value, random)); }

  // A threshold of the step function from fp32 values to codes. The key of a number with bits b is
  // ~b if its sign bit is set and b | 0x80000000 if not; keys ascend with the values, and NaNs have
  // the keys at both ends. A step's code belongs to all keys from its own to that of the next step.
  struct Step {
    uint32_t key, code;
  };
  // Returns the steps in ascending order, the first with key 0. Empty unless the format is
  // monotone, has at most 16 bits and is not encoded by arithmetic (as IEEE 754 formats wider than
  // 8 bits are).
  std::vector<Step> Steps() const;

  // Convert arrays of codes in the memory layout of codec.h, format().bytes() per code, at any
  // alignment. Ranges must not overlap. Stochastic rounding: element i uses the draw MixBits(seed +
  // i) >> 32 (support/random.h).
  void DecodeCodes(const void* codes, int64_t count, float* values) const;
  void EncodeValues(const float* values, int64_t count, void* codes, uint64_t seed = 0) const;
  // Rounds in place: values[i] = Round(values[i]).
  void RoundValues(float* values, int64_t count, uint64_t seed = 0) const;

 private:
  // The method of encoding: copy the bits, arithmetic on fp32 bits, the steps, the scalar
  // definition.
  enum class Encoder { kIdentity, kFloat, kSteps, kScalar };
  // The codes of all fp32 values with keys that share their top bits: `below` for keys less than
  // `threshold`, `above` for the others.
  struct Bucket {
    uint32_t threshold;
    uint16_t below, above;
  };

  // kFloat: the constants of RoundByArithmetic, as bits of fp32 numbers where they are integers.
  struct Arithmetic {
    int shift = 0;                // fraction bits that the format lacks
    uint32_t half_less_one = 0;   // of the last fraction bit
    int32_t greatest = 0;         // the greatest finite number
    int32_t least = 0, half = 0;  // without subnormals: the least number, and half of it; else 0
    float normal = 0, magic = 0;  // the least normal number, if smaller ones are rounded by adding
                                  // `magic`; else 0
  };

  void FindArithmetic();
  void FindSteps();
  void FillBuckets();
  uint32_t EncodeBySteps(float value) const;
  uint32_t EncodeByArithmetic(float value) const;
  void RoundByArithmetic(float* values, int64_t count) const;
  // `unused`: number of bits above an integer's sign that repeat it; otherwise 0.
  template <typename Code>
  void EncodeByBuckets(const float* values, int64_t count, int unused, void* codes) const;
  template <typename Code>
  void EncodeAs(const float* values, int64_t count, void* codes, uint64_t seed) const;
  template <typename Code>
  void DecodeAs(const void* codes, int64_t count, float* values) const;

  Format format_;
  std::vector<float> values_;
  Encoder encoder_ = Encoder::kScalar;
  uint32_t nan_code_ = 0;
  Arithmetic arithmetic_;
  // kSteps: step_codes_[i] is the code of the keys from step_keys_[i] to before the next key.
  std::vector<uint32_t> step_keys_, step_codes_;
  int bucket_shift_ = 0;                // a key's bucket is key >> bucket_shift_
  std::vector<Bucket> buckets_;         // if no bucket contains more than one step
  std::vector<uint32_t> bucket_first_;  // otherwise: the last step at or before each bucket's begin
};

// DecodeCodes and EncodeValues through FormatTable::Of.
void DecodeCodes(const Format& format, const void* codes, int64_t count, float* values);
void EncodeValues(const Format& format, const float* values, int64_t count, void* codes,
                  uint64_t seed = 0);

// Load and store one code of an array in the memory layout of codec.h, as the lowest format.bits
// bits.
uint32_t LoadCode(const Format& format, const void* codes, int64_t index);
void StoreCode(const Format& format, uint32_t code, int64_t index, void* codes);

}  // namespace kiln

#endif  // KILN_NUMERICS_TABLES_H_
