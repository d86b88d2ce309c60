// Implements onnx_narrow.h.
#include "kiln/frontend/onnx_narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kiln/execute/codes.h"
#include "kiln/ir/text.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/format.h"
#include "kiln/numerics/quantise.h"
#include "kiln/passes/quantiser.h"
#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

// A narrow type and Kiln's format for it.
struct NarrowType {
  int onnx_code;
  std::string_view format;
};

// By the numbers of TensorProto.DataType. E4M3FNUZ and E5M2FNUZ (18, 20) are missing: Kiln has
// formats for them, but no user yet.
constexpr NarrowType kNarrowTypes[] = {{17, "e4m3"}, {19, "e5m2"}, {21, "uint4"}, {22, "int4"}};

// Returns true for the 8-bit float formats.
bool IsFloatFormat(std::string_view format) { return format == "e4m3" || format == "e5m2"; }
// Returns true for the formats that are packed two to a byte.
bool IsNibble(std::string_view format) { return format == "int4" || format == "uint4"; }

// Reads scale (operand 1) and zero point (operand 2) as an annotation in a format, for a tensor of
// `rank` axes.
StatusOr<Quantisation> ReadParameters(const NodeImport& node, std::string_view format, int rank) {
  const Tensor* scale = node.ConstantOf(1);
  if (scale == nullptr || scale->type() != ElementType::kFloat32) {
    return node.Refuse(
        fmt::format("quantises to {} with a scale that is not a constant of fp32", format),
        "export the model with constant scales");
  }
  if (node.attributes.Int("block_size", 0) != 0) {
    return node.Refuse(
        fmt::format("quantises to {} with scales per block", format),
        "one scale, or one for each index of an axis; weights may have scales per block");
  }
  Quantisation q;
  q.type.format = *FindFormat(format);
  // Floats have no zero point; integers use all their codes.
  q.type.symmetric = !q.type.format.is_whole();
  const bool one = scale->size() == 1;
  q.type.scheme = one ? Scheme::kPerTensor : Scheme::kPerChannel;
  q.axis = -1;
  if (!one) {
    KILN_ASSIGN_OR_RETURN(q.axis, node.NormaliseAxis(node.attributes.Int("axis", 1), rank));
  }
  const Tensor* zero = node.ConstantOf(2);
  if (node.operand(2) != nullptr && zero == nullptr) {
    return node.Refuse("has a zero point that is not constant",
                       "export the model with constant zero points");
  }
  if (zero != nullptr && zero->size() != scale->size()) {
    return node.Invalid("has another number of zero points than of scales");
  }
  for (int64_t i = 0; i < scale->size(); ++i) {
    q.scales.push_back(scale->data<float>()[static_cast<size_t>(i)]);
    const double zero_point = zero == nullptr ? 0 : zero->ValueAt(i);
    if (q.type.symmetric && zero_point != 0)
      return node.Invalid("has a zero point other than 0 for a float type");
    q.zero_points.push_back(static_cast<int32_t>(zero_point));
  }
  return q;
}

// Returns true if an annotation rounds no value of a tensor.
bool GivesBack(const Tensor& values, const Quantisation& q) {
  const bool has_inverses = std::ranges::all_of(q.scales, [](float scale) {
    return scale > 0 && std::isfinite(scale) && std::isfinite(InverseScale(scale));
  });
  return has_inverses &&
         std::ranges::equal(RoundTensor(values, q).data<float>(), values.data<float>());
}

// Emits a Quantise node, which rounds as the annotation says.
Status EmitQuantise(NodeImport& node, Value* operand, const Quantisation& q) {
  Attributes attributes;
  attributes.Set("type", PrintQuantisation(q));
  return node.EmitResult(Op::kQuantise, {operand}, std::move(attributes));
}

}  // namespace

std::string_view NarrowFormatOf(int64_t onnx_code) {
  for (const NarrowType& type : kNarrowTypes) {
    if (type.onnx_code == onnx_code) return type.format;
  }
  return "";
}

int NarrowOnnxCode(std::string_view format) {
  for (const NarrowType& type : kNarrowTypes) {
    if (type.format == format) return type.onnx_code;
  }
  return 0;
}

StatusOr<Tensor> TakeNarrowTensor(onnx::TensorProto& proto, const std::string& source,
                                  const std::string& place, ExternalFiles& files) {
  const std::string_view name = NarrowFormatOf(proto.data_type());
  const Shape shape(std::vector<int64_t>(proto.dims().begin(), proto.dims().end()));
  const std::optional<int64_t> count = CheckedNumElements(shape);
  if (!count.has_value()) {
    return ErrorAt(source, place, "shape " + shape.ToString() + " is negative or too large",
                   fmt::format("at most {} elements", kMaxElements));
  }
  // Reads the same storage as bytes: two nibbles or one float each.
  proto.set_data_type(onnx::TensorProto::UINT8);
  proto.clear_dims();
  proto.add_dims(IsNibble(name) ? (*count + 1) / 2 : *count);
  // Remembered, because TakeTensor clears the proto.
  const bool is_external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  KILN_ASSIGN_OR_RETURN(const Tensor bytes, TakeTensor(proto, source, place, files));
  if (is_external) {  // mapping a file is free; unpacking it costs memory
    const int size = SizeOf(IsFloatFormat(name) ? ElementType::kFloat32 : ElementType::kInt8);
    KILN_RETURN_IF_ERROR(files.Charge(*count * size, /*copied=*/true, place));
  }
  const auto byte_at = [&](int64_t i) { return std::to_integer<uint32_t>(bytes.bytes()[i]); };
  if (IsFloatFormat(name)) {
    const Format format = *FindFormat(name);
    Tensor values(ElementType::kFloat32, shape);
    for (int64_t i = 0; i < *count; ++i)
      values.data<float>()[static_cast<size_t>(i)] = DecodeFloat(format, byte_at(i));
    return values;
  }
  Tensor codes(name == "int4" ? ElementType::kInt8 : ElementType::kUint8, shape);
  for (int64_t i = 0; i < *count; ++i) {
    const uint32_t nibble =
        byte_at(i / 2) >> (i % 2 * 4) & 15;  // the first element is in the low half
    const int value =
        name == "int4" && nibble >= 8 ? static_cast<int>(nibble) - 16 : static_cast<int>(nibble);
    codes.mutable_bytes()[i] = static_cast<std::byte>(value & 255);
  }
  return codes;
}

void WriteNarrowTensor(std::string_view format, const Shape& shape,
                       const std::vector<int64_t>& codes, const std::string& name,
                       onnx::TensorProto* proto) {
  proto->set_name(name);
  proto->set_data_type(NarrowOnnxCode(format));
  for (int64_t dim : shape.dims()) proto->add_dims(dim);
  std::string bytes;
  if (IsNibble(format)) {
    bytes.assign((codes.size() + 1) / 2, '\0');
    for (size_t i = 0; i < codes.size(); ++i) {
      const auto half = static_cast<unsigned char>((codes[i] & 15) << (i % 2 * 4));
      bytes[i / 2] = static_cast<char>(static_cast<unsigned char>(bytes[i / 2]) | half);
    }
  } else {
    for (int64_t code : codes) bytes.push_back(static_cast<char>(static_cast<unsigned char>(code)));
  }
  proto->set_raw_data(bytes);
}

std::string_view NarrowValues::FormatOfConstant(const Value* value) const {
  const auto it = constants_.find(value);
  return it == constants_.end() ? std::string_view() : it->second;
}

// An annotation rounds values in place, so the pair QuantizeLinear and DequantizeLinear becomes one
// Quantise; any other user of the codes would see rounded values instead.
Status NarrowValues::Import(NodeImport& node) {
  if (!node.domain.empty()) return OkStatus();
  if (node.op_type == "QuantizeLinear") {
    std::string_view format = FormatOfConstant(node.operand(2));
    if (format.empty()) format = NarrowFormatOf(node.attributes.Int("output_dtype", 0));
    return format.empty() ? OkStatus() : Quantise(node, format);
  }
  if (node.op_type == "DequantizeLinear") return Dequantise(node);
  // No other operator may read codes of a narrow type.
  for (const Value* operand : node.operands) {
    const auto it = quantised_.find(operand);
    const std::string_view format = it != quantised_.end() ? it->second : FormatOfConstant(operand);
    if (format.empty()) continue;
    return node.Refuse(fmt::format("reads {}, which is {}", QuotedExcerpt(operand->name()), format),
                       "values of this type are read by DequantizeLinear alone");
  }
  return OkStatus();
}

// Emits a QuantizeLinear to a narrow type as a Quantise node and records its result.
Status NarrowValues::Quantise(NodeImport& node, std::string_view format) {
  if (node.operand(0) == nullptr || node.operand(0)->element() != ElementType::kFloat32) {
    return node.Refuse(fmt::format("quantises a value that is not fp32 to {}", format),
                       "cast it to float before");
  }
  // Without saturation, overflow would become NaN or infinity, which annotations do not express.
  if (node.attributes.Int("saturate", 1) == 0) {
    return node.Refuse(fmt::format("quantises to {} without saturation", format), "saturate=1");
  }
  const Shape* shape = node.ShapeOf(0);
  if (shape == nullptr) return node.Refuse("quantises a value of unknown rank", "");
  KILN_ASSIGN_OR_RETURN(const Quantisation q, ReadParameters(node, format, shape->rank()));
  KILN_RETURN_IF_ERROR(EmitQuantise(node, node.operand(0), q));
  const Value* result = node.graph().nodes().back()->result();
  quantised_[result] = format;
  annotations_[result] = PrintQuantisation(q);
  return OkStatus();
}

// The value already holds dequantised values; the node only must have the same parameters.
Status NarrowValues::Dequantise(NodeImport& node) {
  Value* x = node.operand(0);
  if (const auto it = quantised_.find(x); it != quantised_.end()) {
    const Shape* shape = node.ShapeOf(0);
    KILN_ASSIGN_OR_RETURN(const Quantisation q,
                          ReadParameters(node, it->second, shape == nullptr ? 0 : shape->rank()));
    // Equal parameters are required, because Quantise has already dequantised with its own.
    if (PrintQuantisation(q) != annotations_.at(x)) {
      return node.Refuse("has another scale or zero point than the QuantizeLinear before it",
                         "the same parameters");
    }
    return node.EmitResult(Op::kIdentity, {x});
  }
  const std::string_view format = FormatOfConstant(x);
  return format.empty() ? OkStatus() : DequantiseConstant(node, format);
}

// The weights are the values of the codes times the scales, rounded by a Quantise that changes no
// bit. Constants hold the values of 8-bit floats already. The codes of 4-bit integers are in a
// graph as int8 or uint8, so where no Quantise gives their values back, DequantizeLinear reads
// those.
Status NarrowValues::DequantiseConstant(NodeImport& node, std::string_view format) {
  const Tensor& codes = *node.ConstantOf(0);
  const Tensor* scale = node.ConstantOf(1);
  const Tensor* zero = node.ConstantOf(2);
  const bool is_float = IsFloatFormat(format);
  if (scale == nullptr || scale->type() != ElementType::kFloat32) {
    if (!is_float) return OkStatus();
    return node.Refuse(
        fmt::format("dequantises {} with a scale that is not a constant of fp32", format),
        "export the model with constant scales");
  }
  const int64_t block = node.attributes.Int("block_size", 0);
  if (block < 0) return node.Invalid(fmt::format("block_size is {}", block), "0 or more");
  const Shape& shape = codes.shape();
  int axis = 0;
  if (scale->size() != 1 || block != 0) {
    KILN_ASSIGN_OR_RETURN(axis, node.NormaliseAxis(node.attributes.Int("axis", 1), shape.rank()));
  }
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int64_t length = shape.rank() == 0 ? 1 : shape[axis];
  const int64_t blocks = block > 0 ? length / block + (length % block != 0 ? 1 : 0) : length;
  // One scale per block, per index of the axis, or for the whole tensor.
  Shape wanted{length};
  if (block > 0) {
    wanted = shape;
    wanted[axis] = blocks;
  }
  const bool is_one = block == 0 && scale->size() == 1;
  if (!is_one && scale->shape() != wanted) {
    if (!is_float) return OkStatus();  // shape inference names what is wrong
    return node.Invalid(fmt::format("has scales of {} for a tensor of {}",
                                    scale->shape().ToString(), shape.ToString()),
                        fmt::format("scales of {}", wanted.ToString()));
  }
  if (!is_float && node.operand(2) != nullptr &&
      (zero == nullptr || zero->shape() != scale->shape()))
    return OkStatus();
  KILN_RETURN_IF_ERROR(node.ClaimElements(codes.size()));
  Tensor values(ElementType::kFloat32, shape);
  for (int64_t i = 0; i < codes.size(); ++i) {
    const int64_t at = i / inner % length;
    const int64_t s = block > 0 ? (i / (inner * length) * blocks + at / block) * inner + i % inner
                      : is_one  ? 0
                                : at;
    const double offset = is_float || zero == nullptr ? 0 : zero->ValueAt(s);
    values.data<float>()[static_cast<size_t>(i)] = static_cast<float>(codes.ValueAt(i) - offset) *
                                                   scale->data<float>()[static_cast<size_t>(s)];
  }
  std::optional<Quantisation> q;
  if (block > 0) {
    const BlockFormats formats[] = {{format, "e8m0"}, {format, "fp32"}};
    q = FindBlockRule(values, axis, block, formats);
  } else {
    KILN_ASSIGN_OR_RETURN(q, ReadParameters(node, format, shape.rank()));
    if (!GivesBack(values, *q)) {
      if (!is_float) return OkStatus();
      q.reset();
    }
  }
  Value* constant = node.Constant("values", std::move(values));
  if (q.has_value()) return EmitQuantise(node, constant, *q);
  return node.EmitResult(Op::kIdentity, {constant});
}

}  // namespace kiln
