// Conversion between values and the codes of integer formats, and the choice of scale and zero
// point from a range of values.
//
//   code  = clamp(rne(x * inverse_scale) + zero_point, low, high), inverse_scale = fp32(1 / scale)
//   value = fp32(code - zero_point) * scale
//
// Each product is rounded to fp32 once; rne rounds to nearest even and, with the clamp, is exact.
// Hardware with an fp32 output stage computes the same, so that a host that quantises with these
// functions obtains the same codes. execute/codes.h contains the vector code for whole tensors.
#ifndef KILN_NUMERICS_QUANTISE_H_
#define KILN_NUMERICS_QUANTISE_H_

#include <cstdint>
#include <vector>

#include "kiln/numerics/format.h"

namespace kiln {

// A range of integer codes, both ends included.
struct CodeRange {
  int64_t low = 0;
  int64_t high = 0;
  friend bool operator==(const CodeRange&, const CodeRange&) = default;
};

// Returns the codes that an integer format uses: all of them or, if symmetric and signed, -max_code
// to max_code, so that x and -x have opposite codes.
CodeRange CodesOf(const Format& format, bool symmetric);

// The affine map between codes and values: value = (code - zero_point) * scale.
struct ScaleZeroPoint {
  float scale = 1;  // finite and positive, with a finite and positive inverse
  int32_t zero_point = 0;
  friend bool operator==(const ScaleZeroPoint&, const ScaleZeroPoint&) = default;
};

// Returns fp32(1 / scale).
float InverseScale(float scale);

// Returns the code nearest to x, saturated to `codes`. Infinities saturate; NaN becomes the zero
// point.
int64_t QuantiseToCode(float x, float inverse_scale, int32_t zero_point, CodeRange codes);

// Returns the value of a code: fp32(code - zero_point) * scale.
float DequantiseCode(int64_t code, float scale, int32_t zero_point);

// Returns the scale and zero point for which the codes of `format` cover [low, high], widened to
// contain zero. Zero itself is always represented exactly.
//   symmetric    scale = max(|low|, |high|) / max_code, zero point 0
//   asymmetric   scale = (high - low) / (max_code - min_code),
//                zero point = rne(min_code - low / scale)
// The scale is rounded to fp32 once. A range that contains only zero gets scale 1. Scales are
// clamped to the normal numbers of fp32. low and high must be finite, low <= high.
ScaleZeroPoint ChooseScale(double low, double high, const Format& format, bool symmetric);

// ChooseScale for every format, with the scale rounded to type.scale_format.
//   integers without   as above
//   fraction bits
//   other formats      the smallest scale for which neither end of the range exceeds the format's
//                      largest or smallest finite value, zero point 0; an end on a side of zero
//                      without values of the format is ignored
// fp32 scales are rounded to nearest, others up to the next value of their format, so that the
// range stays covered. They are clamped to the format's smallest positive and largest values.
ScaleZeroPoint ChooseScale(double low, double high, const QuantType& type);

// The smallest and the largest finite value of a format.
struct ValueLimits {
  double low = 0;
  double high = 0;
};
// Returns the limits of a format.
ValueLimits LimitsOf(const Format& format);

// Returns the non-negative finite values of a format in ascending order, zero included if the
// format has it. For formats of at most 16 bits.
std::vector<double> MagnitudesOf(const Format& format);

}  // namespace kiln

#endif  // KILN_NUMERICS_QUANTISE_H_
