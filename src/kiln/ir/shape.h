// Tensor shapes. A dimension may be unknown until a batch size or input shape is given.
#ifndef KILN_IR_SHAPE_H_
#define KILN_IR_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

inline constexpr int64_t kUnknownDim = -1;

class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return dims_[static_cast<size_t>(axis)]; }
  const std::vector<int64_t>& dims() const { return dims_; }
  bool IsKnown() const;  // no unknown dimension
  // Product of the dimensions (1 for a scalar). Aborts when one is unknown; shapes that come from a file are limited to
  // kMaxElements by the verifier before anyone asks.
  int64_t NumElements() const;
  std::string ToString() const;  // "1x3x32x32", "?x10", "scalar"
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<int64_t> dims_;
};

// The largest tensor that Kiln accepts, in elements.
inline constexpr int64_t kMaxElements = int64_t{1} << 33;

// Product of the dimensions, or nullopt when one is unknown, negative, or the product exceeds kMaxElements.
std::optional<int64_t> CheckedNumElements(const Shape& shape);

// Right-aligned broadcasting of ONNX (Broadcasting.md, multidirectional); nullopt when the shapes do not fit.
std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b);

// Row-major strides in elements.
std::vector<int64_t> RowMajorStrides(const Shape& shape);

}  // namespace kiln

#endif  // KILN_IR_SHAPE_H_
