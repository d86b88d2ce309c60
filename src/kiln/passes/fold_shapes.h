#ifndef KILN_PASSES_FOLD_SHAPES_H_
#define KILN_PASSES_FOLD_SHAPES_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Computes what a network computes about shapes: Shape and Size of values with known dimensions, and Gather, Slice,
// Concat, Squeeze, Unsqueeze, Reshape, Cast, Identity, Add, Sub, Mul and Div on the dimensions, where those needed are
// known although others may not be. A value known in full becomes a constant; a Reshape whose target is known but for
// one dimension gets a constant with -1 there.
//   %1 = shape %x (x ?x8x4)   %2 = gather %1, 0   %3 = concat [%2], [32]   %4 = reshape %x, %3   =>   %4 = reshape %x,
//   [-1, 32]
class FoldShapes final : public Pass {
 public:
  static constexpr std::string_view kName = "fold-shapes";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_FOLD_SHAPES_H_
