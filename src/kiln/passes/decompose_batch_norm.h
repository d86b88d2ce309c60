#ifndef KILN_PASSES_DECOMPOSE_BATCH_NORM_H_
#define KILN_PASSES_DECOMPOSE_BATCH_NORM_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Turns a batch normalisation in inference form into a Mul and an Add by one constant per channel, for those that no
// convolution can take in (fold-batch-norm comes first). Both nodes keep its name. Applies when its constants are fp32
// and the rank is known.
//   %1 = batch_norm %x, %g, %h, %m, %v      =>      %2 = mul %x, %scale     %1 = add %2, %shift
class DecomposeBatchNorm final : public Pass {
 public:
  static constexpr std::string_view kName = "decompose-batch-norm";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_DECOMPOSE_BATCH_NORM_H_
