// The pass decompose-batch-norm. StandardPipeline runs it after fold-batch-norm, for the
// normalisations that are left.
#ifndef KILN_PASSES_DECOMPOSE_BATCH_NORM_H_
#define KILN_PASSES_DECOMPOSE_BATCH_NORM_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Replaces a batch normalisation in inference form by a Mul and an Add with one constant per
// channel. Meant for normalisations that no convolution can absorb; fold-batch-norm comes first.
// Both nodes keep its name. Applies if its constants are fp32 and the rank is known.
//   %1 = batch_norm %x, %g, %h, %m, %v      =>      %2 = mul %x, %scale     %1 = add %2, %shift
class DecomposeBatchNorm final : public Pass {
 public:
  static constexpr std::string_view kName = "decompose-batch-norm";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_DECOMPOSE_BATCH_NORM_H_
