// Implements the scalar quantiser and the choice of scales.

#include "kiln/numerics/quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/numerics/codec.h"
#include "kiln/support/check.h"

namespace kiln {

CodeRange CodesOf(const Format& format, bool symmetric) {
  KILN_CHECK(format.is_integer());
  return {symmetric && format.is_signed ? -format.max_code() : format.min_code(),
          format.max_code()};
}

float InverseScale(float scale) { return 1.0f / scale; }

int64_t QuantiseToCode(float x, float inverse_scale, int32_t zero_point, CodeRange codes) {
  const float scaled = x * inverse_scale;
  if (std::isnan(scaled)) return std::clamp<int64_t>(zero_point, codes.low, codes.high);
  // Codes have at most 32 bits. Clamping at 2^40 keeps the conversion to an integer in range and
  // changes no result.
  const double limit = 0x1p40;
  const auto rounded =
      static_cast<int64_t>(std::nearbyint(std::clamp<double>(scaled, -limit, limit)));
  return std::clamp(rounded + zero_point, codes.low, codes.high);
}

float DequantiseCode(int64_t code, float scale, int32_t zero_point) {
  return static_cast<float>(code - zero_point) * scale;
}

namespace {

// Rounds a scale to fp32 and clamps it to the normal numbers. The inverse of the smallest one is
// finite; the inverse of the largest one is subnormal but not zero.
float NearestScale(double exact) {
  return static_cast<float>(std::clamp<double>(exact, std::numeric_limits<float>::min(),
                                               std::numeric_limits<float>::max()));
}

// Returns the smallest value of a format that is at least `exact`, or its largest value.
float ScaleIn(const Format& format, double exact) {
  if (format.name == "fp32") return NearestScale(exact);
  const double greatest = ToDouble(GreatestValue(format)), least = ToDouble(LeastPositive(format));
  const double held = std::clamp(exact, least, greatest);
  Format down = format;
  down.rounding = Rounding::kDown;
  const uint32_t code = Encode(down, Exact::FromDouble(held));
  const double below = ToDouble(Decode(format, code));
  // The codes of a float's positive values are in ascending order: the next code is the next value.
  return NearestScale(below < held ? ToDouble(Decode(format, code + 1)) : below);
}

// Returns scale and zero point of an integer format for a range that contains zero.
ScaleZeroPoint ChooseIntegerScale(double low, double high, const QuantType& type) {
  const CodeRange codes = CodesOf(type.format, type.symmetric);
  // A range without extent does not determine a scale: 1 is used.
  if (low == 0 && high == 0) {
    return {ScaleIn(type.scale_format, 1),
            static_cast<int32_t>(std::clamp<int64_t>(0, codes.low, codes.high))};
  }
  const double exact = type.symmetric ? std::max(-low, high) / static_cast<double>(codes.high)
                                      : (high - low) / static_cast<double>(codes.high - codes.low);
  ScaleZeroPoint chosen{.scale = ScaleIn(type.scale_format, exact)};
  if (!type.symmetric) {
    // The zero point uses the rounded scale, so that the lower end of the range maps to the lowest
    // code.
    const double zero =
        std::nearbyint(static_cast<double>(codes.low) - low / static_cast<double>(chosen.scale));
    chosen.zero_point = static_cast<int32_t>(
        std::clamp(zero, static_cast<double>(codes.low), static_cast<double>(codes.high)));
  }
  return chosen;
}

}  // namespace

ScaleZeroPoint ChooseScale(double low, double high, const Format& format, bool symmetric) {
  KILN_CHECK(format.is_integer());
  return ChooseScale(low, high, QuantType{.format = format, .symmetric = symmetric});
}

// The range is widened to contain zero first, which must have an exact code.
ScaleZeroPoint ChooseScale(double low, double high, const QuantType& type) {
  KILN_CHECK(std::isfinite(low) && std::isfinite(high) && low <= high);
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  if (type.format.is_whole()) return ChooseIntegerScale(low, high, type);
  const ValueLimits limits = LimitsOf(type.format);
  double exact = 0;
  // Codebooks and floats may have values on one side of zero only; the other side cannot be
  // covered.
  if (limits.high > 0) exact = std::max(exact, high / limits.high);
  if (limits.low < 0) exact = std::max(exact, low / limits.low);
  return {.scale = ScaleIn(type.scale_format, exact > 0 ? exact : 1)};
}

ValueLimits LimitsOf(const Format& format) {
  if (format.kind == FormatKind::kCodebook) {
    const auto [low, high] =
        std::minmax_element(format.codebook->values.begin(), format.codebook->values.end());
    return {*low, *high};
  }
  const double high = ToDouble(GreatestValue(format));
  if (!format.is_signed) return {0, high};
  if (!format.is_integer()) return {-high, high};
  return {std::ldexp(static_cast<double>(format.min_code()), -format.fraction_bits), high};
}

std::vector<double> MagnitudesOf(const Format& format) {
  KILN_CHECK(format.bits <= 16);
  std::vector<double> magnitudes;
  for (uint32_t code = 0; code <= CodeMask(format); ++code) {
    const Exact value = Decode(format, code);
    if (!value.is_finite() || (value.negative && !value.is_zero())) continue;
    magnitudes.push_back(ToDouble(value));
  }
  std::sort(magnitudes.begin(), magnitudes.end());
  magnitudes.erase(std::unique(magnitudes.begin(), magnitudes.end()), magnitudes.end());
  return magnitudes;
}

}  // namespace kiln
