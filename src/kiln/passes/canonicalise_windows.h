// The pass canonicalise-windows. StandardPipeline runs it right after Einsum is expanded, so that
// later passes and the families need to handle explicit pads and 2-D windows only, as far as shapes
// are known.
#ifndef KILN_PASSES_CANONICALISE_WINDOWS_H_
#define KILN_PASSES_CANONICALISE_WINDOWS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Brings sliding windows into one form: auto_pad becomes explicit pads if the shape is known;
// convolutions and pools over one axis become 2-D with height 1, between two Reshapes.
//   %1 = conv %x, %w {auto_pad="SAME_UPPER"}      =>      %1 = conv %x, %w {pads=[1, 1, 1, 1]}
//   %1 = conv %x, %w (x 1x8x100)
//     =>   reshape to 1x8x1x100, conv with 1 x k, reshape back
class CanonicaliseWindows final : public Pass {
 public:
  static constexpr std::string_view kName = "canonicalise-windows";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_CANONICALISE_WINDOWS_H_
