// The pass recognise-swiglu, one of the pattern passes in StandardPipeline.
#ifndef KILN_PASSES_RECOGNISE_SWIGLU_H_
#define KILN_PASSES_RECOGNISE_SWIGLU_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds the gated unit of LLaMA's feed-forward layers and marks its nodes with the region "swiglu
// <name>":
//   gate * sigmoid(gate) * up      where gate and up are results of matrix products
// Reorders the factors to (gate * sigmoid(gate)) * up, so that an accelerator with SiLU can fuse
// them with the product that computes the gate into one kernel.
//   source  Shazeer: "GLU Variants Improve Transformer", arXiv 2002.05202
class RecogniseSwiglu final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-swiglu";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_SWIGLU_H_
