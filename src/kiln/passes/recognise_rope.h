#ifndef KILN_PASSES_RECOGNISE_ROPE_H_
#define KILN_PASSES_RECOGNISE_ROPE_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds rotary position embedding with constant angles, as the rotate-half spelling of LLaMA exports it, and takes the
// halves as an axis of their own, so that exchanging them is a stride and negating one is a sign of the constant:
//   x * cos + concat(-x[h:], x[:h]) * sin
//     =>   z = reshape(x, [.., 2, h]);  reshape(z * cos' + z[.., ::-1, :] * sin', shape of x)
// cos' and sin' are the constants in that shape, the first half of sin' negated. The nodes get the region "rope
// <name>".
//   source  Su et al.: "RoFormer: Enhanced Transformer with Rotary Position Embedding", arXiv 2104.09864
class RecogniseRope final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-rope";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_ROPE_H_
