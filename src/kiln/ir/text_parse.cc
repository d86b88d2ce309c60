// Parses the text form by recursive descent. A Scanner provides tokens and error positions; a
// Parser reads statements and builds the graph as it goes.

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "fmt/format.h"
#include "kiln/ir/base64.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"
#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

// The most bytes of a token that a message quotes.
constexpr size_t kTokenBytes = 40;

// The text and a position in it. Every reading function skips white space and comments first.
class Scanner {
 public:
  Scanner(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  // Returns an error at the start of the last token.
  Status Error(std::string_view fault, std::string_view remedy) const {
    const std::string_view before = text_.substr(0, token_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t line_begin = before.find_last_of('\n') + 1;  // npos + 1 is 0
    return ErrorAt(source_, fmt::format("line {}, column {}", line, token_ - line_begin + 1), fault,
                   remedy);
  }
  // Returns the error that `what` was expected instead of the next token.
  Status Expected(std::string_view what) const {
    return Error(fmt::format("found {}", Found()), fmt::format("expected {}", what));
  }

  // Returns whether only white space and comments are left.
  bool AtEnd() {
    Skip();
    return position_ == text_.size();
  }
  // Consumes `c` if it is the next character. Returns whether it was.
  bool Take(char c) {
    Skip();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  // Returns the next character without consuming it; '\0' at the end.
  char Peek() {
    Skip();
    return position_ == text_.size() ? '\0' : text_[position_];
  }
  Status Expect(char c) { return Take(c) ? OkStatus() : Expected(fmt::format("'{}'", c)); }

  // Consumes and returns a run of letters, digits and _ . / : + -; empty if there is none.
  std::string_view Word() {
    Skip();
    size_t end = position_;
    while (end < text_.size() && IsWordByte(text_[end])) ++end;
    const std::string_view word = text_.substr(position_, end - position_);
    position_ = end;
    return word;
  }
  // Consumes the word if it is the next one. Returns whether it was.
  bool TakeWord(std::string_view word) {
    Skip();
    const size_t before = position_;
    if (Word() == word) return true;
    position_ = before;
    return false;
  }

  // Reads a string in double quotes on one line and resolves its escapes.
  StatusOr<std::string> Quoted() {
    Skip();
    if (position_ == text_.size() || text_[position_] != '"')
      return Expected("a string in double quotes");
    std::string out;
    for (size_t i = position_ + 1; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"') {
        position_ = i + 1;
        return out;
      }
      if (c == '\n') break;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (++i == text_.size()) break;
      switch (text_[i]) {
        case '"':
        case '\\':
          out += text_[i];
          break;
        case 'n':
          out += '\n';
          break;
        case 'r':
          out += '\r';
          break;
        case 't':
          out += '\t';
          break;
        case 'x': {
          unsigned byte = 0;
          const char* digits = text_.data() + i + 1;
          if (text_.size() - i < 3 ||
              std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
            token_ = i;
            return Error("an escape \\x without two hexadecimal digits", "as in \\x0a");
          }
          out += static_cast<char>(byte);
          i += 2;
          break;
        }
        default:
          token_ = i;
          return Error(fmt::format("unknown escape \\{}", Excerpt(text_.substr(i, 1), kTokenBytes)),
                       "one of: \\\" \\\\ \\n \\r \\t \\xHH");
      }
    }
    return Error("a string that does not end on its line", "a closing double quote");
  }

  // Consumes and returns the characters of a number: a word, or nan(bits).
  std::string_view NumberText() {
    Skip();
    const size_t begin = position_;
    if (Word() == "nan" && position_ < text_.size() && text_[position_] == '(') {
      const size_t close = text_.find(')', position_);
      if (close != std::string_view::npos) position_ = close + 1;
    }
    token_ = begin;
    return text_.substr(begin, position_ - begin);
  }

  // Returns the number of remaining bytes, an upper limit of the number of elements to come.
  size_t Left() const { return text_.size() - position_; }

 private:
  static bool IsWordByte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/' || c == ':' || c == '-' || c == '+';
  }
  // Skips white space and comments, and marks the start of the next token.
  void Skip() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '#') {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++position_;
      } else {
        break;
      }
    }
    token_ = position_;
  }
  // Returns the next token for a message; bytes that are not printable as a number.
  std::string Found() const {
    if (token_ == text_.size()) return "the end of the text";
    size_t end = token_;
    while (end < text_.size() && IsWordByte(text_[end])) ++end;
    const std::string_view token = text_.substr(token_, std::max<size_t>(end - token_, 1));
    const auto byte = static_cast<unsigned char>(token[0]);
    if (byte < ' ' || byte > '~') return fmt::format("the byte 0x{:02x}", byte);
    return QuotedExcerpt(token, kTokenBytes);
  }

  std::string_view text_, source_;
  size_t position_ = 0;
  size_t token_ = 0;  // where the last token begins
};

// Parses the whole text as an integer of type T. Errors: not an integer, out of range.
template <typename T>
StatusOr<T> ParseInteger(Scanner& scan, std::string_view text) {
  T value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size() || fault != std::errc()) {
    if (fault == std::errc::result_out_of_range) {
      return scan.Error(
          fmt::format("the number {} is out of range", Excerpt(text, kTokenBytes)),
          fmt::format("{} to {}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
    return scan.Expected("an integer");
  }
  return value;
}

template <typename T>
// Reads the next number as an integer of type T.
StatusOr<T> ReadInteger(Scanner& scan) {
  const std::string_view text = scan.NumberText();
  return ParseInteger<T>(scan, text);
}

// Parses the whole text as a float of type T. "nan(hex)" gives the bits of a NaN, as Bits.
template <typename T, typename Bits>
StatusOr<T> ParseFloat(Scanner& scan, std::string_view text) {
  if (text.starts_with("nan(") && text.ends_with(')')) {
    Bits bits = 0;
    const char* begin = text.data() + 4;
    const char* stop = text.data() + text.size() - 1;
    const auto [end, fault] = std::from_chars(begin, stop, bits, 16);
    const T value = std::bit_cast<T>(bits);
    if (end != stop || fault != std::errc() || value == value)
      return scan.Expected("the bits of a NaN");
    return value;
  }
  if (text == "nan") return std::numeric_limits<T>::quiet_NaN();
  T value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  // from_chars also accepts "nan" forms with payloads, which the text form writes differently.
  const size_t first = text.find_first_not_of('-');
  const bool named = first != std::string_view::npos && (text[first] == 'n' || text[first] == 'N');
  if (text.empty() || named || end != text.data() + text.size() || fault != std::errc()) {
    return scan.Expected(fault == std::errc::result_out_of_range ? "a number in range"
                                                                 : "a number");
  }
  return value;
}

// Parses the whole text as the bits of an fp16 or bf16 number, rounded from fp32.
StatusOr<uint16_t> ParseHalf(Scanner& scan, std::string_view text, ElementType type) {
  if (text.starts_with("nan(") && text.ends_with(')')) {
    uint16_t bits = 0;
    const char* begin = text.data() + 4;
    const char* stop = text.data() + text.size() - 1;
    const auto [end, fault] = std::from_chars(begin, stop, bits, 16);
    const float value = type == ElementType::kFloat16 ? HalfToFloat(bits) : Bfloat16ToFloat(bits);
    if (end != stop || fault != std::errc() || value == value)
      return scan.Expected("the bits of a NaN");
    return bits;
  }
  KILN_ASSIGN_OR_RETURN(const float value, (ParseFloat<float, uint32_t>(scan, text)));
  return type == ElementType::kFloat16 ? FloatToHalf(value) : FloatToBfloat16(value);
}

// Reads "[item, item]" with a function that reads one item.
template <typename T, typename Read>
StatusOr<std::vector<T>> ReadList(Scanner& scan, Read read) {
  KILN_RETURN_IF_ERROR(scan.Expect('['));
  std::vector<T> out;
  if (scan.Take(']')) return out;
  do {
    KILN_ASSIGN_OR_RETURN(T item, read());
    out.push_back(std::move(item));
  } while (scan.Take(','));
  KILN_RETURN_IF_ERROR(scan.Expect(']'));
  return out;
}

// Reads a whole text into a graph. Functions named Read... consume their part of the text.
class Parser {
 public:
  Parser(std::string_view text, std::string_view source, const ParseOptions& options)
      : scan_(text, source), options_(options) {
    graph_.set_source(std::string(source));
  }

  // Reads the whole text as one graph.
  StatusOr<Graph> Run() {
    if (!scan_.TakeWord("graph")) return scan_.Expected("graph");
    KILN_ASSIGN_OR_RETURN(std::string name, scan_.Quoted());
    graph_.set_name(std::move(name));
    KILN_RETURN_IF_ERROR(scan_.Expect('{'));
    while (!scan_.Take('}')) KILN_RETURN_IF_ERROR(ReadStatement());
    if (!scan_.AtEnd()) return scan_.Expected("the end of the text after the closing brace");
    if (options_.verify) KILN_RETURN_IF_ERROR(Verify(graph_));
    return std::move(graph_);
  }

  // Reads the whole text as one annotation.
  StatusOr<Quantisation> RunQuantisation() {
    KILN_ASSIGN_OR_RETURN(Quantisation q, ReadAnnotation());
    if (!scan_.AtEnd()) return scan_.Expected("the end of the annotation");
    return q;
  }

 private:
  // Reads one statement: a node, or a line that begins with a keyword.
  Status ReadStatement() {
    const char next = scan_.Peek();
    if (next == '%' || next == '_') return ReadNode();
    if (scan_.TakeWord("input")) return ReadInput();
    if (scan_.TakeWord("const")) return ReadConstant();
    if (scan_.TakeWord("output")) {
      KILN_ASSIGN_OR_RETURN(Value * value, ReadUse());
      if (value == nullptr) return scan_.Expected("a value");
      graph_.MarkOutput(value);
      return OkStatus();
    }
    if (scan_.TakeWord("metadata")) {
      KILN_ASSIGN_OR_RETURN(std::string key, scan_.Quoted());
      KILN_RETURN_IF_ERROR(scan_.Expect('='));
      KILN_ASSIGN_OR_RETURN(std::string value, scan_.Quoted());
      graph_.metadata()[key] = std::move(value);
      return OkStatus();
    }
    return scan_.Expected("metadata, input, const, output, a node, or '}'");
  }

  // Reads "%name" without looking it up.
  StatusOr<std::string> ReadName() {
    KILN_RETURN_IF_ERROR(scan_.Expect('%'));
    if (scan_.Peek() == '"') return scan_.Quoted();
    const std::string_view word = scan_.Word();
    if (word.empty()) return scan_.Expected("a name after '%'");
    return std::string(word);
  }

  // Reads the name of a new value. Errors: empty, taken.
  StatusOr<std::string> ReadNewName() {
    KILN_ASSIGN_OR_RETURN(std::string name, ReadName());
    // Graph::AddNode replaces empty names by made-up ones.
    if (name.empty()) return scan_.Error("a value has an empty name", "a name");
    if (graph_.FindValue(name) != nullptr) {
      return scan_.Error(fmt::format("the name %{} is taken", Excerpt(name, kTokenBytes)),
                         "every value once");
    }
    return name;
  }

  // Reads "%name" of an existing value, or "_" (null).
  StatusOr<Value*> ReadUse() {
    if (scan_.TakeWord("_")) return nullptr;
    KILN_ASSIGN_OR_RETURN(const std::string name, ReadName());
    Value* value = graph_.FindValue(name);
    if (value == nullptr) {
      return scan_.Error(
          fmt::format("no value %{} is defined before this", Excerpt(name, kTokenBytes)),
          "values defined above their use");
    }
    return value;
  }

  // Reads "element[dimensions]".
  StatusOr<TensorType> ReadType() {
    const std::string_view word = scan_.Word();
    const std::optional<ElementType> element = FindElementType(word);
    if (!element.has_value()) return scan_.Expected("an element type such as f32 or i64");
    TensorType type{*element, std::nullopt};
    KILN_RETURN_IF_ERROR(scan_.Expect('['));
    if (scan_.Take('*')) {
      KILN_RETURN_IF_ERROR(scan_.Expect(']'));
      return type;
    }
    std::vector<int64_t> dims;
    if (!scan_.Take(']')) {
      // Adjacent known dimensions are one word, "1x3x32", which a "?" interrupts.
      bool separated = true;
      while (!scan_.Take(']')) {
        if (scan_.Take('?')) {
          if (!separated) return scan_.Expected("'x' or ']'");
          dims.push_back(kUnknownDim);
          separated = false;
          continue;
        }
        std::string_view run = scan_.Word();
        if (run.empty()) return scan_.Expected("a dimension, '?' or ']'");
        while (!run.empty()) {
          if (run[0] == 'x') {
            if (separated)
              return scan_.Error("a dimension is missing", "numbers or ? with x between");
            separated = true;
            run.remove_prefix(1);
            continue;
          }
          if (!separated) return scan_.Error("two dimensions without x between", "as in 1x3x32x32");
          const size_t length = std::min(run.find('x'), run.size());
          KILN_ASSIGN_OR_RETURN(const int64_t dim,
                                ParseInteger<int64_t>(scan_, run.substr(0, length)));
          if (dim < 0)
            return scan_.Error(fmt::format("the dimension {} is negative", dim), "0 or more, or ?");
          dims.push_back(dim);
          separated = false;
          run.remove_prefix(length);
        }
      }
      if (separated) return scan_.Error("a dimension is missing", "numbers or ? with x between");
    }
    type.shape = Shape(std::move(dims));
    if (!IsAcceptable(*type.shape)) {
      return scan_.Error(
          fmt::format("the shape {} is too large", Excerpt(type.shape->ToString(), kTokenBytes)),
          fmt::format("at most {} axes and {} elements", kMaxRank, kMaxElements));
    }
    return type;
  }

  // Reads an annotation if the word `quant` is next.
  StatusOr<std::optional<Quantisation>> ReadQuantisation() {
    using Maybe = std::optional<Quantisation>;
    if (!scan_.TakeWord("quant")) return Maybe();
    KILN_ASSIGN_OR_RETURN(Quantisation q, ReadAnnotation());
    return Maybe(std::move(q));
  }

  // Reads the name of a format, quoted or as a word.
  StatusOr<Format> ReadFormat() {
    std::string name;
    if (scan_.Peek() == '"') {
      KILN_ASSIGN_OR_RETURN(name, scan_.Quoted());
    } else {
      name = std::string(scan_.Word());
    }
    auto found = FindFormat(name);
    if (!found.ok()) return scan_.Error(MessageOf(found.status()), "");
    return found;
  }

  // Reads an annotation without the word `quant`; see text.h for its order.
  StatusOr<Quantisation> ReadAnnotation() {
    Quantisation q;
    KILN_ASSIGN_OR_RETURN(q.type.format, ReadFormat());
    const auto scheme = FindScheme(scan_.Word());
    if (!scheme.ok()) return scan_.Error(MessageOf(scheme.status()), "");
    q.type.scheme = *scheme;
    q.type.symmetric = scan_.TakeWord("symmetric") || !q.type.format.is_whole();
    const auto read_int = [&](std::string_view key, int& out) -> Status {
      if (!scan_.TakeWord(key)) return OkStatus();
      KILN_RETURN_IF_ERROR(scan_.Expect('='));
      KILN_ASSIGN_OR_RETURN(out, ReadInteger<int>(scan_));
      return OkStatus();
    };
    KILN_RETURN_IF_ERROR(read_int("axis", q.axis));
    KILN_RETURN_IF_ERROR(read_int("block", q.type.block_size));
    if (scan_.TakeWord("scale_format")) {
      KILN_RETURN_IF_ERROR(scan_.Expect('='));
      KILN_ASSIGN_OR_RETURN(q.type.scale_format, ReadFormat());
    }
    if (scan_.TakeWord("scale")) {
      KILN_RETURN_IF_ERROR(scan_.Expect('='));
      const auto read = [&] { return ParseFloat<float, uint32_t>(scan_, scan_.NumberText()); };
      KILN_ASSIGN_OR_RETURN(q.scales, ReadList<float>(scan_, read));
    }
    if (scan_.TakeWord("zero")) {
      KILN_RETURN_IF_ERROR(scan_.Expect('='));
      KILN_ASSIGN_OR_RETURN(q.zero_points,
                            ReadList<int32_t>(scan_, [&] { return ReadInteger<int32_t>(scan_); }));
    } else {
      q.zero_points.assign(q.scales.size(), 0);
    }
    return q;
  }

  // Reads a list of integers into a tensor.
  template <typename T>
  StatusOr<Tensor> ReadIntegers(const TensorType& type) {
    KILN_ASSIGN_OR_RETURN(const std::vector<T> list,
                          ReadList<T>(scan_, [&] { return ReadInteger<T>(scan_); }));
    return FromList(type, list);
  }

  // Returns a tensor with the given elements; T is the storage type. Errors: a wrong number of
  // elements.
  template <typename T>
  StatusOr<Tensor> FromList(const TensorType& type, const std::vector<T>& list) {
    if (static_cast<int64_t>(list.size()) != CheckedNumElements(*type.shape))
      return CountError(type, list.size());
    Tensor tensor(type.element, *type.shape);
    if (!list.empty()) std::memcpy(tensor.mutable_bytes(), list.data(), list.size() * sizeof(T));
    return tensor;
  }

  Status CountError(const TensorType& type, size_t count) {
    return scan_.Error(
        fmt::format("{} elements for a tensor of shape {}", count, type.shape->ToString()),
        fmt::format("{}", CheckedNumElements(*type.shape).value_or(0)));
  }

  // Reads the elements of a constant after "=".
  StatusOr<Tensor> ReadPayload(const TensorType& type) {
    if (!type.shape.has_value() || !type.shape->IsKnown()) {
      return scan_.Error("a constant of unknown shape", "a shape of known dimensions");
    }
    if (scan_.TakeWord("base64")) {
      if (type.element == ElementType::kString)
        return scan_.Error("strings in base64", "a list of strings");
      KILN_ASSIGN_OR_RETURN(const std::string text, scan_.Quoted());
      const auto bytes = DecodeBase64(text);
      if (!bytes.has_value())
        return scan_.Error("faulty base64", "groups of four digits, padded by '='");
      // The decoded size must match the type exactly, so that no element is undefined.
      const int64_t wanted = *CheckedNumElements(*type.shape) * SizeOf(type.element);
      if (static_cast<int64_t>(bytes->size()) != wanted) {
        return scan_.Error(
            fmt::format("{} bytes for a tensor that takes {}", bytes->size(), wanted), "");
      }
      if (type.element == ElementType::kBool &&
          std::any_of(bytes->begin(), bytes->end(), [](std::byte b) { return b > std::byte{1}; })) {
        return scan_.Error("a truth value other than 0 and 1", "");
      }
      Tensor tensor(type.element, *type.shape);
      if (wanted > 0) std::memcpy(tensor.mutable_bytes(), bytes->data(), bytes->size());
      return tensor;
    }
    switch (type.element) {
      case ElementType::kFloat32: {
        const auto read = [&] { return ParseFloat<float, uint32_t>(scan_, scan_.NumberText()); };
        KILN_ASSIGN_OR_RETURN(const std::vector<float> list, ReadList<float>(scan_, read));
        return FromList(type, list);
      }
      case ElementType::kFloat64: {
        const auto read = [&] { return ParseFloat<double, uint64_t>(scan_, scan_.NumberText()); };
        KILN_ASSIGN_OR_RETURN(const std::vector<double> list, ReadList<double>(scan_, read));
        return FromList(type, list);
      }
      case ElementType::kFloat16:
      case ElementType::kBfloat16: {
        const auto read = [&] { return ParseHalf(scan_, scan_.NumberText(), type.element); };
        KILN_ASSIGN_OR_RETURN(const std::vector<uint16_t> list, ReadList<uint16_t>(scan_, read));
        return FromList(type, list);
      }
      case ElementType::kInt8:
        return ReadIntegers<int8_t>(type);
      case ElementType::kInt16:
        return ReadIntegers<int16_t>(type);
      case ElementType::kInt32:
        return ReadIntegers<int32_t>(type);
      case ElementType::kInt64:
        return ReadIntegers<int64_t>(type);
      case ElementType::kUint8:
        return ReadIntegers<uint8_t>(type);
      case ElementType::kUint16:
        return ReadIntegers<uint16_t>(type);
      case ElementType::kUint32:
        return ReadIntegers<uint32_t>(type);
      case ElementType::kUint64:
        return ReadIntegers<uint64_t>(type);
      // from_chars has no bool; the elements are written as 0 and 1.
      case ElementType::kBool: {
        const auto read = [&]() -> StatusOr<uint8_t> {
          KILN_ASSIGN_OR_RETURN(const uint8_t value, ReadInteger<uint8_t>(scan_));
          if (value > 1) return scan_.Expected("0 or 1");
          return value;
        };
        KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> list, ReadList<uint8_t>(scan_, read));
        return FromList(type, list);
      }
      case ElementType::kString: {
        KILN_ASSIGN_OR_RETURN(std::vector<std::string> list,
                              ReadList<std::string>(scan_, [&] { return scan_.Quoted(); }));
        if (static_cast<int64_t>(list.size()) != CheckedNumElements(*type.shape))
          return CountError(type, list.size());
        return Tensor::OfStrings(*type.shape, std::move(list));
      }
    }
    return scan_.Expected("elements");
  }

  // Reads an input statement after its keyword.
  Status ReadInput() {
    KILN_ASSIGN_OR_RETURN(const std::string name, ReadNewName());
    KILN_RETURN_IF_ERROR(scan_.Expect(':'));
    KILN_ASSIGN_OR_RETURN(TensorType type, ReadType());
    KILN_ASSIGN_OR_RETURN(std::optional<Quantisation> quantisation, ReadQuantisation());
    graph_.AddInput(name, std::move(type))->set_quantisation(std::move(quantisation));
    return OkStatus();
  }

  // Reads a const statement after its keyword.
  Status ReadConstant() {
    KILN_ASSIGN_OR_RETURN(const std::string name, ReadNewName());
    KILN_RETURN_IF_ERROR(scan_.Expect(':'));
    KILN_ASSIGN_OR_RETURN(TensorType type, ReadType());
    KILN_ASSIGN_OR_RETURN(std::optional<Quantisation> quantisation, ReadQuantisation());
    KILN_RETURN_IF_ERROR(scan_.Expect('='));
    Value* value = nullptr;
    if (scan_.TakeWord("elided")) {
      if (!options_.elided_as_inputs) {
        return scan_.Error(
            fmt::format("the elements of %{} were elided", Excerpt(name, kTokenBytes)),
            "a text printed without elision");
      }
      value = graph_.AddInput(name, std::move(type));
    } else {
      KILN_ASSIGN_OR_RETURN(Tensor tensor, ReadPayload(type));
      value = graph_.AddConstant(name, std::move(tensor));
    }
    value->set_quantisation(std::move(quantisation));
    return OkStatus();
  }

  // Reads the value of an attribute.
  StatusOr<Attribute> ReadAttribute() {
    if (scan_.TakeWord("tensor")) {
      KILN_ASSIGN_OR_RETURN(const TensorType type, ReadType());
      KILN_RETURN_IF_ERROR(scan_.Expect('='));
      if (scan_.TakeWord("elided"))
        return scan_.Error("the elements were elided", "a text printed without elision");
      KILN_ASSIGN_OR_RETURN(Tensor tensor, ReadPayload(type));
      return Attribute(std::move(tensor));
    }
    const auto empty = [&](Attribute value) -> StatusOr<Attribute> {
      KILN_RETURN_IF_ERROR(scan_.Expect('['));
      KILN_RETURN_IF_ERROR(scan_.Expect(']'));
      return value;
    };
    if (scan_.TakeWord("ints")) return empty(std::vector<int64_t>());
    if (scan_.TakeWord("floats")) return empty(std::vector<float>());
    if (scan_.TakeWord("strings")) return empty(std::vector<std::string>());
    if (!scan_.Take('[')) return ReadScalar();
    // The first item determines the kind of the list.
    KILN_ASSIGN_OR_RETURN(const Attribute first, ReadScalar());
    const auto rest = [&]<typename T>(const T& head) -> StatusOr<Attribute> {
      std::vector<T> list = {head};
      while (scan_.Take(',')) {
        KILN_ASSIGN_OR_RETURN(const Attribute item, ReadScalar());
        if (item.index() != first.index())
          return scan_.Error("a list of several kinds", "all integers, floats or strings");
        list.push_back(std::get<T>(item));
      }
      KILN_RETURN_IF_ERROR(scan_.Expect(']'));
      return Attribute(std::move(list));
    };
    if (const auto* i = std::get_if<int64_t>(&first)) return rest(*i);
    if (const auto* f = std::get_if<float>(&first)) return rest(*f);
    return rest(std::get<std::string>(first));
  }

  // Reads an integer, float or string. A number without point and exponent is an integer.
  StatusOr<Attribute> ReadScalar() {
    if (scan_.Peek() == '"') {
      KILN_ASSIGN_OR_RETURN(std::string text, scan_.Quoted());
      return Attribute(std::move(text));
    }
    const std::string_view text = scan_.NumberText();
    if (text.find_first_not_of("-0123456789") == std::string_view::npos) {
      KILN_ASSIGN_OR_RETURN(const int64_t value, ParseInteger<int64_t>(scan_, text));
      return Attribute(value);
    }
    KILN_ASSIGN_OR_RETURN(const float value, (ParseFloat<float, uint32_t>(scan_, text)));
    return Attribute(value);
  }

  // Reads "{name=value, ...}" if there is one.
  StatusOr<Attributes> ReadAttributes() {
    Attributes out;
    if (!scan_.Take('{') || scan_.Take('}')) return out;
    do {
      std::string name;
      if (scan_.Peek() == '"') {
        KILN_ASSIGN_OR_RETURN(name, scan_.Quoted());
      } else {
        name = std::string(scan_.Word());
        if (name.empty()) return scan_.Expected("the name of an attribute");
      }
      if (out.Has(name))
        return scan_.Error(fmt::format("the attribute {} occurs twice", Excerpt(name, kTokenBytes)),
                           "once");
      KILN_RETURN_IF_ERROR(scan_.Expect('='));
      KILN_ASSIGN_OR_RETURN(Attribute value, ReadAttribute());
      out.Set(name, std::move(value));
    } while (scan_.Take(','));
    KILN_RETURN_IF_ERROR(scan_.Expect('}'));
    return out;
  }

  // Reads a node: "%a, _ = operator operands {attributes} "name" region "name" : types".
  Status ReadNode() {
    if (++nodes_ > options_.most_nodes) {
      return scan_.Error("the graph has too many nodes",
                         fmt::format("at most {}", options_.most_nodes));
    }
    std::vector<std::optional<std::string>> names;
    do {
      if (scan_.TakeWord("_")) {
        names.emplace_back();
        continue;
      }
      KILN_ASSIGN_OR_RETURN(std::string name, ReadNewName());
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        return scan_.Error(fmt::format("the name %{} is taken", Excerpt(name, kTokenBytes)),
                           "every value once");
      }
      names.emplace_back(std::move(name));
    } while (scan_.Take(','));
    KILN_RETURN_IF_ERROR(scan_.Expect('='));
    const std::string_view word = scan_.Word();
    const std::optional<Op> op = FindOpByText(word);
    if (!op.has_value()) return scan_.Expected("an operator, as docs/operators.md lists them");
    std::vector<Value*> operands;
    if (scan_.Peek() == '%' || scan_.Peek() == '_') {
      do {
        KILN_ASSIGN_OR_RETURN(Value * operand, ReadUse());
        operands.push_back(operand);
      } while (scan_.Take(','));
    }
    KILN_ASSIGN_OR_RETURN(Attributes attributes, ReadAttributes());
    std::string name, region;
    if (scan_.Peek() == '"') {
      KILN_ASSIGN_OR_RETURN(name, scan_.Quoted());
    }
    if (scan_.TakeWord("region")) {
      KILN_ASSIGN_OR_RETURN(region, scan_.Quoted());
    }
    // AddNode creates all results; those written as "_" are erased again.
    std::vector<std::string> result_names;
    for (const auto& n : names) result_names.push_back(n.value_or(""));
    Node* node =
        graph_.AddNode(*op, name, std::move(operands), result_names, std::move(attributes));
    node->set_region(std::move(region));
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].has_value()) graph_.EraseResult(node, static_cast<int>(i));
    }
    // Without types the result types are inferred from the operands.
    if (!scan_.Take(':')) {
      return InferNode(graph_, *node);
    }
    bool first = true;
    for (Value* result : node->results()) {
      if (result == nullptr) continue;
      if (!first) KILN_RETURN_IF_ERROR(scan_.Expect(','));
      first = false;
      KILN_ASSIGN_OR_RETURN(TensorType type, ReadType());
      KILN_ASSIGN_OR_RETURN(std::optional<Quantisation> quantisation, ReadQuantisation());
      graph_.SetType(result, std::move(type));
      result->set_quantisation(std::move(quantisation));
    }
    return OkStatus();
  }

  Scanner scan_;
  const ParseOptions& options_;
  int64_t nodes_ = 0;
  Graph graph_;
};

}  // namespace

StatusOr<Graph> ParseGraph(std::string_view text, std::string_view source,
                           const ParseOptions& options) {
  return Parser(text, source, options).Run();
}

StatusOr<Quantisation> ParseQuantisation(std::string_view text, std::string_view source) {
  const ParseOptions options;
  return Parser(text, source, options).RunQuantisation();
}

}  // namespace kiln
