// Which axis of a value its channels run along, and which axis a multiply-accumulate sums over.
#ifndef KILN_QUANTISE_CHANNEL_AXES_H_
#define KILN_QUANTISE_CHANNEL_AXES_H_

#include <optional>
#include <unordered_map>

#include "kiln/ir/graph.h"

namespace kiln {

// The axis that the sums of a multiply-accumulate node run along in operand 0 or 1, window taps aside.
//   Conv            activations: their channels; weights [out_channels, in_channels/groups, ...]: axis 1
//   ConvTranspose   activations: axis 1; weights [in_channels, ...]: axis 0
//   Gemm            a [m, k]: axis 1 (transA: 0); b [k, n]: axis 0 (transB: 1)
//   MatMul          a [..., m, k]: the last; b [..., k, n]: the one before it (transpose_b, or a vector: the last)
// nullopt for other operators and operands, and where a rank is unknown.
std::optional<int> ReductionAxis(const Node& node, int operand);

// Where `axis` of a node's operand 0 stands in its result, when the node moves elements without mixing that axis with
// others: a line of elements along the one is a line of elements along the other, in the same order and complete.
// Covers element-wise operators (broadcasting operands of the same rank), pools, softmax and the normalisations,
// Transpose, Reshape and its like, Concat, Slice, Split, Pad and others along a different axis. nullopt elsewhere.
std::optional<int> AxisBehind(const Node& node, int axis);
// The other way: where `axis` of the result stands in operand 0.
std::optional<int> AxisBefore(const Node& node, int axis);

// The channel axis of values, found from the nodes that define one (the operands and results of convolutions, matrix
// products, pools and batch normalisations) and carried to the others by AxisBehind and AxisBefore. Values that nothing
// tells about have none.
class ChannelAxes {
 public:
  explicit ChannelAxes(const Graph& graph);
  std::optional<int> Of(const Value* value) const;

 private:
  bool Note(const Value* value, std::optional<int> axis);
  std::unordered_map<const Value*, int> axes_;
};

}  // namespace kiln

#endif  // KILN_QUANTISE_CHANNEL_AXES_H_
