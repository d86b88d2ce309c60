#ifndef KILN_PASSES_ELIMINATE_IDENTITIES_H_
#define KILN_PASSES_ELIMINATE_IDENTITIES_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Drops nodes that give their operand back, and merges data movement:
//   - Identity; Dropout at inference; Cast to the type it has; Concat, Sum, Min, Max, Mean of one; Split into one;
//   - Reshape, Flatten, Squeeze, Unsqueeze, Expand, Tile, Slice (forward) to the shape it has; Pad by nothing;
//     Transpose by the identity; Add or Sub of 0, Mul or Div by 1 that broadcasts nothing;
//   - Transpose of Transpose becomes one Transpose; Reshape of a reshape becomes one Reshape.
//   %1 = transpose %x {perm=[1, 0]}     %2 = transpose %1 {perm=[1, 0]}     %3 = relu %2      =>      %3 = relu %x
// A node stays where it gives a graph output its name and its operand has a name to keep too (an input, a constant or
// another output).
class EliminateIdentities final : public Pass {
 public:
  static constexpr std::string_view kName = "eliminate-identities";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_ELIMINATE_IDENTITIES_H_
