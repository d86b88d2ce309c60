// The pass expand-integer-operators, the first of AnnotationPipeline: it turns QOperator networks
// into the QDQ form that the annotation passes read.
#ifndef KILN_PASSES_EXPAND_INTEGER_OPERATORS_H_
#define KILN_PASSES_EXPAND_INTEGER_OPERATORS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Replaces operators on codes by DequantizeLinear, the operator on floats, and QuantizeLinear;
// later passes turn these into annotations. All scales and zero points must be constant.
//   QLinearConv, QLinearMatMul    the bias gets the scale fp32(x_scale * w_scale)
//   ConvInteger, MatMulInteger    only if a Cast to fp32 is their only user and no sum can wrap;
//                                 codes from a QuantizeLinear keep its scale s, and the weights get
//                                 1/s, so the product still is the sum of codes
//   MaxPool, Reshape, ... on codes before a DequantizeLinear: the DequantizeLinear moves first
// A result may differ by one code if the fp32 sum falls on the other side of a rounding boundary
// than the exact sum. DynamicQuantizeLinear and its users stay: their scales are not known before
// the network runs.
//   %y = qlinear_matmul %a, ...
//     =>   %y = quantize_linear(matmul(dequantize_linear %a, dequantize_linear %b))
class ExpandIntegerOperators final : public Pass {
 public:
  static constexpr std::string_view kName = "expand-integer-operators";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_EXPAND_INTEGER_OPERATORS_H_
