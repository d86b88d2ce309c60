// The pass recognise-rope, one of the pattern passes in StandardPipeline.
#ifndef KILN_PASSES_RECOGNISE_ROPE_H_
#define KILN_PASSES_RECOGNISE_ROPE_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds rotary position embedding, as LLaMA's rotate-half spelling exports it, and makes the halves
// an axis of their own. Exchanging the halves then is a stride, and negating one is a sign in the
// constant:
//   x * cos + concat(-x[h:], x[:h]) * sin
//     =>   z = reshape(x, [.., 2, h]);  reshape(z * cos' + z[.., ::-1, :] * sin', shape of x)
// cos and sin are constants, or computed, as from positions that are an input. cos' and sin' are
// cos and sin in the shape [.., 2, h], with the first half of sin' negated: computed ones are
// reshaped, and sin' is multiplied by (-1, 1). The nodes get the region "rope <name>".
//   source  Su et al.: "RoFormer: Enhanced Transformer with Rotary Position Embedding",
//           arXiv 2104.09864
class RecogniseRope final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-rope";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_ROPE_H_
