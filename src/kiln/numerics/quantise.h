// Values to codes of an integer format and back, and the choice of scale and zero point from a range.
//
//   code  = clamp(rne(x * inverse_scale) + zero_point, low, high)      inverse_scale = fp32(1 / scale)
//   value = fp32(code - zero_point) * scale
//
// Both products are one fp32 rounding each; rne is round to nearest, ties to even, and with the clamp it is exact. This
// is what hardware with an fp32 output stage does, so a host that quantises with these functions gives the same codes.
// Vector code over whole tensors stands in execute/codes.h.
#ifndef KILN_NUMERICS_QUANTISE_H_
#define KILN_NUMERICS_QUANTISE_H_

#include <cstdint>
#include <vector>

#include "kiln/numerics/format.h"

namespace kiln {

struct CodeRange {
  int64_t low = 0;
  int64_t high = 0;
  friend bool operator==(const CodeRange&, const CodeRange&) = default;
};

// The codes that an integer format uses: all of them, or, when symmetric and signed, -max_code to max_code, so that x
// and -x have opposite codes.
CodeRange CodesOf(const Format& format, bool symmetric);

struct ScaleZeroPoint {
  float scale = 1;  // finite and positive, and so is its inverse
  int32_t zero_point = 0;
  friend bool operator==(const ScaleZeroPoint&, const ScaleZeroPoint&) = default;
};

// fp32(1 / scale).
float InverseScale(float scale);

// The code nearest to x, saturated. Infinities saturate; a NaN becomes the zero point.
int64_t QuantiseToCode(float x, float inverse_scale, int32_t zero_point, CodeRange codes);

float DequantiseCode(int64_t code, float scale, int32_t zero_point);

// Scale and zero point under which the codes of `format` cover [low, high] widened to hold zero; zero itself is always
// exact.
//   symmetric    scale = max(|low|, |high|) / max_code, zero point 0
//   asymmetric   scale = (high - low) / (max_code - min_code), zero point = rne(min_code - low / scale)
// The scale is rounded to fp32 once. A range of nothing but zero gets scale 1; scales too small or too large for fp32
// are held at its least normal number and its greatest. low and high must be finite, low <= high.
ScaleZeroPoint ChooseScale(double low, double high, const Format& format, bool symmetric);

// The same for every format, with the scale rounded to type.scale_format.
//   whole integers   as above
//   other formats    the scale under which no end of the range exceeds the format's greatest and least finite values,
//                    zero point 0; an end on a side where the format has no values does not count
// Scales in fp32 are rounded to nearest, others up to the next value of their format, so that the range stays covered;
// held at the format's least positive and greatest values.
ScaleZeroPoint ChooseScale(double low, double high, const QuantType& type);

// Least and greatest finite value of a format.
struct ValueLimits {
  double low = 0;
  double high = 0;
};
ValueLimits LimitsOf(const Format& format);

// Zero, where the format has it, and its positive finite values, ascending. For formats of at most 16 bits.
std::vector<double> MagnitudesOf(const Format& format);

}  // namespace kiln

#endif  // KILN_NUMERICS_QUANTISE_H_
