// A dense row-major tensor. Copies share storage and nothing is copied on write: treat the bytes of
// a tensor that others may share as read-only.
#ifndef KILN_IR_TENSOR_H_
#define KILN_IR_TENSOR_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/element_type.h"
#include "kiln/ir/shape.h"
#include "kiln/support/check.h"

namespace kiln {

// A tensor: element type, shape and storage, which copies share.
class Tensor {
 public:
  Tensor() = default;
  // Creates a tensor of zeros (or empty strings). The shape must be known.
  Tensor(ElementType type, Shape shape);
  // Create tensors from values in row-major order, as many as the shape has elements.
  static Tensor OfStrings(Shape shape, std::vector<std::string> values);
  template <typename T>
  static Tensor Of(Shape shape, const std::vector<T>& values) {
    Tensor t(ElementTypeOf<T>(), std::move(shape));
    KILN_CHECK(static_cast<int64_t>(values.size()) == t.size());
    for (size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = values[i];
    return t;
  }
  template <typename T>
  static Tensor Scalar(T value) {
    return Of<T>(Shape{}, std::vector<T>{value});
  }
  // Creates a read-only view of bytes that `owner` keeps alive (mapped or shared memory).
  static Tensor View(ElementType type, Shape shape, std::shared_ptr<const void> owner,
                     const std::byte* bytes);

  // Element type, shape and size.
  ElementType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  int64_t num_bytes() const { return size_ * SizeOf(type_); }
  const std::byte* bytes() const { return bytes_; }
  std::byte* mutable_bytes() {
    KILN_CHECK(writable_);
    return const_cast<std::byte*>(bytes_);
  }

  // Access by C++ type, which must match the element type. fp16 and bf16 are uint16_t. The mutable
  // form requires storage of this tensor's own, not a view.
  template <typename T>
  std::span<const T> data() const {
    KILN_CHECK(Holds<T>());
    return {reinterpret_cast<const T*>(bytes_), static_cast<size_t>(size_)};
  }
  template <typename T>
  std::span<T> data() {
    KILN_CHECK(Holds<T>() && writable_);
    return {reinterpret_cast<T*>(const_cast<std::byte*>(bytes_)), static_cast<size_t>(size_)};
  }
  const std::vector<std::string>& strings() const {
    KILN_CHECK(strings_ != nullptr);
    return *strings_;
  }

  // Returns a tensor with the same bytes and another shape of equally many elements.
  Tensor Reshaped(Shape shape) const;
  // Returns a copy with its own storage.
  Tensor Clone() const;
  // Return elements converted to double, int64_t or float from any numeric type. For small tensors
  // (shapes, axes, scales). Floats saturate to int64_t.
  double ValueAt(int64_t index) const;
  int64_t IntAt(int64_t index) const;
  std::vector<int64_t> ToInts() const;
  std::vector<float> ToFloats() const;
  // Compares type, shape and bits.
  friend bool operator==(const Tensor& a, const Tensor& b);

 private:
  template <typename T>
  // Returns whether T is the storage type of the elements.
  bool Holds() const {
    if constexpr (std::is_same_v<T, uint16_t>) {
      return type_ == ElementType::kUint16 || type_ == ElementType::kFloat16 ||
             type_ == ElementType::kBfloat16;
    } else {
      return type_ == ElementTypeOf<T>();
    }
  }

  ElementType type_ = ElementType::kFloat32;
  Shape shape_{0};
  int64_t size_ = 0;                   // elements
  bool writable_ = false;              // false for views
  std::shared_ptr<const void> owner_;  // keeps bytes_ alive
  const std::byte* bytes_ = nullptr;
  std::shared_ptr<const std::vector<std::string>> strings_;  // kString only
};

// Convert the bits of IEEE half and bfloat16 to float and back. Round to nearest even; overflow
// gives infinity; NaN remains NaN.
float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
float Bfloat16ToFloat(uint16_t bits);
uint16_t FloatToBfloat16(float value);

}  // namespace kiln

#endif  // KILN_IR_TENSOR_H_
