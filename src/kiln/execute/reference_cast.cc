// The reference kernel of Cast, and CastTensor, which other kernels use. Floats become integers by
// truncation with saturation (TruncateTo); fp16 and bf16 round to nearest even.
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "kiln/execute/reference_kernels.h"

namespace kiln::reference {
namespace {

// Storage types that have no C++ type of their own, so that one loop serves every pair of types.
struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
struct Boolean {
  uint8_t byte;
};

// Converts one element. fp16, bf16 and booleans convert through float or uint8_t.
template <typename From, typename To>
To Convert(From value) {
  if constexpr (std::is_same_v<From, Half>) {
    return Convert<float, To>(HalfToFloat(value.bits));
  } else if constexpr (std::is_same_v<From, Bfloat>) {
    return Convert<float, To>(Bfloat16ToFloat(value.bits));
  } else if constexpr (std::is_same_v<From, Boolean>) {
    return Convert<uint8_t, To>(static_cast<uint8_t>(value.byte != 0));
  } else if constexpr (std::is_same_v<To, Half>) {
    return Half{FloatToHalf(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, Bfloat>) {
    return Bfloat{FloatToBfloat16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return Boolean{static_cast<uint8_t>(value != From{0})};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return TruncateTo<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Calls body with a value of the type in which elements of `type` are stored.
template <typename Body>
void VisitStorage(ElementType type, Body&& body) {
  switch (type) {
    case ElementType::kFloat32:
      return body(float{});
    case ElementType::kFloat64:
      return body(double{});
    case ElementType::kFloat16:
      return body(Half{});
    case ElementType::kBfloat16:
      return body(Bfloat{});
    case ElementType::kInt8:
      return body(int8_t{});
    case ElementType::kInt16:
      return body(int16_t{});
    case ElementType::kInt32:
      return body(int32_t{});
    case ElementType::kInt64:
      return body(int64_t{});
    case ElementType::kUint8:
      return body(uint8_t{});
    case ElementType::kUint16:
      return body(uint16_t{});
    case ElementType::kUint32:
      return body(uint32_t{});
    case ElementType::kUint64:
      return body(uint64_t{});
    case ElementType::kBool:
      return body(Boolean{});
    case ElementType::kString:
      KILN_CHECK(false);
  }
}

// Returns the shortest decimal text that parses to the same number, with NaN and INF spelt as in
// ONNX.
std::string TextOf(const Tensor& t, int64_t i) {
  if (t.type() == ElementType::kBool) return t.IntAt(i) != 0 ? "True" : "False";
  if (t.type() == ElementType::kUint64) return fmt::format("{}", static_cast<uint64_t>(t.IntAt(i)));
  if (IsInteger(t.type())) return fmt::format("{}", t.IntAt(i));
  const double value = t.ValueAt(i);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  const std::string text = t.type() == ElementType::kFloat64
                               ? fmt::format("{}", value)
                               : fmt::format("{}", static_cast<float>(value));
  return text;
}

// Parses a number in decimal or scientific notation, NaN or infinity, in any case; blanks around it
// are ignored.
std::optional<double> NumberIn(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Casts strings that hold numbers, by way of binary64.
KernelResult FromStrings(const KernelCall& call, ElementType to) {
  const Tensor& x = call.operand(0);
  Tensor wide(ElementType::kFloat64, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) {
    const std::string& text = x.strings()[static_cast<size_t>(i)];
    const std::optional<double> value = NumberIn(text);
    if (!value.has_value()) {
      return call.Error(fmt::format("element {} is the text '{}'", i, text.substr(0, 40)),
                        "only texts that are numbers can be cast");
    }
    Elements<double>(wide)[i] = *value;
  }
  return One(CastTensor(wide, to));
}

}  // namespace

// Converts element by element; the visits below choose both storage types.
Tensor CastTensor(const Tensor& from, ElementType to) {
  if (from.type() == to) return from;
  // Two nested visits instantiate one loop per pair of types.
  Tensor out(to, from.shape());
  VisitStorage(from.type(), [&](auto f) {
    using From = decltype(f);
    VisitStorage(to, [&](auto t) {
      using To = decltype(t);
      const From* source = Elements<From>(from);
      To* target = Elements<To>(out);
      for (int64_t i = 0; i < from.size(); ++i) target[i] = Convert<From, To>(source[i]);
    });
  });
  return out;
}

// The attribute `to` is a TensorProto.DataType. Strings are parsed and printed as ONNX specifies.
KernelResult CastKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const int64_t number = call.attributes().Int("to", 0);
  const std::optional<ElementType> to = FindElementTypeByOnnxCode(number);
  if (!to.has_value()) {
    return call.Unsupported(fmt::format("attribute 'to' is {}", number),
                            "use a TensorProto.DataType up to BFLOAT16");
  }
  if (x.type() == *to) return One(x);
  if (x.type() == ElementType::kString) return FromStrings(call, *to);
  KILN_RETURN_IF_ERROR(call.CheckSize(*to, x.shape()));
  if (*to != ElementType::kString) return One(CastTensor(x, *to));
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) texts.push_back(TextOf(x, i));
  return One(Tensor::OfStrings(x.shape(), std::move(texts)));
}

}  // namespace kiln::reference
