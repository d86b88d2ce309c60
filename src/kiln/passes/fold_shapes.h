// The pass fold-shapes, part of every clean-up (CleanUpPipeline), before fold-constants. Exporters
// emit shape arithmetic even for fixed shapes; other passes need it resolved.
#ifndef KILN_PASSES_FOLD_SHAPES_H_
#define KILN_PASSES_FOLD_SHAPES_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Evaluates the network's arithmetic on shapes: Shape and Size of values with known dimensions, and
// Gather, Slice, Concat, Squeeze, Unsqueeze, Reshape, Cast, Identity, Add, Sub, Mul and Div on
// dimensions, as far as the dimensions needed are known; others may be unknown. A fully known value
// becomes a constant. A Reshape whose target is known except for one dimension gets a constant
// target with -1 for it.
//   %1 = shape %x (x ?x8x4)   %2 = gather %1, 0   %3 = concat [%2], [32]   %4 = reshape %x, %3
//     =>   %4 = reshape %x, [-1, 32]
class FoldShapes final : public Pass {
 public:
  static constexpr std::string_view kName = "fold-shapes";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_FOLD_SHAPES_H_
