#ifndef KILN_PASSES_FOLD_CONSTANTS_H_
#define KILN_PASSES_FOLD_CONSTANTS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Evaluates nodes whose operands are all constants with the reference executor. A node stays when it makes a graph
// output, when a result's shape is not known beforehand or has more than PassContext::max_folded_elements elements
// (an Expand or ConstantOfShape can ask for any size), and when the executor has no kernel for its types.
//   %1 = mul %c, %d      =>      a constant
class FoldConstants final : public Pass {
 public:
  static constexpr std::string_view kName = "fold-constants";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_FOLD_CONSTANTS_H_
