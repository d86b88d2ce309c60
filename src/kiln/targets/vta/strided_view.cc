#include "kiln/targets/vta/strided_view.h"

#include <algorithm>
#include <cstring>

#include "kiln/support/check.h"

namespace kiln::vta {
namespace {

std::optional<StridedView> Transposed(const StridedView& view, const std::vector<int64_t>& perm) {
  if (perm.size() != view.shape.size()) return std::nullopt;
  StridedView out{view.offset, {}, {}};
  for (const int64_t axis : perm) {
    out.shape.push_back(view.shape[static_cast<size_t>(axis)]);
    out.strides.push_back(view.strides[static_cast<size_t>(axis)]);
  }
  return out;
}

// Operand i of a node as constant integers.
std::optional<std::vector<int64_t>> ConstantInts(const Node& node, int i) {
  const Value* value = node.operand(i);
  if (value == nullptr || !value->is_constant() || !IsInteger(value->constant().type()))
    return std::nullopt;
  return value->constant().ToInts();
}

// Operands as ONNX has them: data, starts, ends, axes, steps. The result's shape says how many elements there are.
std::optional<StridedView> Sliced(const Node& node, const StridedView& view) {
  const auto starts = ConstantInts(node, 1);
  if (!starts.has_value()) return std::nullopt;
  const int64_t rank = std::ssize(view.shape);
  std::vector<int64_t> axes, steps(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (node.operand(3) != nullptr) {
    const auto given = ConstantInts(node, 3);
    if (!given.has_value() || given->size() != starts->size()) return std::nullopt;
    axes = *given;
  }
  if (node.operand(4) != nullptr) {
    const auto given = ConstantInts(node, 4);
    if (!given.has_value() || given->size() != starts->size()) return std::nullopt;
    steps = *given;
  }
  StridedView out = view;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || steps[i] < 1) return std::nullopt;
    const auto a = static_cast<size_t>(axis);
    const int64_t size = view.shape[a];
    const int64_t start =
        std::clamp<int64_t>((*starts)[i] < 0 ? (*starts)[i] + size : (*starts)[i], 0, size);
    out.offset += start * view.strides[a];
    out.strides[a] *= steps[i];
  }
  out.shape = node.result()->shape().dims();
  for (const int64_t dim : out.shape) {
    if (dim == 0) return std::nullopt;
  }
  return out;
}

}  // namespace

StridedView DenseView(const Shape& shape) { return {0, shape.dims(), RowMajorStrides(shape)}; }

std::optional<StridedView> Reshaped(const StridedView& view, std::span<const int64_t> shape) {
  // Axes of the operand that lie without gaps in each other become one; each new axis is cut from the inner end of such
  // a run.
  std::vector<std::pair<int64_t, int64_t>> runs;  // elements, stride; outermost first
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) continue;
    if (!runs.empty() && runs.back().second == view.shape[i] * view.strides[i]) {
      runs.back() = {runs.back().first * view.shape[i], view.strides[i]};
    } else {
      runs.emplace_back(view.shape[i], view.strides[i]);
    }
  }
  StridedView out{view.offset, {shape.begin(), shape.end()}, std::vector<int64_t>(shape.size(), 0)};
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (runs.empty() || runs.back().first % shape[i] != 0) return std::nullopt;
    out.strides[i] = runs.back().second;
    runs.back().first /= shape[i];
    runs.back().second *= shape[i];
    if (runs.back().first == 1) runs.pop_back();
  }
  if (!runs.empty()) return std::nullopt;
  return out;
}

std::optional<StridedView> ViewThrough(const Node& node, const StridedView& operand) {
  switch (node.op()) {
    case Op::kIdentity:
    case Op::kDropout:
      return operand;
    case Op::kTranspose: {
      std::vector<int64_t> perm = node.attributes().Ints("perm");
      if (perm.empty()) {
        for (int64_t i = std::ssize(operand.shape); i-- > 0;) perm.push_back(i);
      }
      return Transposed(operand, perm);
    }
    case Op::kReshape:
    case Op::kFlatten:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
      return Reshaped(operand, node.result()->shape().dims());
    case Op::kSlice:
      return Sliced(node, operand);
    default:
      return std::nullopt;
  }
}

Tensor Gather(const Tensor& dense, const StridedView& view) {
  Tensor out(dense.type(), Shape(view.shape));
  const int64_t bytes = SizeOf(dense.type());
  std::vector<int64_t> index(view.shape.size(), 0);
  int64_t at = view.offset;
  for (int64_t i = 0; i < out.size(); ++i) {
    KILN_CHECK(at >= 0 && at < dense.size());
    std::memcpy(out.mutable_bytes() + i * bytes, dense.bytes() + at * bytes,
                static_cast<size_t>(bytes));
    for (size_t axis = index.size(); axis-- > 0;) {
      at += view.strides[axis];
      if (++index[axis] < view.shape[axis]) break;
      at -= view.shape[axis] * view.strides[axis];
      index[axis] = 0;
    }
  }
  return out;
}

}  // namespace kiln::vta
