// Reads NumPy's .npy: magic, version, header length, a Python dict literal {descr, fortran_order,
// shape}, elements.
//   source  NEP 1 and numpy.lib.format, versions 1.0 to 3.0
#include <cstring>

#include "kiln/frontend/data_readers.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"

namespace kiln::data {
namespace {

// The contents of the dict.
struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Parses the only kind of dict that NumPy writes: three known keys with a string, a bool and a
// tuple of integers.
// Example: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  // Parses the dict. Returns an empty string on success, otherwise what was expected.
  std::string Parse(Header* header) {
    bool has_descr = false, has_order = false, has_shape = false;
    if (!Eat('{')) return "a dict";
    while (!Eat('}')) {
      std::string key;
      if (!String(&key) || !Eat(':')) return "a key in quotes and a colon";
      if (key == "descr") {
        if (!String(&header->descr)) return "a plain 'descr' (arrays of records are not read)";
        has_descr = true;
      } else if (key == "fortran_order") {
        const bool yes = Word("True");
        if (!yes && !Word("False")) return "True or False as 'fortran_order'";
        header->fortran_order = yes;
        has_order = true;
      } else if (key == "shape") {
        if (!Tuple(&header->shape)) return "a tuple of sizes as 'shape'";
        has_shape = true;
      } else {
        return "no key but descr, fortran_order and shape";
      }
      if (!Eat(',') && !Peek('}')) return "a comma between keys";
    }
    return has_descr && has_order && has_shape ? "" : "the keys descr, fortran_order and shape";
  }

 private:
  // The parsers below skip blanks first and return false, without an error message, if the text
  // does not match.
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool Peek(char c) {
    SkipBlanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool Eat(char c) {
    if (!Peek(c)) return false;
    ++at_;
    return true;
  }
  // Reads a Python literal such as True.
  bool Word(std::string_view word) {
    SkipBlanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  // Reads a string in single or double quotes, without escapes.
  bool String(std::string* out) {
    const char quote = Peek('"') ? '"' : '\'';
    if (!Eat(quote)) return false;
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }
  // Reads a number of digits; fails on one above kMaxElements, so it cannot overflow.
  bool Number(int64_t* out) {
    SkipBlanks();
    const size_t begin = at_;
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > kMaxElements) return false;
    }
    *out = value;
    return at_ > begin;
  }
  // Reads a tuple of numbers; a trailing comma is allowed, as in (5,).
  bool Tuple(std::vector<int64_t>* out) {
    if (!Eat('(')) return false;
    while (!Eat(')')) {
      int64_t value = 0;
      if (out->size() >= 32 || !Number(&value)) return false;  // 32: NumPy's own limit
      out->push_back(value);
      if (!Eat(',') && !Peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Returns the element type of a dtype without its byte order.
std::optional<ElementType> FindDescr(std::string_view kind) {
  struct Row {
    std::string_view kind;
    ElementType element;
  };
  constexpr Row kRows[] = {
      {"b1", ElementType::kBool},    {"i1", ElementType::kInt8},    {"u1", ElementType::kUint8},
      {"i2", ElementType::kInt16},   {"u2", ElementType::kUint16},  {"i4", ElementType::kInt32},
      {"u4", ElementType::kUint32},  {"i8", ElementType::kInt64},   {"u8", ElementType::kUint64},
      {"f2", ElementType::kFloat16}, {"f4", ElementType::kFloat32}, {"f8", ElementType::kFloat64}};
  for (const Row& row : kRows) {
    if (row.kind == kind) return row.element;
  }
  return std::nullopt;
}

// Converts column-major elements to row-major order.
std::string RowMajor(const char* column_major, const Shape& shape, int element_bytes) {
  const int64_t count = shape.NumElements();
  std::string out(static_cast<size_t>(count * element_bytes), '\0');
  const std::vector<int64_t> strides = RowMajorStrides(shape);
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  int64_t to = 0;
  for (int64_t from = 0; from < count; ++from) {
    std::memcpy(out.data() + to * element_bytes, column_major + from * element_bytes,
                static_cast<size_t>(element_bytes));
    for (size_t axis = 0; axis < index.size(); ++axis) {  // the first index varies fastest
      to += strides[axis];
      if (++index[axis] < shape[static_cast<int>(axis)]) break;
      to -= strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return out;
}

}  // namespace

StatusOr<Array> ReadNpyArray(const Source& source) {
  const std::string_view bytes = source.view();
  if (bytes.size() < 10 || !bytes.starts_with("\x93NUMPY")) {
    return ErrorAt(source.name, "", "not a .npy file", "it begins with \\x93NUMPY and a version");
  }
  const int version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3) {
    return UnsupportedAt(source.name, "", ".npy version " + std::to_string(version),
                         "versions 1 to 3 are read");
  }
  // The header's length has 2 bytes in version 1 and 4 bytes later, little-endian.
  const size_t length_bytes = version == 1 ? 2 : 4;
  size_t header_length = 0;
  for (size_t i = 0; i < length_bytes && 8 + i < bytes.size(); ++i) {
    header_length |= static_cast<size_t>(static_cast<uint8_t>(bytes[8 + i])) << (8 * i);
  }
  if (header_length > static_cast<size_t>(budgets::kNpyHeaderBytes)) {
    return ErrorAt(source.name, "",
                   "a .npy header of " + std::to_string(header_length) + " bytes is too long",
                   "at most " + std::to_string(budgets::kNpyHeaderBytes));
  }
  const size_t start = 8 + length_bytes + header_length;
  if (bytes.size() < start)
    return ErrorAt(source.name, "", "cut off within the .npy header", "fetch it again");
  Header header;
  const std::string expected =
      HeaderParser(bytes.substr(8 + length_bytes, header_length)).Parse(&header);
  if (!expected.empty()) {
    return ErrorAt(source.name, "", "the .npy header is not what NumPy writes",
                   "expected " + expected);
  }
  Array array;
  array.shape = Shape(std::move(header.shape));
  // A dtype is a byte order followed by a kind and a size: "<f4". '|' and '=' mean no or native
  // order.
  const std::optional<ElementType> element =
      header.descr.size() == 3 && std::strchr("<>|=", header.descr[0]) != nullptr
          ? FindDescr(std::string_view(header.descr).substr(1))
          : std::nullopt;
  if (!element.has_value()) {
    return UnsupportedAt(source.name, "", "elements of dtype " + QuotedExcerpt(header.descr),
                         "booleans, integers of 8 to 64 bits and floats of 16 to 64 bits are read");
  }
  array.element = *element;
  const int element_bytes = SizeOf(*element);
  const std::optional<int64_t> count = CheckedNumElements(array.shape);
  if (!count.has_value()) {
    return ErrorAt(source.name, "", "shape " + array.shape.ToString() + " is too large",
                   "is the header damaged?");
  }
  // The size must match exactly; a mismatch means a truncated or different file.
  const uint64_t needed = static_cast<uint64_t>(*count) * static_cast<uint64_t>(element_bytes);
  if (bytes.size() - start != needed) {
    return ErrorAt(source.name, "",
                   std::string(bytes.size() - start < needed ? "truncated" : "too long") +
                       ": shape " + array.shape.ToString() + " of " + QuotedExcerpt(header.descr) +
                       " needs " + std::to_string(needed) +
                       " bytes after the header, the file has " +
                       std::to_string(bytes.size() - start),
                   "save it again");
  }
  // Elements are used in place unless their byte order or their layout differs from Kiln's.
  array.bytes = source.bytes;
  array.offset = static_cast<int64_t>(start);
  const bool swap = header.descr[0] == '>' && element_bytes > 1;
  if (swap || (header.fortran_order && array.shape.rank() > 1)) {
    auto own = std::make_shared<std::string>(
        header.fortran_order ? RowMajor(bytes.data() + start, array.shape, element_bytes)
                             : std::string(bytes.substr(start)));
    if (swap) SwapBytes(own->data(), *count, element_bytes);
    array.bytes = std::move(own);
    array.offset = 0;
  }
  return array;
}

StatusOr<DataSet::Parts> ReadNpy(const Source& source, const DataOptions&) {
  KILN_ASSIGN_OR_RETURN(Array array, ReadNpyArray(source));
  return PartsOf(source, std::move(array));
}

}  // namespace kiln::data
