// Operations on views of tensors with block scales.
#include "kiln/targets/systolic/compile/view.h"

#include <utility>

#include "kiln/support/check.h"

namespace kiln::systolic {
namespace {

// The limit of iterations of joined loops; isa_check accepts more.
constexpr int64_t kMaxJoined = 1 << 22;

// Returns the shape of the scales: the number of blocks replaces the dimension of the blocks' axis.
std::vector<int64_t> ScaleShape(std::vector<int64_t> shape, const Encoding& encoding) {
  int64_t& along = shape[static_cast<size_t>(encoding.block_axis)];
  along = (along + encoding.block_size - 1) / encoding.block_size;
  return shape;
}

// Returns a row-major view, except that the axis along which block scales run is the innermost one
// in memory.
StridedView InMemoryOrder(const std::vector<int64_t>& shape, const Encoding& encoding,
                          int64_t unit) {
  if (!encoding.blocked()) return RowMajorView(shape, unit);
  std::vector<int64_t> order, ordered;
  for (int64_t i = 0; i < std::ssize(shape); ++i) {
    if (i != encoding.block_axis) order.push_back(i);
  }
  order.push_back(encoding.block_axis);
  for (const int64_t axis : order) ordered.push_back(shape[static_cast<size_t>(axis)]);
  return Transposed(RowMajorView(ordered, unit), InversePermutation(order));
}

// Returns the axis of the new shape that equals axis `axis` of the old one: the same number of
// elements before it and the same dimension.
std::optional<size_t> SameAxis(std::span<const int64_t> old_shape, size_t axis,
                               std::span<const int64_t> shape) {
  int64_t before = 1, so_far = 1;
  for (size_t i = 0; i < axis; ++i) before *= old_shape[i];
  for (size_t i = 0; i < shape.size(); ++i) {
    if (so_far == before && shape[i] == old_shape[axis]) return i;
    so_far *= shape[i];
  }
  return std::nullopt;
}

// Returns the scales under the new shape. The axes that are not along the blocks have one scale for
// each position.
std::optional<BlockView> ReshapedBlocks(const View& view, std::span<const int64_t> shape) {
  const size_t axis = static_cast<size_t>(view.blocks.axis);
  const auto to = SameAxis(view.shape, axis, shape);
  if (!to.has_value()) return std::nullopt;
  StridedView first = view.blocks;  // the first scale of every row of blocks
  first.shape[axis] = 1;
  std::vector<int64_t> target(shape.begin(), shape.end());
  target[*to] = 1;
  auto reshaped = Reshaped(first, target);
  if (!reshaped.has_value()) return std::nullopt;
  reshaped->shape[*to] = view.blocks.shape[axis];
  reshaped->strides[*to] = view.blocks.strides[axis];
  return BlockView{*std::move(reshaped), static_cast<int>(*to), view.blocks.buffer};
}

StridedView& PositionsOf(View& view) { return view; }
StridedView& ScalesOf(View& view) { return view.blocks; }

}  // namespace

View DenseView(int buffer, int scales, const Shape& shape, const Encoding& encoding) {
  View view{InMemoryOrder(shape.dims(), encoding, encoding.bytes), buffer, encoding, {}};
  if (!encoding.blocked()) return view;
  view.blocks = {
      InMemoryOrder(ScaleShape(shape.dims(), encoding), encoding, encoding.scale_format.bytes()),
      encoding.block_axis, scales};
  return view;
}

int64_t ScaleBytes(const Shape& shape, const Encoding& encoding) {
  return Shape(ScaleShape(shape.dims(), encoding)).NumElements() * encoding.scale_format.bytes();
}

bool SamePositions(const View& a, const View& b) {
  return a.buffer == b.buffer && SamePositions(static_cast<const StridedView&>(a), b);
}

View Transposed(const View& view, std::span<const int64_t> perm) {
  View out = view;
  PositionsOf(out) = Transposed(static_cast<const StridedView&>(view), perm);
  if (!view.blocked()) return out;
  ScalesOf(out) = Transposed(static_cast<const StridedView&>(view.blocks), perm);
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] == view.blocks.axis) out.blocks.axis = static_cast<int>(i);
  }
  return out;
}

bool CanSlice(const View& view, int axis, int64_t start, int64_t step) {
  return !view.blocked() || axis != view.blocks.axis ||
         (start % view.encoding.block_size == 0 && step == 1);
}

View Sliced(const View& view, int axis, int64_t start, int64_t step, int64_t count) {
  KILN_CHECK(CanSlice(view, axis, start, step));
  View out = view;
  PositionsOf(out) = Sliced(static_cast<const StridedView&>(view), axis, start, step, count);
  if (!view.blocked()) return out;
  const StridedView& scales = view.blocks;
  const int64_t size = view.encoding.block_size;
  ScalesOf(out) = axis == view.blocks.axis
                      ? Sliced(scales, axis, start / size, 1, (count + size - 1) / size)
                      : Sliced(scales, axis, start, step, count);
  return out;
}

std::optional<View> Reshaped(const View& view, std::span<const int64_t> shape) {
  auto positions = Reshaped(static_cast<const StridedView&>(view), shape);
  if (!positions.has_value()) return std::nullopt;
  View out = view;
  PositionsOf(out) = *std::move(positions);
  if (!view.blocked()) return out;
  auto blocks = ReshapedBlocks(view, shape);
  if (!blocks.has_value()) return std::nullopt;
  out.blocks = *std::move(blocks);
  return out;
}

bool CanBroadcast(const View& view, std::span<const int64_t> shape) {
  if (!view.blocked()) return true;
  const size_t axis = static_cast<size_t>(view.blocks.axis),
               shift = shape.size() - view.shape.size();
  return view.shape[axis] == shape[axis + shift];
}

View Broadcast(const View& view, std::span<const int64_t> shape) {
  KILN_CHECK(CanBroadcast(view, shape));
  View out = view;
  PositionsOf(out) = Broadcast(static_cast<const StridedView&>(view), shape);
  if (!view.blocked()) return out;
  const size_t axis = static_cast<size_t>(view.blocks.axis),
               shift = shape.size() - view.shape.size();
  std::vector<int64_t> scale_shape(shape.begin(), shape.end());
  scale_shape[axis + shift] = view.blocks.shape[axis];
  ScalesOf(out) = Broadcast(static_cast<const StridedView&>(view.blocks), scale_shape);
  // Also an axis of one element keeps its stride along the scales: words run along it.
  out.strides[axis + shift] = view.strides[axis];
  out.blocks.strides[axis + shift] = view.blocks.strides[axis];
  out.blocks.axis = static_cast<int>(axis + shift);
  return out;
}

View WithoutAxis(const View& view, int axis) {
  View out = view;
  PositionsOf(out) = WithoutAxis(static_cast<const StridedView&>(view), axis);
  if (!view.blocked()) return out;
  ScalesOf(out) = WithoutAxis(static_cast<const StridedView&>(view.blocks), axis);
  if (axis == view.blocks.axis) {
    out.blocks.axis = out.rank();
  } else if (axis < view.blocks.axis) {
    --out.blocks.axis;
  }
  return out;
}

View WithRepeats(const View& view, int axis, int64_t count) {
  View out = view;
  PositionsOf(out) = WithRepeats(static_cast<const StridedView&>(view), axis, count);
  if (!view.blocked()) return out;
  ScalesOf(out) = WithRepeats(static_cast<const StridedView&>(view.blocks), axis, count);
  if (axis <= view.blocks.axis) ++out.blocks.axis;
  return out;
}

std::vector<Loop> LoopsOver(std::span<const View* const> views, bool keep_last) {
  const std::vector<int64_t>& shape = views[0]->shape;
  const int last = static_cast<int>(shape.size()) - 1;
  const std::vector<int64_t> no_scales(shape.size(), 0);
  std::vector<std::span<const int64_t>> strides;
  for (const View* view : views) {
    KILN_CHECK(view->shape == shape);
    KILN_CHECK(!view->blocked() || view->blocks.axis == (keep_last ? last : view->rank()));
    strides.emplace_back(view->strides);
  }
  for (const View* view : views)
    strides.emplace_back(view->blocked() ? view->blocks.strides : no_scales);
  std::vector<Loop> loops;
  for (const StridedLoop& loop : kiln::LoopsOver(shape, strides, keep_last, kMaxJoined)) {
    const auto scales = loop.strides.begin() + std::ssize(views);
    loops.push_back({loop.count, {loop.strides.begin(), scales}, {scales, loop.strides.end()}});
  }
  return loops;
}

}  // namespace kiln::systolic
