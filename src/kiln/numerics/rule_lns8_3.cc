// The rule of the format lns8_3, a logarithmic number system: a sign bit, then log2 of the
// magnitude as a 7-bit two's complement fixed-point number with 3 fraction bits.
//
// Code 0x40, the smallest logarithm with sign 0, represents zero; with sign 1 the smallest
// logarithm keeps its value. Values are the powers of two rounded to fp32.
#include <cmath>

#include "kiln/numerics/rule.h"

namespace kiln {
namespace {

// Returns the value of a code.
float Value(uint32_t code) {
  constexpr uint32_t kSign = 0x80, kZero = 0x40;
  // 2^(i/8), rounded to nearest in fp32.
  constexpr float kRoots[] = {1.0f,           0x1.172b84p+0f, 0x1.306fe0p+0f, 0x1.4bfdaep+0f,
                              0x1.6a09e6p+0f, 0x1.8ace54p+0f, 0x1.ae89fap+0f, 0x1.d5818ep+0f};
  if (code == kZero) return 0;
  // Flipping the top bit and subtracting its weight sign-extends the 7-bit logarithm.
  const int logarithm = static_cast<int>((code & 0x7f) ^ kZero) - 0x40;
  const float magnitude = std::ldexp(kRoots[logarithm & 7], logarithm >> 3);
  return (code & kSign) != 0 ? -magnitude : magnitude;
}

}  // namespace

FormatRule Rule_lns8_3() { return {.name = "lns8_3", .bits = 8, .value = Value}; }

}  // namespace kiln
