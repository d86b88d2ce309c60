// Implements shapes and ONNX's broadcasting.

#include "kiln/ir/shape.h"

#include <algorithm>

#include "kiln/support/check.h"

namespace kiln {

bool Shape::IsKnown() const {
  return std::all_of(dims_.begin(), dims_.end(), [](int64_t d) { return d >= 0; });
}

int64_t Shape::NumElements() const {
  int64_t product = 1;
  for (int64_t d : dims_) {
    KILN_CHECK(d >= 0);
    product *= d;
  }
  return product;
}

std::string Shape::ToString() const {
  if (dims_.empty()) return "scalar";
  std::string out;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) out += 'x';
    out += dims_[i] < 0 ? std::string("?") : std::to_string(dims_[i]);
  }
  return out;
}

std::optional<int64_t> CheckedNumElements(const Shape& shape) {
  if (!shape.IsKnown()) return std::nullopt;
  // With a dimension of 0 the product is 0, however large the others are.
  if (std::find(shape.dims().begin(), shape.dims().end(), 0) != shape.dims().end()) return 0;
  int64_t product = 1;
  for (int64_t d : shape.dims()) {
    if (d > kMaxElements || product > kMaxElements / d) return std::nullopt;
    product *= d;
  }
  return product;
}

// Walks both shapes from the last axis; missing leading axes count as 1.
std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    const int64_t x = i < a.rank() ? a[a.rank() - 1 - i] : 1;
    const int64_t y = i < b.rank() ? b[b.rank() - 1 - i] : 1;
    int64_t d = 0;
    if (x == 1) {
      d = y;
    } else if (y == 1 || x == y) {
      d = x;
    } else if (x < 0 || y < 0) {
      d = std::max(x, y);  // the known one; at run time both are equal or it is an error
    } else {
      return std::nullopt;
    }
    dims[static_cast<size_t>(rank - 1 - i)] = d;
  }
  return Shape(std::move(dims));
}

// The last axis has stride 1.
std::vector<int64_t> RowMajorStrides(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()));
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace kiln
