// The pass fold-pad. StandardPipeline runs it after canonicalise-windows, which makes the pads of
// convolutions explicit.
#ifndef KILN_PASSES_FOLD_PAD_H_
#define KILN_PASSES_FOLD_PAD_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Folds zero padding of the spatial axes into the pads of the convolution after it. Applies if the
// Pad has mode constant, pads with zero, removes no elements, and has no other user.
//   %1 = pad %x, [0, 0, 1, 1, 0, 0, 1, 1]     %2 = conv %1, %w
//     =>   %2 = conv %x, %w {pads=[1, 1, 1, 1]}
class FoldPad final : public Pass {
 public:
  static constexpr std::string_view kName = "fold-pad";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_FOLD_PAD_H_
