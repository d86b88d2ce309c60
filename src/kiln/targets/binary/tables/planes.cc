// Splits weights into planes and activations into digits.
#include "kiln/targets/binary/tables/planes.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::binary {
namespace {

// Bits of digit q of a number of `bits` bits.
int WidthOfDigit(int bits, int q) { return std::min(kDigitBits, bits - kDigitBits * q); }

}  // namespace

int32_t WeightFormat::lowest() const {
  switch (coding) {
    case WeightCoding::kSigned:
      return -(1 << (bits - 1));
    case WeightCoding::kUnsigned:
      return 0;
    case WeightCoding::kOdd:
      break;
  }
  return -((1 << bits) - 1);
}

int32_t WeightFormat::highest() const {
  return coding == WeightCoding::kSigned ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
}

int64_t WeightFormat::offset() const {
  switch (coding) {
    case WeightCoding::kSigned:
      return -1;
    case WeightCoding::kUnsigned:
      return (int64_t{1} << bits) - 1;
    case WeightCoding::kOdd:
      break;
  }
  return 0;
}

bool WeightFormat::Holds(int32_t weight) const {
  return weight >= lowest() && weight <= highest() &&
         (coding != WeightCoding::kOdd || (weight & 1) != 0);
}

uint32_t WeightFormat::PlanesOf(int32_t weight) const {
  const auto above = static_cast<uint32_t>(weight - lowest());
  return coding == WeightCoding::kOdd ? above / 2 : above;
}

std::string WeightFormat::Describe() const {
  return fmt::format("{} from {} to {}", coding == WeightCoding::kOdd ? "odd values" : "integers",
                     lowest(), highest());
}

int32_t ActivationFormat::DigitOf(int32_t value, int q) const {
  const int shift = kDigitBits * q, width = WidthOfDigit(bits, q);
  if (is_signed && q == digits() - 1) return value >> shift;
  return value >> shift & ((1 << width) - 1);
}

int32_t ActivationFormat::LowestDigit(int q) const {
  return is_signed && q == digits() - 1 ? -(1 << (WidthOfDigit(bits, q) - 1)) : 0;
}

int32_t ActivationFormat::HighestDigit(int q) const {
  const int width = WidthOfDigit(bits, q);
  return (1 << (is_signed && q == digits() - 1 ? width - 1 : width)) - 1;
}

}  // namespace kiln::binary
