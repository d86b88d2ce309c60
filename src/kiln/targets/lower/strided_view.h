// Strided views of tensors. Data movement that only renames positions (transposition, slicing,
// reshaping, broadcasting) changes a view and moves no data.
//
// A view locates element (i, j, ...) at offset + i * strides[0] + j * strides[1] + ... The unit of
// offset and strides is the user's: elements of a tensor, or bytes of a memory. A stride of 0
// repeats the view along its axis; strides may be negative.
#ifndef KILN_TARGETS_LOWER_STRIDED_VIEW_H_
#define KILN_TARGETS_LOWER_STRIDED_VIEW_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "kiln/ir/shape.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// A view of a tensor.
struct StridedView {
  int64_t offset = 0;  // position of element (0, ..., 0)
  std::vector<int64_t> shape, strides;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t elements() const;
};

// Returns the view of a row-major tensor without gaps whose elements are `unit` apart.
StridedView RowMajorView(std::span<const int64_t> shape, int64_t unit = 1);

// Returns whether both views locate every element at the same position.
bool SamePositions(const StridedView& a, const StridedView& b);

// Returns the view in which axis i is axis perm[i] of `view`.
StridedView Transposed(const StridedView& view, std::span<const int64_t> perm);
// Returns the permutation that undoes `perm`.
std::vector<int64_t> InversePermutation(std::span<const int64_t> perm);

// Returns the view of the `count` elements start, start + step, ... along an axis.
StridedView Sliced(const StridedView& view, int axis, int64_t start, int64_t step, int64_t count);

// Returns the view of the same elements, in row-major order, with another shape of as many
// elements. Returns nullopt if strides cannot express it.
std::optional<StridedView> Reshaped(const StridedView& view, std::span<const int64_t> shape);

// Returns the view broadcast to `shape` by the rules of ONNX: axes are aligned to the right. Each
// dimension of the view must be 1 or equal to that of `shape`.
StridedView Broadcast(const StridedView& view, std::span<const int64_t> shape);

// Returns the view of index 0 along an axis, without that axis.
StridedView WithoutAxis(const StridedView& view, int axis);
// Returns the view with an axis inserted before axis `axis`, along which it repeats `count` times.
StridedView WithRepeats(const StridedView& view, int axis, int64_t count);

// Returns a copy of the elements of a dense tensor that the view locates, in row-major order.
Tensor Gather(const Tensor& dense, const StridedView& view);

// A loop over several views at once.
struct StridedLoop {
  int64_t count = 1;
  std::vector<int64_t> strides;  // one per view
};

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Returns the loops over views of the same shape, outermost first. Axes with one element are
// dropped. Neighbouring axes become one loop if the strides of every view allow it and the loop has
// at most `most` iterations. With `keep_last`, the last axis is a loop of its own, even if it has
// one element.
//   strides  the strides of each view, one per axis
std::vector<StridedLoop> LoopsOver(std::span<const int64_t> shape,
                                   std::span<const std::span<const int64_t>> strides,
                                   bool keep_last, int64_t most = kNoLimit);

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_STRIDED_VIEW_H_
