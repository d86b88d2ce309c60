// Whole arrays of codes to fp32 values and back, with the bits of the scalar definition in codec.h.
//
// For formats of at most 16 bits the value of every code stands in a table. The other way, the code is a step function
// of the fp32 value; where it steps is found by bisection on the scalar definition itself, so that one mechanism serves
// floats, posits, integers and codebooks under every rounding and overflow that is monotone. Wider formats, wrapping
// overflow and stochastic rounding go by arithmetic or by the scalar definition.
#ifndef KILN_NUMERICS_TABLES_H_
#define KILN_NUMERICS_TABLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kiln/numerics/format.h"

namespace kiln {

// A NaN that comes out of any function here is this one.
inline constexpr uint32_t kQuietNan = 0x7fc00000;

class FormatTable {
 public:
  // Takes up to a tenth of a second for formats of 16 bits, a millisecond for 8.
  explicit FormatTable(const Format& format);
  // The table of a format, made at its first use and kept. Safe from any thread.
  static std::shared_ptr<const FormatTable> Of(const Format& format);

  const Format& format() const { return format_; }
  // values()[code] = DecodeFloat(format, code); empty above 16 bits.
  const std::vector<float>& values() const { return values_; }

  float Decode(uint32_t code) const;
  // `random` as in codec.h.
  uint32_t Encode(float value, uint32_t random = 0) const;
  float Round(float value, uint32_t random = 0) const { return Decode(Encode(value, random)); }

  // Where the code of an fp32 number changes, for monotone formats of at most 16 bits whose fields are not those of a
  // wider IEEE 754 format; else empty. Step i holds the code of all numbers whose keys reach from its key to the next
  // step's. The key of a number with bits b is ~b when its sign bit is set and b | 0x80000000 when it is not; NaNs
  // stand at both ends. The first key is 0.
  struct Step {
    uint32_t key, code;
  };
  std::vector<Step> Steps() const;

  // Codes in memory as codec.h lays them out, format().bytes() each, at any address. Ranges must not overlap.
  // Stochastic rounding: element i draws MixBits(seed + i) >> 32 (support/random.h).
  void DecodeCodes(const void* codes, int64_t count, float* values) const;
  void EncodeValues(const float* values, int64_t count, void* codes, uint64_t seed = 0) const;
  // values[i] = Round(values[i]).
  void RoundValues(float* values, int64_t count, uint64_t seed = 0) const;

 private:
  enum class Encoder { kIdentity, kFloat, kSteps, kScalar };
  // The codes of fp32 values whose keys share their top bits: `below` up to `threshold`, `above` from it on.
  struct Bucket {
    uint32_t threshold;
    uint16_t below, above;
  };

  void FindSteps();
  void FillBuckets();
  uint32_t EncodeBySteps(float value) const;
  uint32_t EncodeByArithmetic(float value) const;
  void RoundByArithmetic(float* values, int64_t count) const;
  // `unused`: bits above an integer's sign, which repeat it; else 0.
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
  // kSteps. Keys order fp32 values as unsigned integers. step_codes_[i] holds from step_keys_[i] to the next key.
  std::vector<uint32_t> step_keys_, step_codes_;
  int bucket_shift_ = 0;
  std::vector<Bucket> buckets_;         // when no bucket holds more than one step
  std::vector<uint32_t> bucket_first_;  // else: the last step at or before the bucket's beginning
};

// The same through FormatTable::Of.
void DecodeCodes(const Format& format, const void* codes, int64_t count, float* values);
void EncodeValues(const Format& format, const float* values, int64_t count, void* codes,
                  uint64_t seed = 0);

// One code of an array in memory, as the lowest format.bits bits.
uint32_t LoadCode(const Format& format, const void* codes, int64_t index);
void StoreCode(const Format& format, uint32_t code, int64_t index, void* codes);

}  // namespace kiln

#endif  // KILN_NUMERICS_TABLES_H_
