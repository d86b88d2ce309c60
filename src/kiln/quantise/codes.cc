#include "kiln/quantise/codes.h"

#include <algorithm>

#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"

namespace kiln {
namespace {

// Calls run(begin, end, scale, zero_point) for each stretch of elements that share a scale.
template <typename Run>
void ForEachRun(const Shape& shape, const Quantisation& q, const Run& run) {
  const int64_t size = shape.NumElements();
  KILN_CHECK(!q.scales.empty() && q.scales.size() == q.zero_points.size());
  if (q.axis < 0) {
    KILN_CHECK(q.scales.size() == 1);
    run(int64_t{0}, size, q.scales[0], q.zero_points[0]);
    return;
  }
  KILN_CHECK(q.axis < shape.rank() && shape[q.axis] == static_cast<int64_t>(q.scales.size()));
  int64_t inner = 1;
  for (int axis = q.axis + 1; axis < shape.rank(); ++axis) inner *= shape[axis];
  const auto channels = static_cast<int64_t>(q.scales.size());
  if (inner == 0) return;
  for (int64_t begin = 0; begin < size; begin += inner) {
    const auto channel = static_cast<size_t>(begin / inner % channels);
    run(begin, begin + inner, q.scales[channel], q.zero_points[channel]);
  }
}

// Calls visit with the codes as a span of their C++ type.
template <typename CodeTensor, typename Visit>
void VisitCodes(CodeTensor& codes, const Visit& visit) {
  switch (codes.type()) {
    case ElementType::kInt8:
      return visit(codes.template data<int8_t>());
    case ElementType::kUint8:
      return visit(codes.template data<uint8_t>());
    case ElementType::kInt16:
      return visit(codes.template data<int16_t>());
    case ElementType::kUint16:
      return visit(codes.template data<uint16_t>());
    case ElementType::kInt32:
      return visit(codes.template data<int32_t>());
    default:
      KILN_CHECK(false && "codes are integers of at most 32 bits");
  }
}

}  // namespace

ElementType CodeElementType(const Format& format) {
  KILN_CHECK(format.is_integer() && format.bits <= 32 && (format.is_signed || format.bits <= 16));
  if (format.bits <= 8) return format.is_signed ? ElementType::kInt8 : ElementType::kUint8;
  if (format.bits <= 16) return format.is_signed ? ElementType::kInt16 : ElementType::kUint16;
  return ElementType::kInt32;
}

Tensor QuantiseTensor(const Tensor& values, const Quantisation& q) {
  Tensor codes(CodeElementType(q.type.format), values.shape());
  const CodeRange range = CodesOf(q.type.format, q.type.symmetric);
  const std::span<const float> from = values.data<float>();
  VisitCodes(codes, [&](auto to) {
    using Code = typename decltype(to)::element_type;
    ForEachRun(values.shape(), q, [&](int64_t begin, int64_t end, float scale, int32_t zero_point) {
      const float inverse = InverseScale(scale);
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        to[i] = static_cast<Code>(QuantiseToCode(from[i], inverse, zero_point, range));
      }
    });
  });
  return codes;
}

Tensor DequantiseTensor(const Tensor& codes, const Quantisation& q) {
  KILN_CHECK(codes.type() == CodeElementType(q.type.format));
  Tensor values(ElementType::kFloat32, codes.shape());
  const std::span<float> to = values.data<float>();
  VisitCodes(codes, [&](auto from) {
    ForEachRun(codes.shape(), q, [&](int64_t begin, int64_t end, float scale, int32_t zero_point) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        to[i] = DequantiseCode(from[i], scale, zero_point);
      }
    });
  });
  return values;
}

Quantisation PerTensorQuantisation(double low, double high, const QuantType& type) {
  const ScaleZeroPoint chosen = ChooseScale(low, high, type.format, type.symmetric);
  return {.type = type, .axis = -1, .scales = {chosen.scale}, .zero_points = {chosen.zero_point}};
}

}  // namespace kiln
