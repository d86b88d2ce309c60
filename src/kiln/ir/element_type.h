// Element types of tensors as they stand in a model file (not the formats of quantised values: numerics/format.h).
#ifndef KILN_IR_ELEMENT_TYPE_H_
#define KILN_IR_ELEMENT_TYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln {

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

// Bytes of one element; kString elements live outside the byte array and count 0.
int SizeOf(ElementType type);
std::string_view NameOf(
    ElementType type);  // "f32", "f64", "f16", "bf16", "i8", ..., "u64", "bool", "string"
std::optional<ElementType> FindElementType(std::string_view name);
// To and from the numbers of ONNX's TensorProto.DataType, which also stand in Cast's attribute `to`.
std::optional<ElementType> FindElementTypeByOnnxCode(int64_t code);
int64_t OnnxCodeOf(ElementType type);
inline bool IsFloat(ElementType t) { return t <= ElementType::kBfloat16; }
inline bool IsInteger(ElementType t) {
  return t >= ElementType::kInt8 && t <= ElementType::kUint64;
}

// C++ type to element type: ElementTypeOf<float>() == kFloat32. fp16 and bf16 are stored as uint16_t bits and have
// none.
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
