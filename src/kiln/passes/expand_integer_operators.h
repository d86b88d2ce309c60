#ifndef KILN_PASSES_EXPAND_INTEGER_OPERATORS_H_
#define KILN_PASSES_EXPAND_INTEGER_OPERATORS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Writes operators on codes as DequantizeLinear, the operator on floats, and QuantizeLinear; later passes turn these
// into annotations. All scales and zero points must be constant.
//   QLinearConv, QLinearMatMul    the bias gets the scale fp32(x_scale * w_scale)
//   ConvInteger, MatMulInteger    only where a Cast to fp32 is their only user, and no sum can wrap; codes that a
//                                 QuantizeLinear makes keep its scale s, and the weights get 1/s, so that the product
//                                 is the sum of codes still
//   MaxPool, Reshape, ... on codes before a DequantizeLinear    the DequantizeLinear comes first
// A result may differ where the sum in fp32 falls on the other side of a rounding boundary than the exact one: by one
// code. DynamicQuantizeLinear and what it feeds stay: their scales are not known before the network runs.
//   %y = qlinear_matmul %a, ...      =>      %y = quantize_linear(matmul(dequantize_linear %a, dequantize_linear %b))
class ExpandIntegerOperators final : public Pass {
 public:
  static constexpr std::string_view kName = "expand-integer-operators";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_EXPAND_INTEGER_OPERATORS_H_
