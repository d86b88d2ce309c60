// Shape inference: result types of nodes from operand types, attributes and constant operands.
//
// One rule function an operator (shape_rules_*.cc, semantics of ONNX opset 21 and QONNX); element types come from
// signatures.def. Unknown dimensions stay kUnknownDim, unknown ranks stay absent. Where a shape depends on the value of
// an operand (Reshape, Slice, ...) only constants are looked at, and values that the caller says it knows; folding the
// shape arithmetic of a network into constants is a pass.
#ifndef KILN_IR_SHAPE_INFERENCE_H_
#define KILN_IR_SHAPE_INFERENCE_H_

#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// Values that are no constants of the graph and yet known before it runs, such as the dimensions in its shape
// arithmetic.
using KnownTensors = std::unordered_map<const Value*, Tensor>;

// What inference can tell about the results of a node, one type a result (a type for absent results as well). Nothing
// is taken from the types that the results have. Operands in `known` count as constants.
//   errors  operand count, element types, shapes or attributes that do not fit; results above kMaxElements. They name
//           the node and, where given, the file `source`.
StatusOr<std::vector<TensorType>> InferResultTypes(const Node& node, std::string_view source = "",
                                                   const KnownTensors& known = {});

// Gives the results of a node the types that inference finds. Where inference cannot tell, a dimension or shape that
// was declared stays.
Status InferNode(Graph& graph, Node& node, const KnownTensors& known = {});

// InferNode over all nodes, in order.
Status InferShapes(Graph& graph);

// `inferred`, with unknown dimensions (or an absent shape) filled in from `declared` where that has the same rank.
TensorType MergeTypes(const TensorType& inferred, const TensorType& declared);

// Whether two types can be of one tensor: element types equal, no known dimension different.
bool Compatible(const TensorType& a, const TensorType& b);

// A shape that Kiln accepts: dimensions known or kUnknownDim, at most kMaxRank of them, the product of the known ones
// not above kMaxElements.
inline constexpr int kMaxRank = 16;
bool IsAcceptable(const Shape& shape);

}  // namespace kiln

#endif  // KILN_IR_SHAPE_INFERENCE_H_
