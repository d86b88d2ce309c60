// Stores and loads tensors element by element, with and without block scales.
#include "kiln/targets/systolic/simulate/binding.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"
#include "kiln/targets/lower/constant_codes.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"

namespace kiln::systolic {
namespace {

// Calls body(element index in row-major order, address, address of its block's scale) for every
// element of the binding.
template <typename Body>
void ForEachElement(const Binding& binding, std::span<const uint8_t> memory, Body body) {
  KILN_CHECK(static_cast<int>(binding.strides.size()) == binding.shape.rank());
  const int64_t count = binding.shape.NumElements();
  if (count == 0) return;
  const Encoding& e = binding.encoding;
  const size_t rank = binding.strides.size();
  std::vector<int64_t> index(rank, 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t address = static_cast<int64_t>(binding.base),
            scale = static_cast<int64_t>(binding.scale_base);
    for (size_t axis = 0; axis < rank; ++axis) {
      address += index[axis] * binding.strides[axis];
      if (!e.blocked()) continue;
      const bool along = static_cast<int>(axis) == binding.scale_axis;
      scale += (along ? index[axis] / e.block_size : index[axis]) * binding.scale_strides[axis];
    }
    KILN_CHECK(address >= 0 && address + e.bytes <= std::ssize(memory));
    KILN_CHECK(!e.blocked() ||
               (scale >= 0 && scale + e.scale_format.bytes() <= std::ssize(memory)));
    body(i, static_cast<size_t>(address), static_cast<size_t>(scale));
    for (size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < binding.shape[static_cast<int>(axis)]) break;
      index[axis] = 0;
    }
  }
}

// Returns the size of an integer or fp32 element.
int IntegerBytes(Element element) {
  return element == Element::kInt8 || element == Element::kUint8 ? 1
         : element == Element::kInt16                            ? 2
                                                                 : 4;
}

void PutInteger(std::span<uint8_t> memory, size_t address, Element element, int64_t value) {
  const uint32_t bits = static_cast<uint32_t>(value);
  StoreBits(bits, IntegerBytes(element), memory.data() + address);
}

int32_t GetInteger(std::span<const uint8_t> memory, size_t address, Element element) {
  const uint32_t bits = LoadBits(memory.data() + address, IntegerBytes(element));
  switch (element) {
    case Element::kInt8:
      return static_cast<int8_t>(bits);
    case Element::kInt16:
      return static_cast<int16_t>(bits);
    default:
      return static_cast<int32_t>(bits);
  }
}

float GetFloat(std::span<const uint8_t> memory, size_t address) {
  return std::bit_cast<float>(GetInteger(memory, address, Element::kInt32));
}

// Sets element i of a tensor of any integer or boolean type.
void SetInteger(Tensor& tensor, int64_t i, int64_t value) {
  const int bytes = SizeOf(tensor.type());
  const uint64_t bits = static_cast<uint64_t>(value);
  for (int b = 0; b < bytes; ++b) {
    tensor.mutable_bytes()[i * bytes + b] =
        static_cast<std::byte>(static_cast<uint8_t>(bits >> (8 * b)));
  }
}

// Sets element i of a tensor of type fp64, fp16 or bf16.
void SetFloat(Tensor& tensor, int64_t i, float value) {
  const size_t at = static_cast<size_t>(i);
  if (tensor.type() == ElementType::kFloat64) {
    tensor.data<double>()[at] = value;
  } else {
    tensor.data<uint16_t>()[at] =
        tensor.type() == ElementType::kFloat16 ? FloatToHalf(value) : FloatToBfloat16(value);
  }
}

void StoreFloats(const Tensor& tensor, const Binding& b, std::span<uint8_t> memory) {
  const Encoding& e = b.encoding;
  const Tensor rounded = e.foreign != nullptr ? RoundToAnnotation(tensor, *e.foreign) : tensor;
  const std::span<const float> values = rounded.data<float>();
  const float inverse = InverseScale(e.scale);
  ForEachElement(b, memory, [&](int64_t i, size_t address, size_t) {
    const float value = values[static_cast<size_t>(i)];
    if (IsInteger(e.element)) {
      PutInteger(memory, address, e.element,
                 kiln::QuantiseToCode(value, inverse, e.zero_point, {e.low, e.high}));
    } else if (e.element == Element::kFloat32) {
      PutInteger(memory, address, e.element, static_cast<int64_t>(std::bit_cast<uint32_t>(value)));
    } else {
      const uint32_t code = EncodeFloat(e.format, e.is_float() ? value : value * inverse);
      StoreBits(StoredBits(e.format, code), e.bytes, memory.data() + address);
    }
  });
}

// Quantises the blocks of each row along the axis of the scales, one after the other.
void StoreBlocks(const Tensor& tensor, const Binding& b, std::span<uint8_t> memory) {
  const Encoding& e = b.encoding;
  const BlockCodec codec(e.format, e.scale_format, e.block_size);
  const int64_t stride = RowMajorStrides(b.shape)[static_cast<size_t>(b.scale_axis)],
                length = b.shape[b.scale_axis];
  const std::span<const float> values = tensor.data<float>();
  std::vector<size_t> addresses(values.size()), scales(values.size());
  ForEachElement(b, memory, [&](int64_t i, size_t address, size_t scale) {
    addresses[static_cast<size_t>(i)] = address;
    scales[static_cast<size_t>(i)] = scale;
  });
  std::vector<float> block;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int64_t along = i / stride % length;
    if (along % e.block_size != 0) continue;
    const int64_t count = std::min<int64_t>(e.block_size, length - along);
    block.clear();
    for (int64_t k = 0; k < count; ++k)
      block.push_back(values[static_cast<size_t>(i + k * stride)]);
    const uint32_t scale = codec.ScaleCode(block.data(), count);
    StoreBits(scale, e.scale_format.bytes(), memory.data() + scales[static_cast<size_t>(i)]);
    for (int64_t k = 0; k < count; ++k) {
      const uint32_t code =
          codec.ElementCode(block[static_cast<size_t>(k)], codec.ScaleValue(scale));
      StoreBits(StoredBits(e.format, code), e.bytes,
                memory.data() + addresses[static_cast<size_t>(i + k * stride)]);
    }
  }
}

float LoadFloat(const Binding& b, std::span<const uint8_t> memory, size_t address,
                size_t scale_address) {
  const Encoding& e = b.encoding;
  if (e.element == Element::kFloat32) return GetFloat(memory, address);
  if (IsInteger(e.element)) {
    return static_cast<float>(int64_t{GetInteger(memory, address, e.element)} - e.zero_point) *
           e.scale;
  }
  const float value = DecodeFloat(e.format, LoadBits(memory.data() + address, e.bytes));
  if (e.is_float()) return value;
  if (!e.blocked()) return value * e.scale;
  const uint32_t scale = LoadBits(memory.data() + scale_address, e.scale_format.bytes());
  return value * DecodeFloat(e.scale_format, scale);
}

// Returns the element type as which codes of an encoding are read.
ElementType CodeType(const Encoding& e) {
  constexpr ElementType kTypes[] = {ElementType::kInt8, ElementType::kUint8, ElementType::kInt16,
                                    ElementType::kInt32};
  if (IsInteger(e.element)) return kTypes[static_cast<size_t>(e.element)];
  if (e.format.is_integer() && e.format.is_signed) {
    return e.bytes == 1   ? ElementType::kInt8
           : e.bytes == 2 ? ElementType::kInt16
                          : ElementType::kInt32;
  }
  return e.bytes == 1   ? ElementType::kUint8
         : e.bytes == 2 ? ElementType::kUint16
                        : ElementType::kUint32;
}

}  // namespace

Status Store(const Tensor& tensor, const Binding& b, std::span<uint8_t> memory) {
  if (tensor.type() != b.type() || tensor.shape() != b.shape) {
    return ErrorAt("", fmt::format("'{}'", b.name),
                   fmt::format("is {} {}", NameOf(tensor.type()), tensor.shape().ToString()),
                   fmt::format("the program takes {} {}", NameOf(b.type()), b.shape.ToString()));
  }
  if (b.type() == ElementType::kFloat32) {
    if (b.encoding.blocked()) {
      StoreBlocks(tensor, b, memory);
    } else {
      StoreFloats(tensor, b, memory);
    }
    return OkStatus();
  }
  Status status;
  ForEachElement(b, memory, [&](int64_t i, size_t address, size_t) {
    if (IsFloat(b.type())) {
      const float value = static_cast<float>(tensor.ValueAt(i));
      PutInteger(memory, address, Element::kFloat32,
                 static_cast<int64_t>(std::bit_cast<uint32_t>(value)));
      return;
    }
    const int64_t value = tensor.IntAt(i);
    if (value < INT32_MIN || value > INT32_MAX) {
      if (status.ok()) {
        status = ErrorAt("", fmt::format("'{}'", b.name), fmt::format("element {} is {}", i, value),
                         "integers of 32 bits fit the machine's memory");
      }
      return;
    }
    PutInteger(memory, address, b.encoding.element, value);
  });
  return status;
}

Tensor Load(const Binding& b, std::span<const uint8_t> memory) {
  Tensor out(b.type(), b.shape);
  ForEachElement(b, memory, [&](int64_t i, size_t address, size_t scale) {
    if (b.type() == ElementType::kFloat32) {
      out.data<float>()[static_cast<size_t>(i)] = LoadFloat(b, memory, address, scale);
    } else if (IsFloat(b.type())) {
      SetFloat(out, i, GetFloat(memory, address));
    } else {
      SetInteger(out, i, GetInteger(memory, address, b.encoding.element));
    }
  });
  return out;
}

Tensor LoadCodes(const Binding& b, std::span<const uint8_t> memory) {
  if (!b.holds_codes()) return Load(b, memory);
  Tensor out(CodeType(b.encoding), b.shape);
  ForEachElement(b, memory, [&](int64_t i, size_t address, size_t) {
    SetInteger(out, i, LoadBits(memory.data() + address, b.encoding.bytes));
  });
  return out;
}

}  // namespace kiln::systolic
