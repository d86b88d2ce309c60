#include "kiln/quantise/energy.h"

#include <algorithm>
#include <cmath>

namespace kiln {
namespace {

constexpr double kPerPairOfBits = 0.0031, kPerFloatBit = 0.05;
constexpr int kMostCodebookBits = 11;

// Bits of the significand that stands for x exactly, at most kMostCodebookBits.
int SignificandBits(float x) {
  int exponent = 0;
  const double fraction = std::abs(std::frexp(static_cast<double>(x), &exponent));
  for (int bits = 0; bits < kMostCodebookBits; ++bits) {
    const double scaled = std::ldexp(fraction, bits);
    if (scaled == std::floor(scaled)) return bits;
  }
  return kMostCodebookBits;
}

int MultiplierBits(const Format& format) {
  switch (format.kind) {
    case FormatKind::kInteger:
      return format.bits;
    case FormatKind::kFloat:
      return format.fraction_bits + 1;
    case FormatKind::kPosit:
      return std::max(format.bits - format.exponent_bits - 2, 1);  // sign, two bits of regime, exponent; hidden one
    case FormatKind::kCodebook: {
      int bits = 1;
      for (const float value : format.codebook->values) bits = std::max(bits, SignificandBits(value));
      return bits;
    }
  }
  return format.bits;
}

bool HasExponent(const Format& format) {
  return format.kind == FormatKind::kFloat || format.kind == FormatKind::kPosit;
}

}  // namespace

double MultiplyEnergy(const Format& a, const Format& b) {
  const double product = kPerPairOfBits * MultiplierBits(a) * MultiplierBits(b);
  const int float_bits = std::max(HasExponent(a) ? a.bits : 0, HasExponent(b) ? b.bits : 0);
  return product + kPerFloatBit * float_bits;
}

double BitsOf(const QuantType& type) {
  const double scale =
      type.scheme == Scheme::kPerBlock ? static_cast<double>(type.scale_format.bits) / type.block_size : 0;
  return type.format.bits + scale;
}

}  // namespace kiln
