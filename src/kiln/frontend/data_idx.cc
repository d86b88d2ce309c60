// Reads IDX files: two zero bytes, a type byte, the rank, one big-endian 32-bit size per dimension,
// then the elements, big-endian.
//   source  Y. LeCun, C. Cortes, C. Burges, "The MNIST database", file format
#include "kiln/frontend/data_readers.h"

namespace kiln::data {
namespace {

// A type code of the header and its element type.
struct Type {
  uint8_t code;
  ElementType element;
};
constexpr Type kTypes[] = {{0x08, ElementType::kUint8},   {0x09, ElementType::kInt8},
                           {0x0b, ElementType::kInt16},   {0x0c, ElementType::kInt32},
                           {0x0d, ElementType::kFloat32}, {0x0e, ElementType::kFloat64}};

// Returns the big-endian 32-bit number at byte `at`.
uint32_t BigEndian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

}  // namespace

// Example: 00 00 08 03, 00 00 27 10, 00 00 00 1c, 00 00 00 1c are 10000 images of 28x28 bytes
// (MNIST).
StatusOr<Array> ReadIdxArray(const Source& source) {
  const std::string_view bytes = source.view();
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0) {
    return ErrorAt(source.name, "", "not an IDX file",
                   "it begins with two zero bytes, a type and a rank");
  }
  // Byte 2 is the type, byte 3 the rank.
  const Type* type = nullptr;
  for (const Type& row : kTypes) {
    if (row.code == static_cast<uint8_t>(bytes[2])) type = &row;
  }
  if (type == nullptr) {
    return ErrorAt(source.name, "byte 2",
                   "unknown IDX type code " + std::to_string(static_cast<uint8_t>(bytes[2])),
                   "one of 8, 9, 11, 12, 13, 14");
  }
  const size_t rank = static_cast<uint8_t>(bytes[3]);
  if (rank < 1 || rank > 8) {
    return ErrorAt(source.name, "byte 3", "IDX rank " + std::to_string(rank),
                   "1 to 8 dimensions are read");
  }
  const size_t header = 4 + 4 * rank;
  if (bytes.size() < header) {
    return ErrorAt(source.name, "",
                   "cut off within the IDX header (" + std::to_string(bytes.size()) + " bytes)",
                   "fetch it again");
  }
  // Sizes follow the rank byte, one per dimension.
  std::vector<int64_t> dims;
  for (size_t i = 0; i < rank; ++i) dims.push_back(BigEndian(bytes, 4 + 4 * i));
  Array array;
  array.element = type->element;
  array.shape = Shape(std::move(dims));
  const std::optional<int64_t> count = CheckedNumElements(array.shape);
  if (!count.has_value()) {
    return ErrorAt(source.name, "", "IDX sizes " + array.shape.ToString() + " are too large",
                   "is the header damaged?");
  }
  const uint64_t needed =
      header + static_cast<uint64_t>(*count) * static_cast<uint64_t>(SizeOf(type->element));
  if (bytes.size() != needed) {
    return ErrorAt(source.name, "",
                   std::string(bytes.size() < needed ? "truncated" : "too long") + ": IDX sizes " +
                       array.shape.ToString() + " need " + std::to_string(needed) +
                       " bytes, the file has " + std::to_string(bytes.size()),
                   "fetch it again");
  }
  array.bytes = source.bytes;
  array.offset = static_cast<int64_t>(header);
  // Multi-byte elements are copied and swapped; bytes are read in place.
  if (SizeOf(type->element) > 1) {
    auto swapped = std::make_shared<std::string>(bytes.substr(header));
    SwapBytes(swapped->data(), *count, SizeOf(type->element));
    array.bytes = std::move(swapped);
    array.offset = 0;
  }
  return array;
}

StatusOr<DataSet::Parts> ReadIdx(const Source& source, const DataOptions&) {
  KILN_ASSIGN_OR_RETURN(Array array, ReadIdxArray(source));
  // A vector of single values is a file of labels given in place of images.
  if (array.shape.rank() == 1) {
    return ErrorAt(source.name, "",
                   "holds " + array.shape.ToString() + " single values, as a file of labels does",
                   "name the images here and this file with --labels");
  }
  return PartsOf(source, std::move(array));
}

}  // namespace kiln::data
