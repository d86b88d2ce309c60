// How machines with integer codes hold the values of a network: codes with one scale, and weights
// with one scale for each output channel.
#ifndef KILN_TARGETS_LOWER_VALUE_CODES_H_
#define KILN_TARGETS_LOWER_VALUE_CODES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// value = (code - zero) * scale
struct ValueCodes {
  int bits = 8;
  bool is_signed = true;
  double scale = 1;
  int32_t zero = 0;
  int32_t low = -128, high = 127;  // the codes in use
  friend bool operator==(const ValueCodes&, const ValueCodes&) = default;
};

// Returns the codes of an annotated value. Errors: refusals (lower/refusal.h), if the value is not
// fp32, has no annotation, or has another format than integers of at most `most_bits` with one
// scale.
StatusOr<ValueCodes> IntegerCodesOf(const Value& value, int most_bits);

// Returns the format, the shape and the meaning of an annotated value's codes, for the README of an
// emitted folder: "int8, 1 x 8; value = 0.5 * code".
std::string CodesText(const Value& value);

// The codes of constant weights, with one scale for all or one for each index of `axis`.
struct WeightCodes {
  std::vector<int32_t> codes;
  std::vector<double> scales;
  double ScaleOf(int64_t channel) const {
    return scales[scales.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
};
// Returns the codes of constant weights. Errors: refusals, if they are not constants of signed
// integers of at most `most_bits` without zero point, with scales along `axis` or one scale.
StatusOr<WeightCodes> IntegerWeightsOf(const Value& value, int axis, int most_bits);

// Returns the code that the quantiser (numerics/quantise.h) gives a real number: nearest, ties to
// even, in binary32, held within the codes in use. NaN has the zero point.
int32_t NearestCode(double value, const ValueCodes& codes);

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_VALUE_CODES_H_
