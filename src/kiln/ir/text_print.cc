// Prints the text form of graphs; the counterpart of text_parse.cc.

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "fmt/format.h"
#include "kiln/ir/base64.h"
#include "kiln/ir/text.h"

namespace kiln {
namespace {

// Returns whether a name with this character can be written without quotes.
bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == ':' || c == '-';
}

// Returns text in double quotes, with escapes for quotes, backslashes and bytes that are not
// printable ASCII.
std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (c >= ' ' && c <= '~') {
          out += c;
        } else {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
  }
  return out + '"';
}

// Returns "%name", or "_" for an absent value.
std::string NameText(const Value* value) {
  if (value == nullptr) return "_";
  const std::string& name = value->name();
  if (!name.empty() && std::all_of(name.begin(), name.end(), IsWordByte)) return "%" + name;
  return "%" + Quote(name);
}

// Returns the shortest text that reads back to the same number. A NaN other than the canonical one
// is written with its bits.
std::string FloatText(float x) {
  if (std::isnan(x)) {
    const auto bits = std::bit_cast<uint32_t>(x);
    return bits == 0x7fc00000u ? "nan" : fmt::format("nan({:08x})", bits);
  }
  return fmt::format("{}", x);
}

std::string FloatText(double x) {
  if (std::isnan(x)) {
    const auto bits = std::bit_cast<uint64_t>(x);
    return bits == 0x7ff8000000000000u ? "nan" : fmt::format("nan({:016x})", bits);
  }
  return fmt::format("{}", x);
}

// Returns the text of a 16-bit float, printed as fp32, which represents all of them. NaNs are
// written with their own bits.
std::string HalfText(uint16_t bits, float value) {
  return std::isnan(value) ? fmt::format("nan({:04x})", bits) : FloatText(value);
}

// Returns the text of a float attribute, with ".0" if it would otherwise read as an integer.
std::string FloatAttributeText(float x) {
  std::string text = FloatText(x);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

// Returns "f32[1x3]", with "?" for unknown dimensions and "*" for an unknown rank.
std::string TypeText(const TensorType& type) {
  std::string out(NameOf(type.element));
  if (!type.shape.has_value()) return out + "[*]";
  out += '[';
  for (int i = 0; i < type.shape->rank(); ++i) {
    if (i > 0) out += 'x';
    out += (*type.shape)[i] < 0 ? std::string("?") : std::to_string((*type.shape)[i]);
  }
  return out + ']';
}

template <typename List, typename ToText>
// Returns "[item, item]".
std::string ListText(const List& list, ToText to_text) {
  std::string out = "[";
  for (size_t i = 0; i < std::size(list); ++i) {
    if (i > 0) out += ", ";
    out += to_text(list[i]);
  }
  return out + "]";
}

// Returns the text of one element.
std::string ElementText(const Tensor& tensor, int64_t i) {
  const auto at = static_cast<size_t>(i);
  switch (tensor.type()) {
    case ElementType::kFloat32:
      return FloatText(tensor.data<float>()[at]);
    case ElementType::kFloat64:
      return FloatText(tensor.data<double>()[at]);
    case ElementType::kFloat16:
      return HalfText(tensor.data<uint16_t>()[at], HalfToFloat(tensor.data<uint16_t>()[at]));
    case ElementType::kBfloat16:
      return HalfText(tensor.data<uint16_t>()[at], Bfloat16ToFloat(tensor.data<uint16_t>()[at]));
    case ElementType::kUint64:
      return std::to_string(tensor.data<uint64_t>()[at]);
    case ElementType::kString:
      return Quote(tensor.strings()[at]);
    default:
      return std::to_string(tensor.IntAt(i));
  }
}

// Returns the elements of a constant: listed, as base64, or "elided". Strings are always listed.
std::string PayloadText(const Tensor& tensor, const PrintOptions& options) {
  const bool listed = tensor.size() <= options.max_listed_elements;
  if (!listed && options.elide_constants) return "elided";
  if (!listed && tensor.type() != ElementType::kString) {
    return "base64 \"" + EncodeBase64({tensor.bytes(), static_cast<size_t>(tensor.num_bytes())}) +
           "\"";
  }
  std::string out = "[";
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (i > 0) out += ", ";
    out += ElementText(tensor, i);
  }
  return out + "]";
}

// Returns the name of a format, quoted if it has characters that a word cannot have (codebook
// paths).
std::string FormatText(const Format& format) {
  const bool is_word =
      !format.name.empty() && std::all_of(format.name.begin(), format.name.end(), IsWordByte);
  return is_word ? format.name : Quote(format.name);
}

// Returns the type of a value with its annotation.
std::string ValueTypeText(const Value& value) {
  return TypeText(value.type()) + (value.quantisation().has_value()
                                       ? " quant " + PrintQuantisation(*value.quantisation())
                                       : "");
}

// Prints an attribute by its kind.
struct AttributeText {
  const PrintOptions& options;
  std::string operator()(int64_t x) const { return std::to_string(x); }
  std::string operator()(float x) const { return FloatAttributeText(x); }
  std::string operator()(const std::string& x) const { return Quote(x); }
  std::string operator()(const std::vector<int64_t>& x) const {
    return x.empty() ? "ints[]" : ListText(x, [](int64_t i) { return std::to_string(i); });
  }
  std::string operator()(const std::vector<float>& x) const {
    return x.empty() ? "floats[]" : ListText(x, FloatAttributeText);
  }
  std::string operator()(const std::vector<std::string>& x) const {
    return x.empty() ? "strings[]" : ListText(x, Quote);
  }
  std::string operator()(const Tensor& x) const {
    return "tensor " + TypeText({x.type(), x.shape()}) + " = " + PayloadText(x, options);
  }
};

// Returns the line of a node without indentation.
std::string NodeText(const Node& node, const PrintOptions& options) {
  std::string out;
  for (int i = 0; i < node.num_results(); ++i)
    out += (i > 0 ? ", " : "") + NameText(node.result(i));
  out += " = ";
  out += node.info().text;
  for (int i = 0; i < node.num_operands(); ++i)
    out += (i > 0 ? ", " : " ") + NameText(node.operand(i));
  if (node.attributes().size() > 0) {
    std::string list;
    for (const auto& [name, value] : node.attributes()) {
      const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), IsWordByte);
      list += (list.empty() ? "" : ", ") + (plain ? name : Quote(name)) + "=" +
              std::visit(AttributeText{options}, value);
    }
    out += " {" + list + "}";
  }
  if (!node.name().empty()) out += " " + Quote(node.name());
  if (!node.region().empty()) out += " region " + Quote(node.region());
  std::string types;
  for (const Value* result : node.results()) {
    if (result != nullptr) types += (types.empty() ? " : " : ", ") + ValueTypeText(*result);
  }
  return out + types;
}

}  // namespace

// Omits everything that ParseQuantisation restores by default.
std::string PrintQuantisation(const Quantisation& q) {
  const QuantType& type = q.type;
  std::string out = fmt::format("{} {}", FormatText(type.format), NameOf(type.scheme));
  if (type.symmetric && type.format.is_whole()) out += " symmetric";
  if (q.axis != -1) out += fmt::format(" axis={}", q.axis);
  if (type.block_size != 0) out += fmt::format(" block={}", type.block_size);
  if (type.scale_format != QuantType().scale_format)
    out += " scale_format=" + FormatText(type.scale_format);
  if (!q.scales.empty())
    out += " scale=" + ListText(q.scales, [](float x) { return FloatText(x); });
  const bool zeros =
      std::all_of(q.zero_points.begin(), q.zero_points.end(), [](int32_t z) { return z == 0; });
  // Zero points that are all 0 are implied.
  if (!zeros || q.zero_points.size() != q.scales.size()) {
    out += " zero=" + ListText(q.zero_points, [](int32_t x) { return std::to_string(x); });
  }
  return out;
}

std::string PrintNode(const Node& node) { return NodeText(node, {.elide_constants = true}); }

// Statements are printed in the order in which ParseGraph requires definitions to precede uses.
std::string PrintGraph(const Graph& graph, const PrintOptions& options) {
  std::string out = "graph " + Quote(graph.name()) + " {\n";
  for (const auto& [key, value] : graph.metadata())
    out += "  metadata " + Quote(key) + " = " + Quote(value) + "\n";
  for (const Value* input : graph.inputs())
    out += "  input " + NameText(input) + " : " + ValueTypeText(*input) + "\n";
  for (const Value* constant : graph.Constants()) {
    out += "  const " + NameText(constant) + " : " + ValueTypeText(*constant) + " = " +
           PayloadText(constant->constant(), options) + "\n";
  }
  for (const auto& node : graph.nodes()) out += "  " + NodeText(*node, options) + "\n";
  for (const Value* output : graph.outputs()) out += "  output " + NameText(output) + "\n";
  return out + "}\n";
}

}  // namespace kiln
