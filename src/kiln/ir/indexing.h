// Axes and slices as ONNX counts them: negative numbers from the end, ends clamped.
#ifndef KILN_IR_INDEXING_H_
#define KILN_IR_INDEXING_H_

#include <cstdint>
#include <optional>

namespace kiln {

// The axis in [0, rank) that `axis` in [-rank, rank) means; nullopt outside. For operators where axis = rank is meant
// too (Flatten, Unsqueeze), pass a rank one larger or look at the number before.
inline std::optional<int> NormaliseAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// Elements start, start + step, ... of an axis, `count` of them; all lie within it.
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
  friend bool operator==(const SliceRange&, const SliceRange&) = default;
};

// What Slice's start, end and step mean on an axis of `size` >= 0 elements; step must not be 0. Any other numbers are
// fine, the int64 limits (which exporters write for "to the end") included.
//   source  ONNX Operators.md, Slice-13
SliceRange ResolveSlice(int64_t size, int64_t start, int64_t end, int64_t step);

}  // namespace kiln

#endif  // KILN_IR_INDEXING_H_
