// Chooses the encoding of values in the machine's memory.
#include "kiln/targets/systolic/isa/encoding.h"

#include <cmath>

#include "fmt/format.h"
#include "kiln/numerics/quantise.h"

namespace kiln::systolic {

bool Encoding::SameCodes(const Encoding& other) const {
  if (type != other.type || element != other.element || block_size != other.block_size)
    return false;
  if ((foreign == nullptr) != (other.foreign == nullptr)) return false;
  if (foreign != nullptr) {
    const Quantisation &a = *foreign, &b = *other.foreign;
    return a.type == b.type && a.scales == b.scales && a.zero_points == b.zero_points &&
           a.type.scheme != Scheme::kPerBlock;
  }
  return is_float() || (scale == other.scale && zero_point == other.zero_point);
}

Encoding VectorEncoding(const Config& config) {
  Encoding e;
  if (!config.narrow_vector()) return e;
  e.element = Element::kVector;
  e.format = config.vector_format;
  e.bytes = e.format.bytes();
  return e;
}

namespace {

Encoding Foreign(const Quantisation& q) {
  Encoding e;
  e.foreign = std::make_shared<const Quantisation>(q);
  return e;
}

// Returns whether a format is an integer that rounds to nearest even and saturates, as the vector
// unit writes integers.
bool IsPlainInteger(const Format& format) {
  return format.is_integer() && format.rounding == Rounding::kNearestEven &&
         format.overflow == Overflow::kSaturate;
}

Encoding IntegerEncoding(const Quantisation& q, float scale) {
  const Format& format = q.type.format;
  const CodeRange codes = CodesOf(format, q.type.symmetric);
  Encoding e;
  e.format = format;
  e.low = static_cast<int32_t>(codes.low);
  e.high = static_cast<int32_t>(codes.high);
  e.scale = std::ldexp(scale, -format.fraction_bits);
  e.zero_point = q.zero_points.empty() ? 0 : q.zero_points[0];
  if (!format.is_signed && format.bits <= 8) {
    // The array multiplies signed codes. Subtracting 2^(bits - 1) from the code and from its zero
    // point does not change the value.
    const int32_t half = 1 << (format.bits - 1);
    e.low -= half;
    e.high -= half;
    e.zero_point -= half;
    e.element = Element::kInt8;
  } else if (codes.low >= -128 && codes.high <= 127) {
    e.element = Element::kInt8;
  } else {
    e.element = codes.high <= 32767 ? Element::kInt16 : Element::kInt32;
  }
  e.bytes = e.element == Element::kInt8 ? 1 : e.element == Element::kInt16 ? 2 : 4;
  return e;
}

// Returns the first of the design point's memory elements that holds codes of a format.
std::optional<Element> ElementOf(const Format& format, const Config& config) {
  for (int p = 0; p < config.precisions(); ++p) {
    if (format == config.input_format_of(p)) return InputElement(p);
    if (format == config.weight_format_of(p)) return WeightElement(p);
  }
  return std::nullopt;
}

}  // namespace

StatusOr<Encoding> EncodingOf(const Value& value, const Config& config) {
  Encoding e;
  e.type = value.element();
  if (e.type != ElementType::kFloat32) {
    if (IsFloat(e.type)) return e;
    if (IsInteger(e.type) || e.type == ElementType::kBool) {
      e.element = Element::kInt32;
      return e;
    }
    return UnsupportedAt("", fmt::format("value '{}'", value.name()),
                         fmt::format("has elements of type {}", NameOf(e.type)), "use f32");
  }
  if (!value.quantisation().has_value()) return VectorEncoding(config);
  const Quantisation& q = *value.quantisation();
  const Format& format = q.type.format;
  if (q.type.scheme == Scheme::kPerBlock) {
    // The quantiser would not find scales that are already fixed in the annotation.
    const bool fits = q.scales.empty() && format == config.input_format &&
                      q.type.block_size == config.block_size &&
                      q.type.scale_format == config.scale_format && value.has_shape() &&
                      q.axis >= 0 && q.axis < value.shape().rank();
    if (!fits) return Foreign(q);
    e.element = Element::kInput;
    e.format = format;
    e.bytes = format.bytes();
    e.block_size = config.block_size;
    e.block_axis = q.axis;
    e.scale_format = config.scale_format;
    return e;
  }
  if (q.scales.size() > 1 || q.zero_points.size() > 1) return Foreign(q);
  const float scale = q.scales.empty() ? 1.0f : q.scales[0];
  const bool has_zero_point = !q.zero_points.empty() && q.zero_points[0] != 0;
  if (config.integer_elements && IsPlainInteger(format) && format.bits <= 16)
    return IntegerEncoding(q, scale);
  if (format.name == "fp32" && scale == 1.0f) return e;
  if (format == config.vector_format && scale == 1.0f) return VectorEncoding(config);
  const std::optional<Element> element = has_zero_point ? std::nullopt : ElementOf(format, config);
  if (!element.has_value()) return Foreign(q);
  e.element = *element;
  e.format = format;
  e.bytes = format.bytes();
  e.scale = scale;
  return e;
}

}  // namespace kiln::systolic
