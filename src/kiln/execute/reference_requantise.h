// What the integer operators of quantised ONNX networks share: codes without their zero points, scales, and the way
// back to codes.
#ifndef KILN_EXECUTE_REFERENCE_REQUANTISE_H_
#define KILN_EXECUTE_REFERENCE_REQUANTISE_H_

#include <vector>

#include "kiln/execute/reference_kernels.h"

namespace kiln::reference {

// Operand `codes` (int8 or uint8) minus its zero point as int32. The zero point, of the same type and 0 when absent, is
// one number or, with channel_axis >= 0, one for each index of that axis.
StatusOr<Tensor> CodesLessZeroPoint(const KernelCall& call, int codes, int zero_point,
                                    int channel_axis);

// Operand i as `count` scales; a single one stands for all.
StatusOr<std::vector<double>> ScalesOf(const KernelCall& call, int i, int64_t count);

// Real numbers to 8- or 16-bit codes: value / scale to the nearest integer, ties to even, plus the zero point,
// saturated.
class Requantiser {
 public:
  // From a scale and a zero point operand, which gives the type of the codes.
  static StatusOr<Requantiser> Of(const KernelCall& call, int scale, int zero_point);
  ElementType type() const { return type_; }
  void Store(Tensor& codes, int64_t at, double value) const;

 private:
  ElementType type_ = ElementType::kUint8;
  double scale_ = 1;
  double zero_point_ = 0;
};

// Least and greatest code of an integer type of at most 32 bits.
struct CodeRange {
  double low = 0, high = 0;
};
bool FindCodeRange(ElementType type, CodeRange* range);

// Stores a number that lies in the type's range.
void StoreCode(Tensor& codes, int64_t at, double value);

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_REQUANTISE_H_
