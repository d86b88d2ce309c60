// The table of element types: name, size and ONNX code of each.

#include "kiln/ir/element_type.h"

#include <iterator>

namespace kiln {
namespace {

// A row of the table, in the order of the enumeration.
struct Row {
  ElementType type;
  std::string_view name;
  int bytes;
  int onnx_code;  // TensorProto.DataType
};

constexpr Row kRows[] = {
    {ElementType::kFloat32, "f32", 4, 1},  {ElementType::kFloat64, "f64", 8, 11},
    {ElementType::kFloat16, "f16", 2, 10}, {ElementType::kBfloat16, "bf16", 2, 16},
    {ElementType::kInt8, "i8", 1, 3},      {ElementType::kInt16, "i16", 2, 5},
    {ElementType::kInt32, "i32", 4, 6},    {ElementType::kInt64, "i64", 8, 7},
    {ElementType::kUint8, "u8", 1, 2},     {ElementType::kUint16, "u16", 2, 4},
    {ElementType::kUint32, "u32", 4, 12},  {ElementType::kUint64, "u64", 8, 13},
    {ElementType::kBool, "bool", 1, 9},    {ElementType::kString, "string", 0, 8},
};

}  // namespace

// The rows are in enumeration order, so that a type is the index of its row.
int SizeOf(ElementType type) { return kRows[static_cast<int>(type)].bytes; }
std::string_view NameOf(ElementType type) { return kRows[static_cast<int>(type)].name; }

std::optional<ElementType> FindElementType(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

std::optional<ElementType> FindElementTypeByOnnxCode(int64_t code) {
  for (const Row& row : kRows) {
    if (row.onnx_code == code) return row.type;
  }
  return std::nullopt;
}

int64_t OnnxCodeOf(ElementType type) { return kRows[static_cast<int>(type)].onnx_code; }

}  // namespace kiln
