// Implements reference_requantise.h.
#include "kiln/execute/reference_requantise.h"

#include <algorithm>
#include <cmath>

namespace kiln::reference {

StatusOr<Tensor> CodesLessZeroPoint(const KernelCall& call, int codes, int zero_point,
                                    int channel_axis) {
  const Tensor& x = call.operand(codes);
  if (x.type() != ElementType::kInt8 && x.type() != ElementType::kUint8)
    return call.UnsupportedType(codes);
  KILN_RETURN_IF_ERROR(call.CheckSize(ElementType::kInt32, x.shape()));
  Tensor out = CastTensor(x, ElementType::kInt32);
  if (!call.Has(zero_point)) return out;
  const Tensor& zero = call.operand(zero_point);
  KILN_RETURN_IF_ERROR(call.RequireSameType(codes, zero_point));
  const int64_t channels = channel_axis >= 0 ? x.shape()[channel_axis] : 1;
  if (zero.size() != 1 && (channel_axis < 0 || zero.size() != channels)) {
    return call.Error(fmt::format("zero point {} is {}", zero_point, zero.shape().ToString()),
                      channel_axis < 0 ? "it is a single number"
                                       : fmt::format("it holds 1 or {} numbers", channels));
  }
  // Distance between neighbours along the channel axis, to find an element's channel.
  int64_t inner = 1;
  for (int d = channel_axis + 1; channel_axis >= 0 && d < x.shape().rank(); ++d)
    inner *= x.shape()[d];
  for (int64_t i = 0; i < out.size(); ++i) {
    Elements<int32_t>(out)[i] -=
        static_cast<int32_t>(zero.IntAt(zero.size() == 1 ? 0 : i / inner % channels));
  }
  return out;
}

StatusOr<std::vector<double>> ScalesOf(const KernelCall& call, int i, int64_t count) {
  const Tensor& t = call.operand(i);
  if (!IsFloat(t.type()) || (t.size() != 1 && t.size() != count)) {
    return call.Error(
        fmt::format("scale {} is {} {}", i, NameOf(t.type()), t.shape().ToString()),
        count == 1 ? "it is a single float" : fmt::format("it holds 1 or {} floats", count));
  }
  std::vector<double> scales(static_cast<size_t>(count));
  for (int64_t k = 0; k < count; ++k)
    scales[static_cast<size_t>(k)] = t.ValueAt(t.size() == 1 ? 0 : k);
  return scales;
}

// The ranges are doubles, so that values can be clamped before the conversion.
bool FindCodeRange(ElementType type, CodeRange* range) {
  switch (type) {
    case ElementType::kInt8:
      *range = {-128, 127};
      return true;
    case ElementType::kUint8:
      *range = {0, 255};
      return true;
    case ElementType::kInt16:
      *range = {-32768, 32767};
      return true;
    case ElementType::kUint16:
      *range = {0, 65535};
      return true;
    case ElementType::kInt32:
      *range = {-0x1p31, 0x1p31 - 1};
      return true;
    default:
      return false;
  }
}

// The value is an integer inside the range, so the conversion is exact.
void StoreCode(Tensor& codes, int64_t at, double value) {
  switch (codes.type()) {
    case ElementType::kInt8:
      Elements<int8_t>(codes)[at] = static_cast<int8_t>(value);
      return;
    case ElementType::kUint8:
      Elements<uint8_t>(codes)[at] = static_cast<uint8_t>(value);
      return;
    case ElementType::kInt16:
      Elements<int16_t>(codes)[at] = static_cast<int16_t>(value);
      return;
    case ElementType::kUint16:
      Elements<uint16_t>(codes)[at] = static_cast<uint16_t>(value);
      return;
    case ElementType::kInt32:
      Elements<int32_t>(codes)[at] = static_cast<int32_t>(value);
      return;
    default:
      KILN_CHECK(false);
  }
}

// Scale and zero point are single numbers.
StatusOr<Requantiser> Requantiser::Of(const KernelCall& call, int scale, int zero_point) {
  Requantiser out;
  KILN_ASSIGN_OR_RETURN(out.scale_, call.Number(scale));
  KILN_ASSIGN_OR_RETURN(out.zero_point_, call.Number(zero_point));
  out.type_ = call.operand(zero_point).type();
  CodeRange range;
  if (!FindCodeRange(out.type_, &range)) return call.UnsupportedType(zero_point);
  return out;
}

void Requantiser::Store(Tensor& codes, int64_t at, double value) const {
  CodeRange range;
  KILN_CHECK(FindCodeRange(type_, &range));
  const double code = std::nearbyint(value / scale_) + zero_point_;
  StoreCode(codes, at, std::isnan(code) ? zero_point_ : std::clamp(code, range.low, range.high));
}

}  // namespace kiln::reference
