#include "kiln/numerics/quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/support/check.h"

namespace kiln {

CodeRange CodesOf(const Format& format, bool symmetric) {
  KILN_CHECK(format.is_integer());
  return {symmetric && format.is_signed ? -format.max_code() : format.min_code(), format.max_code()};
}

float InverseScale(float scale) { return 1.0f / scale; }

int64_t QuantiseToCode(float x, float inverse_scale, int32_t zero_point, CodeRange codes) {
  const float scaled = x * inverse_scale;
  if (std::isnan(scaled)) return std::clamp<int64_t>(zero_point, codes.low, codes.high);
  // Codes have at most 32 bits; clamping this far out keeps the conversion in range and changes no result.
  const double limit = 0x1p40;
  const auto rounded = static_cast<int64_t>(std::nearbyint(std::clamp<double>(scaled, -limit, limit)));
  return std::clamp(rounded + zero_point, codes.low, codes.high);
}

float DequantiseCode(int64_t code, float scale, int32_t zero_point) {
  return static_cast<float>(code - zero_point) * scale;
}

ScaleZeroPoint ChooseScale(double low, double high, const Format& format, bool symmetric) {
  KILN_CHECK(std::isfinite(low) && std::isfinite(high) && low <= high);
  const CodeRange codes = CodesOf(format, symmetric);
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  if (low == 0 && high == 0) {
    return {1, static_cast<int32_t>(std::clamp<int64_t>(0, codes.low, codes.high))};
  }
  const double exact = symmetric ? std::max(-low, high) / static_cast<double>(codes.high)
                                 : (high - low) / static_cast<double>(codes.high - codes.low);
  ScaleZeroPoint chosen;
  // The inverse of the least normal number is finite, and so is that of the greatest (a subnormal).
  chosen.scale = static_cast<float>(
      std::clamp<double>(exact, std::numeric_limits<float>::min(), std::numeric_limits<float>::max()));
  if (!symmetric) {
    const double zero = std::nearbyint(static_cast<double>(codes.low) - low / static_cast<double>(chosen.scale));
    chosen.zero_point =
        static_cast<int32_t>(std::clamp(zero, static_cast<double>(codes.low), static_cast<double>(codes.high)));
  }
  return chosen;
}

}  // namespace kiln
