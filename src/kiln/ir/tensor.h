// A dense row-major tensor with shared, copy-on-nothing storage: copying a Tensor shares its bytes, so treat the bytes
// of a tensor that others may hold as read-only.
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

class Tensor {
 public:
  Tensor() = default;
  // Zero-filled. The shape must be fully known.
  Tensor(ElementType type, Shape shape);
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
  // A view over bytes that `owner` keeps alive (memory-mapped or shared storage); never written through.
  static Tensor View(ElementType type, Shape shape, std::shared_ptr<const void> owner,
                     const std::byte* bytes);

  ElementType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  int64_t num_bytes() const { return size_ * SizeOf(type_); }
  const std::byte* bytes() const { return bytes_; }
  std::byte* mutable_bytes() {
    KILN_CHECK(writable_);
    return const_cast<std::byte*>(bytes_);
  }

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

  // The same bytes under another shape of as many elements.
  Tensor Reshaped(Shape shape) const;
  // A copy with storage of its own.
  Tensor Clone() const;
  // Elements as double / int64, whatever the type; used for small tensors (shapes, axes, scales).
  double ValueAt(int64_t index) const;
  int64_t IntAt(int64_t index) const;
  std::vector<int64_t> ToInts() const;
  std::vector<float> ToFloats() const;
  // Same type, shape and bits.
  friend bool operator==(const Tensor& a, const Tensor& b);

 private:
  template <typename T>
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
  int64_t size_ = 0;
  bool writable_ = false;
  std::shared_ptr<const void> owner_;
  const std::byte* bytes_ = nullptr;
  std::shared_ptr<const std::vector<std::string>> strings_;
};

// IEEE half and bfloat16 bits to float and back (nearest even; overflow to infinity; NaN stays NaN).
float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
float Bfloat16ToFloat(uint16_t bits);
uint16_t FloatToBfloat16(float value);

}  // namespace kiln

#endif  // KILN_IR_TENSOR_H_
