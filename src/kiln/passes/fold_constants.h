// The pass fold-constants, part of every clean-up (CleanUpPipeline), after fold-shapes.
#ifndef KILN_PASSES_FOLD_CONSTANTS_H_
#define KILN_PASSES_FOLD_CONSTANTS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Evaluates nodes whose operands are all constants with the reference executor. A node stays if it
// computes a graph output, if the shape of a result is not known in advance, if a result is too
// large, or if the executor has no kernel for its types. Results may have as many elements as
// PassContext::max_folded_elements says (an Expand or ConstantOfShape can request any size). A Cast
// of stored weights may have more, while all constants stay within PassContext::max_constant_bytes.
//   %1 = mul %c, %d      =>      a constant
class FoldConstants final : public Pass {
 public:
  static constexpr std::string_view kName = "fold-constants";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_FOLD_CONSTANTS_H_
