#ifndef KILN_PASSES_CANONICALISE_WINDOWS_H_
#define KILN_PASSES_CANONICALISE_WINDOWS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// One form for sliding windows: auto_pad becomes explicit pads where the shape is known, and convolutions and pools
// over one axis become 2-D with height 1 between two Reshapes.
//   %1 = conv %x, %w {auto_pad="SAME_UPPER"}      =>      %1 = conv %x, %w {pads=[1, 1, 1, 1]}
//   %1 = conv %x, %w (x 1x8x100)                  =>      reshape to 1x8x1x100, conv with 1 x k, reshape back
class CanonicaliseWindows final : public Pass {
 public:
  static constexpr std::string_view kName = "canonicalise-windows";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_CANONICALISE_WINDOWS_H_
