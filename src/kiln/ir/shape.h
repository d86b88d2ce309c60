// Tensor shapes and broadcasting.
//
// Dimensions may be unknown until a batch size or an input shape is given; every function states
// how it treats them.
#ifndef KILN_IR_SHAPE_H_
#define KILN_IR_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

inline constexpr int64_t kUnknownDim = -1;

// The dimensions of a tensor, outermost first.
class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  // Unlike an initializer list, a vector must be converted explicitly: lists of axes are vectors,
  // too.
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  // The number of axes.
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return dims_[static_cast<size_t>(axis)]; }
  const std::vector<int64_t>& dims() const { return dims_; }
  bool IsKnown() const;  // whether all dimensions are known
  // Returns the product of the dimensions; 1 for a scalar. Aborts if a dimension is unknown. The
  // verifier limits shapes from files to kMaxElements, so that the product cannot overflow.
  int64_t NumElements() const;
  // Returns "1x3x32x32", "?x10" or "scalar".
  std::string ToString() const;
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<int64_t> dims_;
};

// The largest tensor that Kiln accepts, in elements.
inline constexpr int64_t kMaxElements = int64_t{1} << 33;

// Returns the product of the dimensions, or nullopt if one is unknown or the product exceeds
// kMaxElements.
std::optional<int64_t> CheckedNumElements(const Shape& shape);

// Returns the shape to which a and b broadcast, aligned at the last axis (ONNX Broadcasting.md,
// multidirectional), or nullopt if they do not fit.
std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b);

// Returns the row-major strides of a shape, in elements.
std::vector<int64_t> RowMajorStrides(const Shape& shape);

}  // namespace kiln

#endif  // KILN_IR_SHAPE_H_
