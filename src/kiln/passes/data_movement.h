// Questions about nodes that move or pick data without computing: permutations, reshapes, copies, maxima.
#ifndef KILN_PASSES_DATA_MOVEMENT_H_
#define KILN_PASSES_DATA_MOVEMENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// A permutation of axes as ONNX writes it: axis i of the result is axis perm[i] of the operand.
using Permutation = std::vector<int64_t>;

// Of a Transpose node; nullopt when it has none written and the rank is unknown, or it is not a permutation.
std::optional<Permutation> PermutationOf(const Node& transpose);
Permutation Compose(const Permutation& first,
                    const Permutation& second);  // transpose by `first`, then by `second`
Permutation Invert(const Permutation& perm);
bool IsIdentity(const Permutation& perm);
// Whether the axes longer than 1 keep their order, so that the transpose moves no element. Needs a known shape.
bool MovesNothing(const Permutation& perm, const Shape& operand_shape);
Shape Permute(const Shape& shape, const Permutation& perm);

// Reshape, Flatten, Squeeze, Unsqueeze: the elements in row-major order under another shape.
bool IsReshape(Op op);

// Whether every element of the first result is an element of operand 0 (of a Concat: of any operand), or zero: data
// movement, padding with zero or with elements, maxima and minima, nearest neighbours. Rounding by a monotone rule that
// keeps zero gives the same before and after.
bool PicksElements(const Node& node);

// A constant tensor transposed.
Tensor TransposeTensor(const Tensor& tensor, const Permutation& perm);

// Rules of passes (rewrite.h). A Transpose of a Transpose reads what that one reads, under the composed permutation (it
// may be the identity); a Reshape by a constant of another reshape reads what that one reads.
bool MergeTransposes(Graph& graph, Node& root);
bool MergeReshapes(Graph& graph, Node& root);

}  // namespace kiln

#endif  // KILN_PASSES_DATA_MOVEMENT_H_
