#include "kiln/ir/element_type.h"

#include <iterator>

namespace kiln {
namespace {

struct Row {
  ElementType type;
  std::string_view name;
  int bytes;
};

constexpr Row kRows[] = {
    {ElementType::kFloat32, "f32", 4},   {ElementType::kFloat64, "f64", 8},   {ElementType::kFloat16, "f16", 2},
    {ElementType::kBfloat16, "bf16", 2}, {ElementType::kInt8, "i8", 1},       {ElementType::kInt16, "i16", 2},
    {ElementType::kInt32, "i32", 4},     {ElementType::kInt64, "i64", 8},     {ElementType::kUint8, "u8", 1},
    {ElementType::kUint16, "u16", 2},    {ElementType::kUint32, "u32", 4},    {ElementType::kUint64, "u64", 8},
    {ElementType::kBool, "bool", 1},     {ElementType::kString, "string", 0},
};

}  // namespace

int SizeOf(ElementType type) { return kRows[static_cast<int>(type)].bytes; }
std::string_view NameOf(ElementType type) { return kRows[static_cast<int>(type)].name; }

std::optional<ElementType> FindElementType(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

}  // namespace kiln
