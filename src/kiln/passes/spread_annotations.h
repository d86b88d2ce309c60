// The pass spread-annotations, the last of LayoutPipeline: nodes between annotated values then move
// codes instead of floats.
#ifndef KILN_PASSES_SPREAD_ANNOTATIONS_H_
#define KILN_PASSES_SPREAD_ANNOTATIONS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Copies an annotation to values that consist only of elements (or zeros) of annotated values, so
// that codes pass unchanged through moves, max pools and Relu; and from the result of a move or max
// pool back to an operand without another user, because rounding before it equals rounding after
// it. Per-tensor annotations only. Graph outputs are left unchanged.
//   %b = reshape %a      =>      %a and %b with the annotation that one of them has
class SpreadAnnotations final : public Pass {
 public:
  static constexpr std::string_view kName = "spread-annotations";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_SPREAD_ANNOTATIONS_H_
