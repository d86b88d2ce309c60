// The pass recognise-rms-norm, one of the pattern passes in StandardPipeline.
#ifndef KILN_PASSES_RECOGNISE_RMS_NORM_H_
#define KILN_PASSES_RECOGNISE_RMS_NORM_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds the root mean square normalisation of LLaMA and similar networks over trailing axes, and
// absorbs a following Mul by a constant as scale:
//   x / sqrt(mean(x^2) + eps) * gamma      =>      rms_norm x, gamma {axis, epsilon}
// x^2 may be a Pow or a Mul; the division may be a Mul by Reciprocal(Sqrt), by Div(1, Sqrt) or by
// Pow(-0.5). Applies if the mean keeps its dimensions and the normalised dimensions are known.
//   source  Zhang, Sennrich: "Root Mean Square Layer Normalization", arXiv 1910.07467
class RecogniseRmsNorm final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-rms-norm";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_RMS_NORM_H_
