// The equation of an Einsum, read and resolved against the shapes of its operands.
#ifndef KILN_IR_EINSUM_H_
#define KILN_IR_EINSUM_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "kiln/ir/shape.h"
#include "kiln/support/status.h"

namespace kiln {

// A label is a small integer. A label of the equation's text and an axis that an ellipsis stands for each have one;
// the axes of ellipses are counted from the last, as broadcasting does.
struct EinsumEquation {
  std::vector<std::vector<int>> operands;  // the label of every axis of every operand
  std::vector<int> result;                 // the labels of the result's axes, each once
  std::vector<int64_t> sizes;  // the length of each label; kUnknownDim where no shape tells
};

// Reads `equation` for operands of the given shapes, whose dimensions may be unknown.
//   semantics  ONNX Operators.md, Einsum-12: letters, commas, "..." and "->"; without "->" the result has the ellipsis,
//              then the letters that stand exactly once, in alphabetical order (upper case first). Lengths of 1
//              broadcast, as in NumPy.
//   errors     InvalidArgument with what is wrong, without the node's name
StatusOr<EinsumEquation> ParseEinsum(std::string_view equation, const std::vector<Shape>& shapes);

}  // namespace kiln

#endif  // KILN_IR_EINSUM_H_
