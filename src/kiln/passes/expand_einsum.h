// The pass expand-einsum. StandardPipeline runs it right after the first clean-up, so that products
// in Einsum notation are treated as matrix products by all later passes.
#ifndef KILN_PASSES_EXPAND_EINSUM_H_
#define KILN_PASSES_EXPAND_EINSUM_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Replaces an Einsum by matrix products, operand by operand from the left:
//   labels of one operand only that the result lacks     =>   reduce_sum
//   labels of both operands that nothing else needs      =>   matmul over them,
//                                                             [batch, left, k] x [batch, k, right]
//   no such label                                        =>   mul, broadcast
//   order of the result's labels                         =>   transpose
// Reshapes join several labels into the single axis that a matmul takes. Applies if all shapes are
// known, the elements are fp32, no operand has a label twice, no axis of length 1 broadcasts, and
// no intermediate product has both more than 2^26 elements and more than every operand and the
// result; other Einsums run on the host. The nodes of NODE are named NODE/1, NODE/2 and so on.
class ExpandEinsum final : public Pass {
 public:
  static constexpr std::string_view kName = "expand-einsum";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_EXPAND_EINSUM_H_
