// Resolves slices with ONNX's rules for negative and out-of-range numbers.

#include "kiln/ir/indexing.h"

#include <algorithm>

#include "kiln/support/check.h"

namespace kiln {

SliceRange ResolveSlice(int64_t size, int64_t start, int64_t end, int64_t step) {
  KILN_CHECK(size >= 0 && step != 0);
  // Steps beyond the axis length visit the same elements as steps of just that length; clamping
  // them prevents overflow below.
  step = std::clamp(step, -(size + 1), size + 1);
  // Adding cannot overflow: the signs differ.
  const auto from_end = [&](int64_t i) { return i < 0 ? i + size : i; };
  SliceRange out{.start = 0, .step = step, .count = 0};
  if (step > 0) {
    out.start = std::clamp<int64_t>(from_end(start), 0, size);
    const int64_t stop = std::clamp<int64_t>(from_end(end), 0, size);
    if (stop > out.start) out.count = (stop - out.start + step - 1) / step;
  } else {
    if (size == 0) return out;
    out.start = std::clamp<int64_t>(from_end(start), 0, size - 1);
    const int64_t stop = std::clamp<int64_t>(from_end(end), -1, size - 1);
    if (out.start > stop) out.count = (out.start - stop - step - 1) / -step;
  }
  return out;
}

}  // namespace kiln
