#ifndef KILN_PASSES_RECOGNISE_LAYER_NORM_H_
#define KILN_PASSES_RECOGNISE_LAYER_NORM_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds layer normalisation over trailing axes where an exporter spelled it out, and takes a Mul and an Add by
// constants that follow in as scale and bias:
//   d = x - mean(x)     y = d / sqrt(mean(d^2) + eps) * gamma + beta      =>      layer_norm x, gamma, beta {axis,
//   epsilon}
// d^2 may be a Pow or a Mul, the division a Mul by Reciprocal(Sqrt) or by Pow(-0.5); the Sub may stand twice.
// Applies when the means keep their dimensions and the normalised dimensions are known.
//   source  Ba, Kiros, Hinton: "Layer normalization", arXiv 1607.06450
class RecogniseLayerNorm final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-layer-norm";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_LAYER_NORM_H_
