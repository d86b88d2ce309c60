// Implements tensors: aligned storage, element access by type, and conversion of 16-bit floats.

#include "kiln/ir/tensor.h"

#include <bit>
#include <cstring>

#include "kiln/support/buffer.h"

namespace kiln {

Tensor::Tensor(ElementType type, Shape shape)
    : type_(type), shape_(std::move(shape)), size_(shape_.NumElements()), writable_(true) {
  if (type == ElementType::kString) {
    strings_ = std::make_shared<std::vector<std::string>>(static_cast<size_t>(size_));
    return;
  }
  owner_ = AllocateZeroed(static_cast<size_t>(num_bytes()));
  KILN_CHECK(owner_ != nullptr);
  bytes_ = static_cast<const std::byte*>(owner_.get());
}

Tensor Tensor::OfStrings(Shape shape, std::vector<std::string> values) {
  Tensor t(ElementType::kString, std::move(shape));
  KILN_CHECK(static_cast<int64_t>(values.size()) == t.size());
  t.strings_ = std::make_shared<std::vector<std::string>>(std::move(values));
  return t;
}

// The view keeps the owner alive; writable_ remains false.
Tensor Tensor::View(ElementType type, Shape shape, std::shared_ptr<const void> owner,
                    const std::byte* bytes) {
  Tensor t;
  t.type_ = type;
  t.shape_ = std::move(shape);
  t.size_ = t.shape_.NumElements();
  t.owner_ = std::move(owner);
  t.bytes_ = bytes;
  return t;
}

Tensor Tensor::Reshaped(Shape shape) const {
  Tensor t = *this;
  KILN_CHECK(shape.NumElements() == size_);
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::Clone() const {
  if (type_ == ElementType::kString) return OfStrings(shape_, strings());
  Tensor t(type_, shape_);
  if (num_bytes() > 0) std::memcpy(t.mutable_bytes(), bytes_, static_cast<size_t>(num_bytes()));
  return t;
}

double Tensor::ValueAt(int64_t i) const {
  const auto at = [&](auto zero) {
    decltype(zero) value;
    std::memcpy(&value, bytes_ + i * static_cast<int64_t>(sizeof(value)), sizeof(value));
    return value;
  };
  KILN_CHECK(i >= 0 && i < size_);
  switch (type_) {
    case ElementType::kFloat32:
      return at(float{});
    case ElementType::kFloat64:
      return at(double{});
    case ElementType::kFloat16:
      return HalfToFloat(at(uint16_t{}));
    case ElementType::kBfloat16:
      return Bfloat16ToFloat(at(uint16_t{}));
    case ElementType::kString:
      KILN_CHECK(false);
      return 0;
    default:
      return static_cast<double>(IntAt(i));
  }
}

// memcpy, because views may be unaligned.
int64_t Tensor::IntAt(int64_t i) const {
  const auto at = [&](auto zero) {
    decltype(zero) value;
    std::memcpy(&value, bytes_ + i * static_cast<int64_t>(sizeof(value)), sizeof(value));
    return value;
  };
  KILN_CHECK(i >= 0 && i < size_);
  switch (type_) {
    case ElementType::kInt8:
      return at(int8_t{});
    case ElementType::kInt16:
      return at(int16_t{});
    case ElementType::kInt32:
      return at(int32_t{});
    case ElementType::kInt64:
      return at(int64_t{});
    case ElementType::kUint8:
      return at(uint8_t{});
    case ElementType::kUint16:
      return at(uint16_t{});
    case ElementType::kUint32:
      return at(uint32_t{});
    case ElementType::kUint64:
      return static_cast<int64_t>(at(uint64_t{}));
    case ElementType::kBool:
      return at(uint8_t{}) != 0;
    case ElementType::kString:
      KILN_CHECK(false);
      return 0;
    default: {
      // Floats: the conversion saturates, and NaN becomes INT64_MIN.
      const double value = ValueAt(i);
      if (!(value >= -0x1p63)) return INT64_MIN;
      return value < 0x1p63 ? static_cast<int64_t>(value) : INT64_MAX;
    }
  }
}

std::vector<int64_t> Tensor::ToInts() const {
  std::vector<int64_t> out(static_cast<size_t>(size_));
  for (int64_t i = 0; i < size_; ++i) out[static_cast<size_t>(i)] = IntAt(i);
  return out;
}

std::vector<float> Tensor::ToFloats() const {
  std::vector<float> out(static_cast<size_t>(size_));
  for (int64_t i = 0; i < size_; ++i) out[static_cast<size_t>(i)] = static_cast<float>(ValueAt(i));
  return out;
}

// Compares bits: NaNs with equal bits are equal, +0 and -0 are not.
bool operator==(const Tensor& a, const Tensor& b) {
  if (a.type_ != b.type_ || !(a.shape_ == b.shape_)) return false;
  if (a.type_ == ElementType::kString) return a.strings() == b.strings();
  return a.size_ == 0 || std::memcmp(a.bytes_, b.bytes_, static_cast<size_t>(a.num_bytes())) == 0;
}

// Every half is a float; only subnormal numbers need arithmetic.
float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  // Zero or subnormal: fraction * 2^-24.
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  // The bias of fp32 is larger by 127 - 15 = 112.
  const uint32_t exponent32 = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (exponent32 << 23) | (fraction << 13));
}

uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  // 65520 and above round to infinity.
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  // Below 2^-14 the result is subnormal. The unit in the last place of 0.5 + x is 2^-24, that of
  // subnormal halves, so that the addition rounds x as required.
  if (magnitude < 0x38800000u) {
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  // Rebiases the exponent and rounds to nearest even: half a unit less one, plus the last kept bit.
  // A carry out of the fraction increments the exponent.
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

float Bfloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Adds half a unit less one, plus the last kept bit, and truncates: round to nearest even. A carry
// into the exponent turns the largest numbers into infinity.
uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  // NaN: setting the quiet bit keeps truncation from turning it into infinity.
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace kiln
