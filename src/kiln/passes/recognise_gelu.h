// The pass recognise-gelu, one of the pattern passes in StandardPipeline.
#ifndef KILN_PASSES_RECOGNISE_GELU_H_
#define KILN_PASSES_RECOGNISE_GELU_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds GELU written out by exporters, in any order of the factors and with Div or Mul by
// constants:
//   x * 0.5 * (1 + erf(x / sqrt(2)))                             =>  gelu x {approximate="none"}
//   x * 0.5 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3)))      =>  gelu x {approximate="tanh"}
// (also with x * (1 + 0.044715 * x^2) inside). Constants must agree to 1e-4.
//   source  Hendrycks, Gimpel: "Gaussian error linear units", arXiv 1606.08415
class RecogniseGelu final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-gelu";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_GELU_H_
