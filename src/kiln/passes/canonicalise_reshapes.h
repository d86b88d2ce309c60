#ifndef KILN_PASSES_CANONICALISE_RESHAPES_H_
#define KILN_PASSES_CANONICALISE_RESHAPES_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Flatten, Squeeze and Unsqueeze become Reshape by a constant, and the 0 and -1 of a constant Reshape are spelled out,
// where the result's shape is known; one unknown dimension is written -1.
//   %1 = flatten %x {axis=1}      =>      %1 = reshape %x, [-1, 64]
class CanonicaliseReshapes final : public Pass {
 public:
  static constexpr std::string_view kName = "canonicalise-reshapes";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_CANONICALISE_RESHAPES_H_
