// The pass eliminate-identities, part of every clean-up (CleanUpPipeline); it also follows passes
// that leave copies.
#ifndef KILN_PASSES_ELIMINATE_IDENTITIES_H_
#define KILN_PASSES_ELIMINATE_IDENTITIES_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Erases nodes that return their operand unchanged, and merges data movement:
//   - Identity; Dropout at inference; Cast to the same type; Concat, Sum, Min, Max, Mean of one
//     operand; Split into one part;
//   - Reshape, Flatten, Squeeze, Unsqueeze, Expand, Tile, Slice (forward) to the same shape; Pad by
//     nothing; Transpose by the identity; Add or Sub of 0, Mul or Div by 1, without broadcasting;
//   - Transpose of Transpose becomes one Transpose; Reshape of a reshape becomes one Reshape.
//   %1 = transpose %x {perm=[1, 0]}     %2 = transpose %1 {perm=[1, 0]}     %3 = relu %2
//     =>   %3 = relu %x
// A node stays if it gives a graph output its name and its operand has a name that must be kept too
// (an input, a constant or another output).
class EliminateIdentities final : public Pass {
 public:
  static constexpr std::string_view kName = "eliminate-identities";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_ELIMINATE_IDENTITIES_H_
