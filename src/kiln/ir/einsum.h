// The equation of an Einsum, parsed and resolved against the shapes of its operands. Shape
// inference, the reference kernel and the pass that lowers Einsum share it.
#ifndef KILN_IR_EINSUM_H_
#define KILN_IR_EINSUM_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "kiln/ir/shape.h"
#include "kiln/support/status.h"

namespace kiln {

// A resolved equation. Every letter of the text and every axis that an ellipsis represents has a
// label, a small integer. The axes of ellipses are counted from the last one, as in broadcasting.
//
// Example: "bij,bjk->bik" for operands 2x3x4 and 2x4x5. The labels of b, i, j, k are 27, 34, 35,
// 36.
//   operands  {27, 34, 35}, {27, 35, 36}
//   result    {27, 34, 36}
//   sizes     2, 3, 4, 5 at these labels, kUnknownDim at all others
struct EinsumEquation {
  std::vector<std::vector<int>> operands;  // the label of every axis of every operand
  std::vector<int> result;                 // the labels of the result's axes, each once
  std::vector<int64_t> sizes;              // length by label; kUnknownDim if no shape determines it
};

// Parses `equation` for operands of the given shapes, which may have unknown dimensions.
//
// Follows ONNX Operators.md, Einsum-12: letters, commas, "..." and "->". Without "->" the result
// has the ellipsis, then the letters that occur exactly once, in alphabetical order (upper case
// first). Lengths of 1 broadcast, as in NumPy.
//
// Errors: InvalidArgument with the fault, without the name of the node.
StatusOr<EinsumEquation> ParseEinsum(std::string_view equation, const std::vector<Shape>& shapes);

}  // namespace kiln

#endif  // KILN_IR_EINSUM_H_
