#include "kiln/targets/systolic/binding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "fmt/format.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"

namespace kiln::systolic {
namespace {

// Calls body(element index in row-major order, address) for every element of the binding.
template <typename Body>
void ForEachElement(const Binding& binding, std::span<const uint8_t> memory, Body body) {
  KILN_CHECK(static_cast<int>(binding.strides.size()) == binding.shape.rank());
  const int64_t count = binding.shape.NumElements();
  if (count == 0) return;
  const size_t rank = binding.strides.size();
  const int64_t bytes = BytesOf(binding.element);
  std::vector<int64_t> index(rank, 0);
  int64_t address = static_cast<int64_t>(binding.base);
  for (int64_t i = 0; i < count; ++i) {
    KILN_CHECK(address >= 0 && address + bytes <= std::ssize(memory));
    body(i, static_cast<size_t>(address));
    for (size_t axis = rank; axis-- > 0;) {
      const int64_t dim = binding.shape[static_cast<int>(axis)];
      address += binding.strides[axis];
      if (++index[axis] < dim) break;
      address -= dim * binding.strides[axis];
      index[axis] = 0;
    }
  }
}

void PutInteger(std::span<uint8_t> memory, size_t address, Element element, int64_t value) {
  const uint32_t bits = static_cast<uint32_t>(value);
  for (int i = 0; i < BytesOf(element); ++i)
    memory[address + static_cast<size_t>(i)] = static_cast<uint8_t>(bits >> (8 * i));
}

int32_t GetInteger(std::span<const uint8_t> memory, size_t address, Element element) {
  uint32_t bits = 0;
  for (int i = 0; i < BytesOf(element); ++i) bits |= uint32_t{memory[address + static_cast<size_t>(i)]} << (8 * i);
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
    tensor.mutable_bytes()[i * bytes + b] = static_cast<std::byte>(static_cast<uint8_t>(bits >> (8 * b)));
  }
}

// Sets element i of a tensor of fp64, fp16 or bf16.
void SetFloat(Tensor& tensor, int64_t i, float value) {
  const size_t at = static_cast<size_t>(i);
  if (tensor.type() == ElementType::kFloat64) {
    tensor.data<double>()[at] = value;
  } else {
    tensor.data<uint16_t>()[at] = tensor.type() == ElementType::kFloat16 ? FloatToHalf(value) : FloatToBfloat16(value);
  }
}

int32_t Quantise(float value, const Binding& b) {
  return static_cast<int32_t>(QuantiseToCode(value, InverseScale(b.scale), b.zero_point, {b.low, b.high}));
}

}  // namespace

Status Store(const Tensor& tensor, const Binding& b, std::span<uint8_t> memory) {
  if (tensor.type() != b.type || tensor.shape() != b.shape) {
    return ErrorAt("", fmt::format("'{}'", b.name),
                   fmt::format("is {} {}", NameOf(tensor.type()), tensor.shape().ToString()),
                   fmt::format("the program takes {} {}", NameOf(b.type), b.shape.ToString()));
  }
  Status status;
  ForEachElement(b, memory, [&](int64_t i, size_t address) {
    if (b.type == ElementType::kFloat32) {
      const float value = tensor.data<float>()[static_cast<size_t>(i)];
      if (b.element == Element::kFloat32) {
        PutInteger(memory, address, Element::kFloat32, static_cast<int64_t>(std::bit_cast<uint32_t>(value)));
      } else {
        PutInteger(memory, address, b.element, Quantise(value, b));
      }
      return;
    }
    if (IsFloat(b.type)) {
      const float value = static_cast<float>(tensor.ValueAt(i));
      PutInteger(memory, address, Element::kFloat32, static_cast<int64_t>(std::bit_cast<uint32_t>(value)));
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
    PutInteger(memory, address, b.element, value);
  });
  return status;
}

Tensor Load(const Binding& b, std::span<const uint8_t> memory) {
  Tensor out(b.type, b.shape);
  ForEachElement(b, memory, [&](int64_t i, size_t address) {
    if (b.type != ElementType::kFloat32 && IsFloat(b.type)) {
      SetFloat(out, i, GetFloat(memory, address));
    } else if (b.type != ElementType::kFloat32) {
      SetInteger(out, i, GetInteger(memory, address, b.element));
    } else if (b.element == Element::kFloat32) {
      out.data<float>()[static_cast<size_t>(i)] = GetFloat(memory, address);
    } else {
      const int64_t code = int64_t{GetInteger(memory, address, b.element)} - b.zero_point;
      out.data<float>()[static_cast<size_t>(i)] = static_cast<float>(code) * b.scale;
    }
  });
  return out;
}

Tensor LoadCodes(const Binding& b, std::span<const uint8_t> memory) {
  if (!b.holds_codes()) return Load(b, memory);
  constexpr ElementType kTypes[] = {ElementType::kInt8, ElementType::kUint8, ElementType::kInt16, ElementType::kInt32};
  Tensor out(kTypes[static_cast<size_t>(b.element)], b.shape);
  ForEachElement(b, memory,
                 [&](int64_t i, size_t address) { SetInteger(out, i, GetInteger(memory, address, b.element)); });
  return out;
}

}  // namespace kiln::systolic
