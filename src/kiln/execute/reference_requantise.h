// Helpers of the integer operators of quantised ONNX networks: codes without their zero points,
// scales, and rounding back to codes.
#ifndef KILN_EXECUTE_REFERENCE_REQUANTISE_H_
#define KILN_EXECUTE_REFERENCE_REQUANTISE_H_

#include <vector>

#include "kiln/execute/reference_kernels.h"

namespace kiln::reference {

// Returns operand `codes` (int8 or uint8) minus its zero point, as int32. The zero point has the
// same type and is 0 if absent; it is a single number or, if channel_axis >= 0, one per index of
// that axis.
StatusOr<Tensor> CodesLessZeroPoint(const KernelCall& call, int codes, int zero_point,
                                    int channel_axis);

// Returns operand i as `count` scales; a single scale applies to all.
StatusOr<std::vector<double>> ScalesOf(const KernelCall& call, int i, int64_t count);

// Rounds real numbers to codes: value / scale to the nearest integer, ties to even, plus the zero
// point, saturated.
class Requantiser {
 public:
  // Reads the operands `scale` and `zero_point`; the zero point's type is the type of the codes.
  static StatusOr<Requantiser> Of(const KernelCall& call, int scale, int zero_point);
  // Returns the type of the codes.
  ElementType type() const { return type_; }
  // Stores the code of `value` at element `at`; NaN becomes the zero point.
  void Store(Tensor& codes, int64_t at, double value) const;

 private:
  ElementType type_ = ElementType::kUint8;
  double scale_ = 1;
  double zero_point_ = 0;
};

// The least and greatest code of an integer type of at most 32 bits.
struct CodeRange {
  double low = 0, high = 0;
};
// Returns false for a type that holds no codes.
bool FindCodeRange(ElementType type, CodeRange* range);

// Stores a value that is inside the type's range.
void StoreCode(Tensor& codes, int64_t at, double value);

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_REQUANTISE_H_
