// The pass canonicalise-linear. StandardPipeline runs it after the pattern passes; families then
// handle a single form of linear layer.
#ifndef KILN_PASSES_CANONICALISE_LINEAR_H_
#define KILN_PASSES_CANONICALISE_LINEAR_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Brings linear layers of any rank into one form:
//   %2 = matmul %x, %w    %3 = add %2, %b    w constant [in, out], b constant [out], no attributes
// Gemm becomes MatMul and Add: alpha, beta and transB are folded into the constants, or, if an
// operand is not constant, become attributes of the MatMul, a Transpose or a Mul. alpha and
// transpose_b of a MatMul are folded into a constant b. In a quantised network the factor of a
// product of two activations becomes its alpha, so that no kernel multiplies by it. A bias of shape
// [1, out] or [1] becomes [out]. Both nodes of a Gemm keep its name. fp32 only.
//   %1 = gemm %x, %w, %b {transB=1}      =>      %2 = matmul %x, %w'     %1 = add %2, %b
class CanonicaliseLinear final : public Pass {
 public:
  static constexpr std::string_view kName = "canonicalise-linear";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_CANONICALISE_LINEAR_H_
