// Element types of tensors, as model files declare them, with names and ONNX codes.
//
// The formats of quantised values are a different matter: numerics/format.h. A quantised value
// keeps its element type and gets an annotation.
#ifndef KILN_IR_ELEMENT_TYPE_H_
#define KILN_IR_ELEMENT_TYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln {

// The element types. The order matters: IsFloat and IsInteger test ranges.
enum class ElementType {
  kFloat32,
  kFloat64,
  kFloat16,
  kBfloat16,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
  kString,
};

// Returns the size of one element in bytes; 0 for kString, which is not stored in the byte array.
int SizeOf(ElementType type);
// Returns "f32", "f64", "f16", "bf16", "i8", ..., "u64", "bool" or "string".
std::string_view NameOf(ElementType type);
// Returns the type with that name, or nullopt.
std::optional<ElementType> FindElementType(std::string_view name);
// Convert from and to the numbers of ONNX's TensorProto.DataType, which Cast's attribute `to` uses.
std::optional<ElementType> FindElementTypeByOnnxCode(int64_t code);
int64_t OnnxCodeOf(ElementType type);
// Return whether elements are floats, or integers; kBool and kString are neither.
inline bool IsFloat(ElementType t) { return t <= ElementType::kBfloat16; }
inline bool IsInteger(ElementType t) {
  return t >= ElementType::kInt8 && t <= ElementType::kUint64;
}

// Returns the element type of a C++ type: ElementTypeOf<float>() == kFloat32. fp16 and bf16 have no
// C++ type; they are stored as uint16_t bits.
template <typename T>
constexpr ElementType ElementTypeOf();
template <>
constexpr ElementType ElementTypeOf<float>() {
  return ElementType::kFloat32;
}
template <>
constexpr ElementType ElementTypeOf<double>() {
  return ElementType::kFloat64;
}
template <>
constexpr ElementType ElementTypeOf<int8_t>() {
  return ElementType::kInt8;
}
template <>
constexpr ElementType ElementTypeOf<int16_t>() {
  return ElementType::kInt16;
}
template <>
constexpr ElementType ElementTypeOf<int32_t>() {
  return ElementType::kInt32;
}
template <>
constexpr ElementType ElementTypeOf<int64_t>() {
  return ElementType::kInt64;
}
template <>
constexpr ElementType ElementTypeOf<uint8_t>() {
  return ElementType::kUint8;
}
template <>
constexpr ElementType ElementTypeOf<uint16_t>() {
  return ElementType::kUint16;
}
template <>
constexpr ElementType ElementTypeOf<uint32_t>() {
  return ElementType::kUint32;
}
template <>
constexpr ElementType ElementTypeOf<uint64_t>() {
  return ElementType::kUint64;
}
template <>
constexpr ElementType ElementTypeOf<bool>() {
  return ElementType::kBool;
}

}  // namespace kiln

#endif  // KILN_IR_ELEMENT_TYPE_H_
