// A logarithmic number system: a sign bit, then log2 of the magnitude as a two's complement fixed-point number of 7
// bits with 3 binary places. The least logarithm stands for zero, and with the sign for the magnitude it would have
// had. Values are those of the logarithms rounded to fp32.
#include <cmath>

#include "kiln/numerics/rule.h"

namespace kiln {
namespace {

float Value(uint32_t code) {
  constexpr uint32_t kSign = 0x80, kZero = 0x40;
  // 2^(i/8), to nearest in fp32.
  constexpr float kRoots[] = {1.0f,           0x1.172b84p+0f, 0x1.306fe0p+0f, 0x1.4bfdaep+0f,
                              0x1.6a09e6p+0f, 0x1.8ace54p+0f, 0x1.ae89fap+0f, 0x1.d5818ep+0f};
  if (code == kZero) return 0;
  const int logarithm = static_cast<int>((code & 0x7f) ^ kZero) - 0x40;
  const float magnitude = std::ldexp(kRoots[logarithm & 7], logarithm >> 3);
  return (code & kSign) != 0 ? -magnitude : magnitude;
}

}  // namespace

FormatRule Rule_lns8_3() { return {.name = "lns8_3", .bits = 8, .value = Value}; }

}  // namespace kiln
