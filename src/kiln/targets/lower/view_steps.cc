// Converts nodes that only move data to steps on views.

#include "kiln/targets/lower/view_steps.h"

#include <numeric>

#include "fmt/format.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln {
namespace {

// Returns the steps of a Slice, one per axis. The operands are those of ONNX: data, starts, ends,
// axes, steps.
StatusOr<std::vector<ViewStep>> SliceSteps(const Node& node) {
  const auto starts = ConstantInts(node.operand(1)), ends = ConstantInts(node.operand(2));
  if (!starts.has_value() || !ends.has_value())
    return ToHost("the slice's bounds are not constant");
  std::vector<int64_t> axes(starts->size()), strides(starts->size(), 1);
  std::iota(axes.begin(), axes.end(), int64_t{0});
  for (const auto& [operand, values] : {std::pair{3, &axes}, {4, &strides}}) {
    if (node.operand(operand) == nullptr) continue;
    const auto given = ConstantInts(node.operand(operand));
    if (!given.has_value()) return ToHost("the slice's axes or steps are not constant");
    *values = *given;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      strides.size() != starts->size()) {
    return ToHost("the slice's bounds differ in number");
  }
  std::vector<int64_t> shape = node.operand(0)->shape().dims();
  std::vector<ViewStep> steps;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = NormaliseAxis(axes[i], static_cast<int>(shape.size()));
    if (!axis.has_value() || strides[i] == 0)
      return ToHost("the slice's axes or steps are out of range");
    int64_t& size = shape[static_cast<size_t>(*axis)];
    ViewStep step{.kind = ViewStep::Kind::kSlice, .axis = *axis};
    step.range = ResolveSlice(size, (*starts)[i], (*ends)[i], strides[i]);
    size = step.range.count;
    steps.push_back(std::move(step));
  }
  return steps;
}

// Returns the step of a Transpose. Without the attribute `perm` the axes are reversed.
StatusOr<std::vector<ViewStep>> TransposeSteps(const Node& node) {
  const int rank = node.operand(0)->shape().rank();
  std::vector<int64_t> perm = node.attributes().Ints("perm");
  if (perm.empty()) {
    for (int i = rank; i-- > 0;) perm.push_back(i);
  }
  if (static_cast<int>(perm.size()) != rank) return ToHost("a permutation of another rank");
  return std::vector<ViewStep>{{.kind = ViewStep::Kind::kTranspose, .dims = std::move(perm)}};
}

}  // namespace

std::optional<std::vector<int64_t>> ConstantInts(const Value* value) {
  if (value == nullptr || !value->is_constant() || !IsInteger(value->element()))
    return std::nullopt;
  return value->constant().ToInts();
}

StatusOr<std::vector<ViewStep>> ViewStepsOf(const Node& node) {
  const auto to_shape = [&](ViewStep::Kind kind) {
    return std::vector<ViewStep>{{.kind = kind, .dims = node.result()->shape().dims()}};
  };
  switch (node.op()) {
    case Op::kIdentity:
    case Op::kDropout:
      return std::vector<ViewStep>{};
    case Op::kTranspose:
      return TransposeSteps(node);
    case Op::kReshape:
    case Op::kFlatten:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
      return to_shape(ViewStep::Kind::kReshape);
    case Op::kExpand:
      return to_shape(ViewStep::Kind::kBroadcast);
    case Op::kSlice:
      return SliceSteps(node);
    default:
      return ToHost(fmt::format("{} is not a view of its operand", node.info().text));
  }
}

}  // namespace kiln
