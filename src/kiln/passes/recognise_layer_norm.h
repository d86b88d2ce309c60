// The pass recognise-layer-norm, one of the pattern passes in StandardPipeline.
#ifndef KILN_PASSES_RECOGNISE_LAYER_NORM_H_
#define KILN_PASSES_RECOGNISE_LAYER_NORM_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds layer normalisation over trailing axes written out by exporters, and absorbs a following
// Mul and Add by constants as scale and bias:
//   d = x - mean(x)     y = d / sqrt(mean(d^2) + eps) * gamma + beta
//     =>   layer_norm x, gamma, beta {axis, epsilon}
// d^2 may be a Pow or a Mul; the division may be a Mul by Reciprocal(Sqrt) or by Pow(-0.5); the Sub
// may occur twice. Applies if the means keep their dimensions and the normalised dimensions are
// known.
//   source  Ba, Kiros, Hinton: "Layer normalization", arXiv 1607.06450
class RecogniseLayerNorm final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-layer-norm";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_LAYER_NORM_H_
