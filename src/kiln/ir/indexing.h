// Axes and slices as ONNX counts them: negative numbers count from the end, slice ends are clamped.
// Shape rules, passes and accelerator families share these rules.
#ifndef KILN_IR_INDEXING_H_
#define KILN_IR_INDEXING_H_

#include <cstdint>
#include <optional>

namespace kiln {

// Returns the axis in [0, rank) for `axis` in [-rank, rank), or nullopt outside. Operators that
// also allow axis = rank (Flatten, Unsqueeze) pass a larger rank or check the number first.
inline std::optional<int> NormaliseAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// The elements start, start + step, ... of an axis, `count` of them, all within the axis.
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
  friend bool operator==(const SliceRange&, const SliceRange&) = default;
};

// Returns the elements that Slice selects on an axis of `size` >= 0 elements; `step` must not be 0.
// Accepts any other numbers, including the int64 limits that exporters write for "to the end".
// Follows ONNX Operators.md, Slice-13.
SliceRange ResolveSlice(int64_t size, int64_t start, int64_t end, int64_t step);

}  // namespace kiln

#endif  // KILN_IR_INDEXING_H_
