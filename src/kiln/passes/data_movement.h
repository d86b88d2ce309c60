// Queries and rules for nodes that move or select data without computing: permutations, reshapes,
// copies, maxima. Shared by the layout, canonicalisation and annotation passes.
#ifndef KILN_PASSES_DATA_MOVEMENT_H_
#define KILN_PASSES_DATA_MOVEMENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// A permutation of axes in ONNX's notation: axis i of the result is axis perm[i] of the operand.
using Permutation = std::vector<int64_t>;

// Returns the permutation of a Transpose; nullopt if it is not a permutation, or if the attribute
// is absent (reverse all axes) and the rank unknown.
std::optional<Permutation> PermutationOf(const Node& transpose);
// Returns the permutation that transposes by `first`, then by `second`.
Permutation Compose(const Permutation& first, const Permutation& second);
// Returns the permutation that undoes `perm`.
Permutation Invert(const Permutation& perm);
bool IsIdentity(const Permutation& perm);
// Returns true if the transpose moves no element because the axes longer than 1 keep their order.
// Requires a known shape.
bool MovesNothing(const Permutation& perm, const Shape& operand_shape);
// Returns the shape after a transpose by `perm`.
Shape Permute(const Shape& shape, const Permutation& perm);

// Returns true for Reshape, Flatten, Squeeze and Unsqueeze, which keep the elements' row-major
// order.
bool IsReshape(Op op);

// Returns true if every element of the first result is zero or an element of operand 0 (Concat: of
// any operand): data movement, padding with zero or with elements, maxima and minima, nearest
// neighbours. Rounding by a monotone rule that preserves zero commutes with such a node.
bool PicksElements(const Node& node);

// Returns a constant tensor transposed by `perm`.
Tensor TransposeTensor(const Tensor& tensor, const Permutation& perm);

// Rules for ApplyRule (rewrite.h). MergeTransposes lets a Transpose of a Transpose read the inner
// one's operand under the composed permutation, which may be the identity. MergeReshapes lets a
// Reshape by a constant of another reshape read the inner one's operand.
bool MergeTransposes(Graph& graph, Node& root);
bool MergeReshapes(Graph& graph, Node& root);

}  // namespace kiln

#endif  // KILN_PASSES_DATA_MOVEMENT_H_
