// The pass fold-scale-shift. StandardPipeline runs it before and after fold-batch-norm, and once
// more after canonicalise-linear has split Gemms.
#ifndef KILN_PASSES_FOLD_SCALE_SHIFT_H_
#define KILN_PASSES_FOLD_SCALE_SHIFT_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Folds element-wise arithmetic with per-channel constants into the weights and bias before it:
// Mul, Div, Add and Sub after Conv, ConvTranspose and Gemm; Mul and Div after MatMul; and Mul, Div,
// Add and Sub after a MatMul with its Add. Applies if the constant varies along the channel axis
// only (e.g. [8,1,1] for a convolution with 8 output channels), the linear operator has no other
// user, and weights and bias are fp32 constants. Computed in fp64 and rounded once to fp32.
//   %1 = conv %x, %w     %2 = add %1, %c      =>      %2 = conv %x, %w, %c'
class FoldScaleShift final : public Pass {
 public:
  static constexpr std::string_view kName = "fold-scale-shift";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_FOLD_SCALE_SHIFT_H_
