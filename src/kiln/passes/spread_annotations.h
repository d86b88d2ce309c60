#ifndef KILN_PASSES_SPREAD_ANNOTATIONS_H_
#define KILN_PASSES_SPREAD_ANNOTATIONS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Gives an annotation on to values that hold nothing but elements (or zeros) of annotated ones, so that codes pass
// through moves, max pools and Relu as they are; and back from the result of a move or max pool to its operand, which
// has no other user: rounding before is rounding after. Per tensor only. Graph outputs are left as they are.
//   %b = reshape %a      =>      %a and %b with the annotation that one of them has
class SpreadAnnotations final : public Pass {
 public:
  static constexpr std::string_view kName = "spread-annotations";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_SPREAD_ANNOTATIONS_H_
