// Implements onnx_tensor.h.
#include "kiln/frontend/onnx_tensor.h"

#include "kiln/frontend/onnx_narrow.h"
#include "kiln/support/excerpt.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>

namespace kiln {
namespace {

// By the numbers of TensorProto.DataType in onnx.proto; the last ones may be newer than the
// installed header.
constexpr std::string_view kTypeNames[] = {
    "undefined",      "float",      "uint8",          "int8",       "uint16",   "int16",
    "int32",          "int64",      "string",         "bool",       "float16",  "double",
    "uint32",         "uint64",     "complex64",      "complex128", "bfloat16", "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",     "float4e2m1"};

// A tensor with fewer bytes gets its own storage (aligned, with slack); a larger one is a view if
// its alignment allows.
constexpr int64_t kSmallTensorBytes = 64 * 1024;

// A tensor's type and checked shape.
struct Header {
  ElementType element;
  Shape shape;
  int64_t count = 0;
};

// Reads and checks a tensor's element type and dimensions.
StatusOr<Header> ReadHeader(const onnx::TensorProto& proto, const std::string& source,
                            const std::string& place) {
  const std::optional<ElementType> element = FindElementTypeByOnnxCode(proto.data_type());
  if (!element) {
    return UnsupportedAt(source, place,
                         "element type " + OnnxTypeName(proto.data_type()) + " is not supported",
                         "convert the tensor to a float or integer type of 8 bits or more");
  }
  if (proto.has_segment()) {
    return UnsupportedAt(source, place, "is stored in segments", "store the tensor in one piece");
  }
  Header header{*element, Shape(std::vector<int64_t>(proto.dims().begin(), proto.dims().end()))};
  const std::optional<int64_t> count = CheckedNumElements(header.shape);
  if (!count) {
    return ErrorAt(source, place, "shape " + header.shape.ToString() + " is negative or too large",
                   fmt::format("at most {} elements", kMaxElements));
  }
  header.count = *count;
  return header;
}

// Returns the error for data that does not fit the shape.
Status WrongSize(const std::string& source, const std::string& place, const Header& header,
                 uint64_t found, std::string_view unit) {
  return ErrorAt(
      source, place,
      fmt::format("holds {} {} where shape {} of {} needs {}", found, unit, header.shape.ToString(),
                  NameOf(header.element),
                  unit == "bytes" ? header.count * SizeOf(header.element) : header.count),
      "the file is damaged or was cut short");
}

// Returns true if a tensor with these bytes is copied: it is small, or not aligned for its type.
bool IsCopied(const Header& header, const std::byte* bytes) {
  const int size = SizeOf(header.element);
  return header.count * size < kSmallTensorBytes ||
         reinterpret_cast<uintptr_t>(bytes) % static_cast<uintptr_t>(size);
}

// Returns a tensor over bytes that `owner` keeps alive, or a copy of them.
Tensor ViewOrCopy(const Header& header, std::shared_ptr<const void> owner, const std::byte* bytes) {
  if (!IsCopied(header, bytes))
    return Tensor::View(header.element, header.shape, std::move(owner), bytes);
  const int64_t num_bytes = header.count * SizeOf(header.element);
  Tensor tensor(header.element, header.shape);
  if (num_bytes > 0) std::memcpy(tensor.mutable_bytes(), bytes, static_cast<size_t>(num_bytes));
  return tensor;
}

// Replaces every byte other than 0 by 1; kernels rely on these two values.
Tensor NormaliseBool(Tensor tensor) {
  if (tensor.type() != ElementType::kBool) return tensor;
  bool clean = true;
  for (int64_t i = 0; i < tensor.size(); ++i)
    clean = clean && static_cast<uint8_t>(tensor.bytes()[i]) <= 1;
  if (clean) return tensor;
  Tensor copy = tensor.Clone();
  for (int64_t i = 0; i < copy.size(); ++i) {
    copy.mutable_bytes()[i] = copy.bytes()[i] != std::byte{0} ? std::byte{1} : std::byte{0};
  }
  return copy;
}

// Parses an offset or length of external data.
StatusOr<uint64_t> ParseNumber(const std::string& text, const std::string& source,
                               const std::string& place, const std::string& key) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return ErrorAt(source, place, "external data has " + Excerpt(key) + " " + QuotedExcerpt(text),
                   "it must be a number of bytes");
  }
  return value;
}

// Reads a tensor from an external file: a range of bytes of a file in the model's folder.
StatusOr<Tensor> ReadExternal(const onnx::TensorProto& proto, const Header& header,
                              const std::string& source, const std::string& place,
                              ExternalFiles& files) {
  if (header.element == ElementType::kString) {
    return ErrorAt(source, place, "strings cannot be stored as external data", "");
  }
  // The keys of external_data that ONNX defines; `checksum` is optional and not verified.
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      KILN_ASSIGN_OR_RETURN(offset, ParseNumber(entry.value(), source, place, "offset"));
    }
    if (entry.key() == "length") {
      KILN_ASSIGN_OR_RETURN(length, ParseNumber(entry.value(), source, place, "length"));
    }
  }
  KILN_ASSIGN_OR_RETURN(const MappedFile file, files.Open(location, place));
  const uint64_t needed = static_cast<uint64_t>(header.count * SizeOf(header.element));
  if (length && *length != needed) return WrongSize(source, place, header, *length, "bytes");
  if (offset > file.size || needed > file.size - offset) {
    return ErrorAt(source, place,
                   fmt::format("needs {} bytes at offset {} of {}, which has {}", needed, offset,
                               QuotedExcerpt(location), file.size),
                   "the external file is damaged or was cut short");
  }
  // Booleans are counted as copied, because bytes other than 0 and 1 force a copy.
  const bool copied = header.element == ElementType::kBool || IsCopied(header, file.bytes + offset);
  KILN_RETURN_IF_ERROR(files.Charge(static_cast<int64_t>(needed), copied, place));
  return NormaliseBool(ViewOrCopy(header, file.owner, file.bytes + offset));
}

// Takes over raw data, which is already in memory in the right layout.
StatusOr<Tensor> TakeRaw(onnx::TensorProto& proto, const Header& header, const std::string& source,
                         const std::string& place) {
  if (header.element == ElementType::kString)
    return ErrorAt(source, place, "strings cannot be stored as raw data", "");
  const uint64_t needed = static_cast<uint64_t>(header.count * SizeOf(header.element));
  if (proto.raw_data().size() != needed)
    return WrongSize(source, place, header, proto.raw_data().size(), "bytes");
  // Takes the string out of the proto; a large tensor becomes a view of it.
  const std::shared_ptr<const std::string> bytes(proto.release_raw_data());
  return NormaliseBool(
      ViewOrCopy(header, bytes, reinterpret_cast<const std::byte*>(bytes->data())));
}

// Copies a typed field of the proto, narrowing each entry to the element type's own width.
template <typename T, typename Field>
StatusOr<Tensor> CopyField(const Field& field, const Header& header, const std::string& source,
                           const std::string& place) {
  if (field.size() != header.count) {
    return WrongSize(source, place, header, static_cast<uint64_t>(field.size()), "elements");
  }
  Tensor tensor(header.element, header.shape);
  T* out = reinterpret_cast<T*>(tensor.mutable_bytes());
  for (int64_t i = 0; i < header.count; ++i)
    out[i] = static_cast<T>(field.Get(static_cast<int>(i)));
  return tensor;
}

// Copies the typed field in which ONNX stores an element type: small integers and halves in
// int32_data, for instance.
StatusOr<Tensor> CopyTyped(const onnx::TensorProto& proto, const Header& header,
                           const std::string& source, const std::string& place) {
  switch (header.element) {
    case ElementType::kFloat32:
      return CopyField<float>(proto.float_data(), header, source, place);
    case ElementType::kFloat64:
      return CopyField<double>(proto.double_data(), header, source, place);
    case ElementType::kInt64:
      return CopyField<int64_t>(proto.int64_data(), header, source, place);
    case ElementType::kUint32:
      return CopyField<uint32_t>(proto.uint64_data(), header, source, place);
    case ElementType::kUint64:
      return CopyField<uint64_t>(proto.uint64_data(), header, source, place);
    case ElementType::kInt32:
      return CopyField<int32_t>(proto.int32_data(), header, source, place);
    case ElementType::kInt16:
      return CopyField<int16_t>(proto.int32_data(), header, source, place);
    case ElementType::kInt8:
      return CopyField<int8_t>(proto.int32_data(), header, source, place);
    case ElementType::kUint16:
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return CopyField<uint16_t>(proto.int32_data(), header, source, place);
    case ElementType::kUint8:
      return CopyField<uint8_t>(proto.int32_data(), header, source, place);
    case ElementType::kBool: {
      KILN_ASSIGN_OR_RETURN(Tensor tensor,
                            CopyField<uint8_t>(proto.int32_data(), header, source, place));
      return NormaliseBool(std::move(tensor));
    }
    case ElementType::kString: {
      if (proto.string_data_size() != header.count) {
        return WrongSize(source, place, header, static_cast<uint64_t>(proto.string_data_size()),
                         "elements");
      }
      return Tensor::OfStrings(header.shape,
                               {proto.string_data().begin(), proto.string_data().end()});
    }
  }
  return ErrorAt(source, place, "has no element type", "");
}

// Releases the memory of a converted proto.
void FreeTypedFields(onnx::TensorProto& proto) {
  // Clear() keeps the capacity of repeated fields; swapping with an empty proto releases it.
  onnx::TensorProto empty;
  proto.Swap(&empty);
}

}  // namespace

std::string OnnxTypeName(int64_t data_type) {
  // A number from a newer version of ONNX has no name here.
  if (data_type < 0 || data_type >= static_cast<int64_t>(std::size(kTypeNames))) {
    return fmt::format("number {}", data_type);
  }
  return std::string(kTypeNames[data_type]);
}

StatusOr<Tensor> TakeTensor(onnx::TensorProto& proto, const std::string& source,
                            const std::string& place, ExternalFiles& files) {
  if (!NarrowFormatOf(proto.data_type()).empty())
    return TakeNarrowTensor(proto, source, place, files);
  KILN_ASSIGN_OR_RETURN(const Header header, ReadHeader(proto, source, place));
  StatusOr<Tensor> tensor = Tensor();
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    tensor = ReadExternal(proto, header, source, place, files);
  } else if (proto.has_raw_data()) {
    tensor = TakeRaw(proto, header, source, place);
  } else {
    tensor = CopyTyped(proto, header, source, place);
  }
  FreeTypedFields(proto);
  return tensor;
}

// The dense form counts against the budget before it is allocated.
StatusOr<Tensor> TakeSparseTensor(onnx::SparseTensorProto& proto, const std::string& source,
                                  const std::string& place, ExternalFiles& files,
                                  ElementBudget& budget) {
  const Shape shape(std::vector<int64_t>(proto.dims().begin(), proto.dims().end()));
  const std::optional<int64_t> count = CheckedNumElements(shape);
  // The dense form may be far larger than the file.
  if (!count || *count == 0 || !budget.Take(*count)) {
    return ErrorAt(source, place,
                   "sparse tensor of shape " + shape.ToString() + " is empty or too large",
                   "store it as a dense tensor");
  }
  KILN_ASSIGN_OR_RETURN(const Tensor values,
                        TakeTensor(*proto.mutable_values(), source, place, files));
  KILN_ASSIGN_OR_RETURN(const Tensor indices,
                        TakeTensor(*proto.mutable_indices(), source, place, files));
  if (values.type() == ElementType::kString || indices.type() != ElementType::kInt64) {
    return ErrorAt(source, place, "sparse tensor needs numbers as values and i64 indices", "");
  }
  const int64_t entries = values.size();
  // ONNX allows one linear index per entry, or one tuple of indices.
  const bool linear = indices.shape().rank() == 1 && indices.size() == entries;
  const bool tuples = indices.shape().rank() == 2 && indices.shape()[0] == entries &&
                      indices.shape()[1] == shape.rank();
  if (!linear && !tuples) {
    return ErrorAt(source, place,
                   "sparse tensor has indices of shape " + indices.shape().ToString(),
                   fmt::format("{} or {}x{}", entries, entries, shape.rank()));
  }
  // Scatters the entries into zeros; an index is a position in row-major order or a tuple.
  const std::vector<int64_t> strides = RowMajorStrides(shape);
  const size_t size = static_cast<size_t>(SizeOf(values.type()));
  Tensor dense(values.type(), shape);
  for (int64_t i = 0; i < entries; ++i) {
    int64_t position = 0;
    bool inside = true;
    if (linear) {
      position = indices.IntAt(i);
      inside = position >= 0 && position < *count;
    } else {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        const int64_t index = indices.IntAt(i * shape.rank() + axis);
        if (index < 0 || index >= shape[axis]) {
          inside = false;
          break;
        }
        position += index * strides[static_cast<size_t>(axis)];
      }
    }
    if (!inside)
      return ErrorAt(source, place, fmt::format("sparse index {} lies outside the tensor", i), "");
    std::memcpy(dense.mutable_bytes() + position * static_cast<int64_t>(size),
                values.bytes() + i * static_cast<int64_t>(size), size);
  }
  return dense;
}

void WriteTensor(const Tensor& tensor, const std::string& name, onnx::TensorProto* proto) {
  proto->set_name(name);
  proto->set_data_type(static_cast<int32_t>(OnnxCodeOf(tensor.type())));
  for (int64_t dim : tensor.shape().dims()) proto->add_dims(dim);
  if (tensor.type() == ElementType::kString) {
    for (const std::string& text : tensor.strings()) proto->add_string_data(text);
    return;
  }
  proto->set_raw_data(tensor.bytes(), static_cast<size_t>(tensor.num_bytes()));
}

}  // namespace kiln
