// Builds and applies the tables of tables.h.

#include "kiln/numerics/tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#include "kiln/numerics/codec.h"
#include "kiln/support/check.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

constexpr uint32_t kSignBit = 0x80000000u;
constexpr uint32_t kInfinity = 0x7f800000u;
constexpr auto kSignedInfinity = static_cast<int32_t>(kInfinity);

// Load and store the i-th code of an array in memory, at any alignment.
template <typename Code>
Code CodeAt(const void* codes, int64_t i) {
  Code code;
  std::memcpy(&code, static_cast<const std::byte*>(codes) + i * static_cast<int64_t>(sizeof code),
              sizeof code);
  return code;
}
template <typename Code>
void StoreCode(uint32_t bits, void* codes, int64_t i) {
  const auto code = static_cast<Code>(bits);
  std::memcpy(static_cast<std::byte*>(codes) + i * static_cast<int64_t>(sizeof code), &code,
              sizeof code);
}

// Map fp32 bits to a key and back. Keys order values from minus infinity to infinity, with -0
// before +0.
uint32_t KeyOf(uint32_t bits) { return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit; }
float ValueOf(uint32_t key) {
  return std::bit_cast<float>((key & kSignBit) != 0 ? key ^ kSignBit : ~key);
}

// Returns whether a format has IEEE 754 fields no wider than those of fp32 and rounds to nearest
// even, so that it can be encoded by arithmetic on fp32 bits.
bool IsSmallIeee(const Format& format) {
  return format.kind == FormatKind::kFloat && format.is_signed &&
         format.specials == Specials::kIeee && format.low_exponent != LowExponent::kNormal &&
         format.rounding == Rounding::kNearestEven && format.exponent_bits >= 2 &&
         format.exponent_bits <= 8 && format.fraction_bits >= 1 && format.fraction_bits <= 23 &&
         format.bias == (1 << (format.exponent_bits - 1)) - 1;
}
bool IsFp32(const Format& format) {
  return IsSmallIeee(format) && format.exponent_bits == 8 && format.fraction_bits == 23 &&
         format.low_exponent == LowExponent::kSubnormal;
}

}  // namespace

uint32_t LoadCode(const Format& format, const void* codes, int64_t index) {
  const auto* at = static_cast<const uint8_t*>(codes) + index * format.bytes();
  uint32_t code = 0;
  std::memcpy(&code, at, static_cast<size_t>(format.bytes()));
  return code & CodeMask(format);
}

void StoreCode(const Format& format, uint32_t code, int64_t index, void* codes) {
  auto* at = static_cast<uint8_t*>(codes) + index * format.bytes();
  code &= CodeMask(format);
  if (format.is_integer()) code = static_cast<uint32_t>(SignedCode(format, code));
  std::memcpy(at, &code, static_cast<size_t>(format.bytes()));
}

FormatTable::FormatTable(const Format& format) : format_(format) {
  if (format.bits <= 16) {
    values_.resize(size_t{1} << format.bits);
    for (size_t code = 0; code < values_.size(); ++code) {
      values_[code] = DecodeFloat(format, static_cast<uint32_t>(code));
      if (values_[code] != values_[code]) values_[code] = std::bit_cast<float>(kQuietNan);
    }
    // All NaNs have the same code.
  }
  nan_code_ = EncodeFloat(format, std::bit_cast<float>(kQuietNan));
  // Bisection needs a code that is a monotone function of the value.
  const bool monotone =
      format.rounding != Rounding::kStochastic && format.overflow != Overflow::kWrap;
  if (IsFp32(format) && format.overflow == Overflow::kInfinity) {
    encoder_ = Encoder::kIdentity;
  } else if (IsSmallIeee(format) && format.bits > 8 && format.overflow == Overflow::kInfinity) {
    encoder_ = Encoder::kFloat;
    FindArithmetic();
  } else if (format.bits <= 16 && monotone) {
    encoder_ = Encoder::kSteps;
    FindSteps();
    FillBuckets();
  }
}

std::shared_ptr<const FormatTable> FormatTable::Of(const Format& format) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const FormatTable>, std::less<>> tables;
  // A codebook file may have changed: the name alone does not identify its format.
  const auto same = [&](const Format& other) {
    return format.codebook == nullptr || format.codebook == other.codebook ||
           format.codebook->values == other.codebook->values;
  };
  {
    const std::lock_guard lock(mutex);
    const auto found = tables.find(format.name);
    if (found != tables.end() && same(found->second->format())) return found->second;
  }
  // Built without the lock, since it may take long. If two threads build the same table, the last
  // one is kept.
  auto made = std::make_shared<const FormatTable>(format);
  const std::lock_guard lock(mutex);
  return tables[format.name] = std::move(made);
}

void FormatTable::FindArithmetic() {
  Arithmetic& a = arithmetic_;
  a.shift = 23 - format_.fraction_bits;
  a.half_less_one = a.shift == 0 ? 0 : (1u << (a.shift - 1)) - 1;
  a.greatest = std::bit_cast<int32_t>(ToFloat(GreatestValue(format_)));
  const float normal = DecodeFloat(format_, 1u << format_.fraction_bits);
  if (format_.low_exponent == LowExponent::kZero) {
    // A tie between zero and the least number is zero, whose code is even.
    a.least = std::bit_cast<int32_t>(normal);
    a.half = std::bit_cast<int32_t>(normal / 2);
  } else if (format_.exponent_bits < 8) {  // others share fp32's subnormals
    a.normal = normal;
    a.magic = 1.5f * std::ldexp(normal, a.shift);
  }
}

// Finds the thresholds at which the code changes by bisection on each side of zero. Within a side,
// codes are in the order of their values: if both ends of a range have the same code, so has every
// value in between.
void FormatTable::FindSteps() {
  struct Range {
    uint32_t low, high, low_code, high_code;
  };
  const auto code_of = [&](uint32_t key) { return EncodeFloat(format_, ValueOf(key)); };
  const auto side = [&](uint32_t low, uint32_t high) {
    const uint32_t low_code = code_of(low);
    if (step_codes_.empty() || step_codes_.back() != low_code) {
      step_keys_.push_back(low);
      step_codes_.push_back(low_code);
    }
    std::vector<Range> open{{low, high, low_code, code_of(high)}};
    while (!open.empty()) {
      const Range range = open.back();
      open.pop_back();
      if (range.low_code == range.high_code) continue;
      if (range.high - range.low == 1) {
        step_keys_.push_back(range.high);
        step_codes_.push_back(range.high_code);
        continue;
      }
      const uint32_t middle = range.low + (range.high - range.low) / 2, code = code_of(middle);
      open.push_back({middle, range.high, code, range.high_code});
      open.push_back({range.low, middle, range.low_code, code});
    }
  };
  // NaNs have keys beyond those of both infinities.
  const uint32_t minus_infinity = KeyOf(kSignBit | kInfinity), infinity = KeyOf(kInfinity);
  step_keys_.push_back(0);
  step_codes_.push_back(nan_code_);
  side(minus_infinity, KeyOf(kSignBit));
  side(KeyOf(0), infinity);
  if (step_codes_.back() != nan_code_) {
    step_keys_.push_back(infinity + 1);
    step_codes_.push_back(nan_code_);
  }
}

std::vector<FormatTable::Step> FormatTable::Steps() const {
  std::vector<Step> steps;
  for (size_t i = 0; i < step_keys_.size(); ++i) steps.push_back({step_keys_[i], step_codes_[i]});
  return steps;
}

// Divides the keys into equal buckets by their top bits. If no bucket contains more than one
// threshold, one comparison finds a code; otherwise the buckets limit a binary search.
void FormatTable::FillBuckets() {
  constexpr int kLeastShift = 16;
  // The first entry is at key 0 and is not a change of code.
  const auto crowded = [&](int shift) {
    for (size_t i = 2; i < step_keys_.size(); ++i) {
      if ((step_keys_[i] >> shift) == (step_keys_[i - 1] >> shift)) return true;
    }
    return false;
  };
  bucket_shift_ = 28;
  while (bucket_shift_ > kLeastShift && crowded(bucket_shift_)) --bucket_shift_;
  const bool single = !crowded(bucket_shift_);
  const uint32_t count = 1u << (32 - bucket_shift_);
  size_t step = 0;  // the last threshold at or before the beginning of the bucket
  for (uint32_t bucket = 0; bucket < count; ++bucket) {
    const uint32_t begin = bucket << bucket_shift_;
    while (step + 1 < step_keys_.size() && step_keys_[step + 1] <= begin) ++step;
    bucket_first_.push_back(static_cast<uint32_t>(step));
    if (!single) continue;
    const auto below = static_cast<uint16_t>(step_codes_[step]);
    const bool steps =
        step + 1 < step_keys_.size() && (step_keys_[step + 1] >> bucket_shift_) == bucket;
    buckets_.push_back(
        steps ? Bucket{step_keys_[step + 1], below, static_cast<uint16_t>(step_codes_[step + 1])}
              : Bucket{begin, below, below});
  }
  if (single) bucket_first_.clear();
}

inline uint32_t FormatTable::EncodeBySteps(float value) const {
  const uint32_t key = KeyOf(std::bit_cast<uint32_t>(value));
  const uint32_t index = key >> bucket_shift_;
  if (!buckets_.empty()) {
    const Bucket& bucket = buckets_[index];
    return key >= bucket.threshold ? bucket.above : bucket.below;
  }
  const auto begin = step_keys_.begin() + bucket_first_[index];
  const auto end = index + 1 < bucket_first_.size()
                       ? step_keys_.begin() + bucket_first_[index + 1] + 1
                       : step_keys_.end();
  return step_codes_[static_cast<size_t>(std::upper_bound(begin, end, key) - step_keys_.begin() -
                                         1)];
}

// Normal numbers: the magnitude's bits, as an integer, are rounded at the last fraction bit of the
// format; a carry increments the exponent, as it should. Below the smallest normal number, an
// addition rounds instead: the sum's unit in the last place is the format's smallest subnormal.
// Without subnormals such numbers become zero or the smallest normal number.
inline uint32_t FormatTable::EncodeByArithmetic(float value) const {
  const int shift = 23 - format_.fraction_bits;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & ~kSignBit,
                 sign = (bits & kSignBit) != 0 ? 1u << (format_.bits - 1) : 0u;
  const uint32_t infinity = ((1u << format_.exponent_bits) - 1) << format_.fraction_bits;
  if (magnitude > kInfinity) return nan_code_;
  const uint32_t rebias = static_cast<uint32_t>(127 - format_.bias) << 23;
  uint32_t code;
  if (magnitude < static_cast<uint32_t>(arithmetic_.least)) {
    code = magnitude > static_cast<uint32_t>(arithmetic_.half) ? 1u << format_.fraction_bits : 0;
  } else if (rebias != 0 && magnitude < rebias + (1u << 23)) {
    const float magic = std::bit_cast<float>(rebias + (static_cast<uint32_t>(shift + 1) << 23));
    code = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + magic) -
           std::bit_cast<uint32_t>(magic);
  } else {  // includes the subnormal numbers of fp32 if the exponent fields are equally wide
    // Round to nearest even: add half a unit less one, plus the bit that decides ties.
    const uint32_t half = shift == 0 ? 0 : (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    code = std::min((magnitude - rebias + half) >> shift, infinity);
  }
  return sign | code;
}

float FormatTable::Decode(uint32_t code) const {
  code &= CodeMask(format_);
  if (!values_.empty()) return values_[code];
  const float value = DecodeFloat(format_, code);
  return value == value ? value : std::bit_cast<float>(kQuietNan);
}

uint32_t FormatTable::Encode(float value, uint32_t random) const {
  switch (encoder_) {
    case Encoder::kIdentity:
      return value == value ? std::bit_cast<uint32_t>(value) : kQuietNan;
    case Encoder::kFloat:
      return EncodeByArithmetic(value);
    case Encoder::kSteps:
      return EncodeBySteps(value);
    case Encoder::kScalar:
      break;
  }
  return EncodeFloat(format_, value, random);
}

// The members are copied into locals: stores of one-byte codes could alias them, which would
// prevent the compiler from keeping them in registers.
template <typename Code>
void FormatTable::EncodeByBuckets(const float* values, int64_t count, int unused,
                                  void* codes) const {
  const Bucket* const buckets = buckets_.data();
  const int shift = bucket_shift_;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t key = KeyOf(std::bit_cast<uint32_t>(values[i]));
    const Bucket bucket = buckets[key >> shift];
    // A shift selects the code without a branch, which random values would mispredict.
    const uint32_t both = bucket.below | uint32_t{bucket.above} << 16;
    const uint32_t code = both >> (key >= bucket.threshold ? 16 : 0) & 0xffff;
    StoreCode<Code>(static_cast<uint32_t>(static_cast<int32_t>(code << unused) >> unused), codes,
                    i);
  }
}

template <typename Code>
void FormatTable::EncodeAs(const float* values, int64_t count, void* codes, uint64_t seed) const {
  // Shifting left and arithmetically right sign-extends signed integers to the width in memory.
  const bool extend = format_.is_integer() && format_.is_signed && format_.bits < 32;
  const int unused = extend ? 32 - format_.bits : 0;
  const auto store = [&](int64_t i, uint32_t code) {
    StoreCode<Code>(static_cast<uint32_t>(static_cast<int32_t>(code << unused) >> unused), codes,
                    i);
  };
  switch (encoder_) {
    case Encoder::kFloat:
      for (int64_t i = 0; i < count; ++i) store(i, EncodeByArithmetic(values[i]));
      return;
    case Encoder::kSteps:
      if (!buckets_.empty()) return EncodeByBuckets<Code>(values, count, unused, codes);
      for (int64_t i = 0; i < count; ++i) store(i, EncodeBySteps(values[i]));
      return;
    default:
      break;
  }
  for (int64_t i = 0; i < count; ++i) {
    store(i,
          Encode(values[i], static_cast<uint32_t>(MixBits(seed + static_cast<uint64_t>(i)) >> 32)));
  }
}

template <typename Code>
void FormatTable::DecodeAs(const void* codes, int64_t count, float* values) const {
  if (!values_.empty()) {
    const uint32_t mask = CodeMask(format_);
    for (int64_t i = 0; i < count; ++i)
      values[i] = values_[uint32_t{CodeAt<Code>(codes, i)} & mask];
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (encoder_ == Encoder::kIdentity) {
      const auto value = std::bit_cast<float>(uint32_t{CodeAt<Code>(codes, i)});
      values[i] = value == value ? value : std::bit_cast<float>(kQuietNan);
    } else {
      values[i] = Decode(uint32_t{CodeAt<Code>(codes, i)});
    }
  }
}

void FormatTable::DecodeCodes(const void* codes, int64_t count, float* values) const {
  switch (format_.bytes()) {
    case 1:
      return DecodeAs<uint8_t>(codes, count, values);
    case 2:
      return DecodeAs<uint16_t>(codes, count, values);
    default:
      return DecodeAs<uint32_t>(codes, count, values);
  }
}

void FormatTable::EncodeValues(const float* values, int64_t count, void* codes,
                               uint64_t seed) const {
  switch (format_.bytes()) {
    case 1:
      return EncodeAs<uint8_t>(values, count, codes, seed);
    case 2:
      return EncodeAs<uint16_t>(values, count, codes, seed);
    default:
      return EncodeAs<uint32_t>(values, count, codes, seed);
  }
}

// Rounds like EncodeByArithmetic followed by Decode, without the code in between, in a form that
// compilers vectorise.
void FormatTable::RoundByArithmetic(float* values, int64_t count) const {
  const Arithmetic a = arithmetic_;
  const uint32_t mask = ~0u << a.shift;
  for (int64_t i = 0; i < count; ++i) {
    // Magnitudes are compared as signed integers, for which every processor has instructions.
    const uint32_t bits = std::bit_cast<uint32_t>(values[i]), sign = bits & kSignBit,
                   unsigned_magnitude = bits & ~kSignBit;
    const auto magnitude = static_cast<int32_t>(unsigned_magnitude);
    // Unsigned, because the sum of a NaN's bits may exceed a signed integer.
    const uint32_t large =
        unsigned_magnitude + a.half_less_one + ((unsigned_magnitude >> a.shift) & 1);
    const float size = std::bit_cast<float>(magnitude);
    const auto small = std::bit_cast<int32_t>((size + a.magic) - a.magic);
    int32_t rounded = size < a.normal ? small : static_cast<int32_t>(large & mask);
    rounded = magnitude < a.least ? (magnitude > a.half ? a.least : 0) : rounded;
    rounded = rounded > a.greatest ? kSignedInfinity : rounded;
    const uint32_t whole =
        magnitude > kSignedInfinity ? kQuietNan : static_cast<uint32_t>(rounded) | sign;
    values[i] = std::bit_cast<float>(whole);
  }
}

void FormatTable::RoundValues(float* values, int64_t count, uint64_t seed) const {
  if (encoder_ == Encoder::kFloat && format_.fraction_bits < 23)
    return RoundByArithmetic(values, count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] =
        Round(values[i], static_cast<uint32_t>(MixBits(seed + static_cast<uint64_t>(i)) >> 32));
  }
}

void DecodeCodes(const Format& format, const void* codes, int64_t count, float* values) {
  FormatTable::Of(format)->DecodeCodes(codes, count, values);
}

void EncodeValues(const Format& format, const float* values, int64_t count, void* codes,
                  uint64_t seed) {
  FormatTable::Of(format)->EncodeValues(values, count, codes, seed);
}

}  // namespace kiln
