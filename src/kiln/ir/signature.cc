// Parses the rows of signatures.def at first use, and checks nodes against them.

#include "kiln/ir/signature.h"

#include <algorithm>
#include <array>
#include <map>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

constexpr std::string_view kKindNames[] = {"int",    "float",   "string", "ints",
                                           "floats", "strings", "tensor"};

// Splits text at `separator`; drops empty pieces.
std::vector<std::string> SplitText(std::string_view text, char separator) {
  std::vector<std::string> out;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// Parses one word of a signature. `letters` maps the letters seen so far to their classes.
TypeSpec ParseType(std::string word, std::map<char, std::string>& letters) {
  TypeSpec spec;
  if (word.ends_with("...")) {
    spec.repeats = true;
    word.resize(word.size() - 3);
  }
  if (word[0] >= 'A' && word[0] <= 'Z') {
    spec.letter = word[0];
    if (word.size() > 2) letters[spec.letter] = word.substr(2);
    spec.element_class = letters.at(spec.letter);
  } else {
    spec.element_class = word;
  }
  return spec;
}

// Parses one attribute: name:kind, "!", "=fallback", "{a|b}". Reads from the end to the front.
AttributeSpec ParseAttribute(std::string word) {
  AttributeSpec spec;
  if (word.ends_with('}')) {
    const size_t brace = word.find('{');
    spec.allowed =
        SplitText(std::string_view(word).substr(brace + 1, word.size() - brace - 2), '|');
    word.resize(brace);
  }
  if (const size_t equals = word.find('='); equals != std::string::npos) {
    spec.fallback = word.substr(equals + 1);
    word.resize(equals);
  }
  if (word.ends_with('!')) {
    spec.required = true;
    word.pop_back();
  }
  const size_t colon = word.find(':');
  spec.name = word.substr(0, colon);
  const auto kind = std::find(std::begin(kKindNames), std::end(kKindNames), word.substr(colon + 1));
  KILN_CHECK(kind != std::end(kKindNames));
  spec.kind = static_cast<AttributeKind>(kind - std::begin(kKindNames));
  return spec;
}

// Parses a row of signatures.def.
Signature ParseSignature(Op op, std::string_view types, std::string_view attributes) {
  Signature out;
  out.op = op;
  out.types = std::string(types);
  std::map<char, std::string> letters;
  const size_t arrow = types.find("->");
  for (std::string& word : SplitText(types.substr(0, arrow), ' ')) {
    out.operands.push_back(ParseType(std::move(word), letters));
  }
  for (std::string& word : SplitText(types.substr(arrow + 2), ' ')) {
    out.results.push_back(ParseType(std::move(word), letters));
  }
  for (std::string& word : SplitText(attributes, ' '))
    out.attributes.push_back(ParseAttribute(std::move(word)));
  std::sort(out.attributes.begin(), out.attributes.end(),
            [](const AttributeSpec& a, const AttributeSpec& b) { return a.name < b.name; });
  return out;
}

// One member per operator, so that a row for an unknown operator does not compile.
struct Rows {
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) Signature id;
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR
};

using Table = std::vector<Signature>;

// Returns the signatures in the order of operators.def, parsed at the first call and never freed.
const Table& AllSignatures() {
  static const Table* table = [] {
    Rows rows;
#define KILN_SIGNATURE(id, types, attributes)                                  \
  static_assert(std::string_view(types).find("->") != std::string_view::npos); \
  rows.id = ParseSignature(Op::k##id, types, attributes);
#include "kiln/ir/signatures.def"
#undef KILN_SIGNATURE
    auto* t = new Table;
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) \
  t->push_back(std::move(rows.id));
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR
    return t;
  }();
  return *table;
}

// The numbers of rows of both tables. A row that is missing from signatures.def makes them differ.
constexpr int kOperators = 0
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) +1
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR
    ;
constexpr int kSignatures = 0
#define KILN_SIGNATURE(id, types, attributes) +1
#include "kiln/ir/signatures.def"
#undef KILN_SIGNATURE
    ;
static_assert(kOperators == kSignatures,
              "every operator of operators.def has one row in signatures.def");

// Returns the i-th specification; the last one may repeat. Null beyond the end.
const TypeSpec* At(const std::vector<TypeSpec>& specs, int i) {
  if (i < static_cast<int>(specs.size())) return &specs[static_cast<size_t>(i)];
  return !specs.empty() && specs.back().repeats ? &specs.back() : nullptr;
}

// Checks the numbers of operands and results and the presence of required operands.
Status CheckArity(const Node& node, std::string_view source) {
  const OpInfo& info = node.info();
  const auto range = [](int least, int most) {
    if (most < 0) return fmt::format("{} or more", least);
    return least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
  };
  if (node.num_operands() < info.min_operands ||
      (info.max_operands >= 0 && node.num_operands() > info.max_operands)) {
    return ErrorAt(
        source, node.Describe(), fmt::format("has {} operands", node.num_operands()),
        fmt::format("{} takes {}", info.id, range(info.min_operands, info.max_operands)));
  }
  if (node.num_results() < 1 || (info.max_results >= 0 && node.num_results() > info.max_results)) {
    return ErrorAt(source, node.Describe(), fmt::format("has {} results", node.num_results()),
                   fmt::format("{} gives {}", info.id, range(1, info.max_results)));
  }
  // Operands up to the minimum are required. Of the others any may be absent, except in variadic
  // operators: Mean and similar ones would count an absent operand.
  const bool variadic = info.max_operands < 0;
  for (int i = 0; i < node.num_operands(); ++i) {
    if (node.operand(i) == nullptr && (i < info.min_operands || variadic)) {
      return ErrorAt(source, node.Describe(), fmt::format("operand {} is absent", i),
                     fmt::format("{} needs it", info.id));
    }
  }
  return OkStatus();
}

}  // namespace

std::string_view NameOf(AttributeKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

const AttributeSpec* Signature::FindAttribute(std::string_view name) const {
  for (const AttributeSpec& spec : attributes) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

const TypeSpec* Signature::Operand(int i) const { return At(operands, i); }
const TypeSpec* Signature::Result(int i) const { return At(results, i); }

const Signature& SignatureOf(Op op) { return AllSignatures()[static_cast<size_t>(op)]; }

// The classes of signatures.def:
//   any      all types
//   num      floats and integers
//   numbool  floats, integers and bool
//   float    f32, f64, f16, bf16
//   int      integers of 8 to 64 bits
//   index    i32, i64
//   byte     i8, u8
//   quant    i8, u8, i16, u16: the codes of QuantizeLinear
//   dequant  the codes of DequantizeLinear: quant and i32
// Any other name is that of a single type.
bool IsOfClass(ElementType type, std::string_view element_class) {
  using enum ElementType;
  if (element_class == "any") return true;
  if (element_class == "num") return IsFloat(type) || IsInteger(type);
  if (element_class == "numbool") return IsFloat(type) || IsInteger(type) || type == kBool;
  if (element_class == "float") return IsFloat(type);
  if (element_class == "int") return IsInteger(type);
  if (element_class == "index") return type == kInt32 || type == kInt64;
  if (element_class == "byte") return type == kInt8 || type == kUint8;
  if (element_class == "quant")
    return type == kInt8 || type == kUint8 || type == kInt16 || type == kUint16;
  if (element_class == "dequant") return IsOfClass(type, "quant") || type == kInt32;
  return NameOf(type) == element_class;
}

Status CheckElementTypes(const Node& node, std::string_view source,
                         std::vector<std::optional<ElementType>>* results) {
  KILN_RETURN_IF_ERROR(CheckArity(node, source));
  const Signature& signature = SignatureOf(node.op());
  // The first operand of each letter: later operands of the letter must have its element type.
  std::array<const Value*, 26> bound{};
  const auto slot = [&](char letter) -> const Value*& {
    return bound[static_cast<size_t>(letter - 'A')];
  };
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value* operand = node.operand(i);
    if (operand == nullptr) continue;
    const TypeSpec* spec = signature.Operand(i);
    KILN_CHECK(spec != nullptr);
    if (!IsOfClass(operand->element(), spec->element_class)) {
      return ErrorAt(source, node.Describe(),
                     fmt::format("operand {} {} has element type {}", i,
                                 QuotedExcerpt(operand->name()), NameOf(operand->element())),
                     fmt::format("{} takes {} there", node.info().id, spec->element_class));
    }
    if (spec->letter == 0) continue;
    const Value*& first = slot(spec->letter);
    if (first == nullptr) first = operand;
    if (first->element() != operand->element()) {
      return ErrorAt(source, node.Describe(),
                     fmt::format("operands {} of {} and {} of {} differ in element type",
                                 QuotedExcerpt(first->name()), NameOf(first->element()),
                                 QuotedExcerpt(operand->name()), NameOf(operand->element())),
                     "the same element type in both; put a Cast before one");
    }
  }
  if (results == nullptr) return OkStatus();
  results->clear();
  for (int i = 0; i < node.num_results(); ++i) {
    const TypeSpec* spec = signature.Result(i);
    KILN_CHECK(spec != nullptr);
    // The class of a result may name a single type; its letter, if bound by an operand, decides.
    std::optional<ElementType> element = FindElementType(spec->element_class);
    if (spec->letter != 0 && slot(spec->letter) != nullptr) element = slot(spec->letter)->element();
    results->push_back(element);
  }
  return OkStatus();
}

// Unknown attributes are errors: ignoring one could silently change the meaning of a network.
Status CheckAttributes(const Node& node, std::string_view source) {
  const Signature& signature = SignatureOf(node.op());
  for (const auto& [name, value] : node.attributes()) {
    const AttributeSpec* spec = signature.FindAttribute(name);
    if (spec == nullptr) {
      std::string known;
      for (const AttributeSpec& s : signature.attributes)
        known += (known.empty() ? "" : ", ") + s.name;
      return ErrorAt(source, node.Describe(), "has the unknown attribute " + QuotedExcerpt(name),
                     known.empty() ? "it takes none" : "it takes " + known);
    }
    if (KindOf(value) != spec->kind) {
      return ErrorAt(source, node.Describe(),
                     fmt::format("attribute '{}' is of kind {}", name, NameOf(KindOf(value))),
                     fmt::format("{} takes {}", node.info().id, NameOf(spec->kind)));
    }
    if (!spec->allowed.empty()) {
      const std::string& text = std::get<std::string>(value);
      if (std::find(spec->allowed.begin(), spec->allowed.end(), text) == spec->allowed.end()) {
        return ErrorAt(source, node.Describe(),
                       fmt::format("attribute '{}' is {}", name, QuotedExcerpt(text)),
                       fmt::format("one of: {}", fmt::join(spec->allowed, ", ")));
      }
    }
  }
  for (const AttributeSpec& spec : signature.attributes) {
    if (spec.required && !node.attributes().Has(spec.name)) {
      return ErrorAt(source, node.Describe(), "lacks the attribute '" + spec.name + "'",
                     fmt::format("{} needs one of kind {}", node.info().id, NameOf(spec.kind)));
    }
  }
  return OkStatus();
}

}  // namespace kiln
