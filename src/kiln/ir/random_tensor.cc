// Draws all elements as doubles, then converts them to the element type.

#include "kiln/ir/random_tensor.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace kiln {

Tensor RandomTensor(Random& random, ElementType type, const Shape& shape, double low, double high) {
  if (type == ElementType::kString) return Tensor(type, shape);
  Tensor tensor(ElementType::kFloat64, shape);
  for (double& x : tensor.data<double>()) {
    x = random.Uniform(low, high);
    if (!IsFloat(type)) x = std::floor(x);
  }
  // Draws are doubles; conversion to the element type comes last, so that all types share one
  // sequence.
  const auto copy = [&](auto zero) {
    using T = decltype(zero);
    Tensor out(type, shape);
    for (int64_t i = 0; i < out.size(); ++i) {
      out.data<T>()[static_cast<size_t>(i)] =
          static_cast<T>(tensor.data<double>()[static_cast<size_t>(i)]);
    }
    return out;
  };
  switch (type) {
    case ElementType::kFloat32:
      return copy(float{});
    case ElementType::kFloat64:
      return tensor;
    case ElementType::kInt8:
      return copy(int8_t{});
    case ElementType::kInt16:
      return copy(int16_t{});
    case ElementType::kInt32:
      return copy(int32_t{});
    case ElementType::kInt64:
      return copy(int64_t{});
    case ElementType::kUint8:
      return copy(uint8_t{});
    case ElementType::kUint16:
      return copy(uint16_t{});
    case ElementType::kUint32:
      return copy(uint32_t{});
    case ElementType::kUint64:
      return copy(uint64_t{});
    case ElementType::kBool:
      return copy(bool{});
    case ElementType::kFloat16:
    case ElementType::kBfloat16: {
      Tensor out(type, shape);
      for (int64_t i = 0; i < out.size(); ++i) {
        const auto x = static_cast<float>(tensor.data<double>()[static_cast<size_t>(i)]);
        out.data<uint16_t>()[static_cast<size_t>(i)] =
            type == ElementType::kFloat16 ? FloatToHalf(x) : FloatToBfloat16(x);
      }
      return out;
    }
    case ElementType::kString:  // returned above
      break;
  }
  return tensor;
}

}  // namespace kiln
