#ifndef KILN_PASSES_EXPAND_EINSUM_H_
#define KILN_PASSES_EXPAND_EINSUM_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Writes an Einsum out as products of matrices, operand by operand from the left:
//   labels of one operand alone that the result lacks    =>      reduce_sum
//   labels of both that nothing else needs               =>      matmul over them, [batch, left, k] x [batch, k, right]
//   no such label                                        =>      mul, broadcast
//   order of the result's labels                         =>      transpose
// Reshapes join several labels into the one axis that a matmul takes. Applies when all shapes are known, the elements
// are fp32, no operand has a label twice, no length of 1 broadcasts, and no product between operands has more than 2^26
// elements and more than every operand and the result; the rest stays with the host. The nodes of NODE are NODE/1,
// NODE/2 and so on, in their order.
class ExpandEinsum final : public Pass {
 public:
  static constexpr std::string_view kName = "expand-einsum";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_EXPAND_EINSUM_H_
