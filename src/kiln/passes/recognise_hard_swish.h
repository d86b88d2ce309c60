// The pass recognise-hard-swish, one of the pattern passes in StandardPipeline.
#ifndef KILN_PASSES_RECOGNISE_HARD_SWISH_H_
#define KILN_PASSES_RECOGNISE_HARD_SWISH_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds hard swish in its two spellings, in any order of the factors:
//   x * hard_sigmoid(x) {alpha=1/6, beta=0.5}      =>      hard_swish x
//   x * clip(x + 3, 0, 6) / 6                      =>      hard_swish x
//   source  Howard et al.: "Searching for MobileNetV3", arXiv 1905.02244
class RecogniseHardSwish final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-hard-swish";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_HARD_SWISH_H_
