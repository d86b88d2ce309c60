// Shape inference: result types of nodes from operand types, attributes and constant operands.
//
// Every operator has one rule function (shape_rules_*.cc, with the semantics of ONNX opset 21 and
// QONNX). Element types come from signatures.def. Unknown dimensions remain kUnknownDim, and
// unknown ranks remain absent. If a shape depends on the value of an operand (Reshape, Slice, ...),
// rules use constants and the values that the caller knows; folding a network's shape arithmetic
// into constants is the task of a pass.
#ifndef KILN_IR_SHAPE_INFERENCE_H_
#define KILN_IR_SHAPE_INFERENCE_H_

#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// Values that are not constants of the graph but known before it executes, such as dimensions in
// its shape arithmetic.
using KnownTensors = std::unordered_map<const Value*, Tensor>;

// Returns one type per result of a node, absent results included. Does not use the types that the
// results have. Operands in `known` count as constants. Errors name the node and, if given, the
// file `source`: operand count, element types, shapes or attributes that do not fit; results above
// kMaxElements.
StatusOr<std::vector<TensorType>> InferResultTypes(const Node& node, std::string_view source = "",
                                                   const KnownTensors& known = {});

// Sets the result types of a node to the inferred ones. Dimensions or shapes that inference cannot
// determine keep their declared values.
Status InferNode(Graph& graph, Node& node, const KnownTensors& known = {});

// Calls InferNode for all nodes in order.
Status InferShapes(Graph& graph);

// Returns `inferred` with unknown dimensions (or an absent shape) filled in from `declared` if that
// has the same rank.
TensorType MergeTypes(const TensorType& inferred, const TensorType& declared);

// Returns whether two types can describe one tensor: equal element types and no differing known
// dimension.
bool Compatible(const TensorType& a, const TensorType& b);

// Returns whether Kiln accepts a shape: at most kMaxRank dimensions, each known or kUnknownDim,
// with a product of the known ones of at most kMaxElements.
inline constexpr int kMaxRank = 16;
bool IsAcceptable(const Shape& shape);

}  // namespace kiln

#endif  // KILN_IR_SHAPE_INFERENCE_H_
