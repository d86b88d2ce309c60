// Computes offsets, shapes and strides of views.

#include "kiln/targets/lower/strided_view.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/support/parallel.h"

namespace kiln {

int64_t StridedView::elements() const {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return count;
}

StridedView RowMajorView(std::span<const int64_t> shape, int64_t unit) {
  StridedView view{0, {shape.begin(), shape.end()}, std::vector<int64_t>(shape.size())};
  for (size_t i = shape.size(); i-- > 0;) {
    view.strides[i] = unit;
    unit *= shape[i];
  }
  return view;
}

bool SamePositions(const StridedView& a, const StridedView& b) {
  if (a.offset != b.offset || a.shape != b.shape) return false;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

StridedView Transposed(const StridedView& view, std::span<const int64_t> perm) {
  KILN_CHECK(perm.size() == view.shape.size());
  StridedView out{view.offset, {}, {}};
  for (const int64_t axis : perm) {
    out.shape.push_back(view.shape[static_cast<size_t>(axis)]);
    out.strides.push_back(view.strides[static_cast<size_t>(axis)]);
  }
  return out;
}

std::vector<int64_t> InversePermutation(std::span<const int64_t> perm) {
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return inverse;
}

StridedView Sliced(const StridedView& view, int axis, int64_t start, int64_t step, int64_t count) {
  StridedView out = view;
  const size_t a = static_cast<size_t>(axis);
  out.offset += start * view.strides[a];
  out.shape[a] = count;
  out.strides[a] *= step;
  return out;
}

std::optional<StridedView> Reshaped(const StridedView& view, std::span<const int64_t> shape) {
  StridedView out{view.offset, {shape.begin(), shape.end()}, std::vector<int64_t>(shape.size(), 0)};
  KILN_CHECK(out.elements() == view.elements());
  if (out.elements() == 0) return out;
  // Splits each new axis off the inner end of the innermost remaining loop.
  const std::span<const int64_t> strides[] = {view.strides};
  std::vector<StridedLoop> loops = LoopsOver(view.shape, strides, /*keep_last=*/false);
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    int64_t& left = loops.back().count;
    int64_t& stride = loops.back().strides[0];
    if (left % shape[i] != 0) return std::nullopt;
    out.strides[i] = stride;
    stride *= shape[i];
    left /= shape[i];
    if (left == 1) loops.pop_back();
  }
  return out;
}

StridedView Broadcast(const StridedView& view, std::span<const int64_t> shape) {
  KILN_CHECK(view.shape.size() <= shape.size());
  StridedView out{view.offset, {shape.begin(), shape.end()}, std::vector<int64_t>(shape.size(), 0)};
  const size_t shift = shape.size() - view.shape.size();
  for (size_t i = 0; i < view.shape.size(); ++i) {
    KILN_CHECK(view.shape[i] == 1 || view.shape[i] == shape[i + shift]);
    out.strides[i + shift] = view.shape[i] == 1 ? 0 : view.strides[i];
  }
  return out;
}

StridedView WithoutAxis(const StridedView& view, int axis) {
  StridedView out = view;
  out.shape.erase(out.shape.begin() + axis);
  out.strides.erase(out.strides.begin() + axis);
  return out;
}

StridedView WithRepeats(const StridedView& view, int axis, int64_t count) {
  StridedView out = view;
  out.shape.insert(out.shape.begin() + axis, count);
  out.strides.insert(out.strides.begin() + axis, 0);
  return out;
}

namespace {

// Checks that all positions of a view with elements lie in [0, size).
void CheckInside(const StridedView& view, int64_t size) {
  int64_t least = view.offset, greatest = view.offset;
  for (size_t i = 0; i < view.shape.size(); ++i)
    (view.strides[i] < 0 ? least : greatest) += (view.shape[i] - 1) * view.strides[i];
  KILN_CHECK(least >= 0 && greatest < size);
}

// Copies `count` elements of `width` bytes that lie `stride` elements apart to consecutive places.
template <int width>
void CopyStrided(const std::byte* from, int64_t stride, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * width, from + i * stride * width, static_cast<size_t>(width));
}

void CopyLine(const std::byte* from, int64_t stride, int64_t count, int64_t width, std::byte* to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * width));
    return;
  }
  switch (width) {
    case 1:
      return CopyStrided<1>(from, stride, count, to);
    case 2:
      return CopyStrided<2>(from, stride, count, to);
    case 4:
      return CopyStrided<4>(from, stride, count, to);
    default:
      KILN_CHECK(width == 8);
      return CopyStrided<8>(from, stride, count, to);
  }
}

}  // namespace

Tensor Gather(const Tensor& dense, const StridedView& view) {
  constexpr int64_t kElementsAPiece = int64_t{1} << 16;  // that one thread copies at a time
  Tensor out(dense.type(), Shape(view.shape));
  if (out.size() == 0) return out;
  CheckInside(view, dense.size());
  const int64_t width = SizeOf(dense.type());
  const std::span<const int64_t> strides[] = {view.strides};
  std::vector<StridedLoop> loops =
      LoopsOver(view.shape, strides, /*keep_last=*/false, kElementsAPiece);
  // The innermost loop copies a line; the others select it.
  const StridedLoop line = loops.empty() ? StridedLoop{1, {1}} : loops.back();
  if (!loops.empty()) loops.pop_back();
  const std::byte* from = dense.bytes();
  std::byte* to = out.mutable_bytes();
  ParallelFor(out.size() / line.count, std::max<int64_t>(1, kElementsAPiece / line.count),
              [&](int64_t begin, int64_t end) {
                for (int64_t number = begin; number < end; ++number) {
                  int64_t at = view.offset, left = number;
                  for (size_t loop = loops.size(); loop-- > 0;) {
                    at += left % loops[loop].count * loops[loop].strides[0];
                    left /= loops[loop].count;
                  }
                  CopyLine(from + at * width, line.strides[0], line.count, width,
                           to + number * line.count * width);
                }
              });
  return out;
}

std::vector<StridedLoop> LoopsOver(std::span<const int64_t> shape,
                                   std::span<const std::span<const int64_t>> strides,
                                   bool keep_last, int64_t most) {
  std::vector<StridedLoop> loops;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool alone = keep_last && axis + 1 == shape.size();
    if (shape[axis] == 1 && !alone) continue;
    StridedLoop loop{shape[axis], {}};
    for (const std::span<const int64_t> view : strides) loop.strides.push_back(view[axis]);
    bool joins =
        !loops.empty() && !alone && loop.count <= most / std::max<int64_t>(loops.back().count, 1);
    for (size_t v = 0; joins && v < strides.size(); ++v)
      joins = loops.back().strides[v] == loop.strides[v] * loop.count;
    if (joins) {
      loop.count *= loops.back().count;
      loops.back() = std::move(loop);
    } else {
      loops.push_back(std::move(loop));
    }
  }
  if (loops.empty() && keep_last) {
    loops.push_back({1, std::vector<int64_t>(strides.size(), 0)});
  }
  return loops;
}

}  // namespace kiln
