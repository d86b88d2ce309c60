// Strided views of tensors in the machine's memory. Data movement that only renames places (transposition, slicing,
// reshaping, broadcasting) is done here, on strides, and costs no cycle.
#ifndef KILN_TARGETS_SYSTOLIC_VIEW_H_
#define KILN_TARGETS_SYSTOLIC_VIEW_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {

// How a value stands in memory.
struct Encoding {
  ElementType type = ElementType::kFloat32;  // of the graph's value
  Element element = Element::kFloat32;
  float scale = 1;
  int32_t zero_point = 0;
  int32_t low = 0, high = 0;

  bool is_float() const { return element == Element::kFloat32; }
  // The same bits mean the same values.
  bool SameCodes(const Encoding& other) const {
    return type == other.type && element == other.element &&
           (is_float() || (scale == other.scale && zero_point == other.zero_point));
  }
};

// The encoding that a value's annotation asks for; fp32 without one. Unsigned codes of up to 8 bits stand in a signed
// byte, less half their range, zero point included: the same values in codes that the array takes. Errors name the
// value: a float format other than fp32, codes wider than 16 bits, scales per channel or per block, an element type
// that no memory element holds.
StatusOr<Encoding> EncodingOf(const Value& value);

struct View {
  int buffer = -1;
  int64_t offset = 0;  // bytes, of element (0, ..., 0)
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // bytes; 0 where the view repeats
  Encoding encoding;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t elements() const;
  friend bool SamePlaces(const View& a, const View& b);
};

bool SamePlaces(const View& a, const View& b);

// Row-major without gaps.
View DenseView(int buffer, const Shape& shape, const Encoding& encoding);
bool IsDense(const View& view);

// Axis i of the result is axis perm[i].
View Transposed(const View& view, std::span<const int64_t> perm);
// Elements start, start + step, ... (count of them) of an axis.
View Sliced(const View& view, int axis, int64_t start, int64_t step, int64_t count);
// The elements in row-major order under another shape of as many; nullopt when no strides can say it.
std::optional<View> Reshaped(const View& view, std::span<const int64_t> shape);
// Right-aligned to `shape` (ONNX broadcasting); the view's dimensions must be 1 or equal.
View Broadcast(const View& view, std::span<const int64_t> shape);

// A nest of loops that several views walk in step.
struct Loop {
  int64_t count = 1;
  std::vector<int64_t> strides;  // one a view, bytes
};
// The loops over views of one shape, outermost first: axes of one element dropped, neighbours joined where every view
// allows. With `keep_last`, the last axis stays alone and is always there.
std::vector<Loop> LoopsOver(std::span<const View* const> views, bool keep_last);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_VIEW_H_
