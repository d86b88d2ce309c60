// The pass eliminate-common-subexpressions, part of every clean-up (CleanUpPipeline).
#ifndef KILN_PASSES_ELIMINATE_COMMON_SUBEXPRESSIONS_H_
#define KILN_PASSES_ELIMINATE_COMMON_SUBEXPRESSIONS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Computes equal nodes once and stores equal constants once. Two nodes are equal if they have the
// same operator, the same operands in the same order, and equal attributes; two constants are equal
// if type, shape and every bit agree. The first node stays under its own name and the later one is
// erased, unless both are graph outputs, whose names could not both be kept.
//   %1 = relu %x     %2 = relu %x     %3 = add %1, %2      =>      %1 = relu %x     %3 = add %1, %1
class EliminateCommonSubexpressions final : public Pass {
 public:
  static constexpr std::string_view kName = "eliminate-common-subexpressions";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_ELIMINATE_COMMON_SUBEXPRESSIONS_H_
