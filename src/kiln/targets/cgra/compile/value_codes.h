// How the machine holds a value of a network: integer codes with one scale.
#ifndef KILN_TARGETS_CGRA_COMPILE_VALUE_CODES_H_
#define KILN_TARGETS_CGRA_COMPILE_VALUE_CODES_H_

#include <cstdint>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln::cgra {

// value = (code - zero) * scale
struct ValueCodes {
  int bits = 8;
  double scale = 1;
  int32_t zero = 0;
  int32_t low = -128, high = 127;  // the codes in use
  friend bool operator==(const ValueCodes&, const ValueCodes&) = default;
};

// Returns the codes of an annotated value. Errors: refusals (lower/refusal.h), if the value is not
// fp32, has no annotation, or has another format than integers of at most 16 bits with one scale.
StatusOr<ValueCodes> CodesOf(const Value& value);

// The codes of constant weights, with one scale for all or one for each index of `axis`.
struct WeightCodes {
  std::vector<int32_t> codes;
  std::vector<double> scales;
  double ScaleOf(int64_t channel) const {
    return scales[scales.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
};
// Returns the codes of constant weights. Errors: refusals, if they are not constants of signed
// integers of at most 8 bits without zero point, with scales along `axis` or one scale.
StatusOr<WeightCodes> WeightsOf(const Value& value, int axis);

// Returns the nearest code of a real number, held within the codes in use.
int32_t NearestCode(double value, const ValueCodes& codes);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_VALUE_CODES_H_
