// The pass canonicalise-reshapes. StandardPipeline runs it last before the final clean-up, which
// merges the resulting Reshapes.
#ifndef KILN_PASSES_CANONICALISE_RESHAPES_H_
#define KILN_PASSES_CANONICALISE_RESHAPES_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Replaces Flatten, Squeeze and Unsqueeze by Reshape to a constant, and the 0 and -1 of a constant
// Reshape by the dimensions they stand for, if the result's shape is known. One unknown dimension
// is written as -1.
//   %1 = flatten %x {axis=1}      =>      %1 = reshape %x, [-1, 64]
class CanonicaliseReshapes final : public Pass {
 public:
  static constexpr std::string_view kName = "canonicalise-reshapes";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_CANONICALISE_RESHAPES_H_
