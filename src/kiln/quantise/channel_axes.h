// Finds the axis that the channels of a value run along, and the axis that a multiply-accumulate
// node sums over.
//
// Block types (block_axes.h), calibration by channel (calibrate.h) and weight equalisation
// (equalise_weights.h) use these axes.
#ifndef KILN_QUANTISE_CHANNEL_AXES_H_
#define KILN_QUANTISE_CHANNEL_AXES_H_

#include <optional>
#include <unordered_map>

#include "kiln/ir/graph.h"

namespace kiln {

// Returns the axis of operand 0 or 1 that a multiply-accumulate node sums over, apart from window
// taps:
//   Conv            activations: the channel axis; weights [out_channels, in_channels/groups, ...]:
//                   axis 1
//   ConvTranspose   activations: the channel axis; weights [in_channels, ...]: axis 0
//   Gemm            a [m, k]: axis 1 (transA: 0); b [k, n]: axis 0 (transB: 1)
//   MatMul          a [..., m, k]: the last; b [..., k, n]: the second to last (transpose_b, or a
//                   vector: the last)
// nullopt for other operators and operands, and for unknown ranks.
std::optional<int> ReductionAxis(const Node& node, int operand);

// Returns the axis of the result that corresponds to `axis` of operand 0, if the node moves
// elements without mixing that axis with others: a line of elements along one axis is then a
// complete line along the other, in the same order. Covers element-wise operators (broadcast
// operands of the same rank), pools, soft-max and normalisations, Transpose, Reshape and its
// relatives, and Concat, Slice, Split, Pad and others along a different axis. nullopt elsewhere.
std::optional<int> AxisBehind(const Node& node, int axis);
// Does the reverse: returns the axis of operand 0 that corresponds to `axis` of the result.
std::optional<int> AxisBefore(const Node& node, int axis);

// The channel axes of all values of a graph. They originate at nodes that define one (operands and
// results of convolutions, matrix products, pools and batch normalisations), and AxisBehind and
// AxisBefore carry them to the other values. A value that none of these nodes reaches has no
// channel axis.
class ChannelAxes {
 public:
  explicit ChannelAxes(const Graph& graph);
  // Returns the channel axis of a value; nullopt if it has none.
  std::optional<int> Of(const Value* value) const;

 private:
  // Records an axis for a value; returns whether it is new. The first axis recorded is kept.
  bool Note(const Value* value, std::optional<int> axis);
  std::unordered_map<const Value*, int> axes_;
};

}  // namespace kiln

#endif  // KILN_QUANTISE_CHANNEL_AXES_H_
