// Views of tensors in the machine's memory: strided views in bytes (targets/lower/strided_view.h)
// with the encoding of their elements and, for values with block scales, a view of the scales.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_VIEW_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_VIEW_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/systolic/isa/encoding.h"

namespace kiln::systolic {

// The scales of a view's blocks. Its shape is that of the view, except that the dimension of `axis`
// is the number of blocks: element i along `axis` has scale i / block_size.
struct BlockView : StridedView {
  int axis = -1;  // rank() of the view if the axis along its blocks has been removed
  int buffer = -1;
};

// A tensor, or part of one, in a buffer of the machine's memory.
struct View : StridedView {
  int buffer = -1;
  Encoding encoding;
  BlockView blocks;  // set if encoding.blocked()

  bool blocked() const { return blocks.axis >= 0; }
  // Returns whether a value of this encoding can be stored as this view.
  bool Holds(const Encoding& other) const {
    return encoding.SameCodes(other) && (!blocked() || blocks.axis == other.block_axis);
  }
};

// Returns a row-major view without gaps. With block scales, their axis is the innermost one in
// memory. `scales` is the buffer of the scales.
View DenseView(int buffer, int scales, const Shape& shape, const Encoding& encoding);
// Returns the bytes of the scales of a dense view.
int64_t ScaleBytes(const Shape& shape, const Encoding& encoding);

// Returns whether both views have every element at the same address.
bool SamePositions(const View& a, const View& b);

// The operations of StridedView, applied to elements and scales.
View Transposed(const View& view, std::span<const int64_t> perm);
// Slicing along block scales requires CanSlice.
View Sliced(const View& view, int axis, int64_t start, int64_t step, int64_t count);
bool CanSlice(const View& view, int axis, int64_t start, int64_t step);
std::optional<View> Reshaped(const View& view, std::span<const int64_t> shape);
// Requires CanBroadcast.
View Broadcast(const View& view, std::span<const int64_t> shape);
bool CanBroadcast(const View& view, std::span<const int64_t> shape);
View WithoutAxis(const View& view, int axis);
View WithRepeats(const View& view, int axis, int64_t count);

// A loop that several views execute together.
struct Loop {
  int64_t count = 1;
  std::vector<int64_t> strides;        // one per view, bytes
  std::vector<int64_t> scale_strides;  // one per view; 0 without block scales
};
// Returns a loop of one iteration.
inline Loop OneStep(size_t views) {
  return {1, std::vector<int64_t>(views, 0), std::vector<int64_t>(views, 0)};
}
// Returns the loops over views of one shape, outermost first: axes of one element dropped,
// neighbours joined if every view allows it. With `keep_last`, the last axis is a loop of its own;
// block scales must be along it.
std::vector<Loop> LoopsOver(std::span<const View* const> views, bool keep_last);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_VIEW_H_
