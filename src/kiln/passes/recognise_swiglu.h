#ifndef KILN_PASSES_RECOGNISE_SWIGLU_H_
#define KILN_PASSES_RECOGNISE_SWIGLU_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds the gated unit of LLaMA's feed-forward layers and marks its nodes with the region "swiglu <name>":
//   gate * sigmoid(gate) * up      with gate and up results of products
// and brings the factors into the order (gate * sigmoid(gate)) * up, in which an accelerator that has SiLU runs them
// behind the product that makes the gate, in one kernel.
//   source  Shazeer: "GLU Variants Improve Transformer", arXiv 2002.05202
class RecogniseSwiglu final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-swiglu";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_SWIGLU_H_
