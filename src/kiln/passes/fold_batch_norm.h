// The pass fold-batch-norm. StandardPipeline runs it after fold-scale-shift, which clears the way
// between a convolution and its normalisation, and before decompose-batch-norm.
#ifndef KILN_PASSES_FOLD_BATCH_NORM_H_
#define KILN_PASSES_FOLD_BATCH_NORM_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Folds a batch normalisation (inference form) into the Conv, ConvTranspose or Gemm before it.
//   y = gamma * (conv(x, W) + b - mean) / sqrt(var + eps) + beta
//     becomes   conv(x, s*W) + s*(b - mean) + beta,
//     where s = gamma / sqrt(var + eps), one per out_channel.
// Computed in fp64 and rounded once to fp32. Applies if the convolution has no other user and W, b,
// gamma, beta, mean and var are fp32 constants (b may be absent).
//   %1 = conv %x, %w, %b     %2 = batch_norm %1, %g, %h, %m, %v      =>      %2 = conv %x, %w2, %b2
class FoldBatchNorm final : public Pass {
 public:
  static constexpr std::string_view kName = "fold-batch-norm";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_FOLD_BATCH_NORM_H_
