// Implements quantiser.h: one reader per kind of quantising node.
#include "kiln/passes/quantiser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kiln/execute/codes.h"
#include "kiln/ir/indexing.h"
#include "kiln/ir/text.h"
#include "kiln/numerics/quantise.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Widest codes whose rounding the fp32 arithmetic of numerics/quantise.h reproduces.
constexpr int kMostBits = 16;
// Most elements of a block that an annotation gets, as in recipes.
constexpr int64_t kMostBlockSize = 65536;

// Returns true for scales that an annotation allows: positive, finite, with a finite inverse.
bool IsScale(float scale) {
  return std::isfinite(scale) && scale > 0 && std::isfinite(InverseScale(scale));
}

bool IsWhole(double x) { return std::isfinite(x) && std::trunc(x) == x; }

// Returns the only axis along which a parameter varies when it broadcasts to `x`; -1 for a single
// number; nullopt for several axes.
std::optional<int> AxisOfBroadcast(const Shape& parameter, const Shape& x) {
  int axis = -1;
  for (int i = 0; i < parameter.rank(); ++i) {
    if (parameter[i] == 1) continue;
    const int at = x.rank() - parameter.rank() + i;
    if (axis >= 0 || at < 0 || x[at] != parameter[i]) return std::nullopt;
    axis = at;
  }
  return axis;
}

// Adds the scales and zero points of a tensor to an annotation; `axis` is -1 for one scale. Returns
// nullopt if one of them is not allowed.
std::optional<Quantisation> WithParameters(QuantType type, int axis, const Tensor& scales,
                                           const Tensor* zero_points) {
  Quantisation q{.type = std::move(type), .axis = axis};
  q.type.scheme = axis < 0 ? Scheme::kPerTensor : Scheme::kPerChannel;
  const bool integer = q.type.format.is_integer();
  for (int64_t i = 0; i < scales.size(); ++i) {
    const float scale = scales.data<float>()[static_cast<size_t>(i)];
    const double zero =
        zero_points == nullptr ? 0 : zero_points->ValueAt(zero_points->size() == 1 ? 0 : i);
    if (!IsScale(scale) || !IsWhole(zero)) return std::nullopt;
    if (integer && (zero < static_cast<double>(q.type.format.min_code()) ||
                    zero > static_cast<double>(q.type.format.max_code()))) {
      return std::nullopt;
    }
    if (q.type.symmetric && zero != 0) return std::nullopt;
    q.scales.push_back(scale);
    q.zero_points.push_back(static_cast<int32_t>(zero));
  }
  return q;
}

// Returns the name of the format whose codes are stored in an element type.
std::optional<std::string> FormatOfCodes(ElementType element) {
  switch (element) {
    case ElementType::kInt8:
      return "int8";
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kInt16:
      return "int16";
    case ElementType::kUint16:
      return "uint16";
    default:
      return std::nullopt;
  }
}

// Reads a QuantizeLinear or DequantizeLinear.
std::optional<Quantisation> OfLinear(const Node& node) {
  const Value* codes = node.op() == Op::kQuantizeLinear ? node.result() : node.operand(0);
  const Value* values = node.op() == Op::kQuantizeLinear ? node.operand(0) : node.result();
  const Tensor* scale = FloatConstant(node.operand(1));
  const Value* zero = node.operand(2);
  if (values == nullptr || codes == nullptr || values->element() != ElementType::kFloat32 ||
      scale == nullptr) {
    return std::nullopt;
  }
  if (zero != nullptr && (!zero->is_constant() || zero->constant().size() != scale->size()))
    return std::nullopt;
  if (node.attributes().Int("block_size", 0) != 0) return std::nullopt;
  int axis = -1;
  if (scale->size() != 1) {
    if (!HasKnownShape(values) || scale->shape().rank() != 1) return std::nullopt;
    const auto normal = NormaliseAxis(node.attributes().Int("axis", 1), values->shape().rank());
    if (!normal.has_value() || values->shape()[static_cast<int>(*normal)] != scale->size())
      return std::nullopt;
    axis = static_cast<int>(*normal);
  }
  // The element type of the codes is the format.
  const auto name = FormatOfCodes(codes->element());
  const auto format =
      name.has_value() ? FindFormat(*name) : StatusOr<Format>(absl::NotFoundError(""));
  if (!format.ok()) return std::nullopt;
  return WithParameters({.format = *format, .symmetric = false}, axis, *scale,
                        zero == nullptr ? nullptr : &zero->constant());
}

// Returns true for the two names of round to nearest even.
bool RoundsToNearestEven(const Node& quant) {
  std::string mode = quant.attributes().String("rounding_mode", "ROUND");
  std::transform(mode.begin(), mode.end(), mode.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return mode == "ROUND" || mode == "HALF_EVEN";
}

// Returns the axis along which a scale varies; -1 for a single one; nullopt for several axes.
std::optional<int> AxisOf(const Tensor& scale, const Value& x) {
  if (scale.size() == 1) return -1;
  return HasKnownShape(&x) ? AxisOfBroadcast(scale.shape(), x.shape()) : std::nullopt;
}

// Reads a QONNX Quant. The code range follows from its bit width, signed and narrow.
std::optional<Quantisation> OfQuant(const Node& node) {
  const Value* x = node.operand(0);
  const Tensor* scale = FloatConstant(node.operand(1));
  const Tensor* zero = FloatConstant(node.operand(2));
  const auto bits = ScalarConstant(node.operand(3));
  if (x->element() != ElementType::kFloat32 || scale == nullptr || zero == nullptr ||
      !bits.has_value()) {
    return std::nullopt;
  }
  if (!IsWhole(*bits) || *bits < 1 || *bits > kMostBits || !RoundsToNearestEven(node))
    return std::nullopt;
  const bool is_signed = node.attributes().Int("signed", 1) != 0,
             narrow = node.attributes().Int("narrow", 0) != 0;
  // QONNX's unsigned narrow range drops the greatest code, which an annotation cannot express.
  if (narrow && !is_signed) return std::nullopt;
  const auto format =
      FindFormat(fmt::format("{}int{}", is_signed ? "" : "u", static_cast<int>(*bits)));
  if (!format.ok()) return std::nullopt;
  const auto axis = AxisOf(*scale, *x);
  if (!axis.has_value() || (zero->size() != 1 && zero->shape() != scale->shape()))
    return std::nullopt;
  return WithParameters({.format = *format, .symmetric = narrow}, *axis, *scale, zero);
}

// Reads a BipolarQuant of a constant: +-scale are two of the three codes of a narrow int2.
std::optional<Quantisation> OfBipolarQuant(const Node& node) {
  const Value* x = node.operand(0);
  const Tensor* scale = FloatConstant(node.operand(1));
  const auto format = FindFormat("int2");
  if (!x->is_constant() || x->element() != ElementType::kFloat32 || scale == nullptr ||
      !format.ok()) {
    return std::nullopt;
  }
  const auto axis = AxisOf(*scale, *x);
  if (!axis.has_value()) return std::nullopt;
  return WithParameters({.format = *format}, *axis, *scale, nullptr);
}

}  // namespace

std::optional<Quantisation> AnnotationOf(const Node& quantiser) {
  switch (quantiser.op()) {
    case Op::kQuantizeLinear:
    case Op::kDequantizeLinear:
      return OfLinear(quantiser);
    case Op::kQuant:
      return OfQuant(quantiser);
    case Op::kBipolarQuant:
      return OfBipolarQuant(quantiser);
    case Op::kQuantise: {
      auto annotation = ParseQuantisation(quantiser.attributes().String("type", ""), "");
      return annotation.ok() ? std::optional(*std::move(annotation)) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Quantisation> FindBlockRule(const Tensor& values, int axis, int64_t block_size,
                                          std::span<const BlockFormats> formats) {
  if (block_size < 1 || block_size > kMostBlockSize) return std::nullopt;
  for (const BlockFormats& candidate : formats) {
    Quantisation q{.type = {.format = *FindFormat(candidate.element), .scheme = Scheme::kPerBlock},
                   .axis = axis};
    q.type.block_size = static_cast<int>(block_size);
    q.type.scale_format = *FindFormat(candidate.scale);
    const Tensor rounded = RoundTensor(values, q);
    // Zeros may differ in their sign; a NaN equals nothing.
    if (std::ranges::equal(rounded.data<float>(), values.data<float>())) return q;
  }
  return std::nullopt;
}

bool SameGrid(const Quantisation& a, const Quantisation& b) {
  return a.type.format == b.type.format && a.type.scheme == b.type.scheme &&
         a.type.symmetric == b.type.symmetric && a.axis == b.axis &&
         a.type.block_size == b.type.block_size && a.scales == b.scales &&
         a.zero_points == b.zero_points;
}

bool SameGrid(const std::optional<Quantisation>& a, const std::optional<Quantisation>& b) {
  return a.has_value() && b.has_value() && SameGrid(*a, *b);
}

std::optional<Quantisation> Permuted(std::optional<Quantisation> q, std::span<const int64_t> perm) {
  if (q.has_value() && q->axis >= 0) {
    q->axis = static_cast<int>(std::find(perm.begin(), perm.end(), q->axis) - perm.begin());
  }
  return q;
}

}  // namespace kiln
