// Derives channel and reduction axes from operators, and carries axes across nodes.
#include "kiln/quantise/channel_axes.h"

#include <algorithm>
#include <vector>

#include "kiln/ir/window.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns the axis that is `from_end` axes from the end (1: the last).
std::optional<int> AxisFromEnd(const Value* value, int from_end) {
  const int rank = RankOf(value);
  return rank >= from_end ? std::optional(rank - from_end) : std::nullopt;
}

// Returns the channel axis of an operand or result of an operator with a layout (NCHW or NHWC).
std::optional<int> WindowChannels(const Node& node, const Value* value) {
  if (RankOf(value) < 2) return std::nullopt;
  return IsNhwc(node) ? RankOf(value) - 1 : 1;
}

// Returns the permutation of a Transpose: result axis i is operand axis perm[i].
std::vector<int64_t> PermutationOf(const Node& transpose, int rank) {
  std::vector<int64_t> perm = transpose.attributes().Ints("perm", {});
  if (perm.empty()) {
    for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
  }
  return perm;
}

// The length of an axis and the number of elements inside it (the stride of the axis in row-major
// order). Two axes with equal lines cover the same elements.
struct Line {
  int64_t length = 0, inner = 1;
  friend bool operator==(const Line&, const Line&) = default;
};

// Returns the line of an axis. Dimensions outside the axis do not matter, so an unknown batch
// dimension is fine; nullopt if the axis or a dimension inside it is unknown.
std::optional<Line> LineOf(const Shape& shape, int axis) {
  Line line{.length = shape[axis], .inner = 1};
  if (line.length < 0) return std::nullopt;
  for (int i = axis + 1; i < shape.rank(); ++i) {
    if (shape[i] < 0) return std::nullopt;
    line.inner *= shape[i];
  }
  return line;
}

// Returns the axis of `to` that covers the same elements in row-major order as `axis` of `from`.
std::optional<int> SameLine(const Value* from, const Value* to, int axis) {
  const std::optional<Line> line = LineOf(from->shape(), axis);
  if (!line || line->length <= 1) return std::nullopt;
  for (int i = 0; i < to->shape().rank(); ++i) {
    if (LineOf(to->shape(), i) == line) return i;
  }
  return std::nullopt;
}

int NormalAxis(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

// Returns whether elements along `axis` pass through the node complete and in order. Both values
// have the same rank.
bool KeepsLines(const Node& node, int axis) {
  const Value* x = node.operand(0);
  const Value* y = node.result();
  if (node.info().Has(kElementwise)) return x->shape()[axis] == y->shape()[axis];
  switch (node.op()) {
    case Op::kConcat:
    case Op::kSplit:
      return NormalAxis(node.attributes().Int("axis", 0), RankOf(x)) != axis;
    case Op::kSlice:
    case Op::kPad:
    case Op::kResize:
    case Op::kTile:
    case Op::kExpand:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kReduceMean:
    case Op::kReduceSum:
      return x->shape()[axis] >= 0 && x->shape()[axis] == y->shape()[axis] && x->shape()[axis] > 1;
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
    case Op::kGlobalMaxPool:
      return WindowChannels(node, x) == axis;
    case Op::kIdentity:
    case Op::kDropout:
    case Op::kBatchNormalization:
    case Op::kLayerNormalization:
    case Op::kRmsNormalization:
    case Op::kInstanceNormalization:
    case Op::kGroupNormalization:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      return true;
    default:
      return false;
  }
}

bool IsReshape(Op op) {
  return op == Op::kReshape || op == Op::kFlatten || op == Op::kSqueeze || op == Op::kUnsqueeze;
}

// Carries an axis across a node: from operand 0 to the result if `forward`, else the other way.
std::optional<int> Carry(const Node& node, int axis, bool forward) {
  const Value* x = node.operand(0);
  const Value* y = node.result();
  const Value* from = forward ? x : y;
  if (RankOf(x) < 0 || RankOf(y) < 0 || axis < 0 || axis >= RankOf(from)) return std::nullopt;
  if (IsReshape(node.op())) return SameLine(from, forward ? y : x, axis);
  if (RankOf(x) != RankOf(y)) return std::nullopt;
  if (node.op() == Op::kTranspose) {
    const std::vector<int64_t> perm = PermutationOf(node, RankOf(x));
    if (!forward) return static_cast<int>(perm[static_cast<size_t>(axis)]);
    return static_cast<int>(std::find(perm.begin(), perm.end(), axis) - perm.begin());
  }
  return KeepsLines(node, axis) ? std::optional(axis) : std::nullopt;
}

// Returns the channel axis that the node itself defines for its result.
std::optional<int> ResultChannels(const Node& node) {
  switch (node.op()) {
    case Op::kConv:
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
    case Op::kGlobalMaxPool:
      return WindowChannels(node, node.result());
    case Op::kConvTranspose:
    case Op::kBatchNormalization:
    case Op::kInstanceNormalization:
    case Op::kGroupNormalization:
      return RankOf(node.result()) >= 2 ? std::optional(1) : std::nullopt;
    case Op::kGemm:
    case Op::kMatMul:
      return AxisFromEnd(node.result(), 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<int> ReductionAxis(const Node& node, int operand) {
  const Value* value = node.operand(operand);
  if (RankOf(value) < 1 || operand > 1) return std::nullopt;
  switch (node.op()) {
    case Op::kConv:
      if (operand == 0) return WindowChannels(node, value);
      return RankOf(value) >= 2 ? std::optional(1) : std::nullopt;
    case Op::kConvTranspose:
      return operand == 0 ? WindowChannels(node, value) : std::optional(0);
    case Op::kGemm:
      if (RankOf(value) != 2) return std::nullopt;
      if (operand == 0) return node.attributes().Int("transA", 0) != 0 ? 0 : 1;
      return node.attributes().Int("transB", 0) != 0 ? 1 : 0;
    case Op::kMatMul:
      if (operand == 0 || RankOf(value) == 1 || node.attributes().Int("transpose_b", 0) != 0) {
        return AxisFromEnd(value, 1);
      }
      return AxisFromEnd(value, 2);
    default:
      return std::nullopt;
  }
}

std::optional<int> AxisBehind(const Node& node, int axis) { return Carry(node, axis, true); }
std::optional<int> AxisBefore(const Node& node, int axis) { return Carry(node, axis, false); }

bool ChannelAxes::Note(const Value* value, std::optional<int> axis) {
  return value != nullptr && axis.has_value() && axes_.emplace(value, *axis).second;
}

ChannelAxes::ChannelAxes(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->num_results() == 0) continue;
    Note(node->result(), ResultChannels(*node));
    for (int i : {0, 1}) {
      const Value* operand = node->operand(i);
      if (operand != nullptr && !operand->is_constant()) Note(operand, ReductionAxis(*node, i));
    }
  }
  // Axes travel in both directions, so iterate to a fixed point.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& node : graph.nodes()) {
      const Value* x = node->operand(0);
      const Value* y = node->result();
      if (x == nullptr || y == nullptr) continue;
      const std::optional<int> before = Of(x), behind = Of(y);
      if (before && !behind) changed |= Note(y, AxisBehind(*node, *before));
      if (behind && !before) changed |= Note(x, AxisBefore(*node, *behind));
    }
  }
}

std::optional<int> ChannelAxes::Of(const Value* value) const {
  const auto it = axes_.find(value);
  return it == axes_.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace kiln
