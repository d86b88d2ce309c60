// Energy figures and their interpolation; energy.h states sources and rules.

#include "kiln/hardware/energy.h"

#include <algorithm>
#include <cmath>

#include "kiln/hardware/technology.h"
#include "kiln/numerics/codebook.h"
#include "kiln/numerics/elementary.h"

namespace kiln::hardware {
namespace {

// pJ per pair of significand bits and per bit of a float's format: see MultiplyEnergy.
constexpr double kPerPairOfBits = 0.0031, kPerFloatBit = 0.05;
constexpr int kMostCodebookBits = 11;  // limit of a codebook's significand

// Returns the number of significand bits that represent x exactly, at most kMostCodebookBits.
int SignificandBits(float x) {
  int exponent = 0;
  const double fraction = std::abs(std::frexp(static_cast<double>(x), &exponent));
  for (int bits = 0; bits < kMostCodebookBits; ++bits) {
    const double scaled = std::ldexp(fraction, bits);
    if (scaled == std::floor(scaled)) return bits;
  }
  return kMostCodebookBits;
}

// Returns the operand width of a multiplier for a format.
int MultiplierBits(const Format& format) {
  switch (format.kind) {
    case FormatKind::kInteger:
      return format.bits;
    case FormatKind::kFloat:
      return format.fraction_bits + 1;
    case FormatKind::kPosit:
      // The longest fraction: all bits but the sign, two regime bits and the exponent, plus the
      // hidden bit.
      return std::max(format.bits - format.exponent_bits - 2, 1);
    case FormatKind::kCodebook: {
      int bits = 1;
      for (const float value : format.codebook->values)
        bits = std::max(bits, SignificandBits(value));
      return bits;
    }
  }
  return format.bits;
}

// Returns whether adding numbers of a format requires alignment, as for floats and posits.
bool HasExponent(const Format& format) {
  return format.kind == FormatKind::kFloat || format.kind == FormatKind::kPosit;
}

// Returns the value at x of the straight line through (x0, y0) and (x1, y1).
double Line(double x, double x0, double y0, double x1, double y1) {
  return y0 + (x - x0) * (y1 - y0) / (x1 - x0);
}

constexpr double kKibibyte = 1024 * 8;  // bits

}  // namespace

double MultiplyEnergy(const Format& a, const Format& b) {
  const double product = kPerPairOfBits * MultiplierBits(a) * MultiplierBits(b);
  const int float_bits = std::max(HasExponent(a) ? a.bits : 0, HasExponent(b) ? b.bits : 0);
  return product + kPerFloatBit * float_bits;
}

double AddEnergy(const Format& format) {
  if (HasExponent(format)) return Line(std::max(format.bits, 8), 16, 0.4, 32, 0.9);
  return Line(format.bits, 8, 0.03, 32, 0.1);
}

double MemoryEnergyPerBit(int64_t bits) {
  const double size = std::max<double>(static_cast<double>(bits), 1);
  // Energy grows with the square root of the size up to 32 KiB.
  if (size <= 32 * kKibibyte) return 20.0 / 64 * std::sqrt(size / (32 * kKibibyte));
  static const double exponent = elementary::Log(100.0 / 20) / elementary::Log(1024.0 / 32);
  return 20.0 / 64 * elementary::Pow(size / (32 * kKibibyte), exponent);
}

double RegisterEnergyPerBit() {
  constexpr int kLibraryNode = 180;
  constexpr double kClock = 0.137, kInput = 0.067, kOutput = 0.070, kClockPin = 0.090;  // pJ
  return (kClock + kClockPin + (kInput + kOutput) / 2) * EnergyScale(kLibraryNode, kEnergyNode);
}

}  // namespace kiln::hardware
